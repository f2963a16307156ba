//! A made core that is asked for times, and what is found of it.

use std::sync::atomic::AtomicBool;

use super::*;
use crate::{MeasuredModel, measured_model, overlay};

/// A core of known sizes. It answers by what a routine is called, a little off, and every thirteenth time
/// by far.
struct Made {
    base: CoreModel,
    timings: TimingTable,
    times: u64,
}

impl Made {
    fn new() -> Self {
        let base = corun_model::find("zen3").unwrap();
        let timings = TimingTable::of(&base).unwrap();
        Self { base, timings, times: 0 }
    }

    fn exact(&self, name: &str) -> f64 {
        let numbers: Vec<u32> = name.split(' ').filter_map(|word| word.parse().ok()).collect();
        let number = f64::from(numbers.first().copied().unwrap_or(0));
        if let Some(form) = name.strip_prefix("latency ") {
            // The adder is slower than the base's.
            let own = if form == "add r64 r64" { 2.0 } else { 1.0 };
            return self.timings.row(form).map_or(own, |row| f64::from(row.latency).max(own));
        }
        if let Some(form) = name.strip_prefix("cycles ") {
            let row = self.timings.row(form);
            return row.map_or(1.0, |row| corun_model::cycles_of_many(row, &self.base));
        }
        if let Some((count, _)) = name.split_once(" between two loads that miss") {
            let kind = count.trim_start_matches(|it: char| it.is_ascii_digit() || it == ' ');
            let size = match kind {
                "copies" => 300.0 - 2.0,
                "sums" => 200.0 - 18.0,
                "vector sums" => 180.0 - 16.0,
                "loads" => 100.0 - 2.0,
                "stores" => 70.0,
                _ => 80.0,
            };
            return if number <= size { 400.0 } else { 800.0 };
        }
        if name.starts_with("a ring") {
            let (places, apart) = (number, f64::from(numbers[1]));
            let lines = match places * 64.0 / 1024.0 {
                kib if kib <= 48.0 => 5.0,
                kib if kib <= 1024.0 => 15.0,
                kib if kib <= 16_384.0 => 50.0,
                _ => 300.0,
            };
            return match (apart, places) {
                (4096.0, 0.0..=96.0) | (64.0, _) => lines,
                (4096.0, 0.0..=2048.0) => lines + 8.0,
                _ => lines + 60.0,
            };
        }
        match name {
            "load" => 5.0,
            "loads" => 1.0 / 3.0,
            "two loads that miss" => 400.0,
            "multiplications" | "multiplications and copies" => 3.0,
            "vector multiplications" => 3.0,
            // Copies of vectors take a cycle each.
            "vector multiplications and copies" => 5.0,
            "branches on random bits" => 11.0,
            _ if name.ends_with("bytes apart") => {
                if number <= 512.0 {
                    1.0
                } else {
                    3.0
                }
            }
            _ if name.starts_with("calls") => {
                if number <= 24.0 {
                    2.0
                } else {
                    4.0
                }
            }
            _ if name.ends_with("NOPs of 4 bytes") => {
                if number <= 4096.0 {
                    1.0 / 6.0
                } else {
                    0.25
                }
            }
            _ => 1.0,
        }
    }
}

impl RoutineTimer for Made {
    fn time(&mut self, routine: &Routine) -> Result<Spread, CalibrateError> {
        self.times += 1;
        let off = (self.times * 7919 % 100) as f64 / 5_000.0;
        let wrong = if self.times.is_multiple_of(13) { 1.5 } else { 1.0 };
        let is_curve = ["between", "ring"].iter().any(|it| routine.name.contains(it));
        let time = self.exact(&routine.name) * (1.0 + off) * if is_curve { wrong } else { 1.0 };
        Ok(Spread { median: time, p10: time, p90: time * 1.02, samples: 9 })
    }

    /// A quarter of all forms, so that a test takes no longer than it must, and none of x87: some go with a
    /// partner, whose time this core does not add.
    fn knows(&self, instruction: &iced_x86::Instruction) -> bool {
        let form = corun_model::timing::form(instruction);
        let chosen = form.bytes().map(u32::from).sum::<u32>().is_multiple_of(4);
        form == "add r64 r64" || chosen && !form.starts_with('f')
    }
}

fn found() -> (Calibration, MeasuredModel) {
    let mut made = Made::new();
    let (base, timings) = (made.base.clone(), made.timings.clone());
    let found = calibrate(&mut made, &base, &timings, &Unwatched, &AtomicBool::new(false)).unwrap();
    let model = measured_model(&base, &found.figures, "made", "a made core").unwrap();
    (found, model)
}

