//! The flags that all programs have.

mod leader_election;
mod secure_port;

use std::{num::NonZeroU32, time::Duration};

use clap::{Arg, Args, Command, CommandFactory, FromArgMatches, ValueEnum, builder::BoolishValueParser};

use super::{ConfigErrors, GoDuration, ProgramInfo};
use crate::client::{ConnectionOptions, RateLimit};
use leader_election::LeaderElectionArgs;
use secure_port::SecurePortArgs;

/// The prefix of environment variables.
const ENV_PREFIX: &str = "ENDPOINTSLICE_";

/// The flags that all programs have.
#[derive(Clone, Debug, Args)]
pub struct CommonArgs {
    /// Path to a kubeconfig. Without it: $KUBECONFIG, ~/.kube/config, or the in-cluster configuration
    #[arg(long, value_name = "FILE", default_value = "", hide_default_value = true)]
    pub(super) kubeconfig: String,
    /// Address of the API server. Overrides the one in the kubeconfig
    #[arg(long, value_name = "URL", default_value = "", hide_default_value = true)]
    pub(super) master: String,
    /// Value of the label endpointslice.kubernetes.io/managed-by on written slices. Only instances that elect a leader among
    /// them may have the same value
    #[arg(long, value_name = "NAME", required = false)]
    pub controller_name: String,
    /// Watch only this namespace. All namespaces if empty
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(super) namespace: String,
    /// Log writes and events instead of sending them. Beside a controller that writes with the same --controller-name, what it
    /// has not written 30 s after the last change is logged and counted as a difference
    #[arg(long, value_name = "BOOL", action = clap::ArgAction::Set, value_parser = BoolishValueParser::new(),
          num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(super) dry_run: bool,
    /// Minimum resync period. The actual period is between 1x and 2x this value; 0 disables resyncs
    #[arg(long, value_name = "DURATION", default_value = "12h")]
    min_resync_period: GoDuration,
    /// Maximum requests per second to the API server (0 = unlimited)
    #[arg(long, value_name = "NUMBER", default_value_t = 0.0, allow_negative_numbers = true)]
    kube_api_qps: f64,
    /// Maximum burst of requests with --kube-api-qps (0 = the requests of one second)
    #[arg(long, value_name = "NUMBER", default_value_t = 0, allow_negative_numbers = true)]
    kube_api_burst: i32,
    /// Use HTTP/1.1 with the API server, even if it offers HTTP/2. Watches are then short, since HTTP/1.1 has no pings
    #[arg(long, value_name = "BOOL", action = clap::ArgAction::Set, value_parser = BoolishValueParser::new(),
          num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    disable_http2: bool,
    /// Address of the HTTP endpoints /metrics, /healthz, /livez, /readyz and /debug/state, without TLS. The default host is
    /// 127.0.0.1. Not served if empty
    #[arg(long, value_name = "[HOST]:PORT", default_value = "", hide_default_value = true)]
    pub(super) http_address: String,
    /// Format of log lines
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(super) logging_format: LoggingFormat,
    /// Log verbosity: 0 to 3 info, 4 debug, 5 trace, 6 also API requests, 8 also libraries
    #[arg(short, long, value_name = "LEVEL", default_value_t = 0)]
    pub(super) v: u8,
    #[command(flatten)]
    pub(super) leader_election: LeaderElectionArgs,
    #[command(flatten)]
    pub(super) secure_port: SecurePortArgs,
}

/// Format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LoggingFormat {
    Text,
    Json,
}

impl CommonArgs {
    /// The resync period (R6). `jitter` is between 0 and 1.
    pub(super) fn resync_period(&self, jitter: f64) -> Duration {
        self.min_resync_period.as_duration().mul_f64(1.0 + jitter)
    }

    pub(super) fn rate_limit(&self) -> Option<RateLimit> {
        let per_second = self.kube_api_qps;
        // NaN means unlimited as well.
        if per_second > 0.0 {
            let burst = u32::try_from(self.kube_api_burst).ok().and_then(NonZeroU32::new);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the value is positive, and the cast saturates"
            )]
            let one_second = NonZeroU32::MIN.saturating_add(per_second.ceil() as u32 - 1);
            let burst = burst.unwrap_or(one_second);
            return Some(RateLimit { per_second, burst });
        }
        None
    }

    pub(super) fn connection_options(&self) -> ConnectionOptions {
        ConnectionOptions {
            http2: !self.disable_http2,
            ..ConnectionOptions::default()
        }
    }

    /// Validates the flags.
    pub(super) fn check(&self, errors: &mut ConfigErrors) {
        self.leader_election.check(errors);
        self.secure_port.check(errors);
        if self.controller_name.is_empty() {
            errors.add(&"controller-name must not be empty");
        }
    }
}

/// Parses the command line and the environment.
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
        .mut_arg("leader_elect_resource_name", |arg| arg.default_value(info.name))
        .mut_arg("secure_port", |arg| arg.default_value(info.secure_port.to_string()))
        .mut_args(with_env)
        .after_help(format!(
            "Each flag is also an environment variable, named {ENV_PREFIX} and the flag in capitals:\n\
             {ENV_PREFIX}MIN_RESYNC_PERIOD=6h for --min-resync-period=6h. The command line takes precedence."
        ))
}

/// Makes a flag an environment variable as well.
fn with_env(flag: Arg) -> Arg {
    let Some(name) = flag.get_long() else { return flag };
    let variable = format!("{ENV_PREFIX}{}", name.replace('-', "_").to_uppercase());
    // Help must not depend on the environment.
    flag.env(variable).hide_env_values(true)
}

#[cfg(test)]
mod tests;
