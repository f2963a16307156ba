//! Where a chain of pointers leads, by taking powers of the permutation that lies in memory.

use super::{OPERATIONS, kernels, run_at_once};

#[test]
fn chase_follows_every_pointer() {
    let cases = [(1024, 64), (4096, 64), (65_600, 64), (4096, 8), (4096, 24), (8192, 8192)];
    for (size, stride) in cases.into_iter().chain([(4096, 65_536)]) {
        for order in ["random", "sequential"] {
            let parameters =
                [format!("size={size}"), format!("stride={stride}"), format!("order={order}")];
            let mut kernels = kernels("chase", &parameters, 2);
            for kernel in &mut kernels {
                kernel.reset();
            }
            let next = successors(kernels[0].memory(), |index| index * stride);
            assert_eq!(next.len(), (size / stride).max(1), "{parameters:?}");
            assert!(is_one_cycle(&next), "{parameters:?}");
            let in_order = next.iter().enumerate().filter(|&(index, &next)| next == index + 1);
            let sequential = in_order.count() >= next.len() - 1;
            assert_eq!(sequential, order == "sequential" || next.len() == 1, "{parameters:?}");
            for operations in OPERATIONS {
                let expected = (power(&next, operations)[0] * stride) as u64 + operations;
                let found = run_at_once(&mut kernels, &[operations; 2]);
                assert_eq!(found, [expected; 2], "{parameters:?} {operations}");
            }
        }
    }
}

#[test]
fn a_run_goes_on_where_the_one_before_ended() {
    let mut kernel = kernels("chase", &["size=4KiB".into()], 1).remove(0);
    kernel.reset();
    kernel.run(60);
    kernel.run(40);
    let found = kernel.check();
    kernel.reset();
    kernel.run(100);
    assert_eq!(found, kernel.check());
}

/// For each element of a permutation in memory, element i lying at `place(i)`, the index of the one
/// that its pointer points to.
pub(super) fn successors(memory: &[u8], place: impl Fn(usize) -> usize) -> Vec<usize> {
    let start = memory.as_ptr().addr();
    let places: Vec<usize> =
        (0..).map(place).take_while(|place| place + 8 <= memory.len()).collect();
    let pointers = places.iter().map(|&place| memory[place..][..8].try_into().unwrap());
    pointers
        .map(|bytes| usize::from_ne_bytes(bytes) - start)
        .map(|target| places.binary_search(&target).expect("it points to the start of an element"))
        .collect()
}

pub(super) fn is_one_cycle(next: &[usize]) -> bool {
    let cycle = std::iter::successors(Some(next[0]), |&index| Some(next[index]));
    1 + cycle.take(next.len()).take_while(|&index| index != 0).count() == next.len()
}

/// Element after `exponent` steps from each element, by squaring.
pub(super) fn power(next: &[usize], exponent: u64) -> Vec<usize> {
    let after = |first: &[usize], then: &[usize]| first.iter().map(|&index| then[index]).collect();
    let mut result: Vec<usize> = (0..next.len()).collect();
    let mut square = next.to_vec();
    for bit in 0..u64::BITS - exponent.leading_zeros() {
        if exponent >> bit & 1 == 1 {
            result = after(&result, &square);
        }
        square = after(&square, &square);
    }
    result
}
