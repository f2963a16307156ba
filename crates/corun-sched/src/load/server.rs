//! A server: requests come at random from outside and wait for one of its threads.

use super::{LoadEntry, Make, Parameter, Values};
use crate::program::{Amount, Load, QueueSpec, Source, Step};

pub(super) const ENTRY: LoadEntry = LoadEntry {
    name: "server",
    summary: "requests that come at random (Poisson) to the threads of a server",
    make: Make::Parameters(
        &[
            Parameter { name: "threads", default: "16", meaning: "of the server" },
            Parameter { name: "rate", default: "1000", meaning: "requests a second" },
            Parameter { name: "requests", default: "10000", meaning: "in all" },
            Parameter { name: "work", default: "1ms", meaning: "of a request, on average" },
            Parameter {
                name: "fixed",
                default: "0",
                meaning: "1: each takes as long; 0: exponential",
            },
            Parameter { name: "batch", default: "0", meaning: "jobs without end beside it" },
        ],
        make,
    ),
};

fn make(values: &Values) -> Result<Load, String> {
    let mut load = Load { operation: "requests".to_owned(), ..Load::default() };
    let queue = load.queue(QueueSpec::default());
    let work = values.time("work")?.max(1);
    let work = match values.number("fixed")? {
        0 => Amount::Exponential(work),
        _ => Amount::Fixed(work),
    };
    let steps =
        vec![Step::Repeat(None), Step::Receive(queue), Step::Run(work), Step::Done, Step::End];
    let thread = load.daemon("thread", "server", steps);
    load.tasks(thread, values.tasks("threads")?);
    let endless = vec![Step::Repeat(None), Step::Run(Amount::Fixed(1_000_000_000)), Step::End];
    let batch = load.daemon("batch", "batch", endless);
    load.tasks(batch, values.tasks_or_none("batch")?);
    let interval = Amount::Exponential((1_000_000_000 / values.count("rate")?).max(1));
    load.sources.push(Source { queue, interval, count: values.count("requests")? });
    Ok(load)
}
