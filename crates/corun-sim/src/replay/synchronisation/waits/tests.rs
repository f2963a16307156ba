use std::collections::HashMap;

use corun_trace::ThreadId;

use super::*;
use crate::replay::synchronisation::Synchronisation;
use crate::replay::synchronisation::made::{INCREMENT, POLL, STORE, WORK, in_this_order, recorded};

/// A step of a thread: which one, by which code, and where.
type MadeStep = (usize, &'static [u8], u64);

const FLAG: u64 = 0x100;
const TICKETS: u64 = 0x200;
/// Of the polls that a recording may have before the one that sees the change.
const POLLS: [usize; 3] = [1, 2, 50];

/// For which thread each one waits, and for which of its stores at the place; in its order.
fn waits_of(threads: u32, steps: &[MadeStep], place: u64) -> Vec<Vec<(u32, usize)>> {
    let (trace, ids) = recorded(threads, &in_this_order(steps));
    let mut order = Synchronisation::of(&trace, &ids).unwrap();
    let mut stores: HashMap<u32, Vec<u64>> = HashMap::new();
    let mut positions: HashMap<usize, u64> = HashMap::new();
    for &(thread, code, at) in steps {
        let position = positions.entry(thread).or_default();
        *position += 1;
        if code == STORE && at == place {
            stores.entry(thread as u32).or_default().push(*position);
        }
    }
    let of = |thread: &ThreadId| {
        let all = order.spins.remove(thread).unwrap_or_default().into_iter();
        let number = |spin: Spin| {
            let from = spin.from.0;
            (from, stores[&from].iter().position(|until| *until == spin.until).unwrap())
        };
        all.map(number).collect()
    };
    ids.iter().map(of).collect()
}

fn polls(thread: usize, in_vain: usize, place: u64) -> Vec<MadeStep> {
    vec![(thread, POLL, place); in_vain + 1]
}

#[test]
fn who_polls_a_flag_waits_until_it_is_stored() {
    for in_vain in POLLS {
        let steps = [
            &[(0, WORK, 0), (1, WORK, 0)][..],
            &polls(1, in_vain, FLAG),
            &[(1, WORK, 0), (0, STORE, FLAG), (0, WORK, 0)],
        ];
        assert_eq!(waits_of(2, &steps.concat(), FLAG), [vec![], vec![(0, 0)]], "{in_vain}");
    }
    // It was there already, and comes again while the thread does something else.
    let steps = [(0, STORE, FLAG), (1, POLL, FLAG), (1, WORK, 0), (1, POLL, FLAG), (1, WORK, 0)];
    assert_eq!(waits_of(2, &steps, FLAG), [vec![], vec![]]);
}

#[test]
fn a_round_with_a_copy_on_the_stack_is_a_poll_all_the_same() {
    for in_vain in POLLS {
        let round = [(1, POLL, FLAG), (1, STORE, 0x900), (1, POLL, 0x900)];
        let steps =
            [&round.repeat(in_vain + 1)[..], &[(1, WORK, 0), (0, WORK, 0), (0, STORE, FLAG)]];
        assert_eq!(waits_of(2, &steps.concat(), FLAG), [vec![], vec![(0, 0)]], "{in_vain}");
    }
}

#[test]
fn at_a_barrier_all_wait_for_the_last_one() {
    for in_vain in POLLS {
        let mut steps = Vec::new();
        for episode in 0..6 {
            // Another one is the last each time; the one before it comes so late that it need not wait.
            let order = [0, 1, 2].map(|place| (place + episode) % 3);
            for (place, thread) in order.into_iter().enumerate() {
                steps.extend([(thread, WORK, 0), (thread, INCREMENT, TICKETS)]);
                if place == 0 {
                    steps.extend(polls(thread, in_vain, FLAG));
                }
            }
            steps.extend([(order[2], STORE, FLAG), (order[1], POLL, FLAG)]);
        }
        let found = waits_of(3, &steps, FLAG);
        for (thread, found) in found.iter().enumerate() {
            let others = (0..6).filter(|episode| (2 + episode) % 3 != thread);
            let expected: Vec<(u32, usize)> =
                others.map(|episode| ((2 + episode as u32) % 3, episode / 3)).collect();
            assert_eq!(*found, expected, "{in_vain}: thread {thread}");
        }
    }
}

#[test]
fn a_ticket_lock_is_passed_on_in_the_order_of_tickets() {
    for in_vain in POLLS {
        let mut steps: Vec<MadeStep> = Vec::new();
        let order = [0, 1, 2, 1, 0, 2, 2, 1, 0];
        // All draw a ticket before the first of them leaves the lock.
        for round in order.chunks(3) {
            steps.extend(round.iter().map(|thread| (*thread, INCREMENT, TICKETS)));
            for &thread in round {
                steps.extend(polls(thread, in_vain, FLAG));
                steps.extend([(thread, WORK, 0), (thread, STORE, FLAG), (thread, WORK, 0)]);
            }
        }
        let found = waits_of(3, &steps, FLAG);
        let mut left = [0; 3];
        let mut expected = vec![Vec::new(); 3];
        for pair in order.windows(2) {
            let (before, own) = (pair[0], pair[1]);
            let store = (before as u32, left[before]);
            left[before] += 1;
            if before != own {
                expected[own].push(store);
            }
        }
        // Who follows itself waits for the last other one, which has long left.
        let is_in =
            |(found, expected): (&Vec<_>, &Vec<_>)| expected.iter().all(|it| found.contains(it));
        assert!(found.iter().zip(&expected).all(is_in), "{in_vain}: {found:?}\n{expected:?}");
    }
}

#[test]
fn in_a_ring_each_item_is_waited_for_and_each_free_place() {
    const HEAD: u64 = 0x400;
    const SIZE: usize = 4;
    for in_vain in POLLS {
        let (mut steps, mut done) = (Vec::new(), [0, 0]);
        let (producer, consumer) = (0, 1);
        // One puts in what has room, then the other takes all out: each waits once a round, as on a machine with one CPU.
        while done[1] < 20 {
            while done[0] < done[1] + SIZE {
                steps.extend(polls(
                    producer,
                    if done[0] > 0 && done[0] == done[1] { in_vain } else { 0 },
                    HEAD,
                ));
                steps.extend([(producer, WORK, 0), (producer, STORE, FLAG), (producer, WORK, 0)]);
                done[0] += 1;
            }
            while done[1] < done[0] {
                steps.extend(polls(consumer, if done[1] % SIZE == 0 { in_vain } else { 0 }, FLAG));
                steps.extend([(consumer, WORK, 0), (consumer, STORE, HEAD), (consumer, WORK, 0)]);
                done[1] += 1;
            }
        }
        let (trace, ids) = recorded(2, &in_this_order(&steps));
        let mut order = Synchronisation::of(&trace, &ids).unwrap();
        let stores = |thread: usize| {
            let own = steps.iter().filter(|step| step.0 == thread);
            let stores = own.enumerate().filter(|(_, step)| step.1 == STORE);
            stores.map(|(at, _)| at as u64 + 1).collect::<Vec<_>>()
        };
        let mut found = |thread: usize, other: usize| {
            let stores = stores(other);
            let own = order.spins.remove(&ids[thread]).unwrap().into_iter();
            own.map(|spin| stores.iter().position(|it| *it == spin.until).unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(found(consumer, producer), (0..20).collect::<Vec<_>>(), "{in_vain}");
        assert_eq!(found(producer, consumer), (0..16).collect::<Vec<_>>(), "{in_vain}");
    }
}
