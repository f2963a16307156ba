//! From the accesses that QEMU reports to the values of an instruction's operands.
//!
//! QEMU splits what is wider than 8 bytes, reports a `rep` instruction an iteration at a time, and says
//! nothing where it does nothing (prefetches).

use crate::{Direction, Form, MemoryOperand};

/// One access, or a piece of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) address: u64,
    pub(super) is_store: bool,
}

/// Accesses of one instruction, in its order, in bounded memory however often it repeats.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// The first ones: enough for any instruction that does not repeat.
    first: Vec<Piece>,
    loads: u64,
    stores: u64,
}

/// `xsave` writes a few thousand bytes, 8 at a time.
const MAX_KEPT: usize = 2048;

impl Pieces {
    pub(super) fn push(&mut self, piece: Piece) {
        if piece.is_store {
            self.stores += 1;
        } else {
            self.loads += 1;
        }
        if self.first.len() < MAX_KEPT {
            self.first.push(piece);
        }
    }

    pub(super) fn clear(&mut self) {
        self.first.clear();
        (self.loads, self.stores) = (0, 0);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// Appends the values of the instruction's operands; takes the pieces apart on the way.
    pub(super) fn values(&mut self, operands: &[MemoryOperand], values: &mut Vec<u64>) {
        match operands {
            // cmps: QEMU loads the destination first.
            [one, other]
                if one.direction == Direction::Read && other.direction == Direction::Read =>
            {
                let [second, first] = [0, 1].map(|of| self.every_second(of));
                push(one, first, values);
                push(other, second, values);
            }
            _ => operands.iter().for_each(|operand| self.value(operand, values)),
        }
    }

    fn value(&mut self, operand: &MemoryOperand, values: &mut Vec<u64>) {
        let is_store = operand.direction == Direction::Write;
        let own = self.first.iter().filter(|piece| piece.is_store == is_store);
        match operand.form {
            Form::Lanes => {
                let own = own.map(|piece| piece.address).take(crate::block::MAX_LANES);
                let count = values.len();
                values.push(0);
                values.extend(own);
                values[count] = (values.len() - count - 1) as u64;
            }
            Form::Repeated => {
                let count = if is_store { self.stores } else { self.loads };
                let mut own = own.map(|piece| piece.address);
                let run = Run { count, first: own.next(), second: own.next() };
                push(operand, run, values);
            }
            Form::Single => values.push(self.take(operand)),
        }
    }

    /// The address of an operand with one access, all of whose pieces are taken.
    fn take(&mut self, operand: &MemoryOperand) -> u64 {
        let fits = |piece: &Piece| match operand.direction {
            Direction::Read => !piece.is_store,
            Direction::Write => piece.is_store,
            Direction::ReadWrite => true,
            Direction::Prefetch => false,
        };
        let Some(begin) = self.first.iter().find(|piece| fits(piece)).map(|piece| piece.address)
        else {
            return 0;
        };
        // The core's state decides how long it is, and the order of its pieces is QEMU's.
        if operand.size == 0 || operand.size > 64 {
            let own = self.first.extract_if(.., |piece| fits(piece));
            return own.map(|piece| piece.address).min().unwrap_or(begin);
        }
        let range = begin..begin.saturating_add(u64::from(operand.size));
        self.first.retain(|piece| !(fits(piece) && range.contains(&piece.address)));
        begin
    }

    /// The loads at even or odd places.
    fn every_second(&self, odd: usize) -> Run {
        let mut own = self.first.iter().map(|piece| piece.address).skip(odd).step_by(2);
        Run { count: self.loads / 2, first: own.next(), second: own.next() }
    }
}

/// The addresses of an operand that repeats.
struct Run {
    count: u64,
    first: Option<u64>,
    second: Option<u64>,
}

fn push(operand: &MemoryOperand, run: Run, values: &mut Vec<u64>) {
    let first = run.first.unwrap_or(0);
    if operand.form == Form::Repeated {
        let falls = run.second.is_some_and(|second| second < first);
        values.push(run.count << 1 | u64::from(falls));
    }
    values.push(first);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;

    fn values(code: &[u8], pieces: &[(u64, bool)]) -> Vec<u64> {
        let block = decode(0x1000, code).unwrap();
        let mut seen = Pieces::default();
        for &(address, is_store) in pieces {
            seen.push(Piece { address, is_store });
        }
        let mut values = Vec::new();
        seen.values(&block.operands, &mut values);
        values
    }

    const LOAD: bool = false;
    const STORE: bool = true;

    #[test]
    fn what_qemu_split_is_one_access() {
        // vmovdqu ymm0, [rax]; lock cmpxchg16b [rdi]
        let load = [0xc5, 0xfe, 0x6f, 0x00];
        let pieces = [(64, LOAD), (72, LOAD), (80, LOAD), (88, LOAD)];
        assert_eq!(values(&load, &pieces), [64]);
        let exchange = [0xf0, 0x48, 0x0f, 0xc7, 0x0f];
        let pieces = [(16, LOAD), (24, LOAD), (16, STORE), (24, STORE)];
        assert_eq!(values(&exchange, &pieces), [16]);
    }

    #[test]
    fn a_repeated_copy_is_one_instruction() {
        // rep movsb, downwards
        let pieces = [(9, LOAD), (5, STORE), (8, LOAD), (4, STORE), (7, LOAD), (3, STORE)];
        assert_eq!(values(&[0xf3, 0xa4], &pieces), [7, 9, 7, 5]);
        assert_eq!(values(&[0xf3, 0xa4], &[]), [0, 0, 0, 0]);
    }

    #[test]
    fn both_sides_of_a_comparison_are_distinguished() {
        // repe cmpsb; cmpsb: rdi is loaded before rsi
        let pieces = [(200, LOAD), (100, LOAD), (201, LOAD), (101, LOAD)];
        assert_eq!(values(&[0xf3, 0xa6], &pieces), [4, 100, 4, 200]);
        assert_eq!(values(&[0xa6], &pieces[..2]), [100, 200]);
    }

    #[test]
    fn a_gather_has_the_lanes_that_were_loaded() {
        // vpgatherdd xmm0, [rax + xmm1*4], xmm2
        let gather = [0xc4, 0xe2, 0x69, 0x90, 0x04, 0x88];
        assert_eq!(values(&gather, &[(4, LOAD), (400, LOAD)]), [2, 4, 400]);
    }

    #[test]
    fn what_is_not_reported_is_zero() {
        // prefetcht0 [rax]
        assert_eq!(values(&[0x0f, 0x18, 0x08], &[]), [0]);
    }

    #[test]
    fn a_memory_operand_pushed_is_read_then_written() {
        // push [rax]
        assert_eq!(values(&[0xff, 0x30], &[(0x10, LOAD), (0x7ff8, STORE)]), [0x10, 0x7ff8]);
    }
}
