//! Slowdowns of pairs, from a file of them or from a document of `simulate`, `predict`, `measure` or `bench`.
//!
//! Documents name programs and traces, loads name kinds of work: one rule ([`kind`]) makes the first into the
//! second, and [`Pairs::renamed`] gives kinds the names that a load has.

use std::collections::BTreeMap;

use corun_record::{
    AnyDocument, Metric, Observation, PlacedWorker, Placements, Prediction, Run,
    SimulatedPlacement, Source, Tree,
};
use serde::Deserialize;

use super::ScheduleError;
use super::slowdowns::Ratio;

/// Slowdown of each kind of work beside others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pairs {
    /// The kinds in the order of the document.
    kinds: Vec<String>,
    /// By places of two kinds: how much longer the first takes beside the second.
    slowdowns: BTreeMap<(usize, usize), Ratio>,
}

/// Pairs written by hand.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "format")]
    _format: String,
    version: u32,
    /// The kinds, a row and a column each.
    kinds: Vec<String>,
    /// Slowdown of the kind of the row beside that of the column.
    slowdowns: Vec<Vec<f64>>,
}

const FORMAT: &str = "corun-pairs";

/// The kind of work of a program or of a trace: the name of its file, without the folder and without `.trace`.
/// A worker that is one of a program's threads (`fib.trace, thread 3`) is of the program's kind.
pub fn kind(name: &str) -> &str {
    let file = name.split(", thread ").next().unwrap_or(name);
    let file = file.rsplit('/').next().unwrap_or(file);
    file.strip_suffix(".trace").unwrap_or(file)
}

impl Pairs {
    /// Reads a file of pairs, or a document that has the slowdown of siblings.
    ///
    /// # Errors
    /// If it is not of such a form, or has no such figure.
    pub fn from_json(text: &str) -> Result<Self, ScheduleError> {
        match AnyDocument::from_json(text).map_err(|error| wrong(error.to_string()))? {
            AnyDocument::Other { format, fields } if format == FORMAT => Self::of_file(fields),
            AnyDocument::Placements(placements) => Self::of_placements(&placements.body),
            AnyDocument::Prediction(prediction) => Self::of_prediction(&prediction),
            AnyDocument::Run(run) => Self::of_runs(&[*run]),
            AnyDocument::Bench(bench) => Self::of_runs(&bench.runs),
            other => Err(wrong(format!(
                "expected a document of `corun simulate`, `predict`, `measure` or `bench run`, or one of \
                 format \"{FORMAT}\", found format \"{}\"",
                other.format()
            ))),
        }
    }

    /// The kinds, in the order of the document.
    pub fn kinds(&self) -> &[String] {
        &self.kinds
    }

