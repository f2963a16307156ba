//! Slurm's own commands: what is asked of them, and what their answers mean.

mod commands;
mod indices;
mod nodes;
mod queue;
mod submission;

pub use commands::{Commands, Finished, SlurmCommands};
pub use nodes::{Node, named, nodes, one_of_each_type};
pub use queue::{Queue, QueuedTask, queue};
pub use submission::{arguments, cancel, job_name, script, submit};
