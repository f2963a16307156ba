//! Traces a command and tells what was seen: `count TRACER COMMAND...`.
use corun_trace::*;
use std::sync::atomic::AtomicBool;
fn main() {
    let mut args = std::env::args_os().skip(1);
    let tracer = args.next().unwrap();
    let program = args.next().unwrap().into();
    let target = Target { program, arguments: args.collect() };
    let chosen = choose(tracer.to_str()).unwrap_or_else(|e| panic!("{e}"));
    eprintln!("{}", chosen.reason);
    let mut recording = Recording::default();
    let begun = std::time::Instant::now();
    let traced = chosen.tracer.trace(&target, Plan::Whole, &mut recording, &AtomicBool::new(false));
    let seconds = begun.elapsed().as_secs_f64();
    match traced {
        Ok(t) => eprintln!(
            "{:?} {} instructions, {:.1} M/s",
            t.ending,
            t.instructions,
            t.instructions as f64 / seconds * 1e-6
        ),
        Err(e) => eprintln!("failed: {e}"),
    }
    for (i, _) in recording.threads.iter().enumerate() {
        let t = ThreadId(i as u32);
        eprintln!(
            "thread {i}: {} instructions {} accesses; {} blocks",
            recording.instructions(t).count(),
            recording.accesses(t).count(),
            recording.blocks.len()
        );
    }
}
