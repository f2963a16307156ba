//! `corun completions SHELL`: what a shell needs to complete corun's subcommands and options, and the names of core models,
//! workloads, studies and formats that it comes with.

use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Arg, Args, Command, ValueEnum};
use clap_complete::{Shell, generate};
use corun_record::Exit;

use super::schema;
use crate::problem::{Problem, code};
use crate::{parse, terminal};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The shell; its completions go to standard output
    #[arg(value_name = "SHELL")]
    shell: TestedShell,
}

/// The shells that corun's completions are tested in.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum TestedShell {
    Bash,
    Zsh,
    Fish,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let shell = match arguments.shell {
        TestedShell::Bash => Shell::Bash,
        TestedShell::Zsh => Shell::Zsh,
        TestedShell::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    let grammar = with_names(parse::grammar(), &mut Vec::new());
    generate(shell, &mut visible(&grammar), "corun", &mut script);
    terminal::pass_on(&String::from_utf8_lossy(&script))?;
    Ok(code(Exit::Done))
}

/// The grammar with the names that its arguments can have: for completion alone, since files and other names are taken, too.
fn with_names(mut command: Command, path: &mut Vec<String>) -> Command {
    let named: Vec<_> = command
        .get_arguments()
        .filter_map(|it| Some((it.get_id().clone(), names(&path.join(" "), it)?)))
        .collect();
    for (id, names) in named {
        command = command.mut_arg(id, |it| it.value_parser(PossibleValuesParser::new(names)));
    }
    let inner: Vec<String> = command.get_subcommands().map(|it| it.get_name().to_owned()).collect();
    for name in inner {
        path.push(name.clone());
        command = command.mut_subcommand(name, |it| with_names(it, path));
        path.pop();
    }
    command
}

/// The names that an argument of a subcommand stands for.
fn names(path: &str, argument: &Arg) -> Option<Vec<&'static str>> {
    let models = || corun_model::names().collect();
    let workloads = || corun_workload::all().map(|it| it.descriptor().name).collect();
    match (path, argument.get_long()) {
        ("predict", Some("model")) => Some(corun_model::names().chain(["all"]).collect()),
        (_, Some("model")) => Some(models()),
        (_, Some("workload")) => Some(workloads()),
        ("models show" | "models diff", None) if argument.is_positional() => Some(models()),
        ("bench show" | "bench run", None) if argument.is_positional() => Some(workloads()),
        ("study show" | "study run", None) if argument.is_positional() => {
            Some(corun_study::names().collect())
        }
        ("schema", None) if argument.is_positional() => Some(schema::formats().collect()),
        _ => None,
    }
}

/// The grammar without the subcommands that corun runs itself by: a shell would offer them.
fn visible(grammar: &Command) -> Command {
    Command::new("corun")
        .args(grammar.get_arguments())
        .subcommands(grammar.get_subcommands().filter(|it| !it.is_hide_set()))
}
