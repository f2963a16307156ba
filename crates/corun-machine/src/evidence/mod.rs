//! Evidence of what the CPUs did meanwhile: the readings that distinguish an undisturbed sample from a disturbed one.
//!
//! Each reading is taken twice, and the difference counts. A reader gives `None` where the machine
//! does not show the thing.

mod busy;
mod clock;
mod context_switches;
mod cycles;
mod energy;
mod frequency;
mod pressure;
mod slots;

pub use busy::{CpuTime, CpuTimes, run_times_ns, tick_s};
pub use clock::{gigahertz, multiplication_rate};
pub use context_switches::{SwitchRecords, TaskSwitch, no_switch_records, switch_records};
pub use cycles::{CycleCounters, Cycles};
pub use energy::{EnergyCounter, EnergyReading, PackageEnergy};
pub use frequency::FrequencyControl;
pub use pressure::CpuPressure;
pub use slots::slot_rate;
