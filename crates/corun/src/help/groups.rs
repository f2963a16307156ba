//! The subcommands by what a user is about, as `corun --help` has them.
//!
//! clap groups options, not subcommands: this list does, and a test holds it to the grammar.

use std::fmt::Write as _;

use clap::Command;

/// Aims of a user, with the subcommands for each, the likeliest first.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Ask",
        &["threads", "measure", "predict", "capacity", "schedule", "simulate", "trace", "fleet"],
    ),
    ("Watch", &["top", "exporter"]),
    ("Look up", &["bench", "study", "models", "schema"]),
    ("Keep", &["runs", "compare", "report"]),
    ("Machine", &["topo", "doctor", "smt", "audit"]),
];

/// A help without clap's own list of subcommands.
const TEMPLATE: &str = "\
{about-with-newline}
{usage-heading} {usage}

{before-help}Options:
{options}{after-help}";

/// The grammar with its subcommands in groups: named in `-h`, described in `--help`.
pub(super) fn with_groups(command: Command) -> Command {
    let (names, descriptions) = (names(&command), descriptions(&command));
    command.help_template(TEMPLATE).before_help(names).before_long_help(descriptions)
}

/// A row a group.
fn names(command: &Command) -> String {
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let mut text = String::new();
    for (group, names) in GROUPS {
        let _ = write!(text, "  {header}{:9}{header:#}", format!("{group}:"));
        let _ = writeln!(text, " {literal}{}{literal:#}", names.join(" "));
    }
    let _ = write!(
        text,
        "\n  {literal}corun --help{literal:#} describes them, {literal}corun COMMAND -h{literal:#} lists the options of one."
    );
    text
}

/// A row a subcommand.
fn descriptions(command: &Command) -> String {
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let about = |name: &str| {
        let found = command.find_subcommand(name).and_then(Command::get_about);
        found.map(ToString::to_string).unwrap_or_default()
    };
    let groups = GROUPS.map(|(group, names)| {
        let mut text = format!("{header}{group}:{header:#}");
        for name in names {
            let _ = write!(text, "\n  {literal}{name:9}{literal:#} {}", about(name));
        }
        text
    });
    groups.join("\n\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::parse;

    #[test]
    fn every_visible_subcommand_is_in_one_group() {
        let grammar = parse::grammar();
        let visible =
            grammar.get_subcommands().filter(|it| !it.is_hide_set()).map(Command::get_name);
        let listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        assert_eq!(visible.collect::<BTreeSet<_>>(), listed.iter().copied().collect());
        assert_eq!(listed.iter().collect::<BTreeSet<_>>().len(), listed.len());
        assert_eq!(listed[0], "threads");
    }

    #[test]
    fn the_short_help_fits_24_rows_of_80_columns() {
        let help = parse::grammar().term_width(80).render_help().to_string();
        assert!(help.lines().count() <= 24, "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        for (group, names) in GROUPS {
            let row = format!("  {:9} {}\n", format!("{group}:"), names.join(" "));
            assert!(help.contains(&row), "{help}");
        }
    }

    #[test]
    fn the_long_help_describes_each() {
        let grammar = parse::grammar();
        let help = grammar.clone().term_width(80).render_long_help().to_string();
        for (group, names) in GROUPS {
            assert!(help.contains(&format!("\n{group}:\n")), "{help}");
            for name in names {
                let row = help.lines().find(|it| it.starts_with(&format!("  {name} ")));
                let row = row.unwrap_or_else(|| panic!("{name}: {help}"));
                let about = grammar.find_subcommand(name).and_then(Command::get_about);
                assert!(row.ends_with(&about.unwrap().to_string()), "not in one row: {row}");
            }
        }
    }
}
