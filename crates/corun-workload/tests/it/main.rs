//! Every workload by its check value, its system calls, its parameters and its refusals.

mod check_values;
mod loads;
mod parameters;
mod prepare;
mod refusals;
mod registry;
mod scratch;
mod system_calls;
