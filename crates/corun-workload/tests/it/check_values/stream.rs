//! What the arrays hold after so many bytes, element by element, and sums by Gauss's formula.

use super::{OPERATIONS, kernels, run_at_once};

#[test]
fn stream_writes_every_element_of_every_pass() {
    for (kernel, bytes) in [("copy", 16), ("scale", 16), ("add", 24), ("triad", 24), ("write", 8)] {
        for stores in ["streaming", "normal", "auto"] {
            for size in [1024, 1088, 12_288, 65_600] {
                let parameters = [
                    format!("kernel={kernel}"),
                    format!("stores={stores}"),
                    format!("size={size}"),
                ];
                let mut kernels = kernels("stream", &parameters, 2);
                for operations in OPERATIONS {
                    let expected = after(kernel, size / 8, operations.div_ceil(bytes));
                    let check = check(&expected, operations.div_ceil(bytes));
                    let found = run_at_once(&mut kernels, &[operations; 2]);
                    let case = format!("{parameters:?} {operations}");
                    assert_eq!(found, [check; 2], "{case}");
                    assert!(holds(kernels[1].memory(), &expected), "{case}");
                }
            }
        }
    }
}

#[test]
fn stream_reads_every_element_of_every_pass() {
    for size in [1024, 1088, 12_288, 65_600] {
        let parameters = ["kernel=read".into(), format!("size={size}")];
        let mut kernels = kernels("stream", &parameters, 2);
        for operations in OPERATIONS {
            let (length, elements) = (size / 8, operations.div_ceil(8));
            let sum = elements / length * sum(length) + sum(elements % length);
            let found = run_at_once(&mut kernels, &[operations; 2]);
            assert_eq!(found, [sum + elements; 2], "{size} {operations}");
        }
    }
}

/// The first so many elements read.
fn sum(count: u64) -> u64 {
    let gauss = |n| n * (n + 1) / 2;
    count / 512 * gauss(512) + gauss(count % 512)
}

/// The target after so many elements.
fn after(kernel: &str, length: u64, elements: u64) -> Vec<u64> {
    let element = |index: u64| {
        let in_period = index % 512;
        let passes = elements / length + u64::from(index < elements % length);
        let value = match kernel {
            "copy" => in_period + 1,
            "scale" => 3 * in_period + 3,
            "add" => 3 * in_period + 2,
            "triad" => 7 * in_period + 4,
            _ => passes,
        };
        if passes > 0 { value } else { 0 }
    };
    (0..length).map(element).collect()
}

/// All of a small target, every second or so of a large one; and what lies around the last element.
fn check(target: &[u64], elements: u64) -> u64 {
    let weighted = |index: usize| (index as u64 + 1) * target[index];
    let distance = (target.len() / 4096) | 1;
    let spread: u64 = (0..target.len()).step_by(distance).map(weighted).sum();
    let end = (elements % target.len() as u64) as usize;
    let around: u64 = (end.saturating_sub(32)..target.len().min(end + 32)).map(weighted).sum();
    elements + spread + around
}

fn holds(memory: &[u8], expected: &[u64]) -> bool {
    let numbers = memory.chunks_exact(8).map(|it| f64::from_ne_bytes(it.try_into().unwrap()));
    numbers.zip(expected).all(|(found, &expected)| found == expected as f64)
}
