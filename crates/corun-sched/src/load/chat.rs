//! chat: rooms of users. What a user sends, the server passes on to all others of the room; each user has
//! a connection with two threads at each end (Hartner's chat; its facts are in docs/classics.md).

use super::{LoadEntry, Make, Parameter, Values};
use crate::program::{Amount, Load, QueueSpec, Step};

pub(super) const ENTRY: LoadEntry = LoadEntry {
    name: "chat",
    summary: "rooms of users with four threads each, who all write to all",
    make: Make::Parameters(
        &[
            Parameter { name: "rooms", default: "10", meaning: "how many" },
            Parameter { name: "users", default: "20", meaning: "of a room" },
            Parameter { name: "messages", default: "10", meaning: "that each user sends" },
            Parameter { name: "send", default: "20us", meaning: "work of sending a message" },
            Parameter { name: "receive", default: "20us", meaning: "work of receiving one" },
            Parameter { name: "buffer", default: "16", meaning: "messages that a socket holds" },
        ],
        make,
    ),
};

/// Steps of all programs together: less than a gigabyte of them.
const MAX_STEPS: u64 = 20_000_000;

fn make(values: &Values) -> Result<Load, String> {
    let mut load = Load { operation: "messages".to_owned(), ..Load::default() };
    let [rooms, users, messages] = ["rooms", "users", "messages"].map(|name| values.count(name));
    let (rooms, users, messages) = (rooms?, users?, messages?);
    let threads = rooms.checked_mul(users).and_then(|all| all.checked_mul(4));
    if threads.is_none_or(|threads| threads > 1_000_000) {
        return Err(format!(
            "expected a million threads at most, found {rooms} rooms of {users} users with 4 each"
        ));
    }
    // Each reader has a step for each of the others.
    let steps = rooms.saturating_mul(users).saturating_mul(users);
    if steps > MAX_STEPS {
        return Err(format!(
            "expected rooms times users times users of {MAX_STEPS} at most, found {steps}"
        ));
    }
    let [send, receive] = ["send", "receive"].map(|name| values.time(name));
    let (send, receive) = (Step::Run(Amount::Fixed(send?)), Step::Run(Amount::Fixed(receive?)));
    let capacity = Some(u32::try_from(values.count("buffer")?).unwrap_or(u32::MAX));
    let socket = QueueSpec { capacity, initial: 0 };
    for _ in 0..rooms {
        // Of each user: to the server, within the server, and back.
        let sockets: Vec<[usize; 3]> = (0..users)
            .map(|_| [load.queue(socket), load.queue(QueueSpec::default()), load.queue(socket)])
            .collect();
        for (user, &[up, within, down]) in sockets.iter().enumerate() {
            let others = sockets.iter().enumerate().filter(|(other, _)| *other != user);
            let to_others = others.map(|(_, queues)| Step::Send(queues[1]));
            let arriving = messages * (users - 1);
            let times = |times: u64, body: Vec<Step>| {
                let mut steps = vec![Step::Repeat(Some(times))];
                steps.extend(body);
                steps.push(Step::End);
                steps
            };
            let read = [Step::Receive(up), receive].into_iter().chain(to_others).collect();
            for (name, steps) in [
                ("sender", times(messages, vec![send, Step::Send(up)])),
                ("server reader", times(messages, read)),
                (
                    "server writer",
                    times(arriving, vec![Step::Receive(within), send, Step::Send(down)]),
                ),
                ("receiver", times(arriving, vec![Step::Receive(down), receive, Step::Done])),
            ] {
                let program = load.program(name, "chat", steps);
                load.tasks(program, 1);
            }
        }
    }
    Ok(load)
}
