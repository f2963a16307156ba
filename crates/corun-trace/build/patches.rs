//! Patches of DynamoRIO's source before it is built.
//!
//! A place is found by the hash of its lines, so that nothing of DynamoRIO's text is repeated here. A source in
//! which those lines differ, or occur twice, is not built: whether the change still holds must be checked.

use std::ops::Range;

/// A change to one place of one file.
#[derive(Debug)]
pub(crate) struct Patch {
    pub(crate) file: &'static str,
    /// Number of lines of the place.
    pub(crate) lines: usize,
    /// The FNV-1a hash of those lines, joined by newlines.
    pub(crate) hash: u64,
    /// Which of them are removed, counted from 0.
    pub(crate) removed: Range<usize>,
    /// Before which of them the new lines come.
    pub(crate) inserted_at: usize,
    pub(crate) inserted: &'static str,
}

pub(crate) const PATCHES: [Patch; 2] = [WRITTEN_CODE, CLOSED_RANGE];

/// Patch for a program that writes to a page that code was executed from, DynamoRIO goes on with the next
/// block as if the registers were the program's; those that a client has borrowed are not, and the client
/// must know that the block ends. As for a signal, the whole state has to be translated, not the place
/// alone.
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

/// Patch for `close_range`: DynamoRIO asks of each number whether it is its own, which is without
/// end for the range up to the highest number, as everything that closes all others gives it. Its own are those from
/// `min_dr_fd` on, and where these cannot be had, some from half of it on, or the lowest that were free; of the others no
/// number needs to be asked about.
const CLOSED_RANGE: Patch = Patch {
    file: "core/unix/os.c",
    lines: 2,
    hash: 0xe57e_734f_dd6d_8138,
    removed: 1..2,
    inserted_at: 1,
    inserted: "
        const uint half_fd = min_dr_fd / 2, window = 0xffff;
        if (min_dr_fd > 0 && last_fd >= (uint)min_dr_fd)
            last_fd = min_dr_fd - 1;
        for (uint i = first_fd, more = first_fd <= last_fd; more; more = i != last_fd,
                  i = !cur_range_valid || i < window ||
                              (i + 1 >= half_fd - 1 && i < half_fd + window)
                          ? i + 1
                          : i + 1 < half_fd - 1 && half_fd - 1 < last_fd ? half_fd - 1
                                                                         : last_fd) {",
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
