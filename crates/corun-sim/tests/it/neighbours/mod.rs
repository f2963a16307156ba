//! Near-identical loops have near-identical yields, on every model.
//!
//! A form of a loop that differs from it by a NOP, a register or an alignment is no other program. Where the yield of two copies
//! changes by 0.1 or more all the same, or lies outside of 0.9 to 2.0, `known.csv` names the shared resource that explains it, which
//! is tried, or says that no single one does. What that list lacks fails.

mod forms;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use corun_model::{CoreModel, Policy, Resource};
use corun_sim::in_parallel;
use forms::{Form, Row};

use crate::made;

/// The change of a yield between neighbours that is explained.
const APART: f64 = 0.1;
/// Yields outside of these are explained.
const LEAST: f64 = 0.9;
const MOST: f64 = 2.0;
/// By how much a simulated yield varies between places at which copies begin.
const NOISE: f64 = 0.01;
/// The loops that are simulated: what was predicted wrongly before, and kinds of their own. With all forty it takes minutes.
const QUICK: [&str; 6] = ["fib", "chase", "one product", "sum64", "len", "saxpy"];

/// A form of a loop on a model, and what about its yield is to be explained.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Place {
    model: String,
    name: String,
    form: String,
    /// The form that it differs from; none of a yield that is out of range by itself.
    other: Option<String>,
}

/// A finding: its yield, and that of the neighbour.
#[derive(Debug, Clone, Copy)]
struct Yields {
    own: f64,
    other: Option<f64>,
}

impl Yields {
    fn is_remarkable(self) -> bool {
        match self.other {
            Some(other) => (self.own - other).abs() >= APART,
            None => !(LEAST..=MOST + NOISE).contains(&self.own),
        }
    }
}

/// A line of the committed list.
#[derive(Debug, Clone)]
struct Known {
    yields: Yields,
    /// The resource that explains it, by its path, after [`ASSUMED`] where no resource does whose policy has a source; else why it
    /// stays.
    because: String,
}

/// Prefix of a resource whose policy is an assumption of the model.
const ASSUMED: &str = "assumed: ";

fn resource(because: &str) -> &str {
    because.strip_prefix(ASSUMED).unwrap_or(because)
}

fn path() -> PathBuf {
    corun_testing::repository().join("crates/corun-sim/tests/it/neighbours/known.csv")
}

/// The committed list.
fn listed() -> BTreeMap<Place, Known> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_path(path()).unwrap();
    let read = |record: Result<csv::StringRecord, csv::Error>| {
        let record = record.unwrap();
        let [model, name, form, other, own, of_other, because] =
            std::array::from_fn(|at| record[at].to_owned());
        let place = Place { model, name, form, other: Some(other).filter(|it| !it.is_empty()) };
        let yields = Yields { own: own.parse().unwrap(), other: of_other.parse().ok() };
        (place, Known { yields, because })
    };
    reader.records().map(read).collect()
}

fn write(all: &BTreeMap<Place, Known>) {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer
        .write_record(["model", "loop", "form", "other", "yield", "of_other", "because"])
        .unwrap();
    for (place, Known { yields, because }) in all {
        let figures = [Some(yields.own), yields.other].map(|it| it.map(|it| format!("{it:.2}")));
        let [own, other] = figures.map(Option::unwrap_or_default);
        let Place { model, name, form, .. } = place;
        let before = place.other.as_deref().unwrap_or_default();
        writer.write_record([model.as_str(), name, form, before, &own, &other, because]).unwrap();
    }
    let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
    std::fs::write(path(), format!("{HEAD}{text}")).unwrap();
}

fn yield_of(model: &CoreModel, row: &Row, form: Form) -> f64 {
    made::smt_yield(model, &[&row.trace(form)])
}

/// Every form of every loop that is asked for, on every model.
struct Suite {
    models: Vec<CoreModel>,
    rows: Vec<Row>,
}

impl Suite {
    fn of(is_asked: impl Fn(&str) -> bool) -> Self {
        let mut rows = forms::rows();
        rows.retain(|row| is_asked(&row.name));
        Self { models: corun_model::designs().unwrap(), rows }
    }

