//! A file server's network without its files: each request of a load is a packet to a server process
//! and an answer as long as the real one, over TCP without delay, as in tbench 4 (Tridgell 1999 to
//! 2007). A worker is a client with a server of its own on the same logical CPU.

mod packet;
mod server;

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::load::{self, Load, Replay};
use crate::peer::Peer;
use crate::{Descriptor, Job, Parameters, Tag, Workload, WorkloadError, loopback};
use loopback::Loopback;
use packet::{Connection, NetworkClient};

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    operation: "a request and its answer",
    ..load::descriptor(
        "tbench",
        "a file server's requests and answers as packets over TCP, without files",
        &[Tag::SystemCalls, Tag::ContextSwitch],
    )
};

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let load = Load::of(ABOUT.name, parameters)?;
    loopback::ensure_available(ABOUT.name)?;
    Ok(Job::of((0..workers.get()).map(|worker| {
        let client = NetworkClient::new(&load, worker, connect_to_child);
        Replay::new(Arc::clone(&load), client)
    })))
}

/// A connection to a server that is a child of this process.
fn connect_to_child(longest_packet: usize) -> io::Result<Connection<Peer>> {
    let [near, far] = Loopback::listen()?.connect_without_delay()?;
    let mut packet = vec![0; longest_packet];
    let server = Peer::fork(|| server::serve(&far, &mut packet))?;
    Ok(Connection { stream: near, server })
}
