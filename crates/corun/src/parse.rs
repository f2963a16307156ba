//! The command line, and the report of one that is not valid: there arguments are shown as everything
//! else that corun did not write itself.
//!
//! A command to run needs no `--` before it as long as no option follows its name: whether `--max-time` is
//! corun's or the program's would be a guess.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, ColorChoice, Command, CommandFactory, FromArgMatches, ValueEnum};
use corun_record::{excerpt, on_one_line, shown};

use crate::command::is_program;
use crate::problem::{Problem, complain};
use crate::{CommandLine, help, terminal, version};

/// The whole grammar, with what every help ends in.
pub(crate) fn grammar() -> Command {
    help::with_endings(CommandLine::command())
}

/// The parsed command line, and the path of its subcommand, such as `trace info`.
///
/// # Errors
/// The exit code, once help was shown or a mistake reported.
pub(crate) fn command_line() -> Result<(CommandLine, String), ExitCode> {
    let typed: Vec<OsString> = std::env::args_os().collect();
    let colour = colour_asked(&typed);
    terminal::set_colour(colour);
    let grammar = match typed.iter().any(|word| word == "-h") {
        true => help::with_short_help(grammar()),
        false => grammar(),
    };
    parsed(grammar.color(colour), &typed).map_err(|mistake| match mistake {
        Mistake::Clap(error) => report(&error),
        Mistake::NotValid(problem) => problem.report(),
    })
}

/// A usage error, or help that was asked for.
#[derive(Debug)]
enum Mistake {
    Clap(Box<clap::Error>),
    NotValid(Problem),
}

impl From<clap::Error> for Mistake {
    fn from(error: clap::Error) -> Self {
        Self::Clap(Box::new(error))
    }
}

/// The command line of a run that is resumed.
///
/// # Errors
/// If it is not valid for this corun.
pub(crate) fn again(typed: &[OsString]) -> Result<CommandLine, Problem> {
    let parsed = parsed(grammar(), typed).map_err(|mistake| match mistake {
        Mistake::Clap(error) => Problem::usage(
            mistake_alone(&error.render().to_string()),
            "The run was begun by another version of corun: measure it again.",
        ),
        Mistake::NotValid(problem) => problem,
    });
    parsed.map(|(line, _)| line)
}

fn parsed(mut grammar: Command, typed: &[OsString]) -> Result<(CommandLine, String), Mistake> {
    let matches = grammar.try_get_matches_from_mut(typed).map_err(|error| {
        program_in_place_of_subcommand(&error, typed)
            .map_or_else(|| error.into(), Mistake::NotValid)
    })?;
    if let Some(problem) = option_after_command(&grammar, &matches, typed) {
        return Err(Mistake::NotValid(problem));
    }
    let line =
        CommandLine::from_arg_matches(&matches).map_err(|error| error.format(&mut grammar))?;
    Ok((line, path_of(&matches)))
}

fn path_of(matches: &ArgMatches) -> String {
    let (mut found, mut path) = (matches, Vec::new());
    while let Some((name, inner)) = found.subcommand() {
        path.push(name);
        found = inner;
    }
    path.join(" ")
}

/// The colour asked for, known before the line is parsed: a mistake in it is shown in colour, too.
fn colour_asked(typed: &[OsString]) -> ColorChoice {
    let mut words = typed.iter().skip(1).map(|word| word.to_str().unwrap_or_default());
    let mut colour = ColorChoice::Auto;
    while let Some(word) = words.next().filter(|word| *word != "--") {
        let value = match word.strip_prefix("--color") {
            Some("") => words.next().unwrap_or_default(),
            Some(value) => value.trim_start_matches('='),
            None => continue,
        };
        colour = ColorChoice::from_str(value, false).unwrap_or(colour);
    }
    colour
}

/// The problem of a program where corun expects a subcommand, with the subcommands that take one.
fn program_in_place_of_subcommand(error: &clap::Error, typed: &[OsString]) -> Option<Problem> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let start = typed.iter().skip(1).position(|word| word == name.as_str())? + 1;
    // Of corun itself: `bench ls` is no program.
    let is_first = typed[1..start].iter().all(|it| it.as_encoded_bytes().starts_with(b"-"));
    if !is_first || !is_program(OsStr::new(name)) {
        return None;
    }
    let command = &typed[start..];
    let has_option = command.iter().any(|word| word.as_encoded_bytes().starts_with(b"-"));
    let line = format!("{}{}", if has_option { "-- " } else { "" }, line_of(command));
    Some(Problem::usage(
        format!("expected a subcommand, found the program {}", excerpt(&shown(name))),
        format!(
            "How many workers it should have: corun threads {line}\n  What siblings do to it: corun measure {line}"
        ),
    ))
}

