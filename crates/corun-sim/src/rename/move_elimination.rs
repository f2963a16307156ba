//! Which registers share a value since a copy was eliminated: there are few places to note it, and a
//! copy that finds none is executed (Abel and Reineke, uiCA, 2022, section 4.1.5).

use crate::uops::RegisterId;
use corun_model::MoveSlots;

/// Shared physical registers of one file.
#[derive(Debug, Clone, Default)]
struct Shared {
    places: u32,
    until_all: bool,
    /// Registers of each shared value, and whether at most one was left when the cycle began.
    groups: Vec<(u64, bool)>,
    /// Moves eliminated in this cycle and the ones before, the latest first.
    eliminated: [u32; HISTORY],
    /// Places taken at the end of the cycles before.
    taken: [u32; HISTORY],
}

/// Cycles that are looked back.
const HISTORY: usize = 8;

/// The shared values of one thread.
#[derive(Debug, Clone)]
pub(super) struct MoveElimination {
    files: [Shared; 2],
    /// Cycles until a free place is known; 0: places are not counted.
    cycles: usize,
    now: u64,
}

impl MoveElimination {
    pub(super) fn new(model: Option<&MoveSlots>) -> Self {
        let file = |places: Option<u32>, until_all| Shared {
            places: places.unwrap_or(0),
            until_all,
            ..Shared::default()
        };
        Self {
            files: [
                file(model.map(|it| it.integer), model.is_some_and(|it| it.until_all)),
                file(model.map(|it| it.vector), false),
            ],
            cycles: model.map_or(0, |it| (it.cycles as usize).clamp(1, HISTORY - 1)),
            now: 0,
        }
    }

    fn place(register: RegisterId) -> Option<(usize, u64)> {
        match register.0 {
            number @ 0..16 => Some((0, 1 << number)),
            number @ 16..48 => Some((1, 1 << (number - 16))),
            _ => None,
        }
    }

    /// Goes on to this cycle.
    pub(super) fn begin(&mut self, now: u64) {
        if self.cycles == 0 || now == self.now {
            return;
        }
        let passed = (now - self.now).min(HISTORY as u64);
        self.now = now;
        for _ in 0..passed {
            self.files.iter_mut().for_each(Shared::end);
        }
    }

    /// True if a copy to this register can be eliminated now.
    pub(super) fn has_place(&self, to: RegisterId) -> bool {
        let Some((file, _)) = Self::place(to).filter(|_| self.cycles > 0) else { return true };
        let file = &self.files[file];
        let eliminated: u32 = file.eliminated[..self.cycles].iter().sum();
        eliminated + file.taken[self.cycles - 1] < file.places
    }

    /// A copy is eliminated.
    pub(super) fn share(&mut self, to: RegisterId, from: RegisterId) {
        let (Some((file, to)), Some((_, from))) = (Self::place(to), Self::place(from)) else {
            return;
        };
        if self.cycles == 0 {
            return;
        }
        let file = &mut self.files[file];
        file.eliminated[0] += 1;
        let shared = file.groups.iter().position(|(registers, _)| registers & from != 0);
        if shared.is_none_or(|at| file.groups[at].0 & to == 0) {
            file.groups.iter_mut().for_each(|(registers, _)| *registers &= !to);
        }
        match shared {
            Some(at) => file.groups[at].0 |= to,
            None => file.groups.push((to | from, false)),
        }
    }

    /// Nothing is in flight any more, and each register has a value of its own.
    pub(super) fn forget(&mut self) {
        self.files.iter_mut().for_each(|file| file.groups.clear());
    }

    /// True if places are counted.
    #[inline]
    pub(super) fn has_places(&self) -> bool {
        self.cycles > 0
    }

    /// A register gets a value of its own.
    pub(super) fn write(&mut self, register: RegisterId) {
        if self.cycles == 0 {
            return;
        }
        if let Some((file, bit)) = Self::place(register) {
            self.files[file].groups.iter_mut().for_each(|(registers, _)| *registers &= !bit);
        }
    }
}

impl Shared {
    /// The end of a cycle.
    fn end(&mut self) {
        let frees = self.eliminated[0] == 0 && !self.until_all;
        self.groups.retain(|&(registers, was_single)| registers != 0 && !(frees && was_single));
        for (registers, is_single) in &mut self.groups {
            *is_single = registers.count_ones() <= 1;
        }
        self.eliminated.rotate_right(1);
        self.eliminated[0] = 0;
        self.taken.rotate_right(1);
        self.taken[0] = self.groups.len() as u32;
    }
}

#[cfg(test)]
mod tests {
    use crate::rename::move_elimination::*;

    const SLOTS: MoveSlots = MoveSlots { integer: 4, vector: 4, cycles: 2, until_all: true };

    fn register(number: u8) -> RegisterId {
        RegisterId(number)
    }

    #[test]
    fn four_copies_take_all_places() {
        let mut copies = MoveElimination::new(Some(&SLOTS));
        copies.begin(10);
        for to in 0..4 {
            assert!(copies.has_place(register(to)));
            copies.share(register(to), register(8 + to));
        }
        assert!(!copies.has_place(register(4)));
        assert!(copies.has_place(register(20)), "vectors have places of their own");
        copies.begin(20);
        assert!(!copies.has_place(register(4)), "the registers still share");
    }

    #[test]
    fn a_place_is_free_when_all_are_overwritten_or_but_one() {
        for (until_all, is_free) in [(true, false), (false, true)] {
            let mut copies = MoveElimination::new(Some(&MoveSlots { until_all, ..SLOTS }));
            copies.begin(10);
            (0..4).for_each(|to| copies.share(register(to), register(8 + to)));
            copies.begin(20);
            (0..4).for_each(|to| copies.write(register(to)));
            copies.begin(30);
            assert_eq!(copies.has_place(register(4)), is_free, "until all: {until_all}");
            (8..12).for_each(|from| copies.write(register(from)));
            copies.begin(40);
            assert!(copies.has_place(register(4)));
        }
    }

    #[test]
    fn without_slots_every_copy_has_a_place() {
        let mut copies = MoveElimination::new(None);
        (0..8).for_each(|to| copies.share(register(to), register(8 + to)));
        assert!(copies.has_place(register(8)));
    }
}
