//! How fast DynamoRIO traces to a sink that drops everything: instructions a second, and how much longer
//! the program takes than by itself.
//!
//! `cargo bench -p corun-trace --features dynamorio --bench dynamorio -- [COMMAND...]`; without a command,
//! gzip and xz compress this file's own program.

#[cfg(not(feature = "dynamorio"))]
fn main() {
    println!("built without the feature dynamorio: nothing to measure");
}

#[cfg(feature = "dynamorio")]
fn main() {
    let mut given: Vec<String> =
        std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if !given.is_empty() {
        let program = given.remove(0);
        return measure::command(&program, &given);
    }
    let input = std::env::current_exe().expect("this program has a file").display().to_string();
    for (program, options) in [("/bin/gzip", "-9c"), ("/usr/bin/xz", "-3c")] {
        measure::command(program, &[options.to_owned(), input.clone()]);
    }
}

#[cfg(feature = "dynamorio")]
mod measure {
    use std::process::{Command, Stdio};
    use std::sync::atomic::AtomicBool;
    use std::time::Instant;

    use corun_trace::{
        Block, BlockId, DynamoRio, OrderedMarker, Plan, Sink, SinkError, Target, ThreadId, Tracer,
    };

    const TRIES: usize = 3;

    pub fn command(program: &str, arguments: &[String]) {
        if !std::path::Path::new(program).exists() {
            println!("{program} is not installed");
            return;
        }
        let native = best(|| {
            let status = Command::new(program).args(arguments).stdout(Stdio::null()).status();
            assert!(status.expect("the program runs").success());
        });
        let target = Target {
            program: program.into(),
            arguments: arguments.iter().map(Into::into).collect(),
        };
        let stdout = silence();
        let mut counts = Counts::default();
        let mut instructions = 0;
        let traced = best(|| {
            counts = Counts::default();
            let traced =
                DynamoRio.trace(&target, Plan::Whole, &mut counts, &AtomicBool::new(false));
            instructions = traced.expect("the program is traced").instructions;
        });
        restore(stdout);
        println!(
            "{program} {}: {:.0} M instructions, {:.0} M instr/s, {:.1} times as long as by itself, \
             {:.1} instructions and {:.1} values a block",
            arguments.join(" "),
            instructions as f64 / 1e6,
            instructions as f64 / 1e6 / traced,
            traced / native,
            instructions as f64 / counts.blocks as f64,
            counts.values as f64 / counts.blocks as f64,
        );
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
    fn silence() -> std::os::fd::OwnedFd {
        let kept = rustix::io::dup(rustix::stdio::stdout()).expect("stdout is open");
        let nowhere = std::fs::File::create("/dev/null").expect("there is /dev/null");
        rustix::stdio::dup2_stdout(nowhere).expect("stdout can be replaced");
        kept
    }

    fn restore(kept: std::os::fd::OwnedFd) {
        rustix::stdio::dup2_stdout(kept).expect("stdout can be replaced");
    }

    #[derive(Default)]
    struct Counts {
        threads: u32,
        dictionary: u32,
        blocks: u64,
        values: u64,
    }

    impl Sink for Counts {
        fn thread(&mut self, _tid: u32) -> Result<ThreadId, SinkError> {
            self.threads += 1;
            Ok(ThreadId(self.threads - 1))
        }

        fn define(&mut self, _block: Block) -> Result<BlockId, SinkError> {
            self.dictionary += 1;
            Ok(BlockId(self.dictionary - 1))
        }

        fn execute(
            &mut self,
            _thread: ThreadId,
            _block: BlockId,
            _executed: u32,
            values: &[u64],
        ) -> Result<(), SinkError> {
            self.blocks += 1;
            self.values += values.len() as u64;
            Ok(())
        }

        fn mark(&mut self, _thread: ThreadId, _marker: OrderedMarker) -> Result<(), SinkError> {
            Ok(())
        }
    }
}
