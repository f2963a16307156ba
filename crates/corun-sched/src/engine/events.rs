//! Events that happen next: at most one event for each place, by time and then by order of setting.
//!
//! An indexed heap, so that a changed event leaves no stale entry, and memory is proportional to places.

/// A heap of four children a node, which lie in one line of a cache, with the place of each event's node.
#[derive(Debug, Default)]
pub(super) struct Events {
    heap: Vec<Event>,
    /// The node of each place; [`NONE`] without event.
    nodes: Vec<u32>,
    sequence: u64,
}

/// Time, sequence and place as one number, so that comparing two takes no branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event(u128);

impl Event {
    /// Bits for places: more than there is memory for. What is left of 64 lasts for days of events.
    const PLACE: u32 = 26;

    fn new(time: u64, sequence: u64, place: usize) -> Self {
        Self(u128::from(time) << 64 | u128::from(sequence << Self::PLACE | place as u64))
    }

    fn time(self) -> u64 {
        (self.0 >> 64) as u64
    }

    fn place(self) -> usize {
        self.0 as usize & ((1 << Self::PLACE) - 1)
    }
}

const NONE: u32 = u32::MAX;
const CHILDREN: usize = 4;

impl Events {
    /// Sets the event of a place to this time.
    pub(super) fn set(&mut self, place: usize, time: u64) {
        if self.nodes.len() <= place {
            self.nodes.resize(place + 1, NONE);
        }
        let event = Event::new(time, self.sequence, place);
        self.sequence += 1;
        let node = self.nodes[place];
        if node == NONE {
            self.heap.push(event);
            self.up(self.heap.len() - 1);
        } else {
            let node = node as usize;
            let is_earlier = event < self.heap[node];
            self.heap[node] = event;
            if is_earlier { self.up(node) } else { self.down(node) }
        }
    }

    /// Takes the event of a place away, if there is one.
    pub(super) fn cancel(&mut self, place: usize) {
        let Some(&node) = self.nodes.get(place).filter(|&&node| node != NONE) else { return };
        self.remove(node as usize);
    }

    /// Time and place of the next event, which is taken away.
    pub(super) fn pop(&mut self) -> Option<(u64, usize)> {
        let &event = self.heap.first()?;
        self.remove(0);
        Some((event.time(), event.place()))
    }

    fn remove(&mut self, node: usize) {
        self.nodes[self.heap[node].place()] = NONE;
        let last = self.heap.len() - 1;
        self.heap.swap_remove(node);
        if node < last {
            self.up(node);
            self.down(self.nodes[self.heap[node].place()] as usize);
        }
    }

    fn up(&mut self, mut node: usize) {
        let event = self.heap[node];
        while node > 0 {
            let parent = (node - 1) / CHILDREN;
            if self.heap[parent] <= event {
                break;
            }
            self.put(node, self.heap[parent]);
            node = parent;
        }
        self.put(node, event);
    }

    fn down(&mut self, mut node: usize) {
        let event = self.heap[node];
        loop {
            let first = node * CHILDREN + 1;
            let Some(children) = self.heap.get(first..) else { break };
            let children = (first..).zip(children.iter().take(CHILDREN));
            let Some((least, &earliest)) = children.min_by_key(|&(_, child)| child) else { break };
            if earliest >= event {
                break;
            }
            self.put(node, earliest);
            node = least;
        }
        self.put(node, event);
    }

    fn put(&mut self, node: usize, event: Event) {
        self.heap[node] = event;
        self.nodes[event.place()] = node as u32;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn events_come_by_time_and_those_of_one_time_as_they_were_set(
            changes in proptest::collection::vec((0_usize..20, proptest::option::of(0_u64..50)), 0..200),
        ) {
            let mut events = Events::default();
            let mut expected = BTreeMap::new();
            for (sequence, (place, time)) in changes.into_iter().enumerate() {
                match time {
                    Some(time) => {
                        events.set(place, time);
                        expected.insert(place, (time, sequence));
                    }
                    None => {
                        events.cancel(place);
                        expected.remove(&place);
                    }
                }
            }
            let mut expected: Vec<_> = expected.into_iter().map(|(place, (time, sequence))| (time, sequence, place)).collect();
            expected.sort_unstable();
            for (time, _, place) in expected {
                prop_assert_eq!(events.pop(), Some((time, place)));
            }
            prop_assert_eq!(events.pop(), None);
        }
    }
}
