//! Strings: numbers written and read, characters classified, strings joined, compared and searched by
//! the C library.

use std::ffi::{CStr, c_char};
use std::hint::black_box;
use std::ptr;

use super::super::arithmetic::Number;
use super::super::descriptor;
use super::classes::{Classes, LOWER, QUESTIONS, UPPER};
use crate::in_memory::InMemory;
use crate::workload::{Workload, anywhere, default_kernels};
use crate::{Kernel, Tag};

pub(in super::super) static STRING_RTNS: Workload = Workload {
    descriptor: &descriptor(
        "aim9/string_rtns",
        "numbers as text, classes of characters, strings joined and searched",
        &[Tag::BranchPrediction, Tag::StoreForwarding],
        ["a bundle of string functions", "bundles"],
        1.0,
        "bundles/s",
    ),
    unavailable: anywhere,
    prepare: default_kernels::<Strings>,
};

/// Bundles in a call of the original, which begins with the number 0.
const PER_CALL: u64 = 100;

const ROOM: usize = 1024;

/// A format whose result has characters of every class.
const CHARACTERS: &CStr =
    c" \t\n\r\x080123456789 abcde fghij klmno pqrst uvwxy z ABCDE FGHIJ KLMNO PQRST UVWXY Z .,;:!@#$%%^&*()_-+=|\\\"'`[]}{";

/// The text that is joined to itself, and how much of it `strncat` takes.
const QUESTION: &CStr = c"What is your name?";
const TAKEN: usize = 10;

/// The first point in time that is written as text, in seconds since 1970: any will do.
const TIME: libc::time_t = 1_000_000_000;

// SAFETY: as the C library declares it; it takes the library's own lock.
unsafe extern "C" {
    safe fn tzset();
}

struct Strings {
    classes: Classes,
    buffer: Box<[c_char; ROOM]>,
    number: i32,
    sum: u64,
}

impl Default for Strings {
    fn default() -> Self {
        Self { classes: Classes::new(), buffer: Box::new([0; ROOM]), number: 0, sum: 0 }
    }
}

impl Kernel for Strings {
    fn reset(&mut self) {
        self.buffer.fill(0);
        (self.number, self.sum) = (0, 0);
    }

    fn run(&mut self, operations: u64) {
        self.sum = 0;
        let mut time = TIME;
        for bundle in 0..operations {
            if bundle % PER_CALL == 0 {
                self.buffer.fill(0);
                (self.number, time) = (0, TIME);
            }
            self.write_and_read();
            self.classify();
            self.join();
            self.search(time);
            time += 1;
            self.sum = self.sum.wrapping_add(self.number as u64);
        }
    }

    /// The sum of the numbers after each bundle: of classes found so far, as far as six digits of a
    /// thousandth of it show them, and of matches.
    fn check(&self) -> u64 {
        self.sum
    }
}

impl Strings {
    /// Writes the number as text and reads it, first as a thousandth of it, then as it is.
    #[inline(always)]
    fn write_and_read(&mut self) {
        let buffer = self.buffer.as_mut_ptr();
        let thousandth = f64::from(self.number) / 1000.0;
        let mut end = ptr::null_mut();
        // SAFETY: the buffer has room for any number, and holds a string when it is read.
        unsafe {
            libc::sprintf(buffer, c"%g".as_ptr(), thousandth);
            let read = libc::atof(buffer);
            black_box(libc::strtod(buffer, &raw mut end));
            libc::sprintf(buffer, c"%ld".as_ptr(), (1000.0 * read) as libc::c_long);
            black_box(libc::atol(buffer));
            self.number = libc::atoi(buffer);
            black_box(libc::strtol(buffer, &raw mut end, 10));
        }
    }

    /// Asks about each character of the buffer, most of which are zeros, and changes letters there
    /// and back.
    #[inline(always)]
    fn classify(&mut self) {
        // SAFETY: the buffer has room for the characters, and the format asks for no arguments.
        unsafe { libc::sprintf(self.buffer.as_mut_ptr(), CHARACTERS.as_ptr()) };
        let classes = &self.classes;
        let mut found: i32 = 0;
        // The place is in memory, since in the original its address is given to `strtod`.
        let mut place = InMemory::new(0);
        while place.get() != ROOM - 1 {
            let mut is = |question, character| {
                let is = classes.is(question, character);
                // Each is counted by itself.
                found = (found + i32::from(is)).opaque();
                is
            };
            let character = &mut self.buffer[place.get() % ROOM];
            for question in 0..LOWER {
                is(question, *character as u8);
            }
            if is(LOWER, *character as u8) {
                *character = classes.to_upper(*character as u8) as c_char;
                *character = classes.to_lower(*character as u8) as c_char;
            }
            for question in LOWER + 1..UPPER {
                is(question, *character as u8);
            }
            if is(UPPER, *character as u8) {
                *character = classes.to_lower(*character as u8) as c_char;
                *character = classes.to_upper(*character as u8) as c_char;
            }
            for question in UPPER + 1..QUESTIONS.len() {
                is(question, *character as u8);
            }
            place.set(place.get() + 1);
        }
        self.number += found;
    }

    /// Fills the buffer with one text again and again, first whole, then in part.
    #[inline(always)]
    fn join(&mut self) {
        let mut text = [0; 32];
        let (buffer, text) = (self.buffer.as_mut_ptr(), text.as_mut_ptr());
        // SAFETY: all are strings, and nothing is joined to them that they have no room for.
        unsafe {
            libc::strcpy(text, QUESTION.as_ptr());
            let text = black_box(text);
            let mut matches = libc::strlen(text);
            libc::strcpy(buffer, text);
            matches += usize::from(libc::strcmp(buffer, text) == 0);
            while ROOM - libc::strlen(buffer) > libc::strlen(text) {
                libc::strcat(buffer, text);
                matches += usize::from(libc::strcmp(buffer, text) == 0);
            }
            libc::strcpy(buffer, text);
            while ROOM - libc::strlen(buffer) > libc::strlen(text) {
                libc::strncat(buffer, text, TAKEN);
                matches += usize::from(libc::strncmp(buffer, text, TAKEN) == 0);
            }
            self.number += i32::from(matches > 100);
        }
    }

    /// Writes a point in time as text and searches it. What is found depends on the time zone and is
    /// no part of the result.
    #[inline(always)]
    fn search(&mut self, time: libc::time_t) {
        let buffer = self.buffer.as_mut_ptr();
        let mut text = [0; 64];
        // `ctime` in parts, since others may be in it too: its text is in memory of its own.
        tzset();
        // SAFETY: the parts of a time may all be 0; there is room for any time's text; all are
        // strings.
        let found = unsafe {
            let mut parts = std::mem::zeroed();
            libc::localtime_r(&raw const time, &raw mut parts);
            libc::asctime_r(&raw const parts, text.as_mut_ptr());
            let text = text.as_ptr();
            libc::strncpy(buffer, text, libc::strlen(text));
            [
                libc::strcoll(buffer, QUESTION.as_ptr()) == 0,
                libc::strcspn(buffer, c"jfamsond".as_ptr()) > 4,
                libc::strpbrk(buffer, c" ;\n".as_ptr()).is_null(),
                libc::strrchr(buffer, i32::from(b'\n')).is_null(),
                libc::strspn(buffer, c"abcdefghijklmnopqrstuvwxyz".as_ptr()) > 5,
                // A compiler that sees the comparison compares the beginnings only.
                black_box(libc::strstr(buffer, black_box(buffer))) != buffer,
            ]
        };
        black_box(found);
    }
}
