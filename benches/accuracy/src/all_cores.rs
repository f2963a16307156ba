//! The page over all cores: what is known of each, what is not, and what its answers may be used for.
//!
//! All of it is predicted from committed traces, blocks and records: nothing is measured, and no program needs to be installed.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use corun_blocks::{Agreement, agreement, is_held_out};
use corun_record::{Blocks, Estimate, Record, SimulatedBlock};
use corun_sim::in_parallel;

use crate::blocks::{self, LISTS, List};
use crate::gate::programs::{CORES, Recording, recordings};
use crate::gate::yields;
use crate::measured::Recorded;
use crate::programs::Side;
use crate::siblings::{self, HELPS, Measured, Predicted};

/// Everything that is predicted.
pub(crate) struct Known {
    programs: Vec<(Recording, Result<Estimate, String>)>,
    blocks: Vec<(&'static List, Record<Blocks>)>,
    yields: Vec<Predicted>,
    /// The time that it took, and the CPUs.
    seconds: f64,
    cpus: usize,
}

/// Predicts everything, as many things at a time as there are CPUs.
///
/// # Errors
/// If a committed file cannot be read, or a list of blocks cannot be simulated.
pub(crate) fn predict(corun: &Path) -> Result<Known, String> {
    let begun = Instant::now();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let simulated = |list: &'static List| {
        let found = blocks::simulate(corun, list.model, &blocks::folder().join(list.file))?;
        Ok((list, found))
    };
    let blocks = LISTS.iter().map(simulated).collect::<Result<_, String>>()?;
    let recordings = recordings()?;
    let ratios = in_parallel(cpus, recordings.len(), |at| recordings[at].predict());
    let rows = yields::rows()?;
    let outcomes = in_parallel(cpus, rows.len(), |at| yields::a_cycle(corun, &rows[at]));
    let yields = rows.into_iter().zip(outcomes).map(|(row, outcome)| Predicted { row, outcome });
    Ok(Known {
        programs: recordings.into_iter().zip(ratios).collect(),
        blocks,
        yields: yields.collect(),
        seconds: begun.elapsed().as_secs_f64(),
        cpus,
    })
}

/// The page in Markdown, with what was measured on siblings, and the command that makes it.
///
/// # Errors
/// If a record of a core cannot be read.
pub(crate) fn page(known: &Known, measured: &[Measured], command: &str) -> Result<String, String> {
    let Known { yields, seconds, cpus, .. } = known;
    let mut text = format!(
        "# How good predictions are\n\n    {command}\n\n{HOW}It took {seconds:.0} s on {cpus} CPUs.\n"
    );
    text += &known.uses();
    text += &known.programs()?;
    write!(text, "\n## Yields\n\n{OF_YIELDS}{}{}", siblings::tables(yields, "###"), known.misses())
        .expect("a string takes everything");
    text += &siblings::of_hardware(measured);
    text += "\nSources:\n\n";
    let sources: BTreeSet<String> = yields
        .iter()
        .filter(|one| one.row.source != "as the row above")
        .map(|one| format!("- {}: {}.\n", one.row.processor, one.row.source))
        .collect();
    text.extend(sources);
    text += &known.blocks();
    Ok(text + NOT_KNOWN)
}

const HOW: &str = "\
makes this page by the present code from committed recordings: traces of programs and the cycles that were measured natively
(`benches/accuracy/gate`, `recorded`), blocks of code (`models/measured`) and published SMT yields (`siblings.toml`). *Held out* is
what no model was tuned with; sides were fixed before anything was tuned. *Inside* counts truths that lie in the 95 % interval
that corun prints, which proves little here: of a program six short windows were recorded, so that its interval is wider than that of
a whole prediction, and the models' error, which intervals hold, is that of these same programs and rows.
";

