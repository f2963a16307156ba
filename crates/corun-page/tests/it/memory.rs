//! Memory that a page of a long run takes beside its text: the run as it is read, and nothing for samples that are not shown.

use corun_page::page;
use corun_record::AnyDocument;
use corun_testing::{CountingAllocator, Memory, memory_of};

use crate::page::{given, multiplied};

#[global_allocator]
static COUNTING: CountingAllocator = CountingAllocator;

/// The page itself is as large for a short run, so that what a sample more takes is the difference of two runs.
#[test]
fn a_sample_more_takes_what_reading_it_takes_and_less_than_three_bytes_a_byte() {
    let [few, many] = [50, 200].map(|times| given(&multiplied(times)));
    let more = |work: &dyn Fn(&str) -> usize| {
        let [(_, short), (_, long)] =
            [&few, &many].map(|document| memory_of(|| work(&document.text)));
        Memory {
            most_bytes: long.most_bytes - short.most_bytes,
            allocations: long.allocations - short.allocations,
        }
    };
    let read = more(&|text| AnyDocument::from_json(text).expect("a run").format().len());
    let shown = more(&|text| {
        let given = [corun_page::InputDocument { name: "run".to_owned(), text: text.to_owned() }];
        page(&given).expect("a page").len()
    });
    let bytes = (many.text.len() - few.text.len()) as f64;
    // The text is copied for the page, and stands for that which a user gives.
    let ratio = shown.most_bytes as f64 / bytes;
    let more_than_read = shown.allocations as f64 / read.allocations as f64;
    eprintln!("{ratio:.2} bytes a byte, {more_than_read:.2} times the allocations of reading");
    assert!(ratio < 3.0, "{ratio} bytes a byte");
    assert!(more_than_read < 1.5, "{more_than_read} times the allocations of reading");
}
