//! For a while, nobody sees what happens.

use apisim::{
    faults::{Faults, Match, Rule, RuleHandle, StreamFault},
    request::Verb,
};

use crate::{binary::until, error::Error};

/// Ends all watches, and lets no new one begin before the rule is removed.
pub async fn blindfold(faults: &Faults) -> Result<RuleHandle, Error> {
    let watches = || Match::verb(Verb::Watch);
    let hold = faults.add(Rule::when(watches()).hold_request());
    let cut = faults.add(Rule::when(watches()).stream(StreamFault::Cut));
    let all_ended = async || faults.open_streams(&watches()) == 0;
    until("the end of all watches", all_ended).await?;
    cut.remove();
    Ok(hold)
}
