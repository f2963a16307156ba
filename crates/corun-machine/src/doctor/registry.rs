//! The list of all checks, what matters most first. A new one is a file below `registry/`, its
//! `mod` line, its line in [`ALL`] and its row in `docs/doctor.md`; its own file says the rest.

mod address_layout;
mod allowed_cpus;
mod clock_source;
mod contradictions;
mod counters;
mod frequency_limits;
mod governor;
mod huge_pages;
mod idle_polling;
mod interrupts;
mod irqbalance;
mod isolation;
mod load;
mod memory_pressure;
mod mitigations;
mod numa_balancing;
pub(super) mod quota;
mod smt;
mod steal;
mod thermal;
mod turbo;
mod unfinished_switch;
mod virtual_machine;
mod watchdog;

use super::check::Check;

/// Every check; among equally severe diagnoses this is their order.
#[rustfmt::skip]
pub(super) const ALL: &[Check] = &[
    smt::CHECK,
    unfinished_switch::CHECK,
    allowed_cpus::CHECK,
    quota::CHECK,
    load::CHECK,
    idle_polling::CHECK,
    contradictions::CHECK,
    virtual_machine::CHECK,
    steal::CHECK,
    turbo::CHECK,
    governor::CHECK,
    frequency_limits::CHECK,
    thermal::CHECK,
    memory_pressure::CHECK,
    numa_balancing::CHECK,
    interrupts::CHECK,
    irqbalance::CHECK,
    mitigations::CHECK,
    isolation::CHECK,
    counters::CHECK,
    watchdog::CHECK,
    huge_pages::CHECK,
    clock_source::CHECK,
    address_layout::CHECK,
];
