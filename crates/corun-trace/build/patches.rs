//! What is changed in DynamoRIO's source before it is built.
//!
//! A place is found by the hash of its lines, so that nothing of DynamoRIO's text is repeated here. A source in
//! which those lines differ, or occur twice, is not built: whether the change still holds must be checked.

use std::ops::Range;

/// A change to one place of one file.
#[derive(Debug)]
pub(crate) struct Patch {
    pub(crate) file: &'static str,
    /// How many lines the place has.
    pub(crate) lines: usize,
    /// The FNV-1a hash of those lines, joined by newlines.
    pub(crate) hash: u64,
    /// Which of them are removed, counted from 0.
    pub(crate) removed: Range<usize>,
    /// Before which of them the new lines come.
    pub(crate) inserted_at: usize,
    pub(crate) inserted: &'static str,
}

pub(crate) const PATCHES: [Patch; 1] = [WRITTEN_CODE];

/// Where a program writes to a page that code was executed from, DynamoRIO goes on with the next block as if
/// the registers were the program's; those that a client has borrowed are not, and the client must know that
/// the block ends. As for a signal, the whole state has to be translated, not the place alone.
const WRITTEN_CODE: Patch = Patch {
    file: "core/unix/signal.c",
    lines: 7,
    hash: 0x3d2b_383f_66d7_6179,
    removed: 0..2,
    inserted_at: 3,
    inserted: "
            translate_sigcontext(dcontext, uc, true, f);
            translated_pc = (app_pc)SIGCXT_FROM_UCXT(uc)->SC_XIP;",
};

/// The patched text of a file, or why it cannot be patched.
pub(crate) fn apply(patch: &Patch, text: &str) -> Result<String, String> {
    let lines: Vec<&str> = text.split('\n').collect();
    let places: Vec<usize> = lines
        .windows(patch.lines)
        .enumerate()
        .filter(|(_, place)| hash(&place.join("\n")) == patch.hash)
        .map(|(first, _)| first)
        .collect();
    let &[first] = &places[..] else {
        return Err(format!(
            "expected the {} lines of hash {:#x} once, found them {} times: the patch was written for \
             another version of DynamoRIO (crates/corun-trace/build/patches.rs)",
            patch.lines,
            patch.hash,
            places.len()
        ));
    };
    let mut patched = Vec::with_capacity(lines.len());
    for (number, line) in lines.iter().enumerate() {
        if number == first + patch.inserted_at {
            patched.extend(patch.inserted.trim_start_matches('\n').split('\n'));
        }
        if number < first || !patch.removed.contains(&(number - first)) {
            patched.push(line);
        }
    }
    Ok(patched.join("\n"))
}

fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |value, byte| {
        (value ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}
