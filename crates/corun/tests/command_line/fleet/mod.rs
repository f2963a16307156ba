//! Campaigns and sweeps on many nodes: on this machine alone, and on a real cluster of Slurm that each test starts.

mod campaign;
mod cluster;
mod faults;
mod here;
mod on_slurm;
mod steps;
mod sweep;