    /// Indices of model and row, and the form.
    fn cases(&self) -> Vec<(usize, usize, Form)> {
        let of_model = |model| {
            let all = self.rows.iter().enumerate();
            all.flat_map(move |(row, it)| it.forms().map(move |form| (model, row, form)))
        };
        (0..self.models.len()).flat_map(of_model).collect()
    }

    fn findings(&self) -> BTreeMap<Place, Yields> {
        let cases = self.cases();
        let yields = in_parallel(jobs(), cases.len(), |at| {
            let (model, row, form) = cases[at];
            yield_of(&self.models[model], &self.rows[row], form)
        });
        let known: HashMap<(usize, usize, Form), f64> = cases.iter().copied().zip(yields).collect();
        let mut findings = BTreeMap::new();
        for (&(model, row, form), &own) in &known {
            let (of_model, of_row) = (&self.models[model].name, &self.rows[row]);
            let place = |other| Place {
                model: of_model.clone(),
                name: of_row.name.clone(),
                form: of_row.label(form),
                other,
            };
            findings.insert(place(None), Yields { own, other: None });
            if let Some((neighbour, before)) = self.neighbour(row, form) {
                let other = Some(known[&(model, neighbour, before)]);
                let label = self.rows[neighbour].label(before);
                findings.insert(place(Some(label)), Yields { own, other });
            }
        }
        findings.retain(|_, it| it.is_remarkable());
        findings
    }

    /// The row and form that a form differs from.
    fn neighbour(&self, row: usize, form: Form) -> Option<(usize, Form)> {
        match form {
            Form::AsIs => {
                let first = self.rows.iter().position(|it| it.name == self.rows[row].name)?;
                (first != row).then_some((first, form))
            }
            Form::FourTimes => Some((row, Form::Twice)),
            _ => Some((row, Form::AsIs)),
        }
    }

    /// Model, row and form of a label.
    fn find(&self, place: &Place, label: &str) -> (&CoreModel, &Row, Form) {
        let model = self.models.iter().find(|it| it.name == place.model).expect("a model");
        let rows = self.rows.iter().filter(|it| it.name == place.name);
        let mut found = rows
            .flat_map(|row| row.forms().map(move |it| (row, it)))
            .filter(|(row, form)| row.label(*form) == label);
        let (row, form) = found.next().expect("a form");
        (model, row, form)
    }

    /// True if the yields are no longer remarkable where each thread has this resource for itself.
    fn is_explained(&self, place: &Place, resource: &str) -> bool {
        let yield_without = |label: &str| {
            let (model, row, form) = self.find(place, label);
            let resources = model.resources();
            let own = resources.iter().find(|it| it.name == resource).expect("a resource");
            yield_of(&model.sharing(own, Policy::Replicated).unwrap(), row, form)
        };
        let other = place.other.as_deref().map(yield_without);
        !Yields { own: yield_without(&place.form), other }.is_remarkable()
    }

    /// The resource that an explanation names, if it names one.
    fn resource(&self, model: &str, because: &str) -> Option<Resource> {
        let model = self.models.iter().find(|it| it.name == model).expect("a model");
        model.resources().into_iter().find(|it| it.name == resource(because))
    }

    /// The first resource that explains it, those whose policy has a source first.
    fn explanation(&self, place: &Place) -> Option<String> {
        let (model, ..) = self.find(place, &place.form);
        let mut resources = model.resources();
        resources.retain(|it| it.policy != Policy::Replicated);
        resources.sort_by_key(|it| it.is_assumed);
        let mut explaining = resources.into_iter().filter(|it| self.is_explained(place, &it.name));
        explaining.next().map(|it| match it.is_assumed {
            true => format!("{ASSUMED}{}", it.name),
            false => it.name,
        })
    }

    fn has(&self, place: &Place) -> bool {
        self.rows.iter().any(|row| row.name == place.name)
    }

