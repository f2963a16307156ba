//! Checks of a model against what no real core can be, beyond what each field's type says.
//!
//! The bounds also keep a hostile model from asking the simulator for more memory than there is.

mod back;
mod front;
mod hierarchy;
mod memory;

use corun_record::nearest_listed;

use super::places::Places;
use super::sharing::{Policy, Sharing};
use super::{Clock, CoreModel, sources};

/// A fault: the field's path, and what was expected and found.
pub(super) type Fault = (String, String);

/// More than any core has of anything that is counted in entries.
const MAX_ENTRIES: u32 = 1 << 20;
/// More than anything inside a core takes, in cycles.
const MAX_CYCLES: u32 = 1 << 12;
/// More than any core does in one cycle.
const MAX_PER_CYCLE: u32 = 64;
/// No core's clock falls further when its siblings become busy.
const MIN_CLOCK: f64 = 0.5;
/// Resources that are used again each cycle, so that threads can take turns there.
const ALTERNATING: [&str; 6] = [
    "front.fetch",
    "front.predecoder",
    "front.decoder",
    "front.microcode",
    "back.dispatch",
    "back.retire",
];
/// Hardware threads of the widest core there is.
pub const WIDEST: u32 = 8;

/// Everything that is wrong with the model.
pub(super) fn faults(model: &CoreModel, places: &Places) -> Vec<Fault> {
    // Of a width that is wrong itself nothing else is said.
    let smt_width = if model.smt_width <= WIDEST { model.smt_width.max(1) } else { 1 };
    let mut faults = Faults { smt_width, all: Vec::new() };
    whole(model, places, &mut faults);
    front::check(model, &mut faults);
    back::check(&model.back, &mut faults);
    memory::check(model, &mut faults);
    hierarchy::check(model, &mut faults);
    for (path, sharing) in model.sharings() {
        if sharing.cap.is_some() && sharing.policy != Policy::Shared {
            faults.add(
                format!("{path}.sharing.cap"),
                "none with a policy that is not \"shared\"",
                "one",
            );
        }
        if sharing.policy == Policy::Alternating && !ALTERNATING.contains(&path.as_str()) {
            faults.add(
                format!("{path}.sharing.policy"),
                "\"replicated\", \"partitioned\" or \"shared\", since it holds what is not for one cycle",
                "\"alternating\"",
            );
        }
    }
    faults.all
}

fn whole(model: &CoreModel, places: &Places, faults: &mut Faults) {
    faults.text("title", &model.title);
    faults.within("smt_width", model.smt_width, 1, WIDEST);
    let clock = model.gigahertz;
    if !(clock.is_finite() && clock > 0.0 && clock <= 100.0) {
        faults.add("gigahertz", "a clock above 0 and up to 100 GHz", clock);
    }
    if let Some(Clock { range: [least, most], .. }) = model.clock
        && ![MIN_CLOCK, least, most, 1.0].is_sorted()
    {
        let expected = format!("two ratios from {MIN_CLOCK} to 1, the smaller one first");
        faults.add("clock.range", expected, format!("{least} and {most}"));
    }
    faults.file_name("timing", &model.timing);
    for (index, overlay) in model.overlays.iter().enumerate() {
        faults.file_name(&format!("overlays.{index}"), overlay);
    }
    for (path, reference) in model.references() {
        for name in sources::named(reference) {
            if !model.sources.contains_key(name) {
                faults.unknown(&path, name, model.sources.keys().map(String::as_str));
            }
        }
    }
    for (name, citation) in &model.sources {
        faults.text(&format!("sources.{name}"), citation);
    }
    for (field, reason) in &model.estimates {
        let path = format!("estimates.{field}");
        if !places.has(field) {
            faults.unknown(&path, field, places.paths().filter(|path| path.contains('.')));
        }
        faults.text(&path, reason);
        if let Some(sources) = sources::of_fit(reason) {
            faults.fit(&path, model, sources);
        }
    }
    for name in model.unnamed_sources() {
        let expected = "a source that a table or an estimate names";
        faults.add(format!("sources.{name}"), expected, "one that none names");
    }
}

/// Faults found so far, and the model to search for more.
struct Faults {
    smt_width: u32,
    all: Vec<Fault>,
}

