//! Kernels of published measurements, in the instructions that compilers make of them: the same in every build of this
//! program, and on machines without a compiler.
//!
//! Each prepares its data, asks for its parent (`getppid`), where a trace begins, and then does nothing but its loop.

use std::arch::asm;

/// Runs a kernel, named `NAME:NUMBER`.
///
/// # Errors
/// If there is no such kernel.
pub(crate) fn run(wanted: &str) -> Result<(), String> {
    let expected = || {
        format!(
            "expected walk:BYTES, primes:LIMIT, collatz:LIMIT, matrixprod:ORDER or fibonacci:START, found `{wanted}`"
        )
    };
    let (name, number) = wanted.split_once(':').ok_or_else(expected)?;
    let number: usize = number.parse().ok().filter(|&it| it >= 2).ok_or_else(expected)?;
    match name {
        "walk" => walk(number),
        "primes" => primes(number as u64),
        "collatz" => collatz(number as u64),
        "matrixprod" => drop(std::hint::black_box(matrix_product(number))),
        "fibonacci" => fibonacci(number as u64),
        _ => return Err(expected()),
    }
    Ok(())
}

/// The system call after which a trace begins.
fn begin() {
    std::hint::black_box(std::os::unix::process::parent_id());
}

/// Steps of a walk: a trace ends before them.
const STEPS: u64 = 2_000_000;

/// A chain of loads through so many bytes, eight for each link, in a random order.
fn walk(bytes: usize) {
    let order = shuffled(bytes / size_of::<u64>());
    let mut next = vec![0_u64; order.len()];
    for (place, &element) in order.iter().enumerate() {
        next[element] = order[(place + 1) % order.len()] as u64;
    }
    begin();
    // SAFETY: each element of `next` is the index of another one.
    unsafe {
        asm!(
            "2:",
            "inc {step}",
            "mov {at}, qword ptr [{next} + {at} * 8]",
            "cmp {steps}, {step}",
            "jne 2b",
            at = inout(reg) 0_u64 => _,
            next = in(reg) next.as_ptr(),
            step = inout(reg) 0_u64 => _,
            steps = in(reg) STEPS,
            options(nostack, readonly)
        );
    }
}

/// The numbers below `count` in an order that is always the same.
fn shuffled(count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut state = 1_u64;
    for last in (1..count).rev() {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(last, (state >> 33) as usize % (last + 1));
    }
    order
}

/// Tests the odd and even numbers of the upper third below `limit` for being prime, by trial division with one division
/// for quotient and remainder.
fn primes(limit: u64) {
    begin();
    let mut count = 0_u64;
    for number in limit - limit / 3..limit {
        if number % 2 == 1 {
            let remainder: u64;
            // SAFETY: divides by 3 and above, and touches no memory.
            unsafe {
                asm!(
                    "2:",
                    "add {divisor}, 2",
                    "mov rax, {number}",
                    "xor edx, edx",
                    "div {divisor}",
                    "cmp rax, {divisor}",
                    "jb 3f",
                    "test rdx, rdx",
                    "jne 2b",
                    "3:",
                    number = in(reg) number,
                    divisor = inout(reg) 1_u64 => _,
                    out("rax") _,
                    out("rdx") remainder,
                    options(nostack, nomem)
                );
            }
            count += u64::from(remainder != 0);
        }
    }
    std::hint::black_box(count);
}

/// The lengths of the sequences that begin below `limit`.
fn collatz(limit: u64) {
    begin();
    let mut steps = 0_u64;
    for number in limit / 2..limit {
        // SAFETY: registers alone; every sequence that begins so low reaches 1.
        unsafe {
            asm!(
                "2:",
                "inc {steps}",
                "test {number:l}, 1",
                "je 3f",
                "lea {number}, [{number} + {number} * 2 + 1]",
                "cmp {number}, 1",
                "jne 2b",
                "jmp 4f",
                "3:",
                "shr {number}, 1",
                "cmp {number}, 1",
                "jne 2b",
                "4:",
                number = inout(reg) number => _,
                steps = inout(reg) steps,
                options(nostack, nomem)
            );
        }
    }
    std::hint::black_box(steps);
}

