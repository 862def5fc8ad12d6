//! `cargo xtask deploy`: installs the controllers in a cluster, waits for their rollout, and removes them again.

mod apply;
mod built_in;
mod commands;
mod connect;
mod delete;
mod error;
mod installed;
mod interrupt;
mod lease;
mod objects;
mod preflight;
mod proxy;
mod rollout;

use std::{process::ExitCode, time::Duration};

use anyhow::bail;
use clap::Parser;
use devtools::LOAD_COMMANDS;
use kube::Client;
use manifests::Controller;

use crate::{commands::Commands, interrupt::Interrupts, objects::Object};

/// Stands for the name of the controller in `--image`.
const NAME_IN_IMAGE: &str = "{name}";

/// Install the controllers in the cluster of the current context, and wait until they run
#[derive(Debug, Parser)]
#[command(name = "cargo xtask deploy", bin_name = "cargo xtask deploy")]
#[allow(clippy::struct_excessive_bools, reason = "flags of a command line")]
struct Args {
    /// Context of the kubeconfig. The current context if not given
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Image of the controller, which the nodes pull. `{name}` in it is replaced by the controller's name. The installed image, or
    /// the one of `cargo xtask image`, if not given
    #[arg(long, value_name = "REFERENCE")]
    image: Option<String>,
    /// Only the EndpointSlice controller
    #[arg(long, group = "controllers")]
    endpointslice: bool,
    /// Only the mirroring controller
    #[arg(long, group = "controllers")]
    mirroring: bool,
    /// Both controllers, as without any of these flags
    #[arg(long, group = "controllers")]
    all: bool,
    /// Install beside the built-in controllers, to compare: writes nothing, and reports what it would still write
    #[arg(long, conflicts_with = "delete")]
    shadow: bool,
    /// Only print what would change
    #[arg(long)]
    dry_run: bool,
    /// Remove the controllers. EndpointSlices remain
    #[arg(long)]
    delete: bool,
    /// Seconds to wait until the controllers run, or are removed
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(..=86_400))]
    timeout: u64,
}

impl Args {
    fn controllers(&self) -> Vec<Controller> {
        let selected = |controller: &Controller| match controller {
            Controller::EndpointSlice => !self.mirroring,
            Controller::Mirroring => !self.endpointslice,
        };
        Controller::ALL.into_iter().filter(selected).collect()
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }

    /// The image of a controller, if one was given.
    fn image(&self, controller: Controller) -> Option<String> {
        let image = self.image.as_deref()?;
        Some(image.replace(NAME_IN_IMAGE, controller.name()))
    }

    fn check_image(&self) -> anyhow::Result<()> {
        if self.controllers().len() > 1 && self.image.as_ref().is_some_and(|image| !image.contains(NAME_IN_IMAGE)) {
            bail!(
                "--image is for two controllers, each with an image of its own: write {NAME_IN_IMAGE} for the controller's name, or \
                 give --endpointslice or --mirroring"
            );
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    devtools::run(|args: &Args| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let result = runtime.block_on(run(args));
        result.map_err(|error| anyhow::Error::msg(error::line(&error)))
    })
}

async fn run(args: &Args) -> anyhow::Result<()> {
    args.check_image()?;
    let client = connect::client(args.context.as_deref()).await?;
    let mut interrupts = Interrupts::new()?;
    let commands = Commands::new(args);
    if args.delete {
        let controllers = args.controllers();
        let delete = delete::run(&client, &controllers, args.dry_run, args.timeout(), &commands);
        let remains = "run the command again to delete what remains";
        interrupts.end(delete, remains).await
    } else {
        install(args, &client, &commands, &mut interrupts).await
    }
}

async fn install(args: &Args, client: &Client, commands: &Commands, interrupts: &mut Interrupts) -> anyhow::Result<()> {
    let controllers = args.controllers();
    let prepared = prepare(args, client, &controllers, commands);
    let (objects, with_default_image) = interrupts.end(prepared, built_in::NOTHING_APPLIED).await?;
    if args.dry_run {
        println!("not checked in a dry run: whether the built-in controllers are turned off (it needs a Service)");
    } else if !args.shadow {
        built_in::check(client, &controllers, commands, interrupts).await?;
    }
    print_how_to_load(&with_default_image);
    let rollout = async {
        apply::run(client, &objects, args.dry_run).await?;
        if args.dry_run {
            return Ok(());
        }
        rollout::wait(client, &controllers, args.shadow, args.timeout(), commands).await
    };
    let remains = "what was applied remains: run the command again to go on, or with --delete to remove it";
    interrupts.end(rollout, remains).await?;
    if args.shadow && !args.dry_run {
        print_how_to_compare(&controllers, commands);
    }
    Ok(())
}

/// The objects to apply, and the controllers with the default image, if nothing prevents that they are applied.
async fn prepare(
    args: &Args,
    client: &Client,
    controllers: &[Controller],
    commands: &Commands,
) -> anyhow::Result<(Vec<Object>, Vec<Controller>)> {
    installed::check_installer(client).await?;
    let prepared = objects::to_install(client, args, controllers).await?;
    let mut access = Vec::new();
    if !args.dry_run {
        access.extend(rollout::access());
    }
    if !args.dry_run && !args.shadow {
        access.extend(built_in::access());
    }
    preflight::check(client, &prepared.0, access).await?;
    if args.shadow {
        preflight::check_shadow(client, controllers, commands).await?;
    }
    Ok(prepared)
}

fn print_how_to_load(controllers: &[Controller]) {
    if controllers.is_empty() {
        return;
    }
    println!("No --image was given, so the images must be on the nodes. `cargo xtask image` builds archives for:");
    for controller in controllers {
        let name = controller.name();
        println!("  {name}: target/images/{name}.tar");
    }
    for (cluster, command) in LOAD_COMMANDS {
        println!("  {cluster}: {command}");
    }
}

fn print_how_to_compare(controllers: &[Controller], commands: &Commands) {
    println!("The controllers write nothing. What they would still write 30 s after a change is logged and counted:");
    for controller in controllers {
        let log = commands.kubectl_in_namespace(&format!("logs deployment/{}", controller.name()));
        println!("  {log} | grep -E 'dry run: (difference|nothing)'");
    }
}

/// A line per object, as kubectl prints it.
fn print_object(object: &Object, result: &str) {
    println!("{object} {result}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(arguments: &[&str]) -> Args {
        Args::try_parse_from([&["deploy"], arguments].concat()).unwrap()
    }

    #[test]
    fn both_controllers_are_the_default() {
        assert_eq!(args(&[]).controllers(), Controller::ALL);
        assert_eq!(args(&["--all"]).controllers(), Controller::ALL);
        assert_eq!(args(&["--endpointslice"]).controllers(), [Controller::EndpointSlice]);
        assert_eq!(args(&["--mirroring"]).controllers(), [Controller::Mirroring]);
        assert!(Args::try_parse_from(["deploy", "--all", "--mirroring"]).is_err());
    }

    #[test]
    fn an_image_for_both_controllers_contains_their_name() {
        assert!(args(&["--image", "example.test/a:1"]).check_image().is_err());
        assert!(
            args(&["--mirroring", "--image", "example.test/a:1"])
                .check_image()
                .is_ok()
        );
        let both = args(&["--image", "example.test/{name}:1"]);
        assert!(both.check_image().is_ok());
        assert_eq!(
            both.image(Controller::Mirroring).unwrap(),
            "example.test/endpointslice-mirroring-controller:1"
        );
    }
}
