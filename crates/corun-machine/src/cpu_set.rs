//! Sets of logical CPU numbers, in the two text forms of the kernel.
//!
//! Lists (`0-3,8`) and masks (`ff,00000000`) are described in the kernel's
//! `Documentation/admin-guide/cputopology.rst`. NUMA nodes are numbered in the same forms.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The highest number that is believed. Kernels are built for at most 8,192 CPUs; a larger number
/// than this is damage, and must not make us fill the memory.
pub const HIGHEST_CPU: u32 = 65_535;

/// A set of numbers of logical CPUs (or NUMA nodes), ascending and without duplicates.
///
/// In JSON an array of numbers. `Display` and `FromStr` use the kernel's list form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct CpuSet(Vec<u32>);

impl CpuSet {
    /// The empty set.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Reads the kernel's list form: numbers and ranges, also with a stride (`0-30:2/4`).
    ///
    /// White space and NUL bytes around it are ignored, and so are empty elements; an empty text is
    /// the empty set.
    ///
    /// # Errors
    /// If an element is no number or range, a range runs backwards, or a number exceeds
    /// [`HIGHEST_CPU`].
    pub fn from_list(text: &str) -> Result<Self, CpuSetError> {
        let mut set = Vec::new();
        for element in trim(text).split(',').map(str::trim).filter(|element| !element.is_empty()) {
            append_element(&mut set, element)?;
        }
        Ok(set.into_iter().collect())
    }

    /// Reads the kernel's mask form: hexadecimal words of 32 bits, the highest first.
    ///
    /// White space and NUL bytes around it are ignored; an empty text is the empty set.
    ///
    /// # Errors
    /// If a word is no hexadecimal number of up to 32 bits, or a number exceeds [`HIGHEST_CPU`].
    pub fn from_mask(text: &str) -> Result<Self, CpuSetError> {
        let text = trim(text);
        if text.is_empty() {
            return Ok(Self::new());
        }
        let mut set = Vec::new();
        for (position, word) in text.split(',').rev().enumerate() {
            let digits = word.strip_prefix("0x").unwrap_or(word);
            if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(CpuSetError::NoMaskWord(word.to_owned()));
            }
            let mut bits = u32::from_str_radix(digits, 16)
                .map_err(|_| CpuSetError::NoMaskWord(word.to_owned()))?;
            while bits != 0 {
                let number = position as u64 * 32 + u64::from(bits.trailing_zeros());
                set.push(believed(number)?);
                bits &= bits - 1;
            }
        }
        Ok(Self(set))
    }

    /// The numbers, ascending.
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }

    /// The numbers, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u32> + ExactSizeIterator + '_ {
        self.0.iter().copied()
    }

    /// Number of CPUs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The lowest number.
    pub fn first(&self) -> Option<u32> {
        self.0.first().copied()
    }

    /// True if `number` is in it.
    pub fn contains(&self, number: u32) -> bool {
        self.0.binary_search(&number).is_ok()
    }

    /// Puts `number` in.
    pub fn insert(&mut self, number: u32) {
        if self.0.last().is_none_or(|&last| last < number) {
            self.0.push(number);
        } else if let Err(place) = self.0.binary_search(&number) {
            self.0.insert(place, number);
        }
    }

    /// Union of both.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.iter().chain(other.iter()).collect()
    }

    /// Intersection of both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self(self.iter().filter(|&number| other.contains(number)).collect())
    }

    /// CPUs in this one only.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        Self(self.iter().filter(|&number| !other.contains(number)).collect())
    }

    /// True if every number of this one is in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.iter().all(|number| other.contains(number))
    }

    /// True if no number is in both.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        !self.iter().any(|number| other.contains(number))
    }
}

/// Why a text is not a set of CPUs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CpuSetError {
    /// An element of a list.
    #[error("expected CPU numbers and ranges such as `0-3,8`, found `{0}`")]
    NoListElement(String),
    /// A word of a mask.
    #[error("expected hexadecimal words of 32 bits such as `ff,00000000`, found `{0}`")]
    NoMaskWord(String),
    /// A number beyond belief.
    #[error("expected CPU numbers up to {HIGHEST_CPU}, found {0}")]
    TooHigh(u64),
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        let mut numbers: Vec<u32> = numbers.into_iter().collect();
        if !numbers.is_sorted_by(|before, after| before < after) {
            numbers.sort_unstable();
            numbers.dedup();
        }
        Self(numbers)
    }
}

impl<const N: usize> From<[u32; N]> for CpuSet {
    fn from(numbers: [u32; N]) -> Self {
        numbers.into_iter().collect()
    }
}

impl FromStr for CpuSet {
    type Err = CpuSetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::from_list(text)
    }
}

impl<'de> Deserialize<'de> for CpuSet {
    fn deserialize<D: serde::Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        Ok(Vec::<u32>::deserialize(source)?.into_iter().collect())
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for run in self.0.chunk_by(|&before, &after| before.checked_add(1) == Some(after)) {
            if let (Some(first), Some(last)) = (run.first(), run.last()) {
                write!(out, "{separator}{first}")?;
                if first != last {
                    write!(out, "-{last}")?;
                }
            }
            separator = ",";
        }
        Ok(())
    }
}

fn trim(text: &str) -> &str {
    text.trim_matches(|character: char| character == '\0' || character.is_whitespace())
}

fn append_element(set: &mut Vec<u32>, element: &str) -> Result<(), CpuSetError> {
    let wrong = || CpuSetError::NoListElement(element.to_owned());
    let (range, (used, group)) = match element.split_once(':') {
        None => (element, (1, 1)),
        Some((range, stride)) => {
            let (used, group) = stride.split_once('/').ok_or_else(wrong)?;
            (range, (number(used).ok_or_else(wrong)?, number(group).ok_or_else(wrong)?))
        }
    };
    if used == 0 || group == 0 || used > group {
        return Err(wrong());
    }
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let first = believed(number(first).ok_or_else(wrong)?)?;
    let last = believed(number(last).ok_or_else(wrong)?)?;
    if first > last {
        return Err(wrong());
    }
    set.extend((first..=last).filter(|&cpu| u64::from(cpu - first) % group < used));
    Ok(())
}

fn number(digits: &str) -> Option<u64> {
    // `parse` alone would also take a sign.
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

fn believed(number: u64) -> Result<u32, CpuSetError> {
    match u32::try_from(number) {
        Ok(number) if number <= HIGHEST_CPU => Ok(number),
        _ => Err(CpuSetError::TooHigh(number)),
    }
}