    /// Holds what is found to the list.
    fn check(&self) {
        let (mut findings, mut listed) = (self.findings(), listed());
        if std::env::var_os("CORUN_BLESS").is_some() {
            return self.bless(findings, listed);
        }
        listed.retain(|place, _| self.has(place));
        let gone: Vec<&Place> =
            listed.keys().filter(|place| !findings.contains_key(place)).collect();
        let is_explained =
            |(place, it): &(&Place, &Known)| self.resource(&place.model, &it.because).is_some();
        let is_misnamed = |(place, it): &(&Place, &Known)| {
            let named = self.resource(&place.model, &it.because);
            named.is_some_and(|named| named.is_assumed != it.because.starts_with(ASSUMED))
        };
        let misnamed: Vec<(&Place, &Known)> = listed.iter().filter(is_misnamed).collect();
        assert!(misnamed.is_empty(), "an assumption is said to have a source: {misnamed:#?}");
        let explained: Vec<(&Place, &Known)> = listed.iter().filter(is_explained).collect();
        let holds = in_parallel(jobs(), explained.len(), |at| {
            let (place, known) = explained[at];
            self.is_explained(place, resource(&known.because))
        });
        let refuted: Vec<&(&Place, &Known)> =
            explained.iter().zip(holds).filter(|(_, holds)| !holds).map(|(it, _)| it).collect();
        findings.retain(|place, _| !listed.contains_key(place));
        assert!(
            findings.is_empty() && gone.is_empty() && refuted.is_empty(),
            "new: {findings:#?}\nno longer so: {gone:#?}\nnot explained by what is named: {refuted:#?}\n\
             If that is meant: CORUN_BLESS=1 writes the list of these loops again."
        );
    }

    /// Writes the list again. Explanations that hold stay, and so do the words on what has none.
    fn bless(&self, findings: BTreeMap<Place, Yields>, mut listed: BTreeMap<Place, Known>) {
        let findings: Vec<(Place, Yields)> = findings.into_iter().collect();
        let because = in_parallel(jobs(), findings.len(), |at| {
            let place = &findings[at].0;
            let before = listed.get(place).map(|it| it.because.clone());
            let is_resource = |text: &String| self.resource(&place.model, text).is_some();
            // An assumption gives way to a source.
            let is_sourced =
                |text: &String| self.resource(&place.model, text).is_some_and(|it| !it.is_assumed);
            let holds = |text: &String| is_sourced(text) && self.is_explained(place, text);
            let known = before.clone().filter(holds).or_else(|| self.explanation(place));
            known
                .or(before.filter(|text| !is_resource(text)))
                .unwrap_or_else(|| "not explained".to_owned())
        });
        listed.retain(|place, _| !self.has(place));
        let found = findings.into_iter().zip(because);
        listed.extend(found.map(|((place, yields), because)| (place, Known { yields, because })));
        write(&listed);
    }
}

fn jobs() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

const HEAD: &str = "\
# Yields of near-identical loops that differ by 0.1 or more, or lie outside of 0.9 to 2.0 (no other form then). `because` is the
# resource without whose sharing they do not, which the test tries, or says that no single one does. `assumed: ` stands before one
# whose policy the model assumes: no resource whose policy has a source explains it.
# Written by CORUN_BLESS=1 cargo test -p corun-sim --test it neighbours
";

#[test]
fn some_near_identical_loops_have_near_identical_yields() {
    Suite::of(|name| QUICK.contains(&name)).check();
}

/// The forms of all forty.
#[test]
#[ignore = "takes minutes: CORUN_THOROUGH=1 scripts/test deep"]
fn all_near_identical_loops_have_near_identical_yields() {
    Suite::of(|_| true).check();
}

/// Of each loop the plain form: one that never gets on is an error of the simulation.
#[test]
fn every_loop_comes_to_its_end_beside_a_copy_of_itself() {
    let suite = Suite::of(|_| true);
    let cases: Vec<_> =
        suite.cases().into_iter().filter(|(_, _, form)| *form == Form::AsIs).collect();
    let yields = in_parallel(jobs(), cases.len(), |at| {
        let (model, row, form) = cases[at];
        yield_of(&suite.models[model], &suite.rows[row], form)
    });
    assert!(yields.iter().all(|it| it.is_finite() && *it > 0.0));
}

#[test]
fn the_suite_has_forty_loops_in_eight_forms() {
    let rows = forms::rows();
    let names: std::collections::BTreeSet<&str> = rows.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names.len(), 40);
    assert!(QUICK.iter().all(|it| names.contains(it)));
    let first = |name: &str| rows.iter().find(|it| it.name == name).unwrap();
    assert!(names.iter().all(|name| first(name).forms().count() == 8));
    assert!(rows.len() - names.len() >= 15, "another compiler level of each that has one");
}
