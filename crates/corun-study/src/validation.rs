//! From the file's text to a study whose references all lead somewhere.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use corun_record::{Metric, nearest_listed, on_one_line};
use corun_sched::Topology;
use corun_sched::policy::PolicyEntry;
use corun_workload::Parameters;
use toml::Spanned;

use crate::arm::StudyArm;
use crate::computation::Computation;
use crate::error::{StudyError, ValidationError};
use crate::experiment::{Experiment, Rerun, SmtNeed};
use crate::figure::{Figure, Value};
use crate::file::{FORMAT, File, FileExperiment, FileFigure, FileShares, VERSION};
use crate::plain_text;
use crate::quantity::Quantity;
use crate::roles;
use crate::shares::Shares;
use crate::study::{Finding, Study};
use crate::table;
use crate::value::{is_positive, share, value};

/// The time that a rerun may be given.
const MAX_TIMES: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(24 * 3600);

/// Reads a study file called `name`.
///
/// # Errors
/// [`StudyError::ValidationError`], with the line, the field, and what is allowed.
pub(crate) fn read(name: &str, text: &str) -> Result<Study, StudyError> {
    let wrong = |(place, sentence): ValidationError| StudyError::ValidationError {
        file: name.to_owned(),
        line: 1 + text[..place.min(text.len())].matches('\n').count(),
        sentence,
    };
    plain_text::check(text).map_err(wrong)?;
    let file: File = toml::from_str(text).map_err(|error| {
        let place = error.span().map_or(0, |span| span.start);
        let line = on_one_line(line_at(text, place));
        wrong((place, format!("{} in `{line}`", in_words(error.message().trim()))))
    })?;
    study(file, text).map_err(wrong)
}

/// Without the names of the types that numbers are read into.
fn in_words(message: &str) -> String {
    ["u16", "u32", "u64"].iter().fold(message.to_owned(), |text, name| {
        text.replace(&format!("expected {name}"), "expected a whole number")
    })
}

fn line_at(text: &str, place: usize) -> &str {
    let place = place.min(text.len());
    let begin = text[..place].rfind('\n').map_or(0, |end| end + 1);
    text[begin..].lines().next().unwrap_or_default().trim()
}

