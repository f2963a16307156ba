//! `corun trace convert`: to and from the traces of ChampSim.

use std::io::{self, BufReader, BufWriter, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgGroup, Args, ValueEnum};
use corun_record::{Counter, Exit, Progress, Stage};
use corun_report::grouped;
use corun_trace::convert::{Exported, Exporter, champsim};
use corun_trace::format::{Events, Trace};
use corun_trace::{Event, ThreadId};

use super::Writable;
use crate::options::ProgressArguments;
use crate::problem::{Problem, code, say};
use crate::progress::StepProgress;

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("direction").required(true).args(["to", "from"]))]
pub(super) struct Arguments {
    /// Write a trace for this simulator
    #[arg(long, value_name = "FORMAT")]
    to: Option<To>,
    /// Read a trace of this simulator
    #[arg(long, value_name = "FORMAT")]
    from: Option<From>,
    /// The trace to convert
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Write the trace to FILE (`-` is standard output)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The thread to write, counted from 0
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "from")]
    thread: u32,
    #[command(flatten)]
    progress: ProgressArguments,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum To {
    Champsim,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum From {
    Champsim,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    if is_same_file(&arguments.file, &arguments.output) {
        return Err(Problem::usage(
            format!(
                "expected another file for what is written than {}, found the same",
                corun_record::shown(&arguments.file)
            ),
            "Give another file with -o: this one would be lost.",
        ));
    }
    match (arguments.to, arguments.from) {
        (Some(To::Champsim), _) => arguments.export()?,
        (_, Some(From::Champsim)) => arguments.import()?,
        (None, None) => unreachable!("clap asks for one"),
    }
    Ok(code(Exit::Done))
}

/// A reader whose progress is counted.
struct Counted<'a, R> {
    input: R,
    read: Counter<'a>,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.read.add(count as u64);
        Ok(count)
    }
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path| std::fs::metadata(path).map(|found| (found.dev(), found.ino()));
    matches!((identity(one), identity(other)), (Ok(one), Ok(other)) if one == other)
}

impl Arguments {
    fn export(&self) -> Result<(), Problem> {
        let trace = super::open(&self.file)?;
        let events =
            trace.events(ThreadId(self.thread)).map_err(|it| super::of_file(&self.file, it))?;
        let place = Writable::open(&self.output)?;
        let exported = match self.export_events(&trace, events, &place) {
            Err(_) if place.has_lost_its_reader() => return Ok(()),
            exported => exported?,
        };
        place.finish()?;
        say(&self.summary(&exported));
        Ok(())
    }

    fn export_events(
        &self,
        trace: &Trace,
        mut events: Events<'_>,
        place: &Writable,
    ) -> Result<Exported, Problem> {
        let of_file = |error| super::of_file(&self.file, error);
        let output = BufWriter::new(place.writer()?);
        let mut exporter = Exporter::new(output);
        let line = StepProgress::new(self.progress.quiet);
        line.begin(trace.stage("converting the trace", Some(ThreadId(self.thread))));
        let mut converted = Counter::new(&line);
        while let Some(event) = events.next_event().map_err(of_file)? {
            if let Event::Block { executed, .. } = event {
                converted.add(u64::from(executed));
            }
            exporter.event(trace.blocks(), event)?;
        }
        let exported = exporter.finish(trace.blocks())?;
        drop(converted);
        line.finish();
        Ok(exported)
    }

    fn import(&self) -> Result<(), Problem> {
        let file = corun_files::stream(&self.file).map_err(|error| {
            Problem::unreadable(&error, "Name a trace of ChampSim, not compressed.")
                .in_file(&self.file)
        })?;
        let place = Writable::open(&self.output)?;
        let line = StepProgress::new(self.progress.quiet);
        let bytes = std::fs::metadata(&self.file).ok().filter(std::fs::Metadata::is_file);
        line.begin(Stage::new("converting the trace", "bytes", bytes.map(|it| it.len())));
        let input = Counted { input: BufReader::new(file), read: Counter::new(&line) };
        let imported = champsim::import_file(&self.file, input, place.writer()?);
        line.finish();
        let imported = match imported {
            Err(_) if place.has_lost_its_reader() => return Ok(()),
            imported => imported?,
        };
        place.finish()?;
        say(&format!(
            "{}: {} instructions in {} blocks",
            corun_record::shown(&self.output),
            grouped(imported.instructions),
            grouped(imported.blocks)
        ));
        Ok(())
    }

    fn summary(&self, exported: &Exported) -> String {
        let mut text = format!(
            "{}: {} instructions in {} records",
            corun_record::shown(&self.output),
            grouped(exported.instructions),
            grouped(exported.records)
        );
        for remark in &exported.remarks {
            text += &format!("\n{remark}");
        }
        text
    }
}
