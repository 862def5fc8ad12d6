//! Commands that messages print: they are for the cluster and the controllers of this one.

use crate::Args;

/// Commands with the context and the controllers that were given.
pub(crate) struct Commands {
    kubectl: String,
    deploy: String,
}

impl Commands {
    pub(crate) fn new(args: &Args) -> Self {
        let context = args.context.as_deref().map_or_else(String::new, |context| {
            let context = shlex::try_quote(context).expect("an argument has no NUL");
            format!(" --context {context}")
        });
        let controller = match (args.endpointslice, args.mirroring) {
            (true, _) => " --endpointslice",
            (_, true) => " --mirroring",
            _ => "",
        };
        Self {
            kubectl: format!("kubectl{context}"),
            deploy: format!("cargo xtask deploy{context}{controller}"),
        }
    }

    pub(crate) fn kubectl(&self, arguments: &str) -> String {
        format!("{} {arguments}", self.kubectl)
    }

    /// For objects in the namespace of the controllers.
    pub(crate) fn kubectl_in_namespace(&self, arguments: &str) -> String {
        self.kubectl(&format!("--namespace {} {arguments}", manifests::NAMESPACE))
    }

    /// The command that removes the controllers.
    pub(crate) fn delete(&self) -> String {
        format!("{} --delete", self.deploy)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn commands(arguments: &[&str]) -> Commands {
        Commands::new(&Args::try_parse_from([&["deploy"], arguments].concat()).unwrap())
    }

    #[test]
    fn commands_are_for_the_same_context_and_controllers() {
        let plain = commands(&[]);
        assert_eq!(plain.delete(), "cargo xtask deploy --delete");
        assert_eq!(
            plain.kubectl_in_namespace("get pods"),
            "kubectl --namespace endpointslice-system get pods"
        );
        let other = commands(&["--context", "a b", "--mirroring"]);
        assert_eq!(
            other.delete(),
            "cargo xtask deploy --context 'a b' --mirroring --delete"
        );
        assert_eq!(other.kubectl("get nodes"), "kubectl --context 'a b' get nodes");
    }
}
