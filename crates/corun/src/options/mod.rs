//! Options that several subcommands share, each a group of clap's with one wording: where an answer is written, how long
//! finding it may take, and the design of a measurement.
//!
//! A subcommand flattens those that it has. A test holds the options that several have to one wording for each meaning of
//! their name; what follows in brackets, the default, may differ.

mod design;
mod output;

pub(crate) use design::{
    BlockArguments, BlockCount, CORES, CoreArguments, CpuArguments, DesignArguments, FIXED_SEED,
    FixedSeedArguments, MaxTime, PracticalArguments, SAMPLE_TIME, SEED, SeedArguments, TIMEOUT,
    WARMUP,
};
pub(crate) use output::{
    CSV, CsvFile, DetailArguments, DocumentFiles, JsonFile, LatexFile, MarkdownFile,
    ProgressArguments, SvgFile, ViewArguments,
};

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use clap::Command;

    use crate::parse;

    /// Options of several subcommands, and the number of meanings that each name has.
    const SHARED: [(&str, usize); 17] = [
        ("json", 1),
        ("csv", 1),
        ("markdown", 1),
        ("latex", 1),
        ("svg", 1),
        ("brief", 1),
        ("quiet", 1),
        ("verbose", 1),
        ("practical", 1),
        ("core-type", 1),
        ("sample-time", 1),
        ("seed", 1),
        ("blocks", 1),
        ("timeout", 1),
        // Those of this machine, and those of a simulated one.
        ("cores", 2),
        // A trace, a page, a model.
        ("output", 3),
        // Of measured runs, of a recorded trace, of a predicted run, of a simulated trace.
        ("warmup", 4),
    ];

    fn wordings<'a>(command: &'a Command, found: &mut BTreeMap<&'a str, BTreeSet<String>>) {
        for argument in command.get_arguments() {
            let long = argument.get_long().unwrap_or_default();
            if let Some((name, _)) = SHARED.into_iter().find(|(name, _)| *name == long) {
                let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
                let wording = help.split(" [default: ").next().unwrap_or_default();
                found.entry(name).or_default().insert(wording.to_owned());
            }
        }
        for inner in command.get_subcommands() {
            wordings(inner, found);
        }
    }

    #[test]
    fn every_shared_option_has_one_wording_for_each_meaning() {
        let grammar = parse::grammar();
        let mut found = BTreeMap::new();
        wordings(&grammar, &mut found);
        for (name, meanings) in SHARED {
            assert_eq!(found[name].len(), meanings, "--{name}: {:#?}", found[name]);
        }
    }
}