/// The problem of an option in a command that is not set apart by `--`.
fn option_after_command(
    grammar: &Command,
    matches: &ArgMatches,
    typed: &[OsString],
) -> Option<Problem> {
    let (mut leaf, mut found) = (grammar, matches);
    while let Some((name, inner)) = found.subcommand() {
        (leaf, found) = (leaf.find_subcommand(name)?, inner);
    }
    let positional = leaf.get_positionals().find(|it| it.is_trailing_var_arg_set())?;
    let count = found.get_raw(positional.get_id().as_str())?.count();
    // The command is the end of the line.
    let (before, command) = typed.split_at_checked(typed.len().checked_sub(count)?)?;
    if before.last().is_some_and(|word| word == "--") {
        return None;
    }
    let is_option = |word: &&OsString| word.len() > 1 && word.as_encoded_bytes()[0] == b'-';
    let option = command.iter().skip(1).find(is_option)?;
    let known = |word: &OsString| leaf.get_arguments().find(|it| is_called(it, word));
    let (own, rest) = set_apart(command, known);
    let head = format!("corun {}", line_of(before.iter().skip(1)));
    let of_program = format!("{head} -- {}", line_of(command));
    let program = excerpt(&shown(&command[0]));
    let next_step = match known(option) {
        None => format!("An option of {program} needs `--` before the command: {of_program}"),
        Some(_) => format!(
            "If it is corun's: {head} {} {}\n  If it is {program}'s: {of_program}",
            line_of(own),
            line_of(rest)
        ),
    };
    Some(Problem::usage(
        format!(
            "expected corun's options before the command, or `--` in front of it, found {} after {program}",
            excerpt(&shown(option))
        ),
        next_step,
    ))
}

/// True if a word is this option, with or without its value.
fn is_called(argument: &Arg, word: &OsString) -> bool {
    let word = word.to_string_lossy();
    let long = word.strip_prefix("--").map(|it| it.split_once('=').map_or(it, |(name, _)| name));
    let short = word.strip_prefix('-').and_then(|it| it.chars().next());
    match long {
        Some(long) => argument.get_long() == Some(long),
        None => short.is_some() && argument.get_short() == short,
    }
}

/// The options of corun in a command, with their values, and the command without them.
fn set_apart<'a>(
    command: &'a [OsString],
    known: impl Fn(&OsString) -> Option<&'a Arg>,
) -> (Vec<&'a OsString>, Vec<&'a OsString>) {
    let (mut own, mut rest) = (Vec::new(), vec![&command[0]]);
    let mut words = command[1..].iter();
    while let Some(word) = words.next() {
        match known(word) {
            None => rest.push(word),
            Some(option) => {
                own.push(word);
                let takes_next = option.get_action().takes_values()
                    && !word.to_string_lossy().contains('=')
                    && option.get_num_args().is_none_or(|it| it.min_values() > 0);
                if takes_next {
                    own.extend(words.next());
                }
            }
        }
    }
    (own, rest)
}

/// Words as a line to copy into a shell, quoted where a shell would change them.
pub(crate) fn line_of(words: impl IntoIterator<Item: AsRef<OsStr>>) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "_-./:=,+%@".contains(it);
    let quoted = words.into_iter().map(|word| {
        let word = word.as_ref().to_string_lossy();
        match !word.is_empty() && word.replace("{workers}", "").chars().all(is_plain) {
            true => word.into_owned(),
            false => shell_words::quote(&word).into_owned(),
        }
    });
    excerpt(&quoted.collect::<Vec<_>>().join(" "))
}

/// Says what is wrong, or shows what was asked for.
fn report(error: &clap::Error) -> ExitCode {
    let exit = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
    if !error.use_stderr() {
        return answered(error, exit);
    }
    if std::env::args_os().all(|argument| excerpt(&shown(&argument)).as_str() == argument) {
        // With its colours; a closed output changes nothing.
        let _ = error.print();
    } else {
        complain(&mistake(&error.render().to_string()));
    }
    exit
}

/// Help and the version are what was asked for: one that cannot be written is a failure.
fn answered(answer: &clap::Error, exit: ExitCode) -> ExitCode {
    let text = answer.render();
    let is_version = answer.kind() == ErrorKind::DisplayVersion;
    let shown = match terminal::has_colour() {
        _ if is_version && version::wants_notices() => {
            terminal::show(&format!("{text}\n{}", version::NOTICES))
        }
        true => terminal::show_coloured(&text.ansi().to_string()),
        false => terminal::show(&text.to_string()),
    };
    shown.map_or_else(|error| Problem::from(error).report(), |()| exit)
}

