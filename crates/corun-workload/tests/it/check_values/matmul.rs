//! Products of whole numbers, an addition at a time.

use super::checksum::checksum;
use super::generated::Random;
use super::{kernels, run_at_once};

#[test]
fn matmul_adds_each_product_where_it_belongs() {
    for size in [1, 2, 7, 64] {
        let [row, product] = [2 * size * size, 2 * size * size * size];
        for operations in [
            1,
            2,
            3,
            2 * size - 1,
            2 * size + 3,
            row - 1,
            row,
            5 * row / 2,
            product - 1,
            product,
            product + 1,
            3 * product + row + 2 * size + 1,
        ] {
            let mut kernels = kernels("matmul", &[format!("size={size}")], 2);
            let expected = matmul_check(size as usize, operations);
            let case = format!("size {size}, {operations} operations");
            assert_eq!(run_at_once(&mut kernels, &[operations; 2]), [expected; 2], "{case}");
        }
    }
}

/// Goes through C element by element, product by product, and stops when the operations are done.
fn matmul_check(size: usize, operations: u64) -> u64 {
    let mut random = Random::new(4);
    let a: Vec<u64> = (0..size * size).map(|_| random.below(8)).collect();
    let b: Vec<u64> = (0..size * size).map(|_| random.below(8)).collect();
    let mut c = vec![0; size * size];
    let mut pairs = operations.div_ceil(2);
    while pairs > 0 {
        for (row, column, inner) in (0..size).flat_map(|row| {
            (0..size).flat_map(move |column| (0..size).map(move |inner| (row, column, inner)))
        }) {
            if pairs > 0 {
                c[row * size + column] += a[row * size + inner] * b[inner * size + column];
                pairs -= 1;
            }
        }
    }
    checksum(c)
}
