//! Work in a process of its own, which may die or never end without taking this one along.

use std::io;

/// Number of numbers the child sends.
const NUMBERS: usize = 10;
/// Seconds after which the process is ended.
const LONGEST: u32 = 5;

/// Result of `work` in a copy of this process; none if it finds nothing, dies, or takes longer than [`LONGEST`].
///
/// # Errors
/// If there is no process or pipe to be had.
pub(crate) fn run_in_child(
    work: impl FnOnce() -> Option<[f64; NUMBERS]>,
) -> io::Result<Option<[f64; NUMBERS]>> {
    let mut ends = [0; 2];
    // SAFETY: the array has room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let [from, to] = ends;
    // SAFETY: the copy only calculates, reads clocks, maps memory and writes to its pipe.
    let child = unsafe { libc::fork() };
    if child == 0 {
        die_alone();
        let mut bytes_of_numbers = [0u8; 8 * NUMBERS];
        if let Some(found) = work() {
            for (bytes, number) in bytes_of_numbers.chunks_exact_mut(8).zip(found) {
                bytes.copy_from_slice(&number.to_le_bytes());
            }
            // SAFETY: the bytes are there. Fewer than a page are written at once.
            unsafe { libc::write(to, bytes_of_numbers.as_ptr().cast(), bytes_of_numbers.len()) };
        }
        // SAFETY: ends the copy without what the original does at its end.
        unsafe { libc::_exit(0) };
    }
    // SAFETY: the descriptor is this function's own.
    unsafe { libc::close(to) };
    let found = if child < 0 { Err(io::Error::last_os_error()) } else { Ok(read(from)) };
    // SAFETY: as above; the child is this function's own, and waited for once.
    unsafe {
        libc::close(from);
        while child > 0
            && libc::waitpid(child, std::ptr::null_mut(), 0) < 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
    }
    found
}

/// Faults and the end of time end the process at once, and leave no core file.
fn die_alone() {
    // SAFETY: plain system calls with plain numbers.
    unsafe {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
        for signal in
            [libc::SIGFPE, libc::SIGILL, libc::SIGSEGV, libc::SIGBUS, libc::SIGTRAP, libc::SIGALRM]
        {
            libc::signal(signal, libc::SIG_DFL);
        }
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::alarm(LONGEST);
    }
}

/// All numbers, or none if the other end closes before.
fn read(from: libc::c_int) -> Option<[f64; NUMBERS]> {
    let mut bytes_of_numbers = [0u8; 8 * NUMBERS];
    let mut length = 0;
    while length < bytes_of_numbers.len() {
        let rest = &mut bytes_of_numbers[length..];
        // SAFETY: the bytes are there to be written.
        match unsafe { libc::read(from, rest.as_mut_ptr().cast(), rest.len()) } {
            count if count > 0 => length += count as usize,
            count
                if count < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {
            }
            _ => return None,
        }
    }
    let mut numbers = [0.0; NUMBERS];
    for (number, bytes) in numbers.iter_mut().zip(bytes_of_numbers.as_chunks().0) {
        *number = f64::from_le_bytes(*bytes);
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_dies_gives_no_numbers() {
        let numbers = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0];
        assert_eq!(run_in_child(|| Some(numbers)).unwrap(), Some(numbers));
        assert_eq!(run_in_child(|| None).unwrap(), None);
        let dies = |how: fn()| {
            run_in_child(|| {
                how();
                Some(numbers)
            })
            .unwrap()
        };
        assert_eq!(
            dies(|| {
                // SAFETY: sends this copy of the process a signal.
                unsafe { libc::raise(libc::SIGFPE) };
            }),
            None
        );
        // SAFETY: ends this copy of the process.
        assert_eq!(dies(|| unsafe { libc::_exit(0) }), None);
        assert_eq!(run_in_child(|| Some(numbers)).unwrap(), Some(numbers));
    }
}
