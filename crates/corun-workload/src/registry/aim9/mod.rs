//! The tests of the AIM Independent Resource Benchmark, Suite IX (AIM9), a file a family: each does
//! what the original does in one of its calls, again and again, and counts what it executes.
//!
//! Where the original credits itself with another number, [`Row::credit`] has it.

mod arithmetic;
mod at;
mod calls;
mod child;
mod directory;
mod disk;
mod ipc;
mod jump;
mod library;
mod memory;
mod names;
mod numeric;
mod processes;
mod random;
mod search;
mod shell;

use crate::{DefaultPlacement, Descriptor, Figure, Row, Suite, Tag, Workload};

/// Every test, in the order of the published table; `new_raph`, which the table leaves out, last.
#[rustfmt::skip]
pub(super) static ROWS: &[&Workload] = &[
    &arithmetic::ADD_DOUBLE,
    &arithmetic::ADD_FLOAT,
    &arithmetic::ADD_LONG,
    &arithmetic::ADD_INT,
    &arithmetic::ADD_SHORT,
    &names::CREATE,
    &memory::PAGE_TEST,
    &memory::BRK_TEST,
    &jump::JMP_TEST,
    &processes::SIGNAL,
    &processes::EXEC,
    &processes::FORK,
    &names::LINK,
    &disk::RANDOM_READ,
    &disk::RANDOM_WRITE,
    &disk::READ,
    &disk::WRITE,
    &disk::COPY,
    &disk::SYNC_RANDOM_WRITE,
    &disk::SYNC_WRITE,
    &disk::SYNC_COPY,
    &search::SEARCH,
    &arithmetic::DIV_DOUBLE,
    &arithmetic::DIV_FLOAT,
    &arithmetic::DIV_LONG,
    &arithmetic::DIV_INT,
    &arithmetic::DIV_SHORT,
    &calls::FUN_CAL,
    &calls::FUN_CAL1,
    &calls::FUN_CAL2,
    &calls::FUN_CAL15,
    &numeric::SIEVE,
    &arithmetic::MUL_DOUBLE,
    &arithmetic::MUL_FLOAT,
    &arithmetic::MUL_LONG,
    &arithmetic::MUL_INT,
    &arithmetic::MUL_SHORT,
    &numeric::NUM_RTNS_1,
    &numeric::TRIG_RTNS,
    &numeric::MATRIX_RTNS,
    &numeric::ARRAY_RTNS,
    &library::STRING_RTNS,
    &memory::MEM_RTNS_1,
    &memory::MEM_RTNS_2,
    &library::SORT_RTNS_1,
    &library::MISC_RTNS_1,
    &directory::READ,
    &shell::FIRST,
    &shell::SECOND,
    &shell::THIRD,
    &numeric::SERIES_1,
    &ipc::SHARED_MEMORY,
    &ipc::TCP,
    &ipc::UDP,
    &ipc::FIFO,
    &ipc::STREAM,
    &ipc::DATAGRAM,
    &ipc::PIPE,
    &memory::RAM_COPY,
    &numeric::NEW_RAPH,
];

/// Descriptor of the tests: a process a worker, no parameters, counted rightly.
const fn descriptor(
    name: &'static str,
    summary: &'static str,
    tags: &'static [Tag],
    [operation, counted]: [&'static str; 2],
    per: f64,
    unit: &'static str,
) -> Descriptor {
    Descriptor {
        name,
        summary,
        tags,
        operation,
        counted,
        default_placement: DefaultPlacement::Alone,
        row: Some(Row {
            suite: Suite::Aim9,
            // What follows `aim9/`.
            name: name.split_at(5).1,
            figure: Figure::Rate { per, unit },
            credit: 1.0,
        }),
        ..Descriptor::PLAIN
    }
}
