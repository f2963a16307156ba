//! `corun man DIR`: a manual page for corun and for each subcommand, made from the same text as the helps.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use corun_files::Output;
use corun_record::{Exit, shown};

use crate::help::{Example, examples_of, exit_codes};
use crate::problem::{Problem, code};
use crate::{parse, terminal, version};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Write the pages into this folder: corun.1, corun-measure.1, ...
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let folder = &arguments.folder;
    let written = write_pages(folder).map_err(|error| {
        Problem::failed(
            format!("could not write the manual pages into {}: {error}", shown(folder)),
            "Name a folder that you may write to.",
        )
    })?;
    terminal::show(&format!("{written} pages are in {}\n", shown(folder)))?;
    Ok(code(Exit::Done))
}

fn write_pages(folder: &Path) -> io::Result<usize> {
    std::fs::create_dir_all(folder)?;
    let mut grammar = parse::grammar().disable_help_subcommand(true);
    grammar.build();
    let pages = pages(&grammar, "");
    for (name, page) in &pages {
        let output = Output::create(&folder.join(name))?;
        output.file().write_all(page)?;
        output.finish()?;
    }
    Ok(pages.len())
}

/// The page of a subcommand and of those below it, by file name.
fn pages(command: &Command, path: &str) -> Vec<(String, Vec<u8>)> {
    let name = format!("corun {path}").trim_end().replace(' ', "-");
    let mut pages = vec![(format!("{name}.1"), page(command, path, &name))];
    for inner in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        pages.extend(pages_below(inner, path));
    }
    pages
}

fn pages_below(command: &Command, path: &str) -> Vec<(String, Vec<u8>)> {
    pages(command, format!("{path} {}", command.get_name()).trim_start())
}

fn page(command: &Command, path: &str, name: &str) -> Vec<u8> {
    let mut page = Vec::new();
    render(command, path, name, &mut page).expect("memory can be written");
    page
}

fn render(command: &Command, path: &str, name: &str, page: &mut Vec<u8>) -> io::Result<()> {
    let man = Man::new(command.clone())
        .title(name.to_uppercase())
        .date(version::DATE)
        .source(format!("corun {}", version::SHORT))
        .manual("corun manual");
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    let subcommands = command.get_subcommands().filter(|it| !it.is_hide_set()).count();
    if subcommands > 0 {
        man.render_subcommands_section(page)?;
    }
    ending(path).to_writer(page)
}

/// The sections that clap knows nothing of.
fn ending(path: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in exit_codes(path) {
        roff.control("TP", []);
        roff.text([bold(code)]);
        roff.text([roman(meaning)]);
    }
    if path.is_empty() {
        roff.control("SH", ["ENVIRONMENT"]);
        for (name, meaning) in ENVIRONMENT {
            roff.control("TP", []);
            roff.text([bold(*name)]);
            roff.text([roman(*meaning)]);
        }
    }
    roff.control("SH", ["EXAMPLES"]);
    for Example { does, line } in examples_of(path) {
        roff.control("PP", []);
        roff.text([roman(format!("{does}:"))]);
        roff.control("PP", []);
        roff.control("RS", ["4"]);
        roff.control("nf", []);
        roff.text([bold(*line)]);
        roff.control("fi", []);
        roff.control("RE", []);
    }
    if !path.is_empty() {
        roff.control("SH", ["SEE ALSO"]);
        roff.text([bold("corun"), roman("(1)")]);
    }
    roff
}

/// The variables that corun itself reads.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("NO_COLOR", "Anything but an empty value switches colour off."),
    ("CLICOLOR", "0 switches colour off."),
    ("CLICOLOR_FORCE", "Anything but 0 colours output that goes to no terminal, too."),
    ("TMPDIR", "The folder of temporary files (default: /tmp)."),
];
