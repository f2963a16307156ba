//! Schedulers and ports: micro-ops from the port that they are given to their start.

mod age_queue;
mod allocation;
mod assigned_ports;
mod port_assignment;
mod port_map;
mod ports;
mod schedulers;
mod wheel;

pub(crate) use allocation::FullScheduler;
pub(crate) use schedulers::{MostAccesses, Producer, Schedulers};
