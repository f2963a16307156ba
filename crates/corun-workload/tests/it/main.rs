//! Every workload by its check value, its system calls, its parameters and its refusals.
// The example `office_load`, which is a module here, brings what makes its text along, as check_values does.
#![allow(clippy::duplicate_mod)]

mod check_values;
mod loads;
mod parameters;
mod prepare;
mod refusals;
mod registry;
mod scratch;
mod system_calls;