/// A product of two square matrices of extended precision, 16 bytes an element, each sum on the x87 stack.
fn matrix_product(order: usize) -> Vec<[u64; 2]> {
    let element = 16;
    // 1.0 in extended precision.
    let one = |_| [0x8000_0000_0000_0000_u64, 0x3fff];
    let [a, b]: [Vec<[u64; 2]>; 2] = std::array::from_fn(|_| (0..order * order).map(one).collect());
    let mut product = vec![[0_u64; 2]; order * order];
    begin();
    for row in 0..order {
        for column in 0..order {
            // SAFETY: reads a row and a column, whose ends lie in the matrices, and writes an element.
            unsafe {
                asm!(
                    "fldz",
                    "2:",
                    "fld tbyte ptr [{a}]",
                    "fld tbyte ptr [{b}]",
                    "add {a}, 16",
                    "add {b}, {line}",
                    "fmulp st(1), st",
                    "faddp st(1), st",
                    "cmp {a}, {end}",
                    "jne 2b",
                    "fstp tbyte ptr [{sum}]",
                    a = inout(reg) a.as_ptr().add(row * order) => _,
                    b = inout(reg) b.as_ptr().add(column) => _,
                    line = in(reg) order * element,
                    end = in(reg) a.as_ptr().add((row + 1) * order),
                    sum = in(reg) product.as_mut_ptr().add(row * order + column),
                    out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                    out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                    options(nostack)
                );
            }
        }
    }
    product
}

/// What a thread of the published program has: its stack's frame with the counter, its bound and the address of the
/// results, and these. Both lie at the same offsets of a page in each thread, as stacks of threads do and results 4096
/// bytes apart.
#[repr(C, align(4096))]
struct OwnOfThread {
    frame: [u64; 3],
    between: [u64; 253],
    results: [u64; 2],
}

/// Sums through memory as an unoptimised build has them: the counter, its bound and the pointer to the results lie in
/// memory, and each step adds both results and stores the sum in one of them.
fn fibonacci(start: u64) {
    let own = OwnOfThread { frame: [start, STEPS, 0], between: [0; 253], results: [1, 1] };
    let mut own = Box::new(own);
    own.frame[2] = own.results.as_mut_ptr() as u64;
    let OwnOfThread { frame, between, results } = &mut *own;
    begin();
    // SAFETY: the frame holds the counter, its bound and the address of the two results, of which one is written.
    unsafe {
        asm!(
            "2:",
            "mov rax, qword ptr [{frame} + 16]",
            "mov rdx, qword ptr [rax]",
            "mov rax, qword ptr [{frame} + 16]",
            "mov rax, qword ptr [rax + 8]",
            "mov rcx, qword ptr [{frame}]",
            "mov rsi, rcx",
            "and esi, 1",
            "lea rcx, [rdx + rax]",
            "mov rax, qword ptr [{frame} + 16]",
            "lea rdx, [rsi + 2]",
            "mov qword ptr [rax + rdx * 8 - 16], rcx",
            "add qword ptr [{frame}], 1",
            "mov rax, qword ptr [{frame} + 8]",
            "cmp rax, qword ptr [{frame}]",
            "jae 2b",
            frame = in(reg) frame.as_mut_ptr(),
            out("rax") _, out("rcx") _, out("rdx") _, out("rsi") _,
            options(nostack)
        );
    }
    std::hint::black_box((between, results));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_goes_through_everything_once() {
        let mut order = shuffled(64);
        assert_ne!(order, (0..64).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..64).collect::<Vec<_>>());
    }

    #[test]
    fn a_product_of_ones_is_the_order_everywhere() {
        // 8.0 in extended precision.
        let eight = [0x8000_0000_0000_0000, 0x3fff + 3];
        let product = matrix_product(8);
        assert!(product.iter().all(|element| *element == eight), "{product:x?}");
    }

    #[test]
    fn kernels_come_to_their_end() {
        for kernel in ["walk:512", "primes:3000", "collatz:3000", "matrixprod:8", "fibonacci:2"] {
            assert_eq!(run(kernel), Ok(()), "{kernel}");
        }
        assert!(run("walk").unwrap_err().contains("expected walk:BYTES"));
        assert!(run("walk:1").is_err() && run("run:8").is_err());
    }
}
