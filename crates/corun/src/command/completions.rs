//! `corun completions SHELL`: what a shell needs to complete corun's subcommands and options.

use std::process::ExitCode;

use clap::{Args, Command, ValueEnum};
use clap_complete::{Shell, generate};
use corun_record::Exit;

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
    generate(shell, &mut visible(&parse::grammar()), "corun", &mut script);
    terminal::pass_on(&String::from_utf8_lossy(&script))?;
    Ok(code(Exit::Done))
}

/// The grammar without the subcommands that corun runs itself by: a shell would offer them.
fn visible(grammar: &Command) -> Command {
    Command::new("corun")
        .args(grammar.get_arguments())
        .subcommands(grammar.get_subcommands().filter(|it| !it.is_hide_set()))
}
