//! The other side of a workload that needs two processes: a forked child, which inherits the worker's
//! logical CPU and ends with it, however that ends.

use std::io;

use rustix::process::{Pid, Signal, WaitOptions};

/// A child process of this worker; ended and waited for when dropped.
pub(crate) struct Peer(Pid);

impl Peer {
    /// Forks a child that does `work` and exits.
    ///
    /// The work runs in a copy of a process that may have had other threads, so it takes no lock that
    /// one of them may have held: it makes system calls and touches memory that is there. The C
    /// library keeps its own locks in order, those of the allocator and of starting threads; the
    /// standard library does not, so threads are not started through it.
    ///
    /// The child also ends with the thread that has forked it.
    ///
    /// # Errors
    /// The system's, if it starts no process.
    pub(crate) fn fork(work: impl FnOnce()) -> io::Result<Self> {
        let parent = rustix::process::getpid();
        // SAFETY: the child keeps to what a copy of a process with threads may do, see above.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
                // The parent may have ended before that was said.
                if rustix::process::getppid() == Some(parent) {
                    work();
                }
                // SAFETY: ends this process at once, without the handlers that belong to the parent.
                unsafe { libc::_exit(0) }
            }
            id => Ok(Self(Pid::from_raw(id).expect("a child's id is positive"))),
        }
    }
}

impl Peer {
    /// Waits until it ends by itself, once what it waits for is gone.
    pub(crate) fn join(self) {
        let _ = rustix::process::waitpid(Some(self.0), WaitOptions::empty());
        // It has no parent here any more, and its number may be another's.
        std::mem::forget(self);
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself; it stays to be waited for until then.
        let _ = rustix::process::kill_process(self.0, Signal::KILL);
        let _ = rustix::process::waitpid(Some(self.0), WaitOptions::empty());
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_peer_answers_and_ends() {
        let (mut question_out, mut question_in) = io::pipe().unwrap();
        let (mut answer_out, mut answer_in) = io::pipe().unwrap();
        let peer = Peer::fork(|| {
            let mut byte = [0];
            while question_out.read_exact(&mut byte).is_ok() {
                if answer_in.write_all(&[byte[0] + 1]).is_err() {
                    break;
                }
            }
        })
        .unwrap();
        question_in.write_all(&[41]).unwrap();
        let mut byte = [0];
        answer_out.read_exact(&mut byte).unwrap();
        assert_eq!(byte, [42]);
        let id = peer.0;
        drop(peer);
        assert!(rustix::process::test_kill_process(id).is_err(), "it is gone");
    }
}
