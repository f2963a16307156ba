//! Options that several subcommands share, each a group of clap's with one wording: where an answer is written, how long
//! finding it may take, and the design of a measurement.
//!
//! A subcommand flattens those that it has; a test holds every option of one name to one wording.

mod design;
mod output;

pub(crate) use design::{
    CoreArguments, CpuArguments, DesignArguments, MaxTime, PracticalArguments, SAMPLE_TIME,
    SeedArguments, WARMUP,
};
pub(crate) use output::{
    CSV, CsvFile, DocumentFiles, JsonFile, LatexFile, MarkdownFile, ProgressArguments, SvgFile,
    ViewArguments,
};

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use clap::Command;

    use crate::parse;

    /// Options that mean the same wherever they are.
    const SHARED: [&str; 10] = [
        "json",
        "csv",
        "markdown",
        "latex",
        "svg",
        "brief",
        "quiet",
        "practical",
        "core-type",
        "sample-time",
    ];

    fn wordings<'a>(command: &'a Command, found: &mut BTreeMap<&'a str, BTreeSet<String>>) {
        for argument in command.get_arguments() {
            let long = argument.get_long().unwrap_or_default();
            if let Some(name) = SHARED.into_iter().find(|it| *it == long) {
                let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
                found.entry(name).or_default().insert(help);
            }
        }
        for inner in command.get_subcommands() {
            wordings(inner, found);
        }
    }

    #[test]
    fn every_shared_option_has_one_wording() {
        let grammar = parse::grammar();
        let mut found = BTreeMap::new();
        wordings(&grammar, &mut found);
        for name in SHARED {
            assert_eq!(found[name].len(), 1, "--{name}: {:#?}", found[name]);
        }
    }
}
