//! The help of `-h`: a row an option, and no more options than 24 rows of 80 columns hold.
//!
//! All options are in `--help`, which is not changed. The options that a user needs first are in [`IMPORTANT`]; a
//! command with few options shows all.

use clap::{Arg, Command};

/// Rows and columns of a terminal.
const ROWS: usize = 24;
const COLUMNS: usize = 80;

/// Options that stay where not all have room, the most needed first.
const IMPORTANT: [&str; 42] = [
    "help",
    "workload",
    "copies",
    "model",
    "placement",
    "serve",
    "load",
    "beside",
    "goal",
    "smt-switch",
    "max-time",
    "cores",
    "cpus",
    "json",
    "verbose",
    "brief",
    "output",
    "policy",
    "topology",
    "yield",
    "probe",
    "replay",
    "record",
    "listen",
    "textfile",
    "once",
    "over-time",
    "fail-on",
    "tag",
    "since",
    "limit",
    "all",
    "suite",
    "csv",
    "svg",
    "resume",
    "what-if",
    "set",
    "prepare",
    "sample",
    "param",
    "quiet",
];

/// The grammar with a short help for every subcommand.
pub(crate) fn with_short_help(mut command: Command) -> Command {
    // Options that hold for every subcommand are known to each once it is built.
    command.build();
    let names: Vec<String> = names(&command);
    names.iter().fold(command, |command, name| command.mut_subcommand(name, shortened))
}

fn names(command: &Command) -> Vec<String> {
    command.get_subcommands().map(|it| it.get_name().to_owned()).collect()
}

fn shortened(command: Command) -> Command {
    let names = names(&command);
    let command = names.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |inner| {
            let about = inner.get_about().map(ToString::to_string);
            let inner = shortened(inner);
            about.map_or(inner.clone(), |about| inner.about(clause(&about, COLUMNS - 20)))
        })
    });
    let own = |it: &&Arg| !it.is_global_set() && !it.is_hide_set() && it.get_id() != "help";
    let options = command.get_opts().chain(command.get_arguments().filter(|it| is_flag(it)));
    let mut options: Vec<String> = options.filter(own).map(|it| it.get_id().to_string()).collect();
    options.sort_by_key(|id| {
        let long = command.get_arguments().find(|it| it.get_id() == id).and_then(Arg::get_long);
        IMPORTANT.iter().position(|it| Some(*it) == long).unwrap_or(IMPORTANT.len())
    });
    options.dedup();
    let usage = usage(&command);
    let command = command.override_usage(usage);
    let fitting = (0..=options.len()).rev().map(|shown| only(&command, &options[..shown]));
    let is_short = |it: &Command| {
        let help = it.clone().term_width(COLUMNS).render_help().to_string();
        help.lines().count() <= ROWS
    };
    fitting.into_iter().find(is_short).unwrap_or(command)
}

fn is_flag(argument: &Arg) -> bool {
    !argument.is_positional() && !argument.get_action().takes_values()
}

/// The command with these options of its own in a row each, and no others.
fn only(command: &Command, shown: &[String]) -> Command {
    let is_shown = |it: &Arg| shown.iter().any(|id| it.get_id() == id);
    let specification = |it: &Arg| 8 + it.to_string().chars().count();
    let own = command.get_arguments().filter(|it| is_shown(it));
    let room = COLUMNS - own.map(specification).max().unwrap_or(20).clamp(18, 50);
    command.clone().mut_args(|it| {
        if it.get_id() == "help" {
            return it.help_heading(None::<&str>);
        }
        let text = it.get_help().map(ToString::to_string).unwrap_or_default();
        let shown = it.is_positional() || is_shown(&it);
        let long = it.get_long_help().cloned().unwrap_or_else(|| text.clone().into());
        let room = if it.is_positional() { COLUMNS - specification(&it) } else { room };
        let row = row(&it, &text, room);
        let it = it.help(row).long_help(long).help_heading(None::<&str>);
        it.hide_short_help(!shown).hide_default_value(true).hide_possible_values(true)
    })
}

/// The text of an argument in one row, with its default or its values where these have room.
fn row(argument: &Arg, text: &str, room: usize) -> String {
    let values: Vec<String> =
        argument.get_possible_values().iter().map(|it| it.get_name().to_owned()).collect();
    let is_choice = argument.get_action().takes_values() && !values.is_empty();
    let defaults: Vec<_> =
        argument.get_default_values().iter().map(|it| it.to_string_lossy().into_owned()).collect();
    let notes = [
        is_choice.then(|| format!(" [{}]", values.join(", "))),
        (!defaults.is_empty() && argument.get_action().takes_values())
            .then(|| format!(" [default: {}]", defaults.join(","))),
    ];
    let mut row = clause(text, room);
    for note in notes.into_iter().flatten() {
        if row.chars().count() + note.chars().count() <= room {
            row += &note;
        }
    }
    row
}

