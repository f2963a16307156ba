//! Times of a command and each of its processes, and on which CPUs they ran: the document of `corun top -- COMMAND`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Body;

/// The times of a command and of its processes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandTimes {
    /// The command, as its words.
    pub command: Vec<String>,
    /// Exit status; absent if a signal ended it.
    pub exit_status: Option<i32>,
    /// From its start to its end, in seconds.
    pub real_s: f64,
    /// Time of it and of all descendants that have ended in programs' own code, in seconds.
    pub user_s: f64,
    /// System time, in seconds.
    pub system_s: f64,
    /// The processes that were seen, in the order of their start.
    pub processes: Vec<ProcessTimes>,
    /// The mean time from one look at the processes to the next, in seconds; what lived shorter may be missing.
    pub looked_every_s: f64,
}

impl Body for CommandTimes {
    const FORMAT: &'static str = "corun-command-times";
}

impl CommandTimes {
    /// The processor time that no process that was seen accounts for, in seconds.
    pub fn unseen_s(&self) -> f64 {
        let seen: f64 = self.processes.iter().map(|it| it.user_s + it.system_s).sum();
        (self.user_s + self.system_s - seen).max(0.0)
    }
}

/// Times of a process when it was last read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessTimes {
    /// Number of the process.
    pub process: u32,
    /// The process that started it.
    pub parent: u32,
    /// Name of the process, as the kernel gives it (15 bytes at most).
    pub name: String,
    /// From its start until it was last seen, in seconds.
    pub real_s: f64,
    /// User time, in seconds.
    pub user_s: f64,
    /// System time, in seconds.
    pub system_s: f64,
    /// The logical CPUs that its threads were seen on, in the order of their numbers.
    pub cpus: Vec<u32>,
    /// The most threads that it was seen with.
    pub threads: u32,
    /// True if it was running when the command ended.
    pub is_left: bool,
}
