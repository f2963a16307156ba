//! The column of values: addresses and counts, written only where a prediction fails.
//!
//! Each operand of a block remembers how its values step from one execution to the next, and how far
//! they lie from the value before them (the stride and the differential context of Burtscher's VPC,
//! 2004): the first fits arrays, the second the stack and the fields of a structure.

use super::dictionary::Shape;
use super::error::{Defect, FoundValue};
use super::runs::{RunReader, RunWriter};
use super::varint::{Cursor, fold, unfold};
use super::{MAX_ITERATIONS, MAX_LANES, MAX_VALUES};
use crate::Form;

/// Memories, as a power of two: 4 MiB, of which only what is used is ever touched.
const MEMORY_BITS: u32 = 17;
/// Initial trust, between the step (0) and the distance (3).
const FIRST_TRUST: u64 = 2;

/// Writes the column.
#[derive(Debug, Default)]
pub(super) struct ValueWriter {
    memories: Memories,
    runs: RunWriter,
}

impl ValueWriter {
    /// The values of one execution, if they are those of the forms.
    #[inline]
    pub(super) fn push(&mut self, shape: &Shape, forms: &[Form], values: &[u64]) -> Option<()> {
        if shape.is_plain {
            if values.len() != forms.len() {
                return None;
            }
            for (slot, &value) in (shape.first_slot..).zip(values) {
                self.address(slot, value);
            }
            return Some(());
        }
        check_forms(forms, values)?;
        let mut values = values.iter().copied();
        for (index, form) in forms.iter().enumerate() {
            let slot = shape.slot(index);
            match form {
                Form::Single => self.address(slot, values.next()?),
                Form::Repeated => {
                    self.count(slot, values.next()?);
                    self.address(slot + 1, values.next()?);
                }
                Form::Lanes => {
                    let lanes = values.next()?;
                    self.count(slot, lanes);
                    values
                        .by_ref()
                        .take(lanes as usize)
                        .for_each(|lane| self.address(slot + 1, lane));
                }
            }
        }
        Some(())
    }

    #[inline]
    fn address(&mut self, slot: u32, value: u64) {
        self.count(slot, value);
        self.memories.previous = value;
    }

    #[inline]
    fn count(&mut self, slot: u32, value: u64) {
        let memory = self.memories.at(slot);
        let (first, second) = memory.expected(self.memories.previous);
        if value == first {
            self.runs.hit();
        } else if value == second {
            self.runs.miss(0);
        } else {
            self.runs.miss(fold(value.wrapping_sub(first)));
        }
        self.memories.learn(slot, memory, value);
    }

    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// The finished column; a new one is begun.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.memories.forget();
        self.runs.take()
    }
}

/// Checks that the values are as many as the forms say.
fn check_forms(forms: &[Form], values: &[u64]) -> Option<()> {
    let mut left = values;
    for form in forms {
        let taken = match form {
            Form::Single => 1,
            Form::Repeated => {
                left.first().filter(|&&count| count >> 1 <= MAX_ITERATIONS)?;
                2
            }
            Form::Lanes => 1 + left.first().filter(|&&lanes| lanes <= MAX_LANES)?,
        };
        left = left.get(taken as usize..)?;
    }
    (left.is_empty() && values.len() <= MAX_VALUES).then_some(())
}

/// Reads the column.
#[derive(Debug, Default)]
pub(super) struct ValueReader {
    memories: Memories,
    runs: RunReader,
}

impl ValueReader {
    pub(super) fn begin(&mut self, cursor: Cursor, content: &[u8]) -> Result<(), Defect> {
        self.memories.forget();
        self.runs = RunReader::over(cursor, content)?;
        Ok(())
    }

    /// Replaces `values` by those of one execution.
    #[inline]
    pub(super) fn next(
        &mut self,
        content: &[u8],
        shape: &Shape,
        forms: &[Form],
        values: &mut Vec<u64>,
    ) -> Result<(), Defect> {
        values.clear();
        if shape.is_plain {
            for (slot, _) in (shape.first_slot..).zip(forms) {
                values.push(self.address(content, slot)?);
            }
            return Ok(());
        }
        for (index, form) in forms.iter().enumerate() {
            let slot = shape.slot(index);
            let repeats = match form {
                Form::Single => {
                    values.push(self.address(content, slot)?);
                    continue;
                }
                Form::Repeated => {
                    let count = self.count(content, slot)?;
                    self.bound(count >> 1, MAX_ITERATIONS, "iterations of an instruction")?;
                    values.push(count);
                    1
                }
                Form::Lanes => {
                    let lanes = self.lanes(content, slot)?;
                    values.push(lanes);
                    lanes
                }
            };
            for _ in 0..repeats {
                values.push(self.address(content, slot + 1)?);
            }
            self.bound(values.len() as u64, MAX_VALUES as u64, "an execution's values")?;
        }
        Ok(())
    }

