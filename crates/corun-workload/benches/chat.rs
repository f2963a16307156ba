//! The workload `chat` against a C programmer's chat with the same threads and connections, with one
//! room and with ten.
//!
//! `cargo bench -p corun-workload --bench chat` lets both take turns, on the clock on the wall, since
//! most of the work is waking others up. corun must send at least 0.95 of C's messages per
//! second.

mod common;

use std::ffi::c_void;
use std::process::ExitCode;
use std::sync::Barrier;
use std::time::Instant;

use common::{Peer, Ratio, kernel, mean, paired, peer};

const ROUNDS: usize = 31;
const LIMIT: f64 = 0.95;

/// Of all rooms together in a round.
const MESSAGES: u64 = 20_000;

/// The other members of a room.
const OTHERS: u64 = 19;

fn main() -> ExitCode {
    let peer = match peer("chat.c", &["-pthread"]) {
        Ok(peer) => peer,
        Err(reason) => {
            println!("no comparison with C: {reason}");
            return ExitCode::SUCCESS;
        }
    };
    println!("thousand messages sent per second, {ROUNDS} rounds of {MESSAGES}");
    println!("rooms     corun         C  corun/C");
    let mut reached = true;
    for rooms in [1, 10] {
        let messages = MESSAGES / rooms as u64;
        let mut kernels: Vec<_> = (0..rooms).map(|_| kernel("chat", &[])).collect();
        let mut opposite: Vec<Room> = (0..rooms).map(|_| Room::open(&peer)).collect();
        let (ours, theirs) = paired(
            ROUNDS,
            || together(&mut kernels, |kernel| kernel.run(messages)),
            || together(&mut opposite, |room| room.run(messages)),
        );
        assert!(kernels.iter().all(|kernel| kernel.tallies() == [messages * OTHERS]));
        let ratio = Ratio::of(&theirs, &ours);
        let rate = |times| MESSAGES as f64 / mean(times) * 1e-3;
        println!("{rooms:5} {:9.2} {:9.2}  {ratio}", rate(&ours), rate(&theirs));
        reached &= ratio.estimate >= LIMIT;
    }
    if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The seconds from the common start until the last of `rooms` has ended.
fn together<R: Send>(rooms: &mut [R], run: impl Fn(&mut R) + Sync) -> f64 {
    let start = Barrier::new(rooms.len() + 1);
    std::thread::scope(|scope| {
        let (start, run) = (&start, &run);
        let threads: Vec<_> = rooms
            .iter_mut()
            .map(|room| {
                scope.spawn(move || {
                    start.wait();
                    run(room);
                })
            })
            .collect();
        start.wait();
        let begin = Instant::now();
        threads.into_iter().for_each(|thread| thread.join().expect("the room chats on"));
        begin.elapsed().as_secs_f64()
    })
}

/// A room of the peer.
struct Room {
    room: *mut c_void,
    run: unsafe extern "C" fn(*mut c_void, u64) -> u64,
    close: unsafe extern "C" fn(*mut c_void),
}

// SAFETY: the peer's functions may be called by any thread, one at a time.
unsafe impl Send for Room {}

impl Room {
    fn open(peer: &Peer) -> Self {
        // SAFETY: this is how the source declares them; the peer lives to the end.
        unsafe {
            let open: unsafe extern "C" fn() -> *mut c_void = peer.function("chat_open");
            Self {
                room: open(),
                run: peer.function("chat_run"),
                close: peer.function("chat_close"),
            }
        }
    }

    fn run(&mut self, messages: u64) {
        // SAFETY: the room is open.
        assert_eq!(unsafe { (self.run)(self.room, messages) }, messages * OTHERS);
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // SAFETY: the room is open, and nothing can run it any more.
        unsafe { (self.close)(self.room) };
    }
}
