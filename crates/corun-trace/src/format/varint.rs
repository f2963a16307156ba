//! Whole numbers in as few bytes as they need, and a cursor that reads them within bounds.
//!
//! Unsigned LEB128: seven bits a byte, lowest first, the eighth says that more follow. Signed
//! differences are folded first, so that small ones of both signs are short (zigzag).

use super::error::{Defect, FoundValue};

/// Appends a number.
#[inline]
pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A signed difference, given and returned modulo 2^64: 0, -1, 1, -2 become 0, 1, 2, 3.
#[inline]
pub(super) fn fold(difference: u64) -> u64 {
    (difference << 1) ^ (((difference as i64) >> 63) as u64)
}

/// The inverse of [`fold`].
#[inline]
pub(super) fn unfold(folded: u64) -> u64 {
    (folded >> 1) ^ (folded & 1).wrapping_neg()
}

/// A interval of a frame's content that is read from front to back.
///
/// It holds no reference, so that a decoder can own the content and several cursors into it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cursor {
    pub at: usize,
    pub end: usize,
}

impl Cursor {
    pub(super) fn over(content: &[u8]) -> Self {
        Self { at: 0, end: content.len() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at == self.end
    }

    /// The next number.
    #[inline]
    pub(super) fn number(&mut self, content: &[u8], expected: &'static str) -> Result<u64, Defect> {
        if self.at < self.end && content[self.at] < 0x80 {
            self.at += 1;
            return Ok(u64::from(content[self.at - 1]));
        }
        self.long_number(content, expected)
    }

    fn long_number(&mut self, content: &[u8], expected: &'static str) -> Result<u64, Defect> {
        let start = self.at;
        let mut value = 0;
        for (index, &byte) in content[start..self.end].iter().take(10).enumerate() {
            if index == 9 && byte > 1 {
                return Err(Defect { at: start, expected, found: FoundValue::TooLarge });
            }
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                self.at = start + index + 1;
                return Ok(value);
            }
        }
        Err(Defect { at: start, expected, found: FoundValue::End })
    }

    /// The next number, which is at most `largest`.
    pub(super) fn number_up_to(
        &mut self,
        content: &[u8],
        largest: u64,
        expected: &'static str,
    ) -> Result<u64, Defect> {
        let at = self.at;
        match self.number(content, expected)? {
            value if value <= largest => Ok(value),
            value => Err(Defect { at, expected, found: FoundValue::Number(value) }),
        }
    }

    /// The next `length` bytes, as a cursor of their own.
    pub(super) fn split(&mut self, length: u64, expected: &'static str) -> Result<Self, Defect> {
        if length > (self.end - self.at) as u64 {
            return Err(Defect { at: self.at, expected, found: FoundValue::End });
        }
        let part = Self { at: self.at, end: self.at + length as usize };
        self.at = part.end;
        Ok(part)
    }

    /// Nothing may be left.
    pub(super) fn finish(&self, expected: &'static str) -> Result<(), Defect> {
        if self.is_empty() {
            return Ok(());
        }
        let left = (self.end - self.at) as u64;
        Err(Defect { at: self.at, expected, found: FoundValue::Left(left) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_come_back() {
        let mut bytes = Vec::new();
        let numbers: Vec<u64> =
            (0..64).flat_map(|shift| [1 << shift, (1 << shift) - 1]).chain([u64::MAX]).collect();
        numbers.iter().for_each(|&number| put(&mut bytes, number));
        let mut cursor = Cursor::over(&bytes);
        for number in numbers {
            assert_eq!(cursor.number(&bytes, "a number"), Ok(number));
            assert_eq!(unfold(fold(number)), number);
        }
        assert!(cursor.is_empty());
    }

    #[test]
    fn a_number_without_end_or_too_large_is_refused() {
        for (bytes, found) in [
            (&[][..], FoundValue::End),
            (&[0x80], FoundValue::End),
            (&[0xff; 9], FoundValue::End),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2], FoundValue::TooLarge),
        ] {
            let expected = "a number";
            let read = Cursor::over(bytes).number(bytes, expected);
            assert_eq!(read, Err(Defect { at: 0, expected, found }), "{bytes:x?}");
        }
    }
}