#[test]
fn sizes_latencies_and_rates_of_a_made_core_are_found() {
    let (found, measured) = found();
    let model = &measured.model;
    let near = |one: u32, other: u32| one.abs_diff(other) <= 4;
    assert!(near(model.back.rob.entries, 300), "{}", model.back.rob.entries);
    assert!(near(model.back.registers.integer, 200), "{}", model.back.registers.integer);
    assert!(near(model.back.registers.vector, 180), "{}", model.back.registers.vector);
    assert!(near(model.memory.loads.entries, 100), "{}", model.memory.loads.entries);
    assert!(near(model.memory.stores.entries, 70), "{}", model.memory.stores.entries);
    assert!(near(model.back.schedulers[0].entries, 20), "{:?}", model.back.schedulers[0]);
    assert_eq!((model.memory.loads.latency, model.memory.loads.rate), (5, 3));
    assert_eq!(model.memory.l1d.miss, 10);
    assert!(near(model.memory.dtlb.entries, 96), "{}", model.memory.dtlb.entries);
    let elimination = &model.back.elimination;
    assert!(elimination.integer_moves && !elimination.vector_moves);
    assert_eq!(model.front.prediction.targets[0], 512);
    assert_eq!(model.front.prediction.return_stack, 24);
    assert_eq!((model.back.dispatch.entries, model.front.decoder.width), (6, 4));
    let size = found.figures.iter().find(|it| it.name == "size of the second-level cache");
    assert!((1000.0..1060.0).contains(&size.unwrap().measured.median), "{size:?}");
    // 48 KiB in 8 ways are no power of two of sets.
    assert!(measured.kept.contains(&"memory.l1d.kib".to_owned()));
}

#[test]
fn only_a_slower_form_differs_from_the_base() {
    let (found, _) = found();
    let made = Made::new();
    let rows = overlay::rows(&found.forms, &made.timings, &made.base);
    // With memory, a form computes as with registers, whatever the base says.
    let with_registers = |row: &overlay::Row| {
        let mut names = corun_model::timing::with_registers(&row.form);
        let found = names.find_map(|name| rows.iter().find(|other| other.form == name));
        found.map(|other| other.timing.uops.clone())
    };
    let differing: Vec<&str> = rows
        .iter()
        .filter(|row| {
            let base = row.base.as_ref();
            base.is_some_and(|base| base.uops != row.timing.uops)
                && with_registers(row).as_ref() != Some(&row.timing.uops)
        })
        .map(|row| row.form.as_str())
        .collect();
    assert_eq!(differing, [""; 0]);
    assert!(rows.len() > 300, "{}", rows.len());
    let add = rows.iter().find(|row| row.form == "add r64 r64").unwrap();
    assert_eq!(add.timing.latency, 2);
}

#[test]
fn a_stopped_calibration_gives_no_model() {
    let mut made = Made::new();
    let (base, timings) = (made.base.clone(), made.timings.clone());
    let stopped = calibrate(&mut made, &base, &timings, &Unwatched, &AtomicBool::new(true));
    assert!(matches!(stopped, Err(CalibrateError::Interrupted)), "{stopped:?}");
    assert_eq!(made.times, 0);
}

/// Progress that was reported: each stage with its units.
#[derive(Default)]
struct Heard(std::sync::Mutex<Vec<(Stage, u64)>>);

impl Progress for Heard {
    fn begin(&self, stage: Stage) {
        self.0.lock().unwrap().push((stage, 0));
    }

    fn advance(&self, units: u64) {
        self.0.lock().unwrap().last_mut().expect("a stage has begun").1 += units;
    }
}

#[test]
fn every_form_and_every_part_is_shown() {
    let mut made = Made::new();
    let (base, timings) = (made.base.clone(), TimingTable::of(&made.base).unwrap());
    let heard = Heard::default();
    calibrate(&mut made, &base, &timings, &heard, &AtomicBool::new(false)).unwrap();
    let heard = heard.0.into_inner().unwrap();
    assert_eq!(heard.len(), 1 + PARTS.len());
    let (forms, done) = &heard[0];
    assert_eq!(forms.total, Some(*done), "forms are counted before");
    assert!(heard[1..].iter().all(|(stage, done)| stage.total.is_none() && *done > 0), "{heard:?}");
}
