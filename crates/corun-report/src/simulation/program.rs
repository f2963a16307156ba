//! A program on a simulated core.

use corun_model::CoreModel;
use corun_record::{Caveat, on_one_line};
use corun_sim::{PageSize, Requests, Simulated};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{TimingRows, wrapped};
use crate::figures::grouped;
use crate::top_down::Category;

/// A program simulated on a core model.
#[derive(Debug, Clone)]
pub struct Simulation<'a> {
    /// The core.
    pub model: &'a CoreModel,
    /// What must be said of the model.
    pub warning: Option<Caveat>,
    /// What must be said of the figures.
    pub caveats: Vec<String>,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Instructions before those that count.
    pub warmup: u64,
    /// What its data lie in.
    pub pages: PageSize,
    /// What came out.
    pub simulated: &'a Simulated,
    /// How well the timings of the executed instructions are known.
    pub usage: &'a corun_model::timing::Usage,
}

/// The form of [`Simulation::to_json`].
#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    model: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    caveats: Vec<Caveat>,
    command: &'a [String],
    warmup: u64,
    pages: &'static str,
    instructions: u64,
    cycles: u64,
    ipc: f64,
    seconds: f64,
    mispredicts: u64,
    requests: Requests,
    stack: Map<String, Value>,
    occupancy: Map<String, Value>,
    unknown_forms: Map<String, Value>,
    timing_rows: TimingRows,
}

/// Components below this share of all cycles are left out of the text.
const LEAST_SHARE: f64 = 0.000_5;

impl Simulation<'_> {
    /// As JSON; the stack is in cycles and adds up to all of them.
    ///
    /// # Panics
    /// Never: a simulation is JSON.
    pub fn to_json(&self) -> String {
        let simulated = self.simulated;
        let numbers = |all: &mut dyn Iterator<Item = (String, f64)>| {
            all.map(|(name, value)| (name, Value::from(value))).collect()
        };
        let document = Document {
            format: "corun-simulation",
            version: 2,
            model: &self.model.name,
            caveats: super::caveats(self.warning.as_ref(), &self.caveats),
            command: &self.command,
            warmup: self.warmup,
            pages: self.pages.name(),
            instructions: simulated.instructions,
            cycles: simulated.cycles,
            ipc: simulated.ipc(),
            seconds: self.seconds(),
            mispredicts: simulated.mispredicts,
            requests: simulated.requests,
            stack: numbers(&mut simulated.stack.cycles().map(|(name, it)| (name.to_owned(), it))),
            occupancy: numbers(
                &mut simulated.occupancy.means().map(|(name, it)| (name.to_owned(), it)),
            ),
            unknown_forms: simulated
                .unknown
                .iter()
                .map(|(form, one)| (form.clone(), Value::from(one.places)))
                .collect(),
            timing_rows: TimingRows::of(self.usage),
        };
        corun_record::json_text(&document)
    }

    /// For people, `columns` wide.
    pub fn describe(&self, columns: u16) -> String {
        let simulated = self.simulated;
        let mut text =
            format!("{} on {}\n", on_one_line(&self.command.join(" ")), self.model.title);
        text += super::of_pages(self.pages);
        if let Some(warning) = &self.warning {
            text += &wrapped(&warning.sentence, columns);
            text.push('\n');
        }
        text += &format!(
            "\n{} instructions in {} cycles: IPC {:.3}, {:.6} s at {} GHz\n",
            grouped(simulated.instructions),
            grouped(simulated.cycles),
            simulated.ipc(),
            self.seconds(),
            self.model.gigahertz,
        );
        text += &format!("{:.2} branch MPKI\n", self.of_a_thousand(simulated.mispredicts));
        let requests = simulated.requests.all().into_iter().filter(|(_, number)| *number > 0);
        let requests = requests
            .map(|(name, number)| format!("{:.2} {name}", self.of_a_thousand(number)))
            .collect::<Vec<_>>();
        if !requests.is_empty() {
            let all = format!("{}, per 1000 instructions", requests.join(", "));
            text += &wrapped(&all, columns);
            text.push('\n');
        }
        text += &self.stack();
        text += "\nMean occupancy, entries:\n";
        for (name, mean) in simulated.occupancy.means() {
            text += &format!("  {name:<20}{mean:>6.1}\n");
        }
        if let Some(assumed) = super::assumed_quotients(&simulated.quotients) {
            text.push('\n');
            text += &wrapped(&assumed, columns);
            text.push('\n');
        }
        for caveat in &self.caveats {
            text.push('\n');
            text += &wrapped(caveat, columns);
            text.push('\n');
        }
        if let Some(unknown) = super::unknown_forms(&simulated.unknown) {
            text.push('\n');
            text += &wrapped(&unknown, columns);
            text.push('\n');
        }
        if let Some(sentence) = self.usage.sentence() {
            text += &wrapped(&sentence, columns);
            text.push('\n');
        }
        text
    }

    /// The cycle stack by top-down category.
    fn stack(&self) -> String {
        let all = self.simulated.cycles.max(1) as f64;
        let shares: Vec<(&str, f64)> =
            self.simulated.stack.cycles().map(|(name, cycles)| (name, cycles / all)).collect();
        let mut text = "\nCycle stack (top-down, in issue slots):\n".to_owned();
        for category in Category::ALL {
            let parts = || shares.iter().filter(|(name, _)| Category::of(name) == category);
            let sum: f64 = parts().map(|(_, share)| share).sum();
            if sum < LEAST_SHARE {
                continue;
            }
            text += &format!("  {:<24}{:>6.1} %\n", category.name(), 100.0 * sum);
            let large =
                parts().filter(|(name, share)| *share >= LEAST_SHARE && *name != category.name());
            for (name, share) in large {
                text += &format!("    {name:<22}{:>6.1} %\n", 100.0 * share);
            }
        }
        text
    }

    fn of_a_thousand(&self, number: u64) -> f64 {
        1e3 * number as f64 / self.simulated.instructions.max(1) as f64
    }

    fn seconds(&self) -> f64 {
        self.simulated.cycles as f64 / (self.model.gigahertz * 1e9)
    }
}