    /// Kind, kind beside it, and how much longer the first takes then.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, Ratio)> {
        let kind = |place: usize| self.kinds[place].as_str();
        self.slowdowns.iter().map(move |(&(one, other), &it)| (kind(one), kind(other), it))
    }

    /// The pairs with other names for the kinds, in the order of the document.
    ///
    /// # Errors
    /// If they are not as many.
    pub fn renamed(self, names: &[String]) -> Result<Self, ScheduleError> {
        if names.len() != self.kinds.len() {
            let expected = match self.kinds.len() {
                1 => "a name for the kind".to_owned(),
                several => format!("{several} names, one for each of the kinds"),
            };
            return Err(wrong(format!(
                "expected {expected} {}, found {}",
                self.kinds.join(", "),
                names.join(", ")
            )));
        }
        Self { kinds: names.to_vec(), ..self }.checked()
    }

    fn of_file(fields: Tree) -> Result<Self, ScheduleError> {
        let file: File = fields.read().map_err(|error| wrong(error.to_string()))?;
        if file.version != 1 {
            return Err(wrong(format!("expected version 1, found {}", file.version)));
        }
        let count = file.kinds.len();
        if file.slowdowns.len() != count || file.slowdowns.iter().any(|row| row.len() != count) {
            return Err(wrong(format!("expected {count} rows of {count} slowdowns")));
        }
        let mut slowdowns = BTreeMap::new();
        for (one, row) in file.slowdowns.iter().enumerate() {
            for (other, number) in row.iter().enumerate() {
                slowdowns.insert((one, other), ratio(*number)?);
            }
        }
        Self { kinds: file.kinds, slowdowns }.checked()
    }

    /// Each kind must have one name, so that a pair has one slowdown.
    fn checked(self) -> Result<Self, ScheduleError> {
        let is_again = |place: &usize| self.kinds[..*place].contains(&self.kinds[*place]);
        match (0..self.kinds.len()).find(is_again) {
            Some(place) => {
                let kind = &self.kinds[place];
                Err(wrong(format!("expected each kind once, found \"{kind}\" again")))
            }
            None => {
                let speedup = self.iter().find(|(.., it)| !it.is_slowdown()).map(
                    |(one, other, found)| {
                        wrong(format!(
                            "expected that {one} takes as long beside {other} as alone or longer, found {:.3} times as long",
                            found.value()
                        ))
                    },
                );
                speedup.map_or(Ok(self), Err)
            }
        }
    }

    /// Means over the pairs of the same kinds.
    fn of_means<'k>(
        found: impl IntoIterator<Item = (&'k str, &'k str, f64)>,
    ) -> Result<Self, ScheduleError> {
        let mut kinds: Vec<String> = Vec::new();
        let mut sums: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
        for (one, other, slowdown) in found {
            let pair = [one, other].map(|kind| {
                kinds.iter().position(|it| it == kind).unwrap_or_else(|| {
                    kinds.push(kind.to_owned());
                    kinds.len() - 1
                })
            });
            let (sum, count) = sums.entry(pair.into()).or_default();
            (*sum, *count) = (*sum + slowdown, *count + 1.0);
        }
        let mean = |(pair, (sum, count))| Ok((pair, ratio(sum / count)?));
        let slowdowns: Result<_, ScheduleError> = sums.into_iter().map(mean).collect();
        Ok(Self { kinds, slowdowns: slowdowns? })
    }

    /// Workers simulated as siblings against the same workers with a core each.
    fn of_placements(document: &Placements) -> Result<Self, ScheduleError> {
        let placed = |name: &str| -> Result<&SimulatedPlacement, ScheduleError> {
            let is_it =
                |it: &&SimulatedPlacement| it.placement.to_string().split('@').next() == Some(name);
            let found = document.placements.iter().find(is_it);
            found.ok_or_else(|| {
                let placements: Vec<String> =
                    document.placements.iter().map(|it| it.placement.to_string()).collect();
                wrong(format!(
                    "expected the placements spread and full, found no {name} among {}",
                    placements.join(", ")
                ))
            })
        };
        let (spread, full) = (placed("spread")?, placed("full")?);
        let name = |one: &PlacedWorker| {
            let name = document.workers.get(one.worker);
            name.map(|name| kind(name))
                .ok_or_else(|| wrong(format!("expected a name of worker {}", one.worker)))
        };
        let mut found = Vec::new();
        for one in &full.workers {
            let others: Vec<&PlacedWorker> = full
                .workers
                .iter()
                .filter(|it| it.core == one.core && !std::ptr::eq(*it, one))
                .collect();
            if others.len() > 1 {
                // Which of them costs how much is not known.
                return Err(wrong(format!(
                    "expected two workers a core in full, as full@2 has them, found {}",
                    others.len() + 1
                )));
            }
            let alone = spread.workers.iter().find(|it| it.worker == one.worker);
            let (Some(other), Some(alone)) = (others.first(), alone) else { continue };
            let slowdown = mean(&one.cycles)? / mean(&alone.cycles)?;
            found.push((name(one)?, name(other)?, slowdown));
        }
        if found.is_empty() {
            return Err(wrong("expected siblings in full, found none".to_owned()));
        }
        Self::of_means(found)
    }

    /// A program beside copies of itself, as predicted or measured.
    fn of_prediction(document: &Prediction) -> Result<Self, ScheduleError> {
        let name = document.command.first().map_or("", |program| kind(program));
        let slowdown = beside_itself(&document.observations).ok_or_else(|| {
            lacking(name, &document.observations, "corun predict --placement spread,full")
        })?;
        Self::of_means([(name, name, slowdown)])
    }

    /// Programs beside copies of themselves, as measured; of several runs those that have the figure.
    fn of_runs(runs: &[Run]) -> Result<Self, ScheduleError> {
        let found: Vec<(&str, &str, f64)> = runs
            .iter()
            .filter_map(|run| {
                // Built-in workloads have folders in their names, which are no part of a file's.
                let is_built_in = run.workload.command.is_empty();
                let name = run.workload.name.as_str();
                let name = if is_built_in { name } else { kind(name) };
                Some((name, name, beside_itself(&run.observations)?))
            })
            .collect();
        match (found.is_empty(), runs) {
            (false, _) => Self::of_means(found),
            (true, [run, ..]) => Err(lacking(
                &run.workload.name,
                &run.observations,
                "corun measure --placement spread,full",
            )),
            (true, []) => Err(wrong("expected a run, found none".to_owned())),
        }
    }
}

