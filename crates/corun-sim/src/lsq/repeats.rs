//! Accesses that are issued once more, since the line or the translation that they want was not there the first time: they
//! take the place of others then.

/// Accesses that are still to be repeated.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    loads: u32,
    stores: u32,
}

impl Repeats {
    /// So many more are to be repeated.
    pub(super) fn add(&mut self, is_load: bool, count: u32) {
        let to = if is_load { &mut self.loads } else { &mut self.stores };
        *to += count;
    }

    /// Number of repeated loads and stores of this cycle, of as many as the cycle takes.
    pub(super) fn take(&mut self, loads: u32, stores: u32) -> (u32, u32) {
        let now = (self.loads.min(loads), self.stores.min(stores));
        self.loads -= now.0;
        self.stores -= now.1;
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_repeated_takes_the_place_of_others_once() {
        let mut repeats = Repeats::default();
        repeats.add(true, 5);
        repeats.add(false, 1);
        assert_eq!(repeats.take(3, 2), (3, 1));
        assert_eq!(repeats.take(3, 2), (2, 0));
        assert_eq!(repeats.take(3, 2), (0, 0));
    }
}
