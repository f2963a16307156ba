//! Hand-made machines: what kernels do to a tree when CPUs go offline, and what damage does.

mod allowed;
pub(crate) mod builder;
mod capture;
mod contradictions;
mod cpu_control;
mod damage;
mod drawing;
mod evidence;
mod limits;
mod sharing;
mod topology;
