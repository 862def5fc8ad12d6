//! The flags that all programs have.

use std::{num::NonZeroU32, time::Duration};

use clap::{Arg, Args, Command, CommandFactory, FromArgMatches, ValueEnum, builder::BoolishValueParser};

use super::{ConfigErrors, GoDuration, ProgramInfo};
use crate::client::RateLimit;

/// What the names of environment variables begin with.
const PREFIX: &str = "ENDPOINTSLICE_";

/// The flags that all programs have.
#[derive(Clone, Debug, Args)]
pub struct CommonArgs {
    /// File that says where the API server is, and who we are; without it $KUBECONFIG, ~/.kube/config, or the cluster that
    /// the program runs in
    #[arg(long, value_name = "FILE", default_value = "", hide_default_value = true)]
    pub(super) kubeconfig: String,
    /// Address of the API server, in place of the one that is found otherwise
    #[arg(long, value_name = "URL", default_value = "", hide_default_value = true)]
    pub(super) master: String,
    /// Value of the label endpointslice.kubernetes.io/managed-by on our slices. It is the lock: never run two programs with
    /// one value
    #[arg(long, value_name = "NAME", required = false)]
    pub controller_name: String,
    /// Look at this namespace only
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(super) namespace: String,
    /// Look at Services with these labels only
    #[arg(long, value_name = "SELECTOR", default_value = "", hide_default_value = true)]
    pub service_selector: String,
    /// Log what would be written, and write nothing
    #[arg(long, value_name = "BOOL", action = clap::ArgAction::Set, value_parser = BoolishValueParser::new(),
          num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(super) dry_run: bool,
    /// How often everything is looked at although nothing happened: between this and twice as long; never, if 0
    #[arg(long, value_name = "DURATION", default_value = "12h")]
    min_resync_period: GoDuration,
    /// Requests to the API server in a second; no limit, if 0
    #[arg(long, value_name = "NUMBER", default_value_t = 0.0, allow_negative_numbers = true)]
    kube_api_qps: f64,
    /// Requests at once after a pause, where --kube-api-qps limits them; as many as in a second, if 0
    #[arg(long, value_name = "NUMBER", default_value_t = 0, allow_negative_numbers = true)]
    kube_api_burst: i32,
    /// Address for /metrics, /healthz, /livez and /readyz in plain HTTP; without a host it is 127.0.0.1. Not served, if empty
    #[arg(long, value_name = "[HOST]:PORT", default_value = "", hide_default_value = true)]
    pub(super) http_address: String,
    /// How log lines look
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(super) logging_format: LoggingFormat,
    /// How much is logged: 0 to 3 what happens, 4 details, 5 everything of ours, 6 requests, 8 everything
    #[arg(short, long, value_name = "LEVEL", default_value_t = 0)]
    pub(super) v: u8,
    /// Not there yet: only false is accepted
    #[arg(long, value_name = "BOOL", action = clap::ArgAction::Set, value_parser = BoolishValueParser::new(),
          num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    leader_elect: bool,
    /// Not there yet: only 0 is accepted
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    secure_port: u16,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LoggingFormat {
    Text,
    Json,
}

impl CommonArgs {
    /// How often everything is looked at (R6). `chance` lies between 0 and 1.
    pub(super) fn resync(&self, chance: f64) -> Duration {
        self.min_resync_period.as_duration().mul_f64(1.0 + chance)
    }

    pub(super) fn rate_limit(&self) -> Option<RateLimit> {
        let per_second = self.kube_api_qps;
        // Also what is not a number is no limit.
        if per_second > 0.0 {
            let burst = u32::try_from(self.kube_api_burst).ok().and_then(NonZeroU32::new);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is above zero, and whatever is too large becomes the largest"
            )]
            let as_in_a_second = NonZeroU32::MIN.saturating_add(per_second.ceil() as u32 - 1);
            let burst = burst.unwrap_or(as_in_a_second);
            return Some(RateLimit { per_second, burst });
        }
        None
    }

    /// Complains about what is not there yet or cannot be.
    pub(super) fn check(&self, complaints: &mut ConfigErrors) {
        if self.leader_elect {
            complaints.add(&"leader-elect must be false: there is no leader election yet, so run one instance only");
        }
        if self.secure_port != 0 {
            complaints.add(&format!(
                "secure-port must be 0, but got {}: there is no secure port yet; --http-address serves metrics and health",
                self.secure_port
            ));
        }
        if self.controller_name.is_empty() {
            complaints.add(&"controller-name must not be empty");
        }
    }
}

/// Reads the command line and the environment.
pub(super) fn parse<A: CommandFactory + FromArgMatches>(
    info: &ProgramInfo,
    command_line: impl IntoIterator<Item: Into<std::ffi::OsString> + Clone>,
) -> Result<A, clap::Error> {
    let mut command = command::<A>(info);
    let mut matches = command.try_get_matches_from_mut(command_line)?;
    A::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

fn command<A: CommandFactory>(info: &ProgramInfo) -> Command {
    A::command()
        .name(info.name)
        .version(info.version)
        .mut_arg("controller_name", |arg| arg.default_value(info.managed_by))
        .mut_args(with_variable)
        .after_help(format!(
            "Each flag can be given as an environment variable, which is named {PREFIX} and the flag in capitals:\n\
             {PREFIX}MIN_RESYNC_PERIOD=6h for --min-resync-period=6h. The command line wins."
        ))
}

/// Each flag also by environment variable.
fn with_variable(flag: Arg) -> Arg {
    let Some(name) = flag.get_long() else { return flag };
    let variable = format!("{PREFIX}{}", name.replace('-', "_").to_uppercase());
    // The value is not told in the help text: it would be another one everywhere.
    flag.env(variable).hide_env_values(true)
}

#[cfg(test)]
mod tests;
