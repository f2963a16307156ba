//! Control sequences in the files of a captured tree: none of them reaches a drawing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use corun_machine::doctor::{self, Report};
use corun_machine::{Machine, draw};
use proptest::prelude::*;

use crate::doctor::healthy::{CPUS, tree};
use crate::trees::builder::Tree;

/// Turns on what corun's own palette does not have, so that both can be distinguished.
const FOREIGN: &str = "\x1b[45m";

/// Codes that corun writes itself: the end, bold and the colours of marks and severities.
const PALETTE: [&str; 8] =
    ["\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[34m", "\x1b[35m", "\x1b[36m"];

/// A machine with files of every kind that names something, on top of the healthy one.
fn rich() -> Tree {
    tree()
        .file("sys/hypervisor/type", "xen")
        .file("proc/sysinfo", "Manufacturer: IBM\nVM00 Control Program: z/VM 6.1.0")
        .file("proc/device-tree/hypervisor/compatible", "linux,kvm")
        .file("sys/class/dmi/id/sys_vendor", "QEMU")
        .file("sys/devices/system/node/node0/cpulist", "0-3")
        .file("sys/devices/cpu_core/cpus", "0,2")
        .file("sys/devices/cpu_atom/cpus", "1,3")
        .file(&format!("{CPUS}/possible"), "0-3")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all.sort();
    all
}

/// Drawings of topo and doctor of a tree, if it still has a machine in it.
fn drawings(root: &Path, colour: bool) -> Vec<String> {
    let machine = Machine::read(root).ok().map(|machine| draw(&machine, 80, colour));
    let report = Report::read(root, Duration::ZERO).ok();
    machine.into_iter().chain(report.map(|report| doctor::draw(&report, 80, colour))).collect()
}

#[track_caller]
fn only_corun_colours(root: &Path) -> usize {
    let plain = drawings(root, false);
    for text in &plain {
        assert!(!text.contains('\x1b'), "{text:?}");
    }
    for text in drawings(root, true) {
        assert!(!text.contains(FOREIGN), "{text:?}");
        let rest = PALETTE.iter().fold(text, |text, own| text.replace(own, ""));
        assert!(!rest.contains('\x1b'), "{rest:?}");
    }
    plain.len()
}

#[test]
fn the_first_line_of_each_file_brings_no_colour() {
    let rich = rich();
    for path in files(rich.root()) {
        let text = std::fs::read(&path).unwrap();
        for (begin, end) in [(FOREIGN, ""), ("", FOREIGN)] {
            let whole = String::from_utf8_lossy(&text).trim_end().to_owned();
            std::fs::write(&path, format!("{begin}{whole}{end}\n")).unwrap();
            only_corun_colours(rich.root());
        }
        std::fs::write(&path, text).unwrap();
    }
    assert_eq!(only_corun_colours(rich.root()), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_file_brings_a_colour(places in prop::collection::vec((0.0..1.0, 0.0..1.0), 1..40)) {
        let rich = rich();
        let files = files(rich.root());
        for (file, place) in places {
            let path = &files[(file * files.len() as f64) as usize];
            let mut text = String::from_utf8(std::fs::read(path).unwrap()).unwrap();
            let place = (place * text.len() as f64) as usize;
            if text.is_char_boundary(place) {
                text.insert_str(place, FOREIGN);
            }
            std::fs::write(path, text).unwrap();
        }
        only_corun_colours(rich.root());
    }
}
