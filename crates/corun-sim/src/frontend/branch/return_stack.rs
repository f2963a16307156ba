//! Return stack: the addresses that calls will return to. Real stacks are rings: a nest deeper than
//! the ring loses its outermost callers, nothing else.

/// Return addresses of one thread.
#[derive(Debug)]
pub(crate) struct ReturnStack {
    ring: Vec<u64>,
    top: usize,
}

impl ReturnStack {
    /// An empty one that holds `entries`, at least one.
    pub(crate) fn new(entries: u32) -> Self {
        Self { ring: vec![0; entries.max(1) as usize], top: 0 }
    }

    /// A call; over the oldest entry if there is no room.
    pub(crate) fn push(&mut self, address: u64) {
        self.top = if self.top + 1 == self.ring.len() { 0 } else { self.top + 1 };
        self.ring[self.top] = address;
    }

    /// A return: where to. Behind the last entry the ring gives what it held last time round.
    pub(crate) fn pop(&mut self) -> u64 {
        let address = self.ring[self.top];
        self.top = self.top.checked_sub(1).unwrap_or(self.ring.len() - 1);
        address
    }
}

#[cfg(test)]
mod tests {
    use crate::frontend::branch::return_stack::*;

    #[test]
    fn a_nest_as_deep_as_the_ring_is_held() {
        let mut stack = ReturnStack::new(4);
        (1..=4).for_each(|address| stack.push(address));
        assert_eq!([(); 4].map(|()| stack.pop()), [4, 3, 2, 1]);
    }

    #[test]
    fn a_deeper_nest_loses_its_outermost_callers() {
        let mut stack = ReturnStack::new(4);
        (1..=6).for_each(|address| stack.push(address));
        assert_eq!([(); 6].map(|()| stack.pop()), [6, 5, 4, 3, 6, 5]);
    }
}
