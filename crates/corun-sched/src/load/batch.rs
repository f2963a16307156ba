//! Equal jobs that only work, all from the start.

use super::{LoadEntry, Make, Parameter, Values};
use crate::program::{Amount, Load, Step};

pub(super) const ENTRY: LoadEntry = LoadEntry {
    name: "batch",
    summary: "equal jobs that only work",
    make: Make::Parameters(
        &[
            Parameter { name: "jobs", default: "8", meaning: "how many" },
            Parameter { name: "work", default: "10s", meaning: "of each, alone on a core" },
        ],
        make,
    ),
};

fn make(values: &Values) -> Result<Load, String> {
    let mut load = Load { operation: "jobs".to_owned(), ..Load::default() };
    let work = Amount::Fixed(values.time("work")?);
    let job = load.program("job", "batch", vec![Step::Run(work)]);
    load.tasks(job, values.tasks("jobs")?);
    Ok(load)
}
