//! Reports of the C library and the kernel to a process about itself, its user and its terminal.

use std::ffi::{CStr, c_char, c_int};
use std::mem::MaybeUninit;
use std::ptr;

use super::super::descriptor;
use crate::workload::{Workload, anywhere, default_kernels};
use crate::{Kernel, Tag};

pub(in super::super) static MISC_RTNS_1: Workload = Workload {
    descriptor: &descriptor(
        "aim9/misc_rtns_1",
        "a process asks for its ids, user, groups, folder, times and terminal",
        &[Tag::SystemCalls],
        ["a bundle of 21 questions", "bundles"],
        1.0,
        "bundles/s",
    ),
    unavailable: anywhere,
    prepare: default_kernels::<Questions>,
};

/// The questions of a bundle whose answers never change.
const STEADY: u64 = 19;

/// The most groups that a process can be in.
const GROUPS: usize = 65536;

// SAFETY: as the C library declares it.
unsafe extern "C" {
    safe fn clock() -> libc::clock_t;
    // The crate `libc` asks for a version of these two that only shared libraries have.
    fn cfgetispeed(settings: *const libc::termios) -> libc::speed_t;
    fn cfgetospeed(settings: *const libc::termios) -> libc::speed_t;
}

/// Facts that a process knows about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Answers {
    speeds: [libc::speed_t; 2],
    terminal: bool,
    folder: bool,
    ids: [u32; 4],
    path: bool,
    groups: c_int,
    processes: [libc::pid_t; 3],
    users: [Option<u32>; 2],
    group: Option<u32>,
    on_terminal: bool,
    terminal_name: c_int,
    system: c_int,
}

#[derive(Default)]
struct Questions {
    room: Box<Room>,
    first: Answers,
    steady: u64,
}

impl Kernel for Questions {
    fn reset(&mut self) {
        self.first = self.room.ask();
        self.steady = 0;
    }

    fn run(&mut self, operations: u64) {
        self.steady = 0;
        for _ in 0..operations {
            if self.room.ask() == self.first {
                self.steady += STEADY;
            }
        }
    }

    /// The answers that were those of the first time.
    fn check(&self) -> u64 {
        self.steady
    }
}

/// Buffers of the longer answers.
struct Room {
    folder: [c_char; 2048],
    groups: Box<[libc::gid_t]>,
    entry: [c_char; 4096],
    /// Processor time used and clock ticks since some point, which change.
    times: [libc::clock_t; 2],
}

impl Default for Room {
    fn default() -> Self {
        Self { folder: [0; 2048], groups: vec![0; GROUPS].into(), entry: [0; 4096], times: [0; 2] }
    }
}

impl Room {
    /// Asks everything once, in the original's order.
    ///
    /// Where the original's function returns memory that all threads share, this one's writes to the
    /// caller's and does the same for it.
    fn ask(&mut self) -> Answers {
        let mut answers = Answers::default();
        let mut name = [0; 256];
        // SAFETY: a terminal's settings, a name and times may be all zeros; lengths are those of the
        // arrays; nothing that is returned is kept.
        unsafe {
            let settings = MaybeUninit::<libc::termios>::zeroed().assume_init();
            answers.speeds = [cfgetispeed(&raw const settings), cfgetospeed(&raw const settings)];
            self.times[0] = clock();
            answers.terminal = !libc::ctermid(name.as_mut_ptr()).is_null();
            answers.folder = !libc::getcwd(self.folder.as_mut_ptr(), self.folder.len()).is_null();
            answers.ids = [libc::getuid(), libc::geteuid(), libc::getgid(), libc::getegid()];
            answers.path = !libc::getenv(c"PATH".as_ptr()).is_null();
            answers.groups = libc::getgroups(GROUPS as c_int, self.groups.as_mut_ptr());
            answers.processes = [libc::getpid(), libc::getpgrp(), libc::getppid()];
            answers.users = [self.user_called(c"root"), self.user(answers.ids[0])];
            answers.group = self.group(answers.ids[2]);
            let mut times = MaybeUninit::<libc::tms>::zeroed().assume_init();
            self.times[1] = libc::times(&raw mut times);
            answers.on_terminal = libc::isatty(libc::STDIN_FILENO) == 1;
            answers.terminal_name =
                libc::ttyname_r(libc::STDIN_FILENO, name.as_mut_ptr(), name.len());
            let mut system = MaybeUninit::<libc::utsname>::zeroed().assume_init();
            answers.system = libc::uname(&raw mut system);
        }
        answers
    }

    /// The number of the user of this name.
    fn user_called(&mut self, name: &CStr) -> Option<u32> {
        self.entry(|user: *mut libc::passwd, text, length, found| {
            // SAFETY: there is room for an entry and its text.
            unsafe { libc::getpwnam_r(name.as_ptr(), user, text, length, found) }
        })
        .map(|user| user.pw_uid)
    }

    /// The number of the user of this number, if there is one.
    fn user(&mut self, number: u32) -> Option<u32> {
        self.entry(|user: *mut libc::passwd, text, length, found| {
            // SAFETY: as above.
            unsafe { libc::getpwuid_r(number, user, text, length, found) }
        })
        .map(|user| user.pw_uid)
    }

    /// The number of the group of this number, if there is one.
    fn group(&mut self, number: u32) -> Option<u32> {
        self.entry(|group: *mut libc::group, text, length, found| {
            // SAFETY: as above.
            unsafe { libc::getgrgid_r(number, group, text, length, found) }
        })
        .map(|group| group.gr_gid)
    }

    /// Entry that `look_up` finds.
    fn entry<T>(
        &mut self,
        look_up: impl FnOnce(*mut T, *mut c_char, usize, *mut *mut T) -> c_int,
    ) -> Option<T> {
        let mut entry = MaybeUninit::<T>::uninit();
        let mut found = ptr::null_mut();
        look_up(entry.as_mut_ptr(), self.entry.as_mut_ptr(), self.entry.len(), &raw mut found);
        // SAFETY: what was found was written to the entry.
        (!found.is_null()).then(|| unsafe { entry.assume_init() })
    }
}
