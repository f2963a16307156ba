//! Signals that were ignored when this program started.
//!
//! nohup(1) ignores SIGHUP, and a shell without job control ignores SIGINT and SIGQUIT in what it runs in the
//! background. A handler would undo that, here and in every program that is started from here. Others are passed on to
//! a corun that corun runs.

/// True if a signal is ignored. Before a handler is installed, that is how this program was started:
/// before it installs a handler, code asks here, and leaves an ignored signal as it is.
pub fn is_signal_ignored(signal: i32) -> bool {
    // SAFETY: sigaction is plain data, and the call changes nothing without a new one.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut now) == 0
            && now.sa_sigaction == libc::SIG_IGN
    }
}

/// Those of the signals that were not ignored when this program started.
pub fn signals_to_handle(signals: &[i32]) -> impl Iterator<Item = i32> {
    signals.iter().copied().filter(|signal| !is_signal_ignored(*signal))
}

/// Passes a signal on to a child that has not been collected, marked as passed on: a signal of the terminal or of a
/// batch system may have reached the child, too, and is the same one.
pub fn pass_on(child: u32, signal: i32) {
    let none = libc::sigval { sival_ptr: std::ptr::null_mut() };
    // SAFETY: signals a process by its number.
    unsafe { libc::sigqueue(child.cast_signed(), signal, none) };
}

/// True if a signal was passed on by this process's parent with [`pass_on`]. Usable in a handler.
pub fn is_passed_on(signal: &libc::siginfo_t) -> bool {
    // SAFETY: the kernel fills these fields of a signal with this code.
    signal.si_code == libc::SI_QUEUE && unsafe { signal.si_pid() == libc::getppid() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_signal_gets_no_handler() {
        // Used by no test of this process.
        let [ignored, plain] = [libc::SIGURG, libc::SIGWINCH];
        // SAFETY: plain dispositions of signals that are not sent.
        unsafe {
            libc::signal(ignored, libc::SIG_IGN);
            libc::signal(plain, libc::SIG_DFL);
        }
        assert!(is_signal_ignored(ignored) && !is_signal_ignored(plain));
        assert_eq!(signals_to_handle(&[ignored, plain]).collect::<Vec<_>>(), [plain]);
    }
}
