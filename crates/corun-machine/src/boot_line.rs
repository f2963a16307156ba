//! The kernel's command line, and what it says about siblings.
//!
//! The arguments and what they do: `Documentation/admin-guide/kernel-parameters.rst` and the files
//! of `Documentation/admin-guide/hw-vuln/`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// File in which the kernel shows it, below the root.
pub(crate) const FILE: &str = "proc/cmdline";

/// The kernel's command line at boot.
#[derive(Debug, Default)]
pub(crate) struct BootLine(String);

/// An argument that decides about siblings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BootArgument {
    /// The argument as given.
    pub text: String,
    /// Effect, as the end of a sentence.
    pub effect: String,
    /// True if only a boot without it brings siblings back.
    pub forces_off: bool,
}

impl BootLine {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The last word `name` or `name=VALUE`, which is the one that counts.
    pub(crate) fn find(&self, name: &str) -> Option<&str> {
        words(&self.0).filter(|word| name_of(word) == name).last()
    }

    /// The words that decide about siblings and count.
    pub(crate) fn about_siblings(&self) -> Vec<BootArgument> {
        // The kernel takes back no `nosmt=force`.
        let counts =
            |word: &&str| *word == "nosmt=force" || self.find(&name_of(word)) == Some(*word);
        words(&self.0).filter(counts).filter_map(about_siblings).collect()
    }
}

/// Words of a line in which quotes keep white space together; `--` ends the kernel's part.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let words = line.split(move |character: char| {
        quoted ^= character == '"';
        character.is_whitespace() && !quoted
    });
    words.filter(|word| !word.is_empty()).take_while(|word| *word != "--")
}

/// The kernel takes `-` and `_` in names for the same.
fn name_of(word: &str) -> String {
    word.split('=').next().unwrap_or_default().replace('-', "_")
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

fn about_siblings(argument: &str) -> Option<BootArgument> {
    let value = argument.split_once('=').map_or("", |(_, value)| value);
    let name = name_of(argument);
    let words: Vec<&str> = value.split(',').collect();
    let (effect, forces_off) = match (name.as_str(), value) {
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
        ("smt_enabled", "off") => {
            ("boots with one thread of each core; it can be switched on".to_owned(), false)
        }
        ("smt_enabled", threads) => {
            (format!("boots with these threads of each core: {threads}"), false)
        }
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
    fn the_last_word_of_a_name_counts_and_quotes_hold_words_together() {
        let line =
            r#"quiet mitigations=off mitigations=auto,nosmt note="a nosmt=force b" -- idle=poll"#;
        let line = BootLine::new(line);
        assert_eq!(line.find("mitigations"), Some("mitigations=auto,nosmt"));
        assert_eq!(line.find("quiet"), Some("quiet"));
        assert_eq!(line.find("note"), Some(r#"note="a nosmt=force b""#));
        assert_eq!((line.find("nosmt"), line.find("idle")), (None, None));
        assert_eq!(line.about_siblings().len(), 1);
    }

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
            ("smt-enabled=2", Some(false)),
            ("quiet", None),
            ("nosmtx", None),
        ] {
            let found = about_siblings(argument).map(|argument| argument.forces_off);
            assert_eq!(found, forces_off, "{argument}");
        }
    }
}
