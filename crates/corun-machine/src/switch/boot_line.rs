//! What the kernel's command line says about siblings.
//!
//! The arguments and what they do: `Documentation/admin-guide/kernel-parameters.txt` and the files
//! of `Documentation/admin-guide/hw-vuln/`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::system::text;
use crate::SystemFiles;

/// An argument that decides about siblings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BootArgument {
    /// The argument as given.
    pub text: String,
    /// What it does, as the end of a sentence.
    pub effect: String,
    /// Whether only a boot without it brings siblings back.
    pub forces_off: bool,
}

/// The arguments of the running kernel.
pub(super) fn read(files: &mut impl SystemFiles) -> Vec<BootArgument> {
    let line = text(files, "proc/cmdline").unwrap_or_default();
    line.split_ascii_whitespace().filter_map(parse).collect()
}

/// Protections against side channels that end with the word `nosmt` or switch SMT off themselves.
const PROTECTIONS: [&str; 8] = [
    "mitigations",
    "l1tf",
    "mds",
    "tsx_async_abort",
    "mmio_stale_data",
    "retbleed",
    "reg_file_data_sampling",
    "tsa",
];

fn parse(argument: &str) -> Option<BootArgument> {
    let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
    let words: Vec<&str> = value.split(',').collect();
    let (effect, forces_off) = match (name, value) {
        ("nosmt", "force") => {
            ("keeps SMT off until a boot without it; it cannot be switched".to_owned(), true)
        }
        ("nosmt", _) => ("boots with SMT off; it can be switched on".to_owned(), false),
        ("l1tf", "full,force") => {
            ("keeps SMT off until a boot without it, against L1TF".to_owned(), true)
        }
        ("l1tf", "full") => (
            "boots with SMT off if the processor has L1TF; it can be switched on".to_owned(),
            false,
        ),
        (name, _) if PROTECTIONS.contains(&name) && words.contains(&"nosmt") => (
            "boots with SMT off if the processor needs that protection; it can be switched on"
                .to_owned(),
            false,
        ),
        ("maxcpus", number) => (
            format!("brings up {number} logical CPUs only; others can be brought up by hand"),
            false,
        ),
        ("nr_cpus" | "possible_cpus", number) => {
            (format!("lets the kernel know {number} logical CPUs only"), false)
        }
        _ => return None,
    };
    Some(BootArgument { text: argument.to_owned(), effect, forces_off })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_some_arguments_concern_siblings() {
        for (argument, forces_off) in [
            ("nosmt", Some(false)),
            ("nosmt=force", Some(true)),
            ("mitigations=auto,nosmt", Some(false)),
            ("mitigations=auto", None),
            ("l1tf=full,force", Some(true)),
            ("l1tf=flush,nosmt", Some(false)),
            ("l1tf=flush", None),
            ("mds=full,nosmt", Some(false)),
            ("maxcpus=2", Some(false)),
            ("quiet", None),
            ("nosmtx", None),
        ] {
            let found = parse(argument).map(|argument| argument.forces_off);
            assert_eq!(found, forces_off, "{argument}");
        }
    }
}
