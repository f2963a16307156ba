//! Which code the reader of a file has seen, so that it is written once, and distinguished when it changes.
//!
//! Sniper decodes an address once. Code that changes is therefore written at another address, which
//! differs in its high bits only: Sniper looks up its caches without them.

use std::collections::HashMap;

const PAGE: u64 = 4096;

/// How many versions of the code at one address can be distinguished.
pub(super) const VERSIONS: u32 = 1 << 16;

/// The code written so far, page by page.
#[derive(Default)]
pub(super) struct EmittedCode {
    pages: HashMap<u64, Page>,
}

struct Page {
    bytes: [u8; PAGE as usize],
    is_known: [bool; PAGE as usize],
}

impl EmittedCode {
    /// The address at which code is to be written: its own, or another where other code has been.
    pub(super) fn place(&mut self, address: u64, bytes: &[u8]) -> Option<u64> {
        let mut places = (0..VERSIONS).map(|version| address ^ (u64::from(version) << 48));
        let place = places.find(|place| self.fits(*place, bytes))?;
        for (at, byte) in addresses(place).zip(bytes) {
            let page = self.pages.entry(at & !(PAGE - 1)).or_insert_with(|| Page {
                bytes: [0; PAGE as usize],
                is_known: [false; PAGE as usize],
            });
            let at = (at % PAGE) as usize;
            (page.bytes[at], page.is_known[at]) = (*byte, true);
        }
        Some(place)
    }

    fn fits(&self, place: u64, bytes: &[u8]) -> bool {
        addresses(place).zip(bytes).all(|(at, byte)| {
            let page = self.pages.get(&(at & !(PAGE - 1)));
            let at = (at % PAGE) as usize;
            page.is_none_or(|page| !page.is_known[at] || page.bytes[at] == *byte)
        })
    }
}

fn addresses(first: u64) -> impl Iterator<Item = u64> {
    (0..).map(move |distance| first.wrapping_add(distance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_changes_gets_another_place_and_keeps_it() {
        let mut emitted = EmittedCode::default();
        let (old, new) = ([0x90, 0xc3], [0xcc, 0xc3]);
        assert_eq!(emitted.place(0x1fff, &old), Some(0x1fff));
        assert_eq!(emitted.place(0x1fff, &new), Some(0x1_0000_0000_1fff));
        assert_eq!(emitted.place(0x1fff, &old), Some(0x1fff));
        assert_eq!(emitted.place(0x2000, &[0xc3]), Some(0x2000), "the second byte is the same");
        assert_eq!(emitted.place(0x1fff, &new), Some(0x1_0000_0000_1fff));
    }
}
