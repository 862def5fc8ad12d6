//! Blocks all watches.

use apisim::{
    faults::{Faults, Match, Rule, RuleHandle, StreamFault},
    request::Verb,
};

use crate::{error::Error, test_process::until};

/// Cuts all watches and blocks new ones until the rule is removed.
pub async fn block_watches(faults: &Faults) -> Result<RuleHandle, Error> {
    let watches = || Match::verb(Verb::Watch);
    let hold = faults.add(Rule::when(watches()).hold_request());
    let cut = faults.add(Rule::when(watches()).stream(StreamFault::Cut));
    let all_ended = async || faults.open_streams(&watches()) == 0;
    until("end of all watches", all_ended).await?;
    cut.remove();
    Ok(hold)
}