const OF_YIELDS: &str = "\
Published work of cores whose siblings are all busy, over one busy hardware thread a core, beside what a program gives that stands
for the published one: *faithful* ones are the published loop or program, *proxies* do work of the same kind. Publications are of
seconds; the [simulated core](siblings.md) gives work a cycle, and the clock beside busy siblings makes it [work a
second](prediction.md#cycles-and-seconds). *Clock*: `unknown` where the publication does not say whether it was fixed. Other cores
are as busy as they were then. Traces are short: 0.1 million instructions after as many that warm up. Some yields are not those of ten
times as much, which `-- --siblings` takes. `ram` and matrixprod were held out at first and were looked at since. Rows of whole machines that
bandwidth or communication decide are left out: a model of a core does not explain them.
";

const OF_BLOCKS: &str = "\
Cycles of an iteration of basic blocks in steady state, as `corun simulate --block-file` [predicts](simulation.md#blocks) them,
beside measured ones; the head of each list says who measured it, and how. Which third is held out follows from a hash of the code.
*Tau-b* is Kendall's rank correlation.
";

const NOT_KNOWN: &str = "
## What is not known

- No program and no block was measured on a Zen 2, Zen 3 or NetBurst core, nor a program on an Intel core: the interval of their
  cycles is that of the worst core with programs. `little-smt4` is no real core.
- No yield was measured by corun on hardware that the models stand for: all are publications, most without the program's binary.
- How far the clock falls beside busy siblings was published for one processor; elsewhere it is assumed.
- Threads of one process, programs beside other programs, and `stacked` have no published counterpart here.
- What assumptions decide: `-- --siblings --sensitivity`. Loops through memory: `-- --core zen4`, and [why they are
  off](evidence/memory-points.md). Single experiments: [whole programs](evidence/whole-programs.md).
";

/// Errors of some predictions.
struct Errors {
    mean: f64,
    largest: f64,
    inside: usize,
    all: usize,
}

impl Errors {
    /// Of the distance of each from the truth, and whether its interval holds it; none of none.
    fn of(each: &[(f64, bool)]) -> Option<Self> {
        (!each.is_empty()).then(|| Self {
            mean: each.iter().map(|it| it.0).sum::<f64>() / each.len() as f64,
            largest: each.iter().map(|it| it.0).fold(0.0, f64::max),
            inside: each.iter().filter(|it| it.1).count(),
            all: each.len(),
        })
    }
}

fn holds(Estimate { low, high, .. }: &Estimate, truth: f64) -> bool {
    *low <= truth && truth <= *high
}

/// The least rank correlation of blocks with which predictions rank two loops.
const RANKED: f64 = 0.93;
/// The fewest rows, and the share of them, whose sign is right where siblings may be judged.
const JUDGED: (usize, f64) = (5, 0.8);

impl Known {
    /// The table of cores.
    fn uses(&self) -> String {
        let mut text = String::from(
            "\n## What answers may be used for\n\nHeld-out figures alone. Programs and blocks: mean and largest error of cycles; \
             yields: of the yield itself.\n\n| core | programs | blocks | yields | use it for | not for |\n\
             |---|---|---|---|---|---|\n",
        );
        let mut unknown = Vec::new();
        for core in corun_model::names() {
            let (programs, blocks) = (self.of_programs(core), self.of_blocks(core));
            let (yields, right) = self.of_yields(core);
            if programs.is_none() && blocks.is_none() && yields.is_none() {
                unknown.push(format!("`{core}`"));
                continue;
            }
            let shown = programs.as_ref().map_or("none".to_owned(), |it| {
                format!(
                    "{:.0} %, {:.0} %; {} of {} inside",
                    100.0 * it.mean,
                    100.0 * it.largest,
                    it.inside,
                    it.all
                )
            });
            let shown_blocks = blocks.as_ref().map_or("none".to_owned(), |(score, largest)| {
                format!(
                    "{:.1} %, {:.0} %, tau-b {:.3}",
                    100.0 * score.mean,
                    100.0 * largest,
                    score.tau
                )
            });
            let shown_yields = yields.as_ref().map_or("none".to_owned(), |it| {
                format!("{:.2}, {:.2}; {} of {} inside", it.mean, it.largest, it.inside, it.all)
            });
            let is_ranked = blocks.is_some_and(|(score, _)| score.tau >= RANKED);
            let is_judged = yields
                .is_some_and(|it| it.all >= JUDGED.0 && right as f64 >= JUDGED.1 * it.all as f64);
            let uses = [
                (programs.is_some(), "cycles of a program, within the printed interval"),
                (is_ranked, "which of two loops is faster"),
                (is_judged, "whether a busy sibling helps, where the verdict says so"),
            ];
            let of = |wanted: bool| {
                let list = uses.iter().filter(|(may, _)| *may == wanted);
                let list: Vec<&str> = list.map(|(_, what)| *what).collect();
                if list.is_empty() { "-".to_owned() } else { list.join("; ") }
            };
            writeln!(
                text,
                "| `{core}` | {shown} | {shown_blocks} | {shown_yields} | {} | {} |",
                of(true),
                of(false)
            )
            .expect("a string takes everything");
        }
        writeln!(
            text,
            "\nOf {} nothing held out was measured: how good they are is not known.",
            unknown.join(", ")
        )
        .expect("a string takes everything");
        text
    }

    fn of_programs(&self, core: &str) -> Option<Errors> {
        let own = self.programs.iter().filter(|(it, _)| it.core == core);
        let held_out = own.filter(|(it, _)| Side::of(it.program) == Side::HeldOut);
        let each = held_out.filter_map(|(_, ratio)| ratio.as_ref().ok());
        Errors::of(&each.map(|it| ((it.value - 1.0).abs(), holds(it, 1.0))).collect::<Vec<_>>())
    }

    /// Agreement and largest error of all lists of a core.
    fn of_blocks(&self, core: &str) -> Option<(Agreement, f64)> {
        let lists = self.blocks.iter().filter(|(list, _)| list.model == core);
        let held_out = lists.flat_map(|(_, found)| held_out(found));
        let pairs: Vec<(f64, f64)> = held_out.map(|(_, pair)| pair).collect();
        let largest = pairs.iter().map(|it| off(*it)).fold(0.0, f64::max);
        Some((agreement(&pairs)?, largest))
    }

    /// Errors of yields, and in how many rows "helps by more than 5 %" is right.
    fn of_yields(&self, core: &str) -> (Option<Errors>, usize) {
        let own = self.yields.iter().filter(|one| one.row.model == core);
        let held_out = own.filter(|one| one.row.side == siblings::Side::HeldOut);
        let each: Vec<(f64, Estimate)> =
            held_out.filter_map(|one| Some((one.row.published, one.both().ok()?.1))).collect();
        let right = each.iter().filter(|(truth, it)| (*truth > HELPS) == (it.value > HELPS));
        let right = right.count();
        let errors = each.iter().map(|(truth, it)| ((it.value - truth).abs(), holds(it, *truth)));
        (Errors::of(&errors.collect::<Vec<_>>()), right)
    }

    /// The table of programs, a column a core, and the names of those that have no committed trace.
    fn programs(&self) -> Result<String, String> {
        let mut text = format!(
            "\n## Programs\n\nPredicted over measured cycles in the program's own code, with the interval that is printed.\n\n\
             | program | | `{}` |\n|---|---|{}\n",
            CORES.join("` | `"),
            "---|".repeat(CORES.len())
        );
        let mut names: Vec<&str> = self.programs.iter().map(|(it, _)| it.program).collect();
        names.truncate(names.len() / CORES.len());
        names.sort_by_key(|name| Side::of(name) == Side::HeldOut);
        for name in &names {
            let side = if Side::of(name) == Side::Tuned { "tuned" } else { "held out" };
            let cells = CORES.map(|core| {
                let is_it = |it: &&(Recording, _)| it.0.program == *name && it.0.core == core;
                match self.programs.iter().find(is_it).map(|it| &it.1) {
                    Some(Ok(it)) => {
                        format!("**{:.2}** ({:.2} to {:.2})", it.value, it.low, it.high)
                    }
                    Some(Err(why)) => format!("not predicted: {why}"),
                    None => "-".to_owned(),
                }
            });
            writeln!(text, "| `{name}` | {side} | {} |", cells.join(" | "))
                .expect("a string takes everything");
        }
        for core in CORES {
            let recorded = Recorded::read(&Recorded::of_core(core))?;
            let left = recorded.programs.keys().filter(|it| !names.contains(&it.as_str()));
            // Points of a curve have a parameter in their name.
            let left: Vec<&str> = left.filter(|it| !it.contains(' ')).map(String::as_str).collect();
            write!(
                text,
                "\nOn `{core}` ({}, {}) these were measured, too, and have no committed trace: {}.\n",
                recorded.machine,
                recorded.date,
                left.join(", ")
            )
            .expect("a string takes everything");
        }
        Ok(text)
    }

    /// Every yield that is off by more than 0.1, or outside of its interval.
    fn misses(&self) -> String {
        let misses: Vec<String> = self
            .yields
            .iter()
            .filter_map(|one| {
                let (published, (_, found)) = (one.row.published, one.both().ok()?);
                let off = found.value - published;
                let outside =
                    if holds(&found, published) { "" } else { ", outside of its interval" };
                let is_missed = off.abs() > 0.1 || !outside.is_empty();
                is_missed.then(|| format!("{} ({off:+.2}{outside})", one.row.workload))
            })
            .collect();
        match misses.is_empty() {
            true => String::new(),
            false => format!("\nMisses, off by more than 0.1 or outside: {}.\n", misses.join("; ")),
        }
    }

    /// The table of each list, and its worst blocks.
    fn blocks(&self) -> String {
        let mut text = format!("\n## Blocks of code\n\n{OF_BLOCKS}");
        for (list, found) in &self.blocks {
            text += &blocks::table(list, found);
            let mut worst: Vec<_> = held_out(found).collect();
            worst.sort_by(|one, other| off(other.1).total_cmp(&off(one.1)));
            let line = |(block, (predicted, measured)): &(&SimulatedBlock, (f64, f64))| {
                format!("`{}` ({predicted:.1} for {measured:.1})", shortened(&block.block))
            };
            let worst: Vec<String> = worst.iter().take(WORST).map(line).collect();
            writeln!(
                text,
                "\nLargest errors of held-out blocks, predicted for measured: {}.",
                worst.join(", ")
            )
            .expect("a string takes everything");
        }
        text
    }
}

/// Blocks that are named of each list.
const WORST: usize = 3;
/// The most of a block's code that is shown.
const SHOWN: usize = 40;

fn shortened(code: &str) -> String {
    match code.get(..SHOWN) {
        Some(first) if code.len() > SHOWN => format!("{first}..."),
        _ => code.to_owned(),
    }
}

/// Held-out blocks with predicted and measured cycles; one that cannot be run counts as one of 0 cycles.
fn held_out(found: &Record<Blocks>) -> impl Iterator<Item = (&SimulatedBlock, (f64, f64))> {
    let blocks = found.body.blocks.iter().filter(|it| is_held_out(&it.block));
    blocks.filter_map(|it| Some((it, (it.predicted.unwrap_or(0.0), it.measured?))))
}

fn off((predicted, measured): (f64, f64)) -> f64 {
    (predicted / measured - 1.0).abs()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use corun_record::{SimulatedCore, TimingRows};

    use super::*;
    use crate::siblings::Yield;

    /// Every program so far off, every yield as published but for that of the first row of a core, and two held-out blocks.
    fn known(ratio: f64, missed: f64) -> Known {
        let exact = |value| Estimate {
            value,
            low: value - 0.05,
            high: value + 0.05,
            level: 0.95,
            blocks: 6,
        };
        let programs = recordings().unwrap().into_iter().map(|it| (it, Ok(exact(ratio))));
        let mut models = BTreeSet::new();
        let yields = yields::rows().unwrap().into_iter().map(|mut row| {
            row.clock = siblings::Clock::Fixed;
            let mean = row.published + if models.insert(row.model.clone()) { missed } else { 0.0 };
            Predicted { row, outcome: Ok(Yield { mean, low: mean, high: mean }) }
        });
        let block = |code: &str, predicted, measured: f64| SimulatedBlock {
            block: code.to_owned(),
            predicted: Some(predicted),
            measured: Some(measured),
            reason: None,
        };
        let body = Blocks {
            core: SimulatedCore {
                model: "ivy-bridge".to_owned(),
                title: "a core".to_owned(),
                settings: BTreeMap::new(),
            },
            agreement: None,
            blocks: vec![block("4801c8", 1.5, 1.0)],
            unknown_forms: BTreeMap::new(),
            assumed_quotients: BTreeMap::new(),
            timing_rows: TimingRows::default(),
        };
        Known {
            programs: programs.collect(),
            blocks: vec![(&LISTS[0], Record::new("2026-01-02T00:00:00Z".to_owned(), 3.2, body))],
            yields: yields.collect(),
            seconds: 12.0,
            cpus: 2,
        }
    }

    #[test]
    fn every_core_has_its_errors_and_what_they_allow() {
        let text = page(&known(0.9, 0.0), &[], "the command").unwrap();
        for expected in [
            "# How good predictions are\n\n    the command\n\nmakes this page",
            "It took 12 s on 2 CPUs.",
            "| `zen4` | 10 %, 10 %; 0 of 8 inside | none | 0.00, 0.00; 1 of 1 inside | cycles of a program,",
            "| `ivy-bridge` | none | 50.0 %, 50 %, tau-b NaN | 0.00, 0.00; 3 of 3 inside | - | cycles of a program,",
            "`little-smt4`, `netburst-xeon-mp`, `rocket-lake`",
            "nothing held out was measured: how good they are is not known.",
            "| `gzip` | tuned | **0.90** (0.85 to 0.95) | **0.90** (0.85 to 0.95) |",
            "have no committed trace: cc1, chase, node, xz, zstd.",
            "`4801c8` (1.5 for 1.0).",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
        assert!(!text.contains("Misses"), "{text}");
        let zen3 = text.lines().find(|line| line.starts_with("| `zen3` |")).unwrap();
        assert!(zen3.contains("| whether a busy sibling helps"), "{zen3}");
    }

    #[test]
    fn a_yield_outside_of_its_interval_is_named() {
        let known = known(1.0, 2.0);
        let misses = known.misses();
        assert!(misses.contains("pointer chase through 4 KiB a thread (+"), "{misses}");
        assert!(misses.contains("outside of its interval"), "{misses}");
        assert!(!misses.contains("8 KiB"), "{misses}");
    }
}