/// The mistake alone, on one line, with where to find more.
fn mistake(rendered: &str) -> String {
    format!("{}\n\nFor more information, try '--help'.", mistake_alone(rendered))
}

/// The mistake alone, on one line: in what follows it arguments is unknown from clap's own lines.
fn mistake_alone(rendered: &str) -> String {
    let end = ["\n\nUsage: ", "\n\nFor more information"]
        .iter()
        .filter_map(|it| rendered.rfind(it))
        .min();
    let sentence = rendered[..end.unwrap_or(rendered.len())].trim_end();
    on_one_line(sentence)
}

/// The path of the subcommand that a line runs, such as `trace info`.
#[cfg(test)]
pub(crate) fn subcommand_of(typed: &[OsString]) -> Result<String, String> {
    parsed(grammar(), typed).map(|(_, path)| path).map_err(|mistake| format!("{mistake:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Result<(CommandLine, String), String> {
        let typed: Vec<OsString> =
            shell_words::split(line).unwrap().into_iter().map(OsString::from).collect();
        parsed(grammar(), &typed).map_err(|mistake| match mistake {
            Mistake::NotValid(problem) => problem.to_string(),
            Mistake::Clap(error) => panic!("{error}"),
        })
    }

    #[test]
    fn the_grammar_is_sound() {
        grammar().debug_assert();
    }

    #[test]
    fn a_command_without_options_needs_no_separator() {
        for line in [
            "corun measure sleep 0.1",
            "corun measure --max-time 5s sleep 0.1",
            "corun measure -- sleep 0.1 --max-time 5s",
            "corun measure cat -",
            "corun trace -o FILE gzip FILE",
            "corun predict ./solver 3",
            "corun smt run --state off make all",
        ] {
            assert!(said(line).is_ok(), "{line}");
        }
    }

    #[test]
    fn an_option_after_a_command_is_refused_with_both_meanings() {
        insta::assert_snapshot!(said("corun measure sleep 0.1 --max-time 5s").unwrap_err(), @r"
        corun: expected corun's options before the command, or `--` in front of it, found --max-time after sleep
          If it is corun's: corun measure --max-time 5s sleep 0.1
          If it is sleep's: corun measure -- sleep 0.1 --max-time 5s
        ");
        insta::assert_snapshot!(said("corun measure --placement spread sort -n -q FILE").unwrap_err(), @r"
        corun: expected corun's options before the command, or `--` in front of it, found -n after sort
          An option of sort needs `--` before the command: corun measure --placement spread -- sort -n -q FILE
        ");
        insta::assert_snapshot!(said("corun measure sort -q -n FILE").unwrap_err(), @r"
        corun: expected corun's options before the command, or `--` in front of it, found -q after sort
          If it is corun's: corun measure -q sort -n FILE
          If it is sort's: corun measure -- sort -q -n FILE
        ");
        insta::assert_snapshot!(said("corun trace -o FILE gzip -kc 'a file'").unwrap_err(), @r"
        corun: expected corun's options before the command, or `--` in front of it, found -kc after gzip
          An option of gzip needs `--` before the command: corun trace -o FILE -- gzip -kc 'a file'
        ");
        insta::assert_snapshot!(said("corun smt run --state off npm run -- --yes").unwrap_err(), @r"
        corun: expected corun's options before the command, or `--` in front of it, found -- after npm
          An option of npm needs `--` before the command: corun smt run --state off -- npm run -- --yes
        ");
    }

    #[test]
    fn a_program_without_a_subcommand_is_told_which_take_one() {
        insta::assert_snapshot!(said("corun --no-store sh -c true").unwrap_err(), @r"
        corun: expected a subcommand, found the program sh
          How many workers it should have: corun threads -- sh -c true
          What siblings do to it: corun measure -- sh -c true
        ");
        insta::assert_snapshot!(said("corun /bin/sh FILE").unwrap_err(), @r"
        corun: expected a subcommand, found the program /bin/sh
          How many workers it should have: corun threads /bin/sh FILE
          What siblings do to it: corun measure /bin/sh FILE
        ");
        for line in ["corun ./missing", "corun measrue sh", "corun bench sh"] {
            let typed: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert!(matches!(parsed(grammar(), &typed), Err(Mistake::Clap(_))), "{line}");
        }
    }

    #[test]
    fn colour_is_known_before_the_line_is_parsed() {
        let asked =
            |line: &str| colour_asked(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(asked("corun --color never topo"), ColorChoice::Never);
        assert_eq!(asked("corun topo --color=always --nonsense"), ColorChoice::Always);
        assert_eq!(asked("corun topo --color"), ColorChoice::Auto);
        assert_eq!(asked("corun measure -- ls --color=always"), ColorChoice::Auto);
    }
}
