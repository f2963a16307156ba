//! Rounds of an operation, each step an instruction that waits for the ones before.

use super::number::Number;
use super::operation::Operation;
use crate::Kernel;
use crate::checksum::checksum;
use crate::in_memory::InMemory;

/// Place of the variables while they are worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Registers,
    Memory,
}

/// The variables of one worker.
pub(super) struct Chain<O: Operation> {
    place: Place,
    values: [O::Number; 3],
}

impl<O: Operation> Chain<O> {
    pub(super) fn new(place: Place) -> Self {
        Self { place, values: O::START }
    }

    /// Takes so many steps from the values that there are, beginning with the first of a round.
    fn step(&mut self, steps: u64) {
        self.values = match self.place {
            Place::Registers => rounds::<O, _>(self.values.map(InRegister), steps),
            Place::Memory => rounds::<O, _>(self.values.map(InMemory::new), steps),
        };
    }
}

impl<O: Operation> Kernel for Chain<O> {
    fn reset(&mut self) {
        self.values = O::START;
    }

    fn run(&mut self, operations: u64) {
        self.values = O::START;
        self.step(operations);
    }

    /// Of the three variables, which are back where they began after whole rounds.
    fn check(&self) -> u64 {
        checksum(self.values.map(Number::bits))
    }
}

/// A place for a number.
trait Variable<N> {
    fn load(&self) -> N;
    fn store(&mut self, number: N);
}

struct InRegister<N>(N);

impl<N: Number> Variable<N> for InRegister<N> {
    #[inline(always)]
    fn load(&self) -> N {
        self.0
    }

    #[inline(always)]
    fn store(&mut self, number: N) {
        self.0 = number.opaque();
    }
}

impl<N: Number> Variable<N> for InMemory<N> {
    #[inline(always)]
    fn load(&self) -> N {
        self.get()
    }

    #[inline(always)]
    fn store(&mut self, number: N) {
        self.set(number);
    }
}

#[inline(always)]
fn rounds<O: Operation, V: Variable<O::Number>>(
    mut variables: [V; 3],
    steps: u64,
) -> [O::Number; 3] {
    let round = O::ROUND.len() as u64;
    for _ in 0..steps / round {
        for (changed, by) in O::ROUND {
            step::<O, V>(&mut variables, changed, by);
        }
    }
    for &(changed, by) in &O::ROUND[..(steps % round) as usize] {
        step::<O, V>(&mut variables, changed, by);
    }
    variables.map(|variable| variable.load())
}

#[inline(always)]
fn step<O: Operation, V: Variable<O::Number>>(variables: &mut [V; 3], changed: usize, by: usize) {
    let result = O::apply(variables[changed].load(), variables[by].load());
    variables[changed].store(result);
}

#[cfg(test)]
mod tests {
    use super::super::operation::{Add, Divide, Multiply};
    use super::*;

    /// From other values than a row's own, whose products and quotients are all by 1.
    #[test]
    fn every_step_counts() {
        for place in [Place::Registers, Place::Memory] {
            let stepped = |values, steps| {
                let mut chain = Chain::<Multiply<i64>> { place, values };
                chain.step(steps);
                chain.values
            };
            assert_eq!(stepped([2, 3, 5], 1), [6, 3, 5]);
            assert_eq!(stepped([2, 3, 5], 3), [6, 75, 5]);
            assert_eq!(stepped([2, 3, 5], 6), [6 * 28_125, 75, 28_125]);
            let twice = stepped(stepped([2, 3, 5], 12), 12);
            assert_eq!(stepped([2, 3, 5], 24), twice);

            let mut chain = Chain::<Divide<i16>> { place, values: [1000, 30, 2] };
            chain.step(3);
            assert_eq!(chain.values, [1000 / 30 / 2, 15, 2]);

            let mut chain = Chain::<Divide<i64>> { place, values: [-(1 << 40), 1 << 20, 2] };
            chain.step(3);
            assert_eq!(chain.values, [-(1 << 19), 1 << 19, 2]);

            let mut chain = Chain::<Add<f32>> { place, values: [1.0, 10.0, 100.0] };
            chain.step(7);
            assert_eq!(chain.values, [221.0 + 210.0, 210.0, 122.0]);
        }
    }
}
