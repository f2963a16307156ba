//! The tests of the AIM Independent Resource Benchmark, Suite IX (AIM9), a file a family: each does
//! what the original does in one of its calls, again and again, and counts what it really does.
//!
//! Where the original credits itself with another number, [`Row::credit`] has it.

mod arithmetic;

use crate::{About, Figure, Mode, Row, Suite, Tag, Usual, Workload};

/// Every test, in the order of the published table; `new_raph`, which the table leaves out, last.
pub(super) static ROWS: &[&dyn Workload] = &[&arithmetic::ADD_DOUBLE];

/// What the tests have in common: a process a worker, no parameters, counted rightly.
const fn about(
    name: &'static str,
    summary: &'static str,
    tags: &'static [Tag],
    [operation, counted]: [&'static str; 2],
    per: f64,
    unit: &'static str,
) -> About {
    About {
        name,
        summary,
        tags,
        parameters: &[],
        operation,
        counted,
        default_mode: Mode::Copies,
        usual: Usual::Alone,
        line_sharing: None,
        disk_bytes: 0,
        row: Some(Row {
            suite: Suite::Aim9,
            // What follows `aim9/`.
            name: name.split_at(5).1,
            figure: Figure::Rate { per, unit },
            credit: 1.0,
        }),
        tallies: &[],
        subtracts: None,
    }
}
