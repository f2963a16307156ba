//! The tests of LMbench (McVoy and Staelin 1996), a file a family: what the system's basic operations
//! cost, in microseconds, without the loop around them.

mod syscall;

use crate::{About, Figure, Mode, Row, Suite, Tag, Usual, Workload};

/// Every test: the rows of the published table in its order, then the others.
pub(super) static ROWS: &[&dyn Workload] = &[&syscall::NULL];

/// What the tests have in common: a process a worker, no parameters, microseconds for an operation.
const fn about(
    [name, row]: [&'static str; 2],
    summary: &'static str,
    tags: &'static [Tag],
    [operation, counted]: [&'static str; 2],
    subtracts: Option<&'static str>,
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
            suite: Suite::Lmbench,
            name: row,
            figure: Figure::Microseconds,
            credit: 1.0,
        }),
        tallies: &[],
        subtracts,
    }
}