impl Faults {
    fn add(
        &mut self,
        path: impl Into<String>,
        expected: impl std::fmt::Display,
        found: impl std::fmt::Display,
    ) {
        self.all.push((path.into(), format!("expected {expected}, found {found}")));
    }

    fn within(&mut self, path: &str, value: u32, least: u32, most: u32) {
        if !(least..=most).contains(&value) {
            self.add(path, format_args!("a number from {least} to {most}"), value);
        }
    }

    fn entries(&mut self, path: &str, value: u32) {
        self.within(path, value, 1, MAX_ENTRIES);
    }

    fn a_cycle(&mut self, path: &str, value: u32) {
        self.within(path, value, 1, MAX_PER_CYCLE);
    }

    fn cycles(&mut self, path: &str, value: u32) {
        self.within(path, value, 0, MAX_CYCLES);
    }

    fn power_of_two(&mut self, path: &str, value: u32, most: u32) {
        if !value.is_power_of_two() || value > most {
            self.add(path, format_args!("a power of two up to {most}"), value);
        }
    }

    fn multiple(&mut self, path: &str, value: u32, of: u32) {
        if of > 0 && !value.is_multiple_of(of) {
            self.add(path, format_args!("a multiple of {of}"), value);
        }
    }

    fn text(&mut self, path: &str, text: &str) {
        if text.trim().is_empty() {
            self.add(path, "a text", "nothing");
        }
    }

    /// A figure that was fitted has a second source, which it was not fitted to: else it would hold for what it was fitted to, and
    /// decide about other programs all the same.
    fn fit(&mut self, path: &str, model: &CoreModel, sources: [Option<&str>; 2]) {
        let expected =
            "\"fitted to SOURCE ...; second source: OTHER SOURCE ...\", two of `sources`";
        match sources {
            [Some(first), Some(second)] if first != second => {
                for name in [first, second] {
                    if !model.sources.contains_key(name) {
                        self.unknown(path, name, model.sources.keys().map(String::as_str));
                    }
                }
            }
            [Some(_), Some(_)] => self.add(path, expected, "one source twice"),
            [_, None] => self.add(path, expected, "no second source"),
            [None, _] => self.add(path, expected, "a fit to no source"),
        }
    }

    /// The name of a table in `models/timing/`.
    fn file_name(&mut self, path: &str, name: &str) {
        let is_allowed = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-';
        if name.is_empty() || !name.chars().all(is_allowed) {
            self.add(
                path,
                "a name of small letters, digits and hyphens",
                format_args!("\"{name}\""),
            );
        }
    }

    /// A name that stands for nothing.
    fn unknown<'a>(&mut self, path: &str, found: &str, known: impl Iterator<Item = &'a str>) {
        let expected = format!("one of {}", nearest_listed(found, known));
        self.add(path, expected, format_args!("\"{found}\""));
    }

    /// A resource of this many entries: each thread must get the same part, and a cap must leave some.
    fn resource(&mut self, path: &str, field: &str, entries: u32, sharing: &Sharing) {
        let field = format!("{path}.{field}");
        self.entries(&field, entries);
        if sharing.policy == Policy::Partitioned {
            self.multiple(&field, entries, self.smt_width);
        }
        if let Some(cap) = sharing.cap {
            self.within(&format!("{path}.sharing.cap"), cap, 1, entries);
        }
    }

    /// Sets and ways: a partition is of either.
    fn sets(&mut self, path: &str, field: &str, sets: u32, ways: u32, sharing: &Sharing) {
        if !sets.is_power_of_two() {
            let expected = format!("a number of sets that is a power of two ({ways} ways each)");
            self.add(format!("{path}.{field}"), expected, sets);
        }
        self.parts(path, sets, ways, sharing);
    }

    /// A partition is of the sets or of the ways.
    fn parts(&mut self, path: &str, sets: u32, ways: u32, sharing: &Sharing) {
        if sharing.policy == Policy::Partitioned
            && !(sets.is_multiple_of(self.smt_width) || ways.is_multiple_of(self.smt_width))
        {
            let expected = format!("sets or ways in {} equal parts", self.smt_width);
            self.add(format!("{path}.ways"), expected, ways);
        }
    }
}
