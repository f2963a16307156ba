//! Which bytes instructions touch: the trace's values, read as their places in memory say.

use corun_trace::Form;

use crate::core::InstructionSource;
use crate::core::thread::{Thread, VALUES};
use crate::uops::{DecodedInstruction, Memory as Place};
use corun_model::LINE;

/// Bytes of a repeated access of which the lines are asked for one by one.
const LONGEST_SPAN: u64 = 1 << 14;

impl<F: InstructionSource> Thread<F> {
    /// Where the values of an instruction's place in memory begin, if those of its first begin at `values`.
    pub(crate) fn first_value(&self, lowered: &DecodedInstruction, values: u32, memory: u8) -> u32 {
        lowered.memory[..usize::from(memory)]
            .iter()
            .fold(values, |at, place| self.values_after(place, at))
    }

    /// Where the values end that begin with those of a place.
    pub(crate) fn values_after(&self, place: &Place, at: u32) -> u32 {
        values_after(place, at, &self.values)
    }

    /// The first byte that is touched there, by its linear address, and how many are.
    pub(crate) fn touched(&self, place: &Place, at: u32) -> (u64, u64) {
        let size = u64::from(place.size);
        let (first, second) = (self.value(at), self.value(at.wrapping_add(1)));
        match place.form {
            Form::Single => (first, size),
            Form::Lanes => (second, if first == 0 { 0 } else { size }),
            Form::Repeated => (second, (first >> 1).saturating_mul(size).min(LONGEST_SPAN)),
        }
    }
}

/// Where the values of an instruction end that begin at `at` in the ring.
#[inline]
pub(crate) fn values_end(lowered: &DecodedInstruction, at: u32, values: &[u64; VALUES]) -> u32 {
    match lowered.digest.values {
        Some(count) => at.wrapping_add(count.into()),
        None => lowered.memory.iter().fold(at, |at, place| values_after(place, at, values)),
    }
}

fn values_after(place: &Place, at: u32, values: &[u64; VALUES]) -> u32 {
    at.wrapping_add(match place.form {
        Form::Single => 1,
        Form::Repeated => 2,
        Form::Lanes => 1 + values[at as usize % VALUES] as u32,
    })
}

/// An address in each line of these bytes.
pub(crate) fn lines(address: u64, span: u64) -> impl Iterator<Item = u64> {
    let (line, end) = (u64::from(LINE), address.wrapping_add(span));
    let first = (address < end).then_some(address);
    std::iter::successors(first, move |at| {
        Some((at / line + 1).wrapping_mul(line)).filter(|next| (address..end).contains(next))
    })
}

#[cfg(test)]
mod tests {
    use crate::lsq::operands::lines;

    #[test]
    fn bytes_lie_in_the_lines_from_their_first_to_their_last() {
        let all = |address, span| lines(address, span).collect::<Vec<u64>>();
        assert_eq!(all(70, 8), [70]);
        assert_eq!(all(60, 8), [60, 64]);
        assert_eq!(all(60, 5), [60, 64]);
        assert_eq!(all(60, 4), [60]);
        assert_eq!(all(0, 256), [0, 64, 128, 192]);
        assert!(all(70, 0).is_empty());
        assert_eq!(all(u64::MAX - 1, 1), [u64::MAX - 1]);
        assert!(all(u64::MAX - 1, 8).is_empty(), "what goes round the end is nowhere");
    }
}
