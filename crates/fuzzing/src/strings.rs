//! Parsers of single strings.

use slice_core::{Address, AddressType, format_trigger_time, parse_trigger_time};

/// Parsed addresses, address types and times must round-trip.
pub(crate) fn check(text: &str) {
    assert_eq!(
        Address::from_canonical(text).to_string(),
        text,
        "an address of an existing slice is preserved"
    );
    if let Some(address) = Address::parse_ip(text) {
        let formatted = address.to_string();
        assert_eq!(Address::parse_ip(&formatted).as_ref(), Some(&address), "{text:?}");
        assert_eq!(Address::from_canonical(&formatted), address, "{text:?}");
        // The result does not matter, only that it does not panic.
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
