//! The members of a room: for each a thread that sends and a thread that receives, which sleep until
//! the next run, and the connection between them and the server.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, ThreadId};

use super::message::{self, Listener, Received, Shape};
use super::server;
use super::thread::STACK_BYTES;
use crate::loopback::Loopback;
use crate::peer::Peer;

/// A room with its server and all of its threads; closed when dropped.
pub(super) struct Room {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    _server: Peer,
    opener: ThreadId,
}

struct Shared {
    shape: Shape,
    connections: Vec<TcpStream>,
    turn: Mutex<Round>,
    begun: Condvar,
    ended: Condvar,
}

/// The run that is under way.
#[derive(Default)]
struct Round {
    number: u64,
    messages: u64,
    is_last: bool,
    /// Threads that have not done their part yet.
    busy: usize,
    received: Received,
    error: Option<String>,
}

impl Room {
    /// # Errors
    /// The system's, if it refuses a connection, a process or a thread; nothing is left behind.
    pub(super) fn open(shape: Shape) -> io::Result<Self> {
        let loopback = Loopback::listen()?;
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for _ in 0..shape.members {
            let [member, server] = loopback.connect_without_delay()?;
            near.push(member);
            far.push(server);
        }
        let (mut is_ready, ready) = io::pipe()?;
        let server = Peer::fork(|| server::serve(shape, far, ready))?;
        if is_ready.read(&mut [0])? == 0 {
            return Err(io::Error::other("the server does not get its threads or its memory"));
        }
        let shared = Arc::new(Shared {
            shape,
            connections: near,
            turn: Mutex::default(),
            begun: Condvar::new(),
            ended: Condvar::new(),
        });
        let mut room =
            Self { shared, threads: Vec::new(), _server: server, opener: thread::current().id() };
        for member in 0..shape.members {
            for part in [Shared::send, Shared::receive] {
                let shared = Arc::clone(&room.shared);
                let thread = thread::Builder::new().stack_size(STACK_BYTES);
                room.threads.push(thread.spawn(move || shared.take_part(member, part))?);
            }
        }
        Ok(room)
    }

    /// True if the calling thread has opened the room: a peer ends with the thread that forked it.
    pub(super) fn is_own(&self) -> bool {
        self.opener == thread::current().id()
    }

    pub(super) fn forget(&mut self) {
        self.shared.turn().received = Received::default();
    }

    /// Lets the members send so many messages, and returns when all have been delivered.
    ///
    /// # Errors
    /// Failure of the first member that could not go on.
    pub(super) fn chat(&mut self, messages: u64) -> Result<(), String> {
        let mut turn = self.shared.turn();
        let number = turn.number + 1;
        *turn = Round { number, messages, busy: self.threads.len(), ..Round::default() };
        self.shared.begun.notify_all();
        let waited = self.shared.ended.wait_while(turn, |turn| turn.busy > 0);
        let mut turn = waited.unwrap_or_else(PoisonError::into_inner);
        turn.error.take().map_or(Ok(()), Err)
    }

    pub(super) fn received(&self) -> Received {
        self.shared.turn().received
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.shared.turn().is_last = true;
        self.shared.begun.notify_all();
        self.shared.close();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Part of a thread in a run of so many messages.
type Part = fn(&Shared, usize, u64) -> Result<Received, String>;

impl Shared {
    fn turn(&self) -> MutexGuard<'_, Round> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends every wait for a connection with the news that there is none any more.
    fn close(&self) {
        for connection in &self.connections {
            // It may be closed already.
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    /// Does a thread's part in run after run.
    fn take_part(&self, member: usize, part: Part) {
        for number in 1.. {
            let is_due = |turn: &mut Round| turn.number < number && !turn.is_last;
            let waited = self.begun.wait_while(self.turn(), is_due);
            let turn = waited.unwrap_or_else(PoisonError::into_inner);
            if turn.is_last {
                return;
            }
            let messages = turn.messages;
            drop(turn);
            let received = part(self, member, messages);
            if received.is_err() {
                self.close();
            }
            let mut turn = self.turn();
            match received {
                Ok(received) => {
                    turn.received.messages += received.messages;
                    turn.received.sum = turn.received.sum.wrapping_add(received.sum);
                }
                Err(error) => _ = turn.error.get_or_insert(error),
            }
            turn.busy -= 1;
            if turn.busy == 0 {
                self.ended.notify_one();
            }
        }
    }

    /// Sends a member's share.
    fn send(&self, member: usize, messages: u64) -> Result<Received, String> {
        let mut message = vec![0; self.shape.bytes];
        for sequence in 0..self.shape.share(member, messages) {
            message::write(&mut message, member as u64, sequence);
            (&self.connections[member])
                .write_all(&message)
                .map_err(|error| format!("member {member} cannot send: {error}"))?;
        }
        Ok(Received::default())
    }

    /// Receives the messages of all others.
    fn receive(&self, member: usize, messages: u64) -> Result<Received, String> {
        let mut message = vec![0; self.shape.bytes];
        let mut listener = Listener::new(self.shape);
        for _ in self.shape.share(member, messages)..messages {
            (&self.connections[member])
                .read_exact(&mut message)
                .map_err(|error| format!("member {member} cannot receive: {error}"))?;
            listener.hear(&message)?;
        }
        Ok(listener.received)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ChatKernel;
    use super::*;
    use crate::{Kernel, unless_ended};

    #[test]
    fn a_broken_connection_ends_the_run_with_an_error() {
        let shape = Shape { members: 2, bytes: 64 };
        let mut kernel = ChatKernel { shape, room: None };
        kernel.reset();
        kernel.room.as_ref().unwrap().shared.close();
        let error = unless_ended("chat", &mut kernel, |kernel| kernel.run(100)).unwrap_err();
        let said = error.to_string();
        assert!(said.contains("cannot go on, because the chat has ended: member"), "{said}");
    }
}
