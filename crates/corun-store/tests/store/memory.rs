//! What keeping a document takes beside its text: an allocator that counts, thread by thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use corun_record::Document;

use crate::runs::{Folder, origin, run};

thread_local! {
    /// Bytes that this thread has more than when it began to count, and the most that it had.
    static HELD: Cell<[isize; 2]> = const { Cell::new([0; 2]) };
}

struct Counting;

fn count(bytes: isize) {
    // A thread that ends has no account any more.
    let _ = HELD.try_with(|held| {
        let [now, most] = held.get();
        held.set([now + bytes, most.max(now + bytes)]);
    });
}

// SAFETY: all is passed on to the system's allocator, and counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as the caller says.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: as the caller says.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn a_document_takes_less_than_three_bytes_a_byte_with_its_text() {
    let folder = Folder::new();
    let mut store = folder.store();
    let document = run("2026-11-01T00:00:00Z", 4000);
    let indented = document.to_json();
    let compact = serde_json::to_string(&document).unwrap();
    for text in [&indented, &compact] {
        HELD.set([0; 2]);
        store.add(&origin("measure"), text).unwrap();
        let [_, most] = HELD.get();
        let ratio = 1.0 + most as f64 / text.len() as f64;
        eprintln!("{ratio:.2} bytes a byte of {}", text.len());
        assert!(ratio < 3.0, "{ratio} bytes a byte");
    }
}