fn study(file: File, text: &str) -> Result<Study, ValidationError> {
    let at = |place: usize, sentence: String| Err((place, sentence));
    if file.format.as_ref() != FORMAT {
        let found = file.format.as_ref();
        return at(
            file.format.span().start,
            format!("`format`: expected \"{FORMAT}\", found \"{found}\""),
        );
    }
    if !(1..=VERSION).contains(file.version.as_ref()) {
        let found = file.version.as_ref();
        let sentence = format!("`version`: expected a version up to {VERSION}, found {found}");
        return at(file.version.span().start, sentence);
    }
    let machine = &file.machine;
    let counts = [
        ("cores", machine.cores),
        ("logical_cpus", machine.logical_cpus),
        ("smt_width", machine.smt_width),
    ];
    if let Some((field, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
        let place = text.find("[machine]").unwrap_or(0);
        return at(place, format!("`machine.{field}`: expected at least 1, found 0"));
    }
    let machine_at = text.find("[machine]").unwrap_or(0);
    let most = machine.cores.saturating_mul(machine.smt_width);
    if !(machine.cores..=most).contains(&machine.logical_cpus) {
        let sentence = format!(
            "`machine.logical_cpus`: expected {} to {most}, for so many cores of that SMT width, found {}",
            machine.cores, machine.logical_cpus
        );
        return at(machine_at, sentence);
    }
    if file.citation.authors.is_empty() {
        let place = text.find("[citation]").unwrap_or(0);
        return at(place, "`citation.authors`: expected at least one, found none".to_owned());
    }
    let max_time = match humantime::parse_duration(file.max_time.as_ref()) {
        Ok(max_time) if MAX_TIMES.contains(&max_time) => max_time,
        _ => {
            let found = file.max_time.as_ref();
            let sentence = format!(
                "`max_time`: expected a time from 1s to 24h, such as 60s, found \"{found}\""
            );
            return at(file.max_time.span().start, sentence);
        }
    };
    let (mut raw_experiments, mut raw_figures) = (file.experiment, Vec::new());
    for table in &file.table {
        if table.as_ref().rows.is_empty() {
            return at(table.span().start, "`rows`: expected at least one, found none".to_owned());
        }
        let (experiments, figures) = table::expand(table.as_ref())?;
        raw_experiments.extend(experiments);
        raw_figures.extend(figures);
    }
    raw_figures.extend(file.figure);
    unique(
        "experiment",
        raw_experiments.iter().map(|it| (it.span().start, it.as_ref().id.as_str())),
    )?;
    unique("figure", raw_figures.iter().map(|it| (it.span().start, it.as_ref().id.as_str())))?;
    unique("finding", file.finding.iter().map(|it| (it.span().start, it.as_ref().id.as_str())))?;
    let conclusions = || file.conclusion.iter();
    unique("conclusion", conclusions().map(|it| (it.span().start, it.as_ref().id.as_str())))?;
    let mut experiments = each(raw_experiments, experiment)?;
    let places: Vec<usize> = raw_figures.iter().map(|it| it.span().start).collect();
    let mut figures = each(raw_figures, |raw| figure(raw, &experiments, text))?;
    for (figure, place) in figures.iter().zip(places) {
        figure_references(figure, &figures).map_err(|sentence| (place, sentence))?;
    }
    for spanned in file.shares {
        let place = spanned.span().start;
        add_shares(spanned.into_inner(), text, &mut experiments, &mut figures)
            .map_err(|sentence| (place, sentence))?;
    }
    let findings = each(file.finding, |finding| checked(finding, &figures))?;
    let conclusions = each(file.conclusion, |it| it.checked(&figures))?;
    let model = file.model.map(|model| {
        let place = model.span().start;
        let model = model.into_inner().read(&figures);
        model.map_err(|sentence| (place, format!("model: {sentence}")))
    });
    let prediction = file.prediction.map(|prediction| {
        let place = prediction.span().start;
        let prediction = prediction.into_inner().read(&figures, &experiments);
        prediction.map_err(|sentence| (place, format!("prediction: {sentence}")))
    });
    Ok(Study {
        name: file.name.into_inner(),
        title: file.title,
        max_time,
        citation: file.citation,
        machine: file.machine,
        notes: file.notes,
        experiments,
        figures,
        findings,
        conclusions,
        model: model.transpose()?,
        prediction: prediction.transpose()?,
    })
}

/// Adds an experiment of jobs, and a figure for the share of each.
fn add_shares(
    raw: FileShares,
    text: &str,
    experiments: &mut Vec<Experiment>,
    figures: &mut Vec<Figure>,
) -> Result<(), String> {
    let named = |sentence: String| format!("shares \"{}\": {sentence}", raw.id);
    if experiments.iter().any(|it| it.id == raw.id) || raw.id.trim().is_empty() {
        return Err(named("`id`: expected a name that no experiment has".to_owned()));
    }
    for (field, number) in [("jobs", raw.jobs), ("cpus", raw.cpus)] {
        if !JOBS.contains(&number) {
            let sentence = format!("`{field}`: expected {JOBS:?}, found {number}");
            return Err(named(sentence));
        }
    }
    if !INTERVALS.contains(&raw.over) {
        return Err(named(format!("`over`: expected {INTERVALS:?}, found {:?}", raw.over)));
    }
    let published = raw.percent.as_deref();
    if published.is_some_and(|it| it.len() != raw.jobs as usize) {
        return Err(named(format!("`percent`: expected a share for each of {} jobs", raw.jobs)));
    }
    let topology =
        Topology::parse(&raw.topology).map_err(|error| named(format!("`topology`: {error}")))?;
    let policy =
        PolicyEntry::find(&raw.policy).map_err(|error| named(format!("`policy`: {error}")))?;
    for rank in 0..raw.jobs as usize {
        let typed = published.and_then(|it| it.get(rank));
        let (value, decimals) = match typed {
            None => (Value::Unpublished, 0),
            Some(typed) => share(typed, raw.precision, text).map_err(named)?,
        };
        figures.push(Figure {
            id: format!("{}/{}", raw.id, rank + 1),
            experiment: Some(experiments.len()),
            metric: Metric::TimeShare,
            rank: Some(rank),
            arm: None,
            against: None,
            quantity: Quantity::Share,
            value,
            decimals,
            measured_as: None,
            geometric_mean_of: Vec::new(),
            user_s: Vec::new(),
            system_s: Vec::new(),
            notes: raw.notes.clone().filter(|_| rank == 0),
        });
    }
    let reason = "its jobs compute and nothing else, as those of `corun audit`".to_owned();
    experiments.push(Experiment {
        id: raw.id,
        summary: raw.summary,
        rerun: Err(reason),
        shares: Some(Shares { jobs: raw.jobs, cpus: raw.cpus, over: raw.over, topology, policy }),
    });
    Ok(())
}

/// Jobs and CPUs that shares are taken of.
const JOBS: RangeInclusive<u32> = 1..=64;
/// The time that they are taken over.
const INTERVALS: RangeInclusive<Duration> = Duration::from_millis(500)..=Duration::from_secs(600);

/// Makes something of each, with its place where that fails.
fn each<Raw, Made>(
    all: Vec<Spanned<Raw>>,
    make: impl Fn(Raw) -> Result<Made, String>,
) -> Result<Vec<Made>, ValidationError> {
    all.into_iter()
        .map(|spanned| {
            let place = spanned.span().start;
            make(spanned.into_inner()).map_err(|sentence| (place, sentence))
        })
        .collect()
}

fn unique<'a>(
    what: &str,
    ids: impl Iterator<Item = (usize, &'a str)>,
) -> Result<(), ValidationError> {
    let mut seen = BTreeSet::new();
    for (place, id) in ids {
        if id.trim().is_empty() {
            return Err((place, format!("`id`: expected a name for each {what}, found none")));
        }
        if !seen.insert(id) {
            return Err((
                place,
                format!("`id`: expected a name for each {what}, found \"{id}\" twice"),
            ));
        }
    }
    Ok(())
}

fn experiment(raw: FileExperiment) -> Result<Experiment, String> {
    let wrong = |sentence: &str| Err(format!("experiment \"{}\": {sentence}", raw.id));
    if let Some(workload) = &raw.workload {
        let pairs = raw.parameters.iter().map(|(name, value)| format!("{name}={value}"));
        let asked = corun_workload::find(workload)
            .and_then(|workload| Parameters::parse(workload.descriptor(), pairs));
        if let Err(error) = asked {
            return wrong(&format!("`workload` and `parameters`: {error}"));
        }
    }
    if let Some(twice) = first_repeated(&raw.arms) {
        return wrong(&format!("`arms`: expected each once, found {twice} twice"));
    }
    let is_off = |arm: &&StudyArm| arm.is_smt_off;
    if let Some(arm) = raw.arms.iter().find(is_off).filter(|_| raw.smt != SmtNeed::Switched) {
        return wrong(&format!("`smt`: expected \"switched\" with the arm {arm}, found another"));
    }
    let rerun = match (raw.workload, raw.not_rerun) {
        (Some(_), Some(_)) | (None, None) => {
            return wrong(
                "expected either `workload` or `not_rerun` (why not), found both or none",
            );
        }
        (None, Some(reason)) => Err(reason),
        _ if raw.work_per_worker.is_some_and(|work| !is_positive(work)) => {
            return wrong("`work_per_worker`: expected a positive number of operations");
        }
        _ if raw.cores == Some(0) => {
            return wrong("`cores`: expected at least 1, found 0");
        }
        (Some(_), None) if raw.arms.is_empty() => {
            return wrong("`arms`: expected at least one with `workload`, found none");
        }
        (Some(workload), None) => Ok(Rerun {
            workload,
            parameters: raw.parameters,
            arms: raw.arms,
            smt: raw.smt,
            cores: raw.cores,
            confine: raw.confine,
            work_per_worker: raw.work_per_worker,
            least_run: raw.least_run,
            stand_in: raw.stand_in,
        }),
    };
    Ok(Experiment { id: raw.id, summary: raw.summary, rerun, shares: None })
}

fn first_repeated(arms: &[StudyArm]) -> Option<&StudyArm> {
    arms.iter().enumerate().find_map(|(place, arm)| arms[..place].contains(arm).then_some(arm))
}

fn figure(raw: FileFigure, experiments: &[Experiment], text: &str) -> Result<Figure, String> {
    let id = raw.id.clone();
    let named = |sentence: String| format!("figure \"{id}\": {sentence}");
    let experiment = raw.experiment.as_ref().map(|wanted| {
        experiments.iter().position(|experiment| experiment.id == *wanted).ok_or_else(|| {
            let known = experiments.iter().map(|experiment| experiment.id.as_str());
            named(unknown("experiment", wanted, known))
        })
    });
    let experiment = experiment.transpose()?;
    let arms = experiment.and_then(|index| Some(&experiments[index].rerun.as_ref().ok()?.arms));
    for (field, arm) in [("arm", raw.arm), ("against", raw.against)] {
        if let (Some(arms), Some(arm)) = (arms, arm)
            && !arms.contains(&arm)
        {
            let known: Vec<String> = arms.iter().map(ToString::to_string).collect();
            let known = known.iter().map(String::as_str);
            return Err(named(unknown(field, &arm.to_string(), known)));
        }
    }
    if let (Some(arm), Some(against)) = (raw.arm, raw.against) {
        if arm == against {
            let sentence = format!("`against`: expected another arm than {arm}, found the same");
            return Err(named(sentence));
        }
        roles::check(raw.metric, arm, against).map_err(&named)?;
    }
    for (field, seconds) in [("user_s", &raw.user_s), ("system_s", &raw.system_s)] {
        if let Some(wrong) = seconds.iter().find(|seconds| seconds.is_nan() || **seconds < 0.0) {
            return Err(named(format!("`{field}`: expected seconds, found {wrong}")));
        }
    }
    let compares = matches!(quantity_of(&raw), Ok(Quantity::Ratio | Quantity::Percent));
    if arms.is_some() && compares && raw.against.is_none() {
        let metric = raw.metric.name();
        return Err(named(format!("`against`: expected the other arm of {metric}, found none")));
    }
    if arms.is_some() && raw.arm.is_none() {
        return Err(named("`arm`: expected one of the experiment's, found none".to_owned()));
    }
    let quantity = quantity_of(&raw).map_err(&named)?;
    let (value, decimals) = value(&raw, &quantity, text).map_err(named)?;
    Ok(Figure {
        id: raw.id,
        experiment,
        metric: raw.metric,
        rank: None,
        arm: raw.arm,
        against: raw.against,
        quantity,
        value,
        decimals,
        measured_as: raw.measured_as,
        geometric_mean_of: raw.geometric_mean_of,
        user_s: raw.user_s,
        system_s: raw.system_s,
        notes: raw.notes,
    })
}

fn quantity_of(raw: &FileFigure) -> Result<Quantity, String> {
    Quantity::of(raw.metric, &raw.unit)
}

fn figure_references(figure: &Figure, figures: &[Figure]) -> Result<(), String> {
    let named = |sentence: String| format!("figure \"{}\": {sentence}", figure.id);
    let is_typed = |it: &&Figure| !matches!(it.value, Value::Computed(_) | Value::Unpublished);
    let typed = || figures.iter().filter(is_typed);
    if let Value::Computed(ratio) = &figure.value {
        for (field, id) in [("of", &ratio.of), ("over", &ratio.over)] {
            if !typed().any(|it| it.id == *id) {
                return Err(named(unknown(field, id, typed().map(|it| it.id.as_str()))));
            }
        }
    }
    if let Some(ratio) = &figure.measured_as {
        for (field, id) in [("of", &ratio.of), ("over", &ratio.over)] {
            // Of what is itself measured, so that nothing follows from itself.
            let measured = || figures.iter().filter(|it| it.experiment.is_some());
            if !measured().any(|it| it.id == *id) {
                let known = measured().map(|it| it.id.as_str());
                return Err(named(unknown(&format!("measured_as.{field}"), id, known)));
            }
        }
    }
    for id in &figure.geometric_mean_of {
        // Of a mean no mean is made, so that none is made of itself.
        let members = || figures.iter().filter(|it| it.geometric_mean_of.is_empty());
        if !members().any(|it| it.id == *id) {
            let known = members().map(|it| it.id.as_str());
            return Err(named(unknown("geometric_mean_of", id, known)));
        }
    }
    Ok(())
}

fn checked(finding: Finding, figures: &[Figure]) -> Result<Finding, String> {
    if finding.computation.is_empty() {
        return Err(format!("finding \"{}\": `computation`: expected one, found none", finding.id));
    }
    if let Some(wrong) = finding.computation.iter().find_map(Computation::invalid_number) {
        return Err(format!("finding \"{}\": {wrong}", finding.id));
    }
    for (field, id) in finding.computation.iter().flat_map(|it| it.references()) {
        let published = || figures.iter().filter(|it| it.value != Value::Unpublished);
        if !published().any(|figure| figure.id == id) {
            let known = published().map(|figure| figure.id.as_str());
            return Err(format!("finding \"{}\": {}", finding.id, unknown(field, id, known)));
        }
    }
    Ok(finding)
}

fn unknown<'a>(field: &str, found: &str, known: impl Iterator<Item = &'a str>) -> String {
    format!("`{field}`: expected one of {}, found \"{found}\"", nearest_listed(found, known))
}
