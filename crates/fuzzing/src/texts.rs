//! What is read from single texts.

use slice_core::{Address, AddressType, format_trigger_time, parse_trigger_time};

/// What we print, we read as the same again.
pub(crate) fn check(text: &str) {
    assert_eq!(
        Address::from_canonical(text).to_string(),
        text,
        "a stored address is kept as it is"
    );
    if let Some(address) = Address::parse_ip(text) {
        let printed = address.to_string();
        assert_eq!(Address::parse_ip(&printed).as_ref(), Some(&address), "{text:?}");
        assert_eq!(Address::from_canonical(&printed), address, "{text:?}");
        // Any answer will do.
        let _ = address.validate();
    }
    if let Ok(address_type) = text.parse::<AddressType>() {
        assert_eq!(address_type.as_str(), text);
    }
    if let Ok(time) = parse_trigger_time(text) {
        assert_eq!(
            parse_trigger_time(&format_trigger_time(time)).ok(),
            Some(time),
            "{text:?}"
        );
    }
}