/// The beginning of a text that says something in so many characters: up to the last clause that fits, or word. Neither
/// brackets nor lists are left open.
fn clause(text: &str, room: usize) -> String {
    let text = text.split(" [default: ").next().unwrap_or_default();
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let ends = [" (", ": ", "; ", ", ", ". "]
        .iter()
        .flat_map(|end| text.match_indices(end).map(|(at, _)| at).collect::<Vec<_>>());
    let is_closed = |text: &str| text.matches('(').count() == text.matches(')').count();
    let fits =
        |at: &usize| text[..*at].chars().count() <= room && *at > 8 && is_closed(&text[..*at]);
    if let Some(end) = ends.filter(fits).max() {
        let beginning = &text[..end];
        return match beginning.rsplit_once(": ") {
            // The first of a list.
            Some((subject, list)) if list.split(' ').count() < 3 => subject.to_owned(),
            _ => beginning.to_owned(),
        };
    }
    let mut short = String::new();
    for word in text.split(' ') {
        if short.chars().count() + word.chars().count() + " ".len() + " ...".len() > room {
            break;
        }
        short = format!("{short}{}{word}", if short.is_empty() { "" } else { " " });
    }
    short + " ..."
}

/// The usage in a line where clap's own is wider than a terminal.
fn usage(command: &Command) -> String {
    let own = command.clone().render_usage().to_string();
    let own = own.trim_start_matches("Usage: ").to_owned();
    if own.lines().all(|line| line.chars().count() + 7 <= COLUMNS) {
        return own;
    }
    let path = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let positionals = command.get_positionals().map(|it| format!(" {it}"));
    format!("{path} [OPTIONS]{}", positionals.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn all(command: &Command, path: &str, found: &mut Vec<(String, Command)>) {
        found.push((path.to_owned(), command.clone()));
        for inner in command.get_subcommands().filter(|it| it.get_name() != "help") {
            all(inner, &format!("{path} {}", inner.get_name()), found);
        }
    }

    #[test]
    fn every_short_help_fits_24_rows_of_80_columns() {
        let mut commands = Vec::new();
        all(&with_short_help(parse::grammar()), "corun", &mut commands);
        assert!(commands.len() > 40);
        for (path, command) in commands {
            let help = command.clone().term_width(COLUMNS).render_help().to_string();
            assert!(help.lines().count() <= ROWS, "{path}:\n{help}");
            assert!(help.lines().all(|it| it.chars().count() <= COLUMNS), "{path}:\n{help}");
            assert!(help.contains("--help"), "{path}:\n{help}");
        }
    }

    #[test]
    fn the_long_help_has_all_that_the_short_one_leaves_out() {
        let long =
            |command: &Command| command.clone().term_width(COLUMNS).render_long_help().to_string();
        let (mut short, mut whole) = (Vec::new(), Vec::new());
        let mut grammar = parse::grammar();
        grammar.build();
        all(&with_short_help(parse::grammar()), "corun", &mut short);
        all(&grammar, "corun", &mut whole);
        for ((path, short), (_, whole)) in short.iter().zip(&whole) {
            for option in
                whole.get_arguments().filter(|it| !it.is_hide_set()).filter_map(Arg::get_long)
            {
                assert!(long(short).contains(&format!("--{option}")), "{path}: {option}");
            }
        }
    }

    #[test]
    fn what_is_important_is_an_option_somewhere() {
        let mut commands = Vec::new();
        all(&with_short_help(parse::grammar()), "corun", &mut commands);
        for name in IMPORTANT {
            let has =
                |command: &Command| command.get_arguments().any(|it| it.get_long() == Some(name));
            assert!(commands.iter().any(|(_, command)| has(command)), "--{name}");
        }
    }

    #[test]
    fn a_row_ends_with_a_clause() {
        assert_eq!(clause("Show no progress", 40), "Show no progress");
        assert_eq!(
            clause("Use C cores (of each type) [default: all]", 30),
            "Use C cores (of each type)"
        );
        assert_eq!(
            clause("Set a parameter (repeatable; see `corun bench show`)", 30),
            "Set a parameter"
        );
        assert_eq!(
            clause("Measure these only: single, spread, full, packed", 30),
            "Measure these only"
        );
        assert_eq!(
            clause("Override a field, for instance main.nanoseconds=120", 30),
            "Override a field"
        );
        assert_eq!(
            clause("Measure on this logical CPU rather than on the last", 30),
            "Measure on this logical ..."
        );
    }
}