/// Addition of a copy of a program to its time, from the SMT yield of full against spread; what was
/// measured before what was predicted.
fn beside_itself(observations: &[Observation]) -> Option<f64> {
    let of = |metric: Metric, source: Source| {
        let is_it = |seen: &&Observation| {
            let is_full = matches!(seen.arm.as_str(), "full" | "full@2");
            seen.metric == metric && seen.source == source && is_full
        };
        observations.iter().find(is_it).map(|seen| seen.estimate.value)
    };
    let found = |source| Some((source, of(Metric::SmtYield, source)?));
    let (source, smt_yield) = found(Source::Measured).or_else(|| found(Source::Predicted))?;
    // Workers a core are not among the observations; the slowdown by all siblings is their number over the yield.
    let width = of(Metric::SiblingSlowdown, source).map_or(2.0, |it| (it * smt_yield).round());
    Some(1.0 + (width / smt_yield - 1.0) / (width - 1.0).max(1.0))
}

/// A document of a program without the figure.
fn lacking(name: &str, observations: &[Observation], command: &str) -> ScheduleError {
    let mut arms: Vec<&str> = observations.iter().map(|seen| seen.arm.as_str()).collect();
    arms.dedup();
    let arms = if arms.is_empty() { "nothing".to_owned() } else { arms.join(", ") };
    wrong(format!(
        "expected the SMT yield of {name}, full against spread, as `{command}` gives it, found figures of \
         {arms}"
    ))
}

fn mean(cycles: &[f64]) -> Result<f64, ScheduleError> {
    let mean = cycles.iter().sum::<f64>() / cycles.len().max(1) as f64;
    if mean > 0.0 { Ok(mean) } else { Err(wrong("expected cycles above 0".to_owned())) }
}

fn ratio(number: f64) -> Result<Ratio, ScheduleError> {
    format!("{number:.6}").parse().map_err(wrong)
}

fn wrong(why: String) -> ScheduleError {
    ScheduleError::Pairs { why }
}

#[cfg(test)]
mod tests {
    use corun_record::Ending;
    use serde_json::{Value, json};

    use super::*;

    fn pairs(document: &Value) -> Result<Vec<(String, String, f64)>, String> {
        let found = Pairs::from_json(&document.to_string()).map_err(|error| error.to_string())?;
        let owned = |(one, other, it): (&str, &str, Ratio)| (one.into(), other.into(), it.value());
        Ok(found.iter().map(owned).collect())
    }

    /// Two workers with a core each, and together in the second placement.
    fn placements(second: &str, together: Value) -> Value {
        let worker = |worker: u32, core: u32, cycles: Value| {
            json!({ "worker": worker, "core": core, "logical_cpu": worker, "instructions": 10,
                    "cycles": cycles, "stack": {} })
        };
        let with_core = |cycles: [Value; 2]| {
            let workers = (0..).zip(cycles).map(|(at, cycles)| worker(at, at, cycles));
            Value::Array(workers.collect())
        };
        let mut full = with_core([together, json!([90])]);
        full.as_array_mut().unwrap().iter_mut().for_each(|one| one["core"] = 0.into());
        let placement = |name: &str, workers: Value| json!({ "placement": name, "cores": 2, "phases": 2, "workers": workers });
        json!({
            "format": "corun-placements", "version": 1, "corun_version": "0.1.0", "started": "",
            "elapsed_s": 1.0, "machine": null, "ending": Ending::completed(),
            "core": { "model": "zen4", "title": "a core", "settings": {} },
            "workers": ["a.trace", "b"],
            "placements": [
                placement("spread", with_core([json!([100]), json!([50, 70])])),
                placement(second, full)
            ],
            "comparisons": [], "caveats": []
        })
    }

