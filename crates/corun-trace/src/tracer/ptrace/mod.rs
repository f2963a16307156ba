//! Stepping with ptrace(2): slow, and dependent on nothing but the kernel.
//!
//! Every instruction is a stop whose registers are read, so that what is recorded does not depend on any
//! translation of code: the other tracers are checked against this one.

mod addresses;
mod blocks;
mod code;
mod kernel;
mod launch;
mod run;
mod same_cpu;
mod stepping;
mod thread;
mod traps;
mod vectors;

use std::sync::atomic::AtomicBool;

use crate::{Ending, Sink, Target, TraceError, TracePlan, Traced, Tracer, Unavailable};
use run::Run;
pub use stepping::Step;

/// As given to `--tracer`.
const NAME: &str = "ptrace";

/// The tracer that steps instruction by instruction.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ptrace;

impl Tracer for Ptrace {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    fn merit(&self) -> &'static str {
        "needs nothing but the kernel and is exact, for short programs and windows: every instruction \
         is a stop"
    }

    fn slowdown(&self) -> u32 {
        250_000
    }

    fn objection(&self, target: &Target) -> Option<&'static str> {
        let is_java = super::java::is_started_by(target);
        is_java.then_some("Java's virtual machine is too long to be stepped")
    }

    fn ready(&self) -> Result<(), Unavailable> {
        launch::attempt().map_err(|error| Unavailable {
            found: format!("expected to be allowed to trace an own child, found: {error}"),
            next_step: "Allow ptrace: /proc/sys/kernel/yama/ptrace_scope must be 0 or 1, and the \
                        container's seccomp profile must let it through."
                .to_owned(),
        })
    }

    fn trace(
        &self,
        target: &Target,
        plan: TracePlan,
        sink: &mut dyn Sink,
        stop: &AtomicBool,
    ) -> Result<Traced, TraceError> {
        let program = launch::launch(target, &plan)?;
        let run = || Run::new(&program, plan.clone(), sink).until_end();
        let ended = program.process.until(stop, run);
        program.mark.end_all();
        let (traced, interrupted) =
            ended.map_err(|error| failed("expected to be given a thread", error))?;
        let ending = |ending| if interrupted { Ending::Interrupted } else { ending };
        traced.map(|traced| Traced { ending: ending(traced.ending), ..traced })
    }
}

fn failed(what: &str, error: impl std::fmt::Display) -> TraceError {
    TraceError::Failed { tracer: NAME, reason: format!("{what}: {error}") }
}
