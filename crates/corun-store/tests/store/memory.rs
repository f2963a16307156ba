//! Memory that keeping a document takes beside its text.

use corun_record::Document;
use corun_testing::{CountingAllocator, memory_of};

use crate::runs::{Folder, origin, run};

#[global_allocator]
static COUNTING: CountingAllocator = CountingAllocator;

#[test]
fn a_document_takes_less_than_three_bytes_a_byte_with_its_text() {
    let folder = Folder::new();
    let mut store = folder.store();
    let document = run("2026-11-01T00:00:00Z", 4000);
    let indented = document.to_json();
    let compact = serde_json::to_string(&document).unwrap();
    for text in [&indented, &compact] {
        let (added, memory) = memory_of(|| store.add(&origin("measure"), text));
        added.unwrap();
        let ratio = 1.0 + memory.most_bytes as f64 / text.len() as f64;
        eprintln!("{ratio:.2} bytes a byte of {}", text.len());
        assert!(ratio < 3.0, "{ratio} bytes a byte");
    }
}
