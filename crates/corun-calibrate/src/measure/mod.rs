//! Measurements, by part of the core; each asks a [`RoutineTimer`](crate::RoutineTimer) for times and makes figures of
//! them.

mod buffers;
mod caches;
mod elimination;
mod forms;
mod front;
mod loads_and_stores;

pub(crate) use buffers::buffers;
pub(crate) use caches::caches;
pub(crate) use elimination::elimination;
pub(crate) use forms::forms;
pub(crate) use front::front;
pub(crate) use loads_and_stores::loads_and_stores;
