//! The server's part of a room: a thread that receives and a thread that sends for each connection,
//! and a queue between each sending thread and those that receive for it.

use std::collections::TryReserveError;
use std::io::{self, PipeWriter, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::message::Shape;
use super::thread::{self, STACK_BYTES};

/// Bytes that wait for a member at most, unless a single message is longer: a sender faster than
/// the others read has to wait, or the server would need any amount of memory.
const QUEUE_BYTES: usize = 64 << 10;

/// Serves until a connection is closed, then ends the process. Writes a byte to `ready` when every
/// thread has been started.
///
/// It runs in a forked child and yet allocates and starts threads, both of which the C library keeps
/// in order in a child of a process with other threads.
pub(super) fn serve(shape: Shape, connections: Vec<TcpStream>, mut ready: PipeWriter) {
    let started = Server::new(shape, connections).and_then(Server::start);
    // The other side sees whether the byte came.
    if started.is_ok() && ready.write_all(&[1]).is_ok() {
        loop {
            // SAFETY: no arguments; a handler that returns wakes it up.
            unsafe { libc::pause() };
        }
    }
}

/// Ends the server: connected members find out by that.
fn end(_: io::Result<()>) {
    // SAFETY: ends this process at once, without the handlers that belong to its parent.
    unsafe { libc::_exit(0) }
}

struct Server {
    shape: Shape,
    connections: Vec<TcpStream>,
    queues: Vec<Queue>,
}

impl Server {
    fn new(shape: Shape, connections: Vec<TcpStream>) -> io::Result<Self> {
        let queues = connections.iter().map(|_| Queue::new(shape.bytes)).collect::<Result<_, _>>();
        Ok(Self { shape, connections, queues: queues.map_err(io::Error::other)? })
    }

    fn start(self) -> io::Result<()> {
        let server = Arc::new(self);
        for member in 0..server.shape.members {
            let [receiving, sending] = [(); 2].map(|()| Arc::clone(&server));
            thread::start(move || end(receiving.receive(member)), STACK_BYTES)?;
            thread::start(move || end(sending.send(member)), STACK_BYTES)?;
        }
        Ok(())
    }

    /// Takes a member's messages and puts each into the queues of the others.
    fn receive(&self, member: usize) -> io::Result<()> {
        let mut message = vec![0; self.shape.bytes];
        loop {
            (&self.connections[member]).read_exact(&mut message)?;
            let queues = self.queues.iter().enumerate();
            queues.filter(|&(other, _)| other != member).for_each(|(_, queue)| queue.put(&message));
        }
    }

    /// Sends what is in a member's queue, each message by itself.
    fn send(&self, member: usize) -> io::Result<()> {
        let mut taken = Vec::new();
        loop {
            self.queues[member].take(&mut taken);
            for message in taken.chunks_exact(self.shape.bytes) {
                (&self.connections[member]).write_all(message)?;
            }
        }
    }
}

/// Messages that wait for a member, one after the other.
struct Queue {
    messages: Mutex<Vec<u8>>,
    most: usize,
    filled: Condvar,
    emptied: Condvar,
}

impl Queue {
    fn new(message_bytes: usize) -> Result<Self, TryReserveError> {
        let most = QUEUE_BYTES.max(message_bytes);
        let mut messages = Vec::new();
        messages.try_reserve_exact(most)?;
        let (filled, emptied) = Default::default();
        Ok(Self { messages: Mutex::new(messages), most, filled, emptied })
    }

    fn put(&self, message: &[u8]) {
        let messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |messages: &mut Vec<u8>| messages.len() + message.len() > self.most;
        let waited = self.emptied.wait_while(messages, is_full);
        let mut messages = waited.unwrap_or_else(PoisonError::into_inner);
        let was_empty = messages.is_empty();
        messages.extend_from_slice(message);
        drop(messages);
        if was_empty {
            self.filled.notify_one();
        }
    }

    /// Exchanges all that is there, once there is something, for the memory of `taken`.
    fn take(&self, taken: &mut Vec<u8>) {
        taken.clear();
        let messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.filled.wait_while(messages, |messages| messages.is_empty());
        let mut messages = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *messages, taken);
        drop(messages);
        self.emptied.notify_all();
    }
}
