//! Speed of each tracer: to a sink that drops everything, and to a trace on disk; and how large that is.
//!
//! `cargo bench -p corun-trace --features dynamorio --bench tracers -- [COMMAND...]`; without a command,
//! gzip and xz compress this program's own file. Stepping is left out: it would take hours.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use corun_trace::format::{Closing, Opening, Options, Writer};
use corun_trace::{
    Block, BlockId, OrderedMarker, Sink, SinkError, Target, ThreadId, TracePlan, Tracer, all,
};

const TRIES: usize = 3;

fn main() {
    let given: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    println!(
        "{:<24} {:<10} {:>8} {:>10} {:>10} {:>12} {:>8}",
        "command", "tracer", "M instr", "dropped", "to disk", "byte/instr", "native"
    );
    if let Some((program, arguments)) = given.split_first() {
        return measure(program, arguments);
    }
    let input = std::env::current_exe().expect("this program has a file").display().to_string();
    for (program, options) in [("/bin/gzip", "-9c"), ("/usr/bin/xz", "-3c")] {
        measure(program, &[options.to_owned(), input.clone()]);
    }
}

fn measure(program: &str, arguments: &[String]) {
    if !Path::new(program).exists() {
        return println!("{program} is not installed");
    }
    let native = best(|| {
        let status = Command::new(program).args(arguments).stdout(Stdio::null()).status();
        assert!(status.expect("the program runs").success());
    });
    let arguments = arguments.iter().map(Into::into).collect();
    let target = Target { program: program.into(), arguments, ..Target::default() };
    for tracer in all().iter().filter(|tracer| tracer.name() != "ptrace") {
        match tracer.ready() {
            Ok(()) => println!("{program:<24} {}", traced(*tracer, &target, native)),
            Err(missing) => println!("{program:<24} {:<10} {missing}", tracer.name()),
        }
    }
}

/// Rates in million instructions a second, and the program's own.
fn traced(tracer: &dyn Tracer, target: &Target, native: f64) -> String {
    let output = silence();
    let mut instructions = 0;
    let dropped = best(|| instructions = trace(tracer, target, &mut Dropped::default()));
    let file = tempfile::NamedTempFile::new().expect("there is room for a trace");
    let to_disk = best(|| {
        let reopened = file.reopen().expect("the trace can be opened");
        write(tracer, target, reopened);
    });
    restore(output);
    let bytes = file.as_file().metadata().expect("the trace is there").len();
    let millions = instructions as f64 * 1e-6;
    format!(
        "{:<10} {millions:>8.0} {:>10.0} {:>10.0} {:>12.3} {:>8.0}",
        tracer.name(),
        millions / dropped,
        millions / to_disk,
        bytes as f64 / instructions as f64,
        millions / native
    )
}

fn trace(tracer: &dyn Tracer, target: &Target, sink: &mut dyn Sink) -> u64 {
    let traced = tracer.trace(target, TracePlan::Whole, sink, &AtomicBool::new(false));
    traced.expect("the program is traced").instructions
}

fn write(tracer: &dyn Tracer, target: &Target, file: File) {
    file.set_len(0).expect("the trace can be cut");
    let writer = Writer::new(file, &Opening::default(), Options::default());
    let mut writer = writer.expect("the trace begins");
    trace(tracer, target, &mut writer);
    let mut file = writer.finish(Closing::default()).expect("the trace ends");
    file.flush().expect("the trace is written");
}

/// The shortest of a few runs, in seconds.
fn best(mut run: impl FnMut()) -> f64 {
    let times = (0..TRIES).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    });
    times.fold(f64::INFINITY, f64::min)
}

/// Sends the standard output, which the traced program inherits, to nowhere.
fn silence() -> OwnedFd {
    let kept = rustix::io::dup(rustix::stdio::stdout()).expect("stdout is open");
    let nowhere = File::create("/dev/null").expect("there is /dev/null");
    rustix::stdio::dup2_stdout(nowhere).expect("stdout can be replaced");
    kept
}

fn restore(kept: OwnedFd) {
    rustix::stdio::dup2_stdout(kept).expect("stdout can be replaced");
}

/// Takes everything and keeps nothing.
#[derive(Default)]
struct Dropped {
    threads: u32,
    blocks: u32,
}

impl Sink for Dropped {
    fn thread(&mut self, _tid: u32) -> Result<ThreadId, SinkError> {
        self.threads += 1;
        Ok(ThreadId(self.threads - 1))
    }

    fn define(&mut self, _block: Block) -> Result<BlockId, SinkError> {
        self.blocks += 1;
        Ok(BlockId(self.blocks - 1))
    }

    fn execute(
        &mut self,
        _thread: ThreadId,
        _block: BlockId,
        _executed: u32,
        _values: &[u64],
    ) -> Result<(), SinkError> {
        Ok(())
    }

    fn mark(&mut self, _thread: ThreadId, _marker: OrderedMarker) -> Result<(), SinkError> {
        Ok(())
    }
}
