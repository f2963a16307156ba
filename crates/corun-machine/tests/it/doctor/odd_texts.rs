//! Files that hold anything at all: no text makes the doctor panic, nor say nothing.

use std::time::Duration;

use corun_machine::doctor::{Pause, Report, draw};
use corun_machine::{FileError, SystemFiles};
use proptest::prelude::*;

/// Answers every question with one of a few texts, the next time with another one.
#[derive(Debug, Clone)]
struct Nonsense {
    texts: Vec<String>,
    names: Vec<String>,
    asked: usize,
}

impl SystemFiles for Nonsense {
    fn read(&mut self, path: &str) -> Result<&str, FileError> {
        self.asked += path.len();
        // Some CPUs, for without any there is nothing to examine.
        if path.ends_with("/present") || path.ends_with("/online") {
            return Ok("0-3");
        }
        match self.texts.get(self.asked % (self.texts.len() + 2)) {
            Some(text) => Ok(text),
            None if self.asked.is_multiple_of(2) => Err(FileError::Missing),
            None => Err(FileError::Unreadable("it is no text".to_owned())),
        }
    }

    fn list(&mut self, _: &str) -> Vec<String> {
        self.names.clone()
    }
}

struct NoTime;

impl Pause for NoTime {
    fn pause(&mut self) -> Duration {
        Duration::ZERO
    }
}

/// Texts that look like the kernel's, and are not quite.
fn nearly() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[0-9]{1,25}",
        "-?[0-9]{1,3}(-[0-9]{1,6})?(,[0-9]{1,4})*",
        "cpu[0-9] ([0-9]{1,20} ){0,10}\ncpu[0-9] ([0-9]{1,20} ){0,10}",
        "[0-9]{1,11} \\([a-z() ]{0,9}\\) R( [0-9-]{1,20}){0,22}",
        " *(CPU[0-9] ){1,4}\n[0-9]{1,3}: ([0-9]{1,20} ){0,4}[a-z]{0,5}",
        "(some|full) avg10=[0-9.naif]{1,5} avg60=[0-9.]{1,5}",
        "(max|[0-9-]{1,20}) [0-9-]{1,20}",
        "[0-9]?:(cpu|cpuset)?:/[a-z./]{0,9}",
        "[0-9] [0-9] 0:1 / /[a-z]{1,3} rw - cgroup2? cgroup (rw|cpu)",
        "(Mitigation|Vulnerable): [a-z]{0,5}[;,] (SMT|STIBP:?) ?[a-zA-Z]{0,9}",
        "[a-z]{0,3}\\[[a-z]{0,3}\\]?",
        "(mitigations|nosmt|idle)=[a-z,\"]{0,9}",
        "pswpin [0-9]{1,20}\npswpout [0-9]{1,20}",
    ]
}

fn nonsense() -> impl Strategy<Value = Nonsense> {
    let names =
        prop::collection::vec(prop_oneof!["[0-9]{1,9}", "cpu[0-3]?", any::<String>()], 0..9);
    (prop::collection::vec(nearly(), 0..9), names, any::<u16>())
        .prop_map(|(texts, names, asked)| Nonsense { texts, names, asked: asked.into() })
}

proptest! {
    #[test]
    fn nothing_panics_and_every_check_answers(mut nonsense in nonsense(), live: bool) {
        let mut time = NoTime;
        let pause = live.then_some(&mut time as &mut dyn Pause);
        let report = Report::from_files(&mut nonsense, pause).unwrap();
        prop_assert_eq!(report.diagnoses.len(), 24);
        for diagnosis in &report.diagnoses {
            prop_assert!(!diagnosis.sentence.is_empty(), "{:?}", diagnosis);
        }
        let text = draw(&report, 80, false);
        prop_assert!(!text.contains(|letter: char| letter.is_control() && letter != '\n'));
        let back: Report = serde_json::from_str(&corun_record::json_text(&report)).unwrap();
        prop_assert_eq!(back, report);
    }
}
