//! Running an arm for real: processes in their places, a common start, watched to the end, with
//! evidence taken on both sides of the timed interval and as little as possible inside it.

mod accounting;
mod binders;
mod calibration;
mod clock;
mod crew;
mod error;
mod gate;
mod interrupt;
mod kernel_worker;
mod latency_report;
mod local;
mod net_clock;
mod output;
mod places;
mod process;
mod process_maps;
mod shedding;
mod steady;
mod threads;
mod trouble;
mod watch;
mod whereabouts;
mod work;

pub use calibration::calibrate;
pub use error::ExecutionError;
pub use interrupt::Interrupt;
pub use kernel_worker::{KernelWorkerOrder, serve_as_kernel_worker};
pub use local::LocalExecutor;
pub(crate) use threads::pins;
pub use work::{Command, KernelTask, Task, WORKERS, Work, names_workers};
