//! The subcommands in groups, and what every help ends in: examples and exit codes.
//!
//! Examples are in one table, [`EXAMPLES`]; a test parses each of them, so that none outlives the options that it
//! shows. Man pages are made from the same table.

mod examples;
mod groups;
mod short;

use std::fmt::Write as _;

use clap::Command;
use corun_record::Exit;

pub(crate) use examples::{EXAMPLES, Example};
pub(crate) use short::with_short_help;

/// The grammar with examples and exit codes at the end of each help.
pub(crate) fn with_endings(command: Command) -> Command {
    groups::with_groups(ended(command, &mut Vec::new()))
}

fn ended(mut command: Command, path: &mut Vec<String>) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|it| it.get_name().to_owned()).collect();
    for name in names {
        path.push(name.clone());
        command = command.mut_subcommand(name, |inner| ended(inner, path));
        path.pop();
    }
    let ending = ending(&command, &path.join(" "));
    command.after_long_help(ending)
}

/// The examples of a subcommand, such as `trace info`; corun's own are those of the empty path.
pub(crate) fn examples_of(path: &str) -> &'static [Example] {
    EXAMPLES.iter().find(|(of, _)| *of == path).map_or(&[], |(_, examples)| examples)
}

/// Meanings of a subcommand's exit statuses, each beside its number.
pub(crate) fn exit_codes(path: &str) -> Vec<(String, &'static str)> {
    let mut codes: Vec<(String, &'static str)> =
        Exit::ALL.into_iter().map(|exit| ((exit as u8).to_string(), exit.meaning())).collect();
    if matches!(path, "smt run" | "top") {
        codes.push(("other".to_owned(), "The exit status of the command."));
    }
    if path == "compare" {
        codes.push(("1".to_owned(), "Or what --fail-on names is so."));
        codes.push(("5".to_owned(), "Or no change could have been seen with --fail-on."));
    }
    codes
}

fn ending(command: &Command, path: &str) -> String {
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let mut text = String::new();
    let examples = examples_of(path);
    if !examples.is_empty() {
        let _ = writeln!(text, "{header}Examples:{header:#}");
        for Example { does, line } in examples {
            let _ = writeln!(text, "  {does}:\n    {literal}{line}{literal:#}");
        }
        text.push('\n');
    }
    let _ = write!(text, "{header}Exit codes:{header:#}");
    for (code, meaning) in exit_codes(path) {
        let _ = write!(text, "\n  {literal}{code}{literal:#}  {meaning}");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::CommandFactory;

    use super::*;
    use crate::{CommandLine, parse};

    /// Every subcommand that is shown or has a help of its own, by its path.
    fn paths(command: &Command, path: &str, found: &mut Vec<String>) {
        found.push(path.to_owned());
        let has_help =
            |it: &&Command| !it.is_hide_set() || ["completions", "man"].contains(&it.get_name());
        for inner in command.get_subcommands().filter(has_help) {
            paths(inner, format!("{path} {}", inner.get_name()).trim_start(), found);
        }
    }

    /// The words of an example that corun itself gets.
    fn words(line: &str) -> Vec<OsString> {
        let own = line.rsplit(" | ").next().unwrap();
        let own = own.split(" > ").next().unwrap();
        shell_words::split(own).unwrap().into_iter().map(OsString::from).collect()
    }

    #[test]
    fn every_subcommand_has_examples_that_parse() {
        let mut all = Vec::new();
        paths(&CommandLine::command(), "", &mut all);
        for path in &all {
            assert!(
                !examples_of(path).is_empty(),
                "`corun {path}` needs a line in help/examples.rs"
            );
        }
        for (path, examples) in EXAMPLES {
            assert!(all.iter().any(|it| it == path), "there is no `corun {path}`");
            for Example { does, line } in *examples {
                let words = words(line);
                assert_eq!(words[0], "corun", "{line}");
                let found =
                    parse::subcommand_of(&words).unwrap_or_else(|error| panic!("{line}: {error}"));
                assert!(found.starts_with(path), "{line} is an example of `corun {found}`");
                assert!(line.len() <= 74 && does.len() <= 74, "too long for 80 columns: {line}");
            }
        }
    }

    #[test]
    fn every_help_ends_in_examples_and_exit_codes() {
        let grammar = parse::grammar();
        let help = |path: &str| {
            let inner = path
                .split_whitespace()
                .fold(&grammar, |it, name| it.find_subcommand(name).unwrap());
            inner.clone().render_long_help().to_string()
        };
        let mut all = Vec::new();
        paths(&grammar, "", &mut all);
        for path in &all {
            let help = help(path);
            let end = help.split("Examples:\n").nth(1).unwrap_or_else(|| panic!("{path}: {help}"));
            for exit in Exit::ALL {
                assert!(end.contains(&format!("  {}  {}", exit as u8, exit.meaning())), "{path}");
            }
        }
        assert!(help("smt run").contains("The exit status of the command."));
        assert!(help("compare").contains("1  Or what --fail-on names is so."));
        assert!(help("compare").contains("5  Or no change could have been seen with --fail-on."));
        let page = include_str!("../../../../docs/command-line.md");
        for exit in Exit::ALL {
            assert!(page.contains(&format!("| {} | {} |", exit as u8, exit.meaning())), "{exit:?}");
        }
    }
}
