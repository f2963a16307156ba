//! A chat server and its rooms, as the benchmark chat (chat_s and chat_c 1.0.1, Hartner, IBM): many
//! more threads than logical CPUs, most of them asleep, and small messages over TCP.
//!
//! A worker is a room: its members' threads in the worker's process, and its part of the server in a
//! process beside it. The original has all rooms in two processes; apart from that, each room's
//! threads and connections are the same, and a room can be placed.

mod message;
mod room;
mod server;
mod thread;

use std::io;
use std::num::NonZeroUsize;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::ended::end;
use crate::{
    Descriptor, Domain, Job, Kernel, Parameter, Parameters, Tag, Tally, Workload, WorkloadError,
    available, loopback,
};
use message::Shape;
use room::Room;

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    name: "chat",
    summary: "rooms whose members send messages through a server, in many threads",
    tags: &[Tag::ContextSwitch, Tag::Scheduling, Tag::SystemCalls, Tag::Locking],
    parameters: &[MEMBERS, MESSAGE],
    operation: "a message sent by a member",
    counted: "messages sent",
    // A hundred of each member, as the original sends.
    least_operations: 2000,
    tallies: &[Tally { counted: "messages delivered" }],
    ..Descriptor::PLAIN
};

const MEMBERS: Parameter = Parameter {
    name: "members",
    summary: "members of a room; each has a connection with two threads at each end",
    default: "20",
    domain: Domain::Count { unit: "members", least: 2, most: 1000 },
};

const MESSAGE: Parameter = Parameter {
    name: "message",
    summary: "how long a message is",
    default: "100",
    domain: Domain::Size { least: message::MIN_BYTES as u64, most: 64 << 10, multiple_of: 1 },
};

/// Two at the member's end and two at the server's.
const THREADS_OF_A_MEMBER: u64 = 4;

/// Other descriptors that a process has open, with some to spare.
const OTHER_DESCRIPTORS: u64 = 16;

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let members = parameters.number(&MEMBERS)?;
    let bytes = parameters.number(&MESSAGE)? as usize;
    let rooms = workers.get() as u64;
    // The server's process beside the worker's own.
    available::ensure_threads(ABOUT.name, rooms * (members * THREADS_OF_A_MEMBER + 1))?;
    // Until the server has its own, both ends of every connection are open here.
    ensure_descriptors(rooms * members * 2 + OTHER_DESCRIPTORS)?;
    loopback::ensure_available(ABOUT.name)?;
    let shape = Shape { members: members as usize, bytes };
    Ok(Job::of((0..rooms).map(|_| ChatKernel { shape, room: None })))
}

fn ensure_descriptors(needed: u64) -> Result<(), WorkloadError> {
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < needed => {
            let source = io::Error::from(Errno::MFILE);
            Err(WorkloadError::NoDescriptors { workload: ABOUT.name, source })
        }
        _ => Ok(()),
    }
}

struct ChatKernel {
    shape: Shape,
    room: Option<Room>,
}

impl Kernel for ChatKernel {
    /// Opens the room, unless it is open: its threads and connections stay from run to run, as long as
    /// the thread that opened it does.
    fn reset(&mut self) {
        match &mut self.room {
            Some(room) if room.is_own() => room.forget(),
            elsewhere => {
                *elsewhere = None;
                let opened = Room::open(self.shape);
                let room = opened.unwrap_or_else(|error| end("a room cannot be opened", error));
                *elsewhere = Some(room);
            }
        }
    }

    fn run(&mut self, operations: u64) {
        let room = self.room.as_mut().expect("a kernel is reset first");
        if let Err(error) = room.chat(operations) {
            end("the chat has ended", io::Error::other(error));
        }
    }

    /// The messages that members have received.
    fn tallies(&self) -> Vec<u64> {
        vec![self.room.as_ref().map_or(0, |room| room.received().messages)]
    }

    /// The sum of what all members have received.
    fn check(&self) -> u64 {
        self.room.as_ref().map_or(0, |room| room.received().sum)
    }
}
