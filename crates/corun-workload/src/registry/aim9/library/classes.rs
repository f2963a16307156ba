//! The classes of characters, looked up in a table as the macros of a C library do it, and filled by
//! asking its functions.

use std::ffi::c_int;

use crate::in_memory::InMemory;

type Question = unsafe extern "C" fn(c_int) -> c_int;

/// Questions about a character.
pub(super) const QUESTIONS: [Question; 11] = [
    libc::isalnum,
    libc::isalpha,
    libc::iscntrl,
    libc::isdigit,
    libc::isgraph,
    libc::islower,
    libc::isprint,
    libc::ispunct,
    libc::isspace,
    libc::isupper,
    libc::isxdigit,
];

/// The places of two questions after which characters are changed.
pub(super) const LOWER: usize = 5;
pub(super) const UPPER: usize = 9;

/// Answers for every character.
pub(super) struct Classes {
    /// A bit for each question; each looks for its own, as the macros do.
    answers: [InMemory<u16>; 256],
    upper: [u8; 256],
    lower: [u8; 256],
}

impl Classes {
    pub(super) fn new() -> Self {
        let answers = |character: c_int| {
            let bit = |(place, ask): (usize, &Question)| {
                // SAFETY: every character may be asked about.
                u16::from(unsafe { ask(character) } != 0) << place
            };
            InMemory::new(QUESTIONS.iter().enumerate().map(bit).sum())
        };
        let all = std::array::from_fn::<c_int, 256, _>(|character| character as c_int);
        Self {
            answers: all.map(answers),
            // SAFETY: as above.
            upper: all.map(|character| unsafe { libc::toupper(character) } as u8),
            // SAFETY: as above.
            lower: all.map(|character| unsafe { libc::tolower(character) } as u8),
        }
    }

    #[inline(always)]
    pub(super) fn is(&self, question: usize, character: u8) -> bool {
        self.answers[usize::from(character)].get() & (1 << question) != 0
    }

    #[inline(always)]
    pub(super) fn to_upper(&self, character: u8) -> u8 {
        self.upper[usize::from(character)]
    }

    #[inline(always)]
    pub(super) fn to_lower(&self, character: u8) -> u8 {
        self.lower[usize::from(character)]
    }
}