    fn lanes(&mut self, content: &[u8], slot: u32) -> Result<u64, Defect> {
        let lanes = self.count(content, slot)?;
        self.bound(lanes, MAX_LANES, "lanes of a vector")?;
        Ok(lanes)
    }

    fn bound(&self, number: u64, most: u64, expected: &'static str) -> Result<(), Defect> {
        if number <= most {
            return Ok(());
        }
        Err(Defect { at: self.runs.at(), expected, found: FoundValue::Number(number) })
    }

    #[inline]
    fn address(&mut self, content: &[u8], slot: u32) -> Result<u64, Defect> {
        let value = self.count(content, slot)?;
        self.memories.previous = value;
        Ok(value)
    }

    #[inline]
    fn count(&mut self, content: &[u8], slot: u32) -> Result<u64, Defect> {
        let memory = self.memories.at(slot);
        let (first, second) = memory.expected(self.memories.previous);
        let value = match self.runs.next(content)? {
            None => first,
            Some(0) => second,
            Some(code) => first.wrapping_add(unfold(code)),
        };
        self.memories.learn(slot, memory, value);
        Ok(value)
    }

    pub(super) fn finish(&self) -> Result<(), Defect> {
        self.runs.finish()
    }
}

/// Predictors of each slot's values.
#[derive(Debug)]
struct Memories {
    /// Last value, step, distance, then epoch, trust and confidence: plain numbers, since a table of
    /// zeros costs nothing until it is touched.
    table: Box<[[u64; 4]]>,
    epoch: u32,
    /// The last address of the thread.
    previous: u64,
}

/// Predictor of one slot.
#[derive(Debug, Clone, Copy)]
struct Memory {
    last: u64,
    step: u64,
    distance: u64,
    /// From 0, the step is right, to 3, the distance is.
    trust: u64,
    /// From 0, the step was seen once, to 2, it was right the last time.
    confidence: u64,
}

impl Default for Memories {
    fn default() -> Self {
        let table = vec![[0; 4]; 1 << MEMORY_BITS].into_boxed_slice();
        Self { table, epoch: 1, previous: 0 }
    }
}

impl Memories {
    fn forget(&mut self) {
        if self.epoch == u32::MAX {
            *self = Self::default();
        }
        self.epoch += 1;
        self.previous = 0;
    }

    #[inline]
    fn at(&self, slot: u32) -> Memory {
        let [last, step, distance, state] = self.table[index(slot)];
        if (state >> 32) as u32 == self.epoch {
            Memory { last, step, distance, trust: state & 3, confidence: state >> 2 & 3 }
        } else {
            Memory { last: 0, step: 0, distance: 0, trust: FIRST_TRUST, confidence: 0 }
        }
    }

    #[inline]
    fn learn(&mut self, slot: u32, memory: Memory, value: u64) {
        let Memory { last, mut step, mut trust, mut confidence, .. } = memory;
        let (stepped, distant) = (memory.stepped(), memory.distant(self.previous));
        if stepped == value && distant != value {
            trust = trust.saturating_sub(1);
        } else if distant == value && stepped != value {
            trust = (trust + 1).min(3);
        }
        let taken = value.wrapping_sub(last);
        if taken == step {
            confidence = 2;
        } else if confidence > 0 {
            confidence -= 1;
        } else {
            step = taken;
        }
        let state = u64::from(self.epoch) << 32 | confidence << 2 | trust;
        self.table[index(slot)] = [value, step, value.wrapping_sub(self.previous), state];
    }
}

impl Memory {
    /// The likelier value, and the other.
    #[inline]
    fn expected(&self, previous: u64) -> (u64, u64) {
        let (stepped, distant) = (self.stepped(), self.distant(previous));
        if self.trust >= 2 { (distant, stepped) } else { (stepped, distant) }
    }

    #[inline]
    fn stepped(&self) -> u64 {
        if self.confidence > 0 { self.last.wrapping_add(self.step) } else { self.last }
    }

    #[inline]
    fn distant(&self, previous: u64) -> u64 {
        previous.wrapping_add(self.distance)
    }
}

#[inline]
fn index(slot: u32) -> usize {
    slot as usize & ((1 << MEMORY_BITS) - 1)
}
