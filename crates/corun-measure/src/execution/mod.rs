//! Running an arm for real: processes in their places, a common start, watched to the end, with
//! evidence taken on both sides of the timed interval and as little as possible inside it.

mod accounting;
mod binders;
mod bindings;
mod calibration;
mod error;
mod executor;
mod interrupt;
mod kernel_worker;
mod latency_report;
mod local;
mod memory_release;
mod observed_placement;
mod output;
mod overhead_timer;
mod preparation;
mod process;
mod process_maps;
mod sample_processes;
mod service;
mod start_barrier;
mod steady;
mod threads;
mod undisturbed;
mod watch;
mod work;
mod worker_failure;

pub use calibration::calibrate;
pub use error::ExecutionError;
pub use executor::{ArmOutcome, Executor};
pub use interrupt::Interrupt;
pub use kernel_worker::{KernelWorkerOrder, STARTS_WORK, serve_as_kernel_worker};
pub use local::LocalExecutor;
pub use service::{
    CpuSplit, Generator, LatencySource, LoadCpus, LoadReport, Location, Quantile, Readiness,
    Service, ServiceError, StopSignal, TimeUnit, recognised,
};
pub use work::{
    Command, KernelTask, Task, WORKERS, Work, environment_with_workers, names_workers, with_workers,
};
