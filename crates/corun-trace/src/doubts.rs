//! The reasons to doubt a trace: the program ended, wrote or ran otherwise than without a tracer.

use std::time::Duration;

use crate::output::Written;
use crate::{Ending, Native, TraceRequest, Traced, Tracer, others};

/// A program that ends otherwise when it is traced is not the one that is at fault.
pub(crate) fn ended_otherwise(
    tracer: &dyn Tracer,
    traced: &Traced,
    native: &Native,
) -> Option<String> {
    if native.ending == Ending::Interrupted {
        return None;
    }
    Some(format!(
        "Without a tracer the program ended otherwise ({} instead of {}): its time says nothing, and the trace may \
         show what the program does not do alone. {}",
        native.ending,
        traced.ending,
        another(tracer)
    ))
}

/// Programs that write what time it is do so, too.
pub(crate) fn wrote_otherwise(tracer: &dyn Tracer, traced: Written, alone: Written) -> String {
    format!(
        "Without a tracer the program wrote something else to standard output ({} bytes instead of {}). That is as \
         it should be if its output depends on time, addresses, chance or what a run before left; if not, the trace \
         shows what the program does not do alone. {}",
        alone.bytes,
        traced.bytes,
        another(tracer)
    )
}

/// Doubt whether a program that was not run without the tracer dies without it, too.
pub(crate) fn ended_in_doubt(tracer: &dyn Tracer, traced: &Traced) -> Option<String> {
    matches!(traced.ending, Ending::Killed(_)).then(|| {
        format!(
            "The program was {}, and was not run without a tracer: if it does not end so alone, the trace shows \
             what the tracer did. {}",
            traced.ending,
            another(tracer)
        )
    })
}

/// Under a tracer, threads may wait for each other as they do not alone.
pub(crate) fn took_long(
    request: &TraceRequest,
    tracer: &dyn Tracer,
    took: Duration,
    native: &Native,
) -> Option<String> {
    let alone = Duration::from_secs_f64(native.wall_s);
    request.slow_run.is_over(tracer, took, alone).then(|| {
        format!(
            "The traced run took {:.0} s, {:.0} times as long as without a tracer; {} makes programs up to {} times \
             slower. That is as it should be if the program waited for input; if not, the trace may show waiting that \
             is not there alone. {}",
            took.as_secs_f64(),
            took.as_secs_f64() / native.wall_s,
            tracer.name(),
            tracer.slowdown(),
            another(tracer)
        )
    })
}

fn another(tracer: &dyn Tracer) -> String {
    let (name, others) = (tracer.name(), others(tracer.name()));
    format!("Perhaps {name} cannot run this program: try {others}.")
}