    #[test]
    fn siblings_that_were_simulated_are_pairs() {
        let document = placements("full", json!([150, 170]));
        let expected = [("a".into(), "b".into(), 1.6), ("b".into(), "a".into(), 1.5)];
        assert_eq!(pairs(&document).unwrap(), expected);
        let mut three = document;
        let full = three["placements"][1]["workers"].as_array_mut().unwrap();
        full.push(full[1].clone());
        let error = pairs(&three).unwrap_err();
        assert!(error.contains("full@2") && error.contains("found 3"), "{error}");
        let error = pairs(&placements("packed", json!([150]))).unwrap_err();
        assert!(error.contains("found no full among spread, packed"), "{error}");
        let error = pairs(&placements("full", json!([]))).unwrap_err();
        assert!(error.contains("expected cycles above 0"), "{error}");
    }

    #[test]
    fn kinds_get_the_names_of_a_load() {
        let document = placements("full", json!([150])).to_string();
        let found = Pairs::from_json(&document).unwrap();
        assert_eq!(found.kinds(), ["a", "b"]);
        let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let named = found.clone().renamed(&names(&["compile", "batch"])).unwrap();
        assert_eq!(named.iter().next().unwrap().0, "compile");
        let error = found.clone().renamed(&names(&["compile"])).unwrap_err().to_string();
        assert!(
            error.contains("2 names, one for each of the kinds a, b, found compile"),
            "{error}"
        );
        let error = found.renamed(&names(&["batch", "batch"])).unwrap_err().to_string();
        assert!(error.contains("found \"batch\" again"), "{error}");
    }

    fn observation(metric: &str, source: &str, value: f64) -> Value {
        let estimate =
            json!({ "value": value, "low": value, "high": value, "level": 0.95, "blocks": 6 });
        json!({ "metric": metric, "arm": "full", "against": "spread", "unit": "1", "estimate": estimate,
                "bootstrap": null, "source": source })
    }

    fn prediction(observations: &[Value]) -> Value {
        let machine = corun_record::MachineSummary::default();
        json!({
            "format": "corun-prediction", "version": 1, "corun_version": "0", "started": "", "elapsed_s": 1.0,
            "command": ["/usr/bin/gzip", "-9"], "machine": machine,
            "core": { "model": "zen4", "title": "", "reason": "", "ghz": 3.7, "clock": "model" },
            "traced": { "tracer": "", "threads": 1, "thread": 0, "instructions": 1, "simulated": 1,
                        "cost": { "instructions": 1, "cpu_s": 1.0, "peak_rss_bytes": 1 }, "windows": [] },
            "not_predicted": null, "observations": observations, "stack": [], "mispredicts_per_thousand": 0.0,
            "measured": null, "caveats": []
        })
    }

    #[test]
    fn a_predicted_program_is_the_kind_of_its_file() {
        let smt_yield = |source, value| observation("smt_yield", source, value);
        let slowdown = |value| [("gzip".to_owned(), "gzip".to_owned(), value)];
        let predicted = prediction(&[smt_yield("predicted", 1.25)]);
        assert_eq!(pairs(&predicted).unwrap(), slowdown(1.6));
        let both = prediction(&[smt_yield("predicted", 1.25), smt_yield("measured", 1.6)]);
        assert_eq!(pairs(&both).unwrap(), slowdown(1.25), "what was measured counts");
        // Four siblings take twice as long together: each of the three others adds a third.
        let four = [smt_yield("measured", 2.0), observation("sibling_slowdown", "measured", 2.0)];
        assert_eq!(pairs(&prediction(&four)).unwrap(), slowdown(1.333333));
        let error = pairs(&prediction(&[])).unwrap_err();
        assert!(error.contains("expected the SMT yield of gzip"), "{error}");
        assert!(error.contains("`corun predict --placement spread,full`"), "{error}");
    }

    #[test]
    fn files_have_kinds_and_other_documents_are_refused() {
        let names = ["b/gzip.trace", "fib.trace, thread 3", "make", "a=b.trace", "/.trace"];
        assert_eq!(names.map(kind), ["gzip", "fib", "make", "a=b", ""]);
        let error = pairs(&json!({ "format": "corun-topology" })).unwrap_err();
        assert!(error.contains("found format \"corun-topology\""), "{error}");
        let mut newer = prediction(&[]);
        newer["version"] = 1000.into();
        assert!(pairs(&newer).unwrap_err().contains("found 1000"));
    }
}
