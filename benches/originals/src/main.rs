//! corun's own implementations of the classics beside the originals, in turns on the same CPUs, the
//! same files and for the same time: `cargo run --release -p corun-originals`.
//!
//! The originals are not part of corun: dbench and tbench come from the system's packages, LMbench and
//! AIM9 from folders in which they have been built (see README.md here). chat has a C program of corun's
//! own beside it.

mod aim9;
mod chat;
mod contest;
mod corun;
mod dbench;
mod lmbench;
mod one_cpu;
mod program;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use crate::contest::Contest;

#[derive(Debug, Parser)]
struct Arguments {
    /// What to compare; by default all that can be
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// Turns of each side in each comparison
    #[arg(long, default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..))]
    rounds: u32,
    /// Seconds of one turn of dbench and tbench
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Compare dbench and tbench with only so many clients (repeatable)
    #[arg(long, value_name = "N", default_values_t = [1, 2, 8, 32])]
    clients: Vec<u32>,
    /// Hold both sides of dbench and tbench on one logical CPU, where no wake-up crosses to another
    #[arg(long)]
    one_cpu: bool,
    /// Where dbench works; by default the folder of temporary files
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// The load file of dbench and tbench; by default the one that comes with dbench
    #[arg(long, value_name = "FILE")]
    load: Option<PathBuf>,
    /// Compare only this row of LMbench or AIM9 (repeatable)
    #[arg(long = "row", value_name = "NAME")]
    rows: Vec<String>,
    /// Where the programs of LMbench lie
    #[arg(long, value_name = "FOLDER")]
    lmbench: Option<PathBuf>,
    /// The driver of AIM9's tests, linked with them
    #[arg(long, value_name = "PROGRAM")]
    aim9: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Chat,
    Dbench,
    Tbench,
    Lmbench,
    Aim9,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let is_asked = |part: Part| arguments.parts.is_empty() || arguments.parts.contains(&part);
    let mut reached = true;
    for part in Part::value_variants().iter().copied().filter(|&part| is_asked(part)) {
        match compare(part, &arguments) {
            Ok(is_reached) => reached &= is_reached,
            Err(reason) if arguments.parts.is_empty() => {
                println!("{part:?}: not compared: {reason}\n");
            }
            Err(reason) => {
                eprintln!("{part:?}: {reason}");
                return ExitCode::FAILURE;
            }
        }
    }
    if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Holds the contests of a part; whether each reaches its limit.
fn compare(part: Part, arguments: &Arguments) -> Result<bool, String> {
    let missing = |what: &str| format!("say where it is with {what}");
    let of_clients = matches!(part, Part::Dbench | Part::Tbench);
    let _held = (arguments.one_cpu && of_clients).then(one_cpu::hold).transpose()?;
    let contests = match part {
        Part::Chat => return chat::beside_c(),
        Part::Dbench => dbench::files(arguments),
        Part::Tbench => dbench::network(arguments),
        Part::Lmbench => {
            let folder = arguments.lmbench.as_deref().ok_or_else(|| missing("--lmbench FOLDER"))?;
            lmbench::rows(folder, arguments.rounds, &arguments.rows)
        }
        Part::Aim9 => {
            let driver = arguments.aim9.as_deref().ok_or_else(|| missing("--aim9 PROGRAM"))?;
            aim9::rows(driver, arguments.rounds, &arguments.rows)
        }
    };
    Ok(Contest::all_reach_their_limits(&contests?))
}
