//! A control group's limit on CPU time, anywhere between this process and the root.

use crate::doctor::check::{Answer, Check, CheckUnavailable};
use crate::doctor::control_groups::{self, Groups};
use crate::doctor::report::Evidence;
use crate::doctor::system::System;
use crate::doctor::words::write;

pub(super) const CHECK: Check = Check {
    name: "quota",
    why: "A group that has used up its quota is stopped for the rest of the period, so that arms \
          with more workers stand still for longer, whatever the core does.",
    examine,
};

/// A limit: so much CPU time a period, as a number of CPUs.
pub(in crate::doctor) struct Limit {
    pub(in crate::doctor) cpus: f64,
    pub(in crate::doctor) folder: String,
    evidence: Vec<Evidence>,
    lift: String,
}

/// Reads the limit that a folder sets, if it sets one.
type LimitOf = fn(&mut System<'_>, &str) -> Result<Option<Limit>, CheckUnavailable>;

fn examine(system: &mut System<'_>) -> Result<Answer, CheckUnavailable> {
    let Tightest { own_folder, limit, unseen } = tightest(system)?;
    let Some(Limit { cpus, folder, evidence, lift }) = limit else {
        return match (own_folder, unseen) {
            (_, Some(unseen)) => Err(unseen),
            (Some(own), None) => {
                Ok(Answer::fine(format!("No control group from /{own} upwards limits CPU time.")))
            }
            (None, None) => Ok(Answer::fine("No control group limits CPU time.")),
        };
    };
    let allowed = system.cpus().len();
    if let Some(unseen) = unseen.filter(|_| cpus >= allowed as f64) {
        return Err(unseen);
    }
    let sentence = format!(
        "A control group may use the time of {cpus:.2} CPUs; {} allowed.",
        if allowed == 1 { "1 is".to_owned() } else { format!("{allowed} are") }
    );
    let answer =
        if cpus < allowed as f64 { Answer::spoils(sentence) } else { Answer::note(sentence) };
    let stops = stops(system, &folder).ok().flatten();
    Ok(answer.seen(evidence).seen(stops).advise(
        "Lift the quota while measuring: start the container or the service without one, or",
        [lift],
    ))
}

/// The tightest limit on the way from this process's group to the root.
pub(in crate::doctor) struct Tightest {
    /// The folder of its own group; `None` where no control group has the CPU controller.
    own_folder: Option<String>,
    pub(in crate::doctor) limit: Option<Limit>,
    /// Sentence where groups above those that were read may limit more tightly.
    pub(in crate::doctor) unseen: Option<CheckUnavailable>,
}

/// Finds the limit that holds for this process: a group cannot use more than any group above it.
pub(in crate::doctor) fn tightest(system: &mut System<'_>) -> Result<Tightest, CheckUnavailable> {
    let Some(groups) = control_groups::find(system, "cpu")? else {
        return Ok(Tightest { own_folder: None, limit: None, unseen: None });
    };
    let limit_of: LimitOf = if groups.is_version_2 { version_two } else { version_one };
    let mut tightest: Option<Limit> = None;
    for folder in &groups.folders {
        let found = limit_of(system, folder)?;
        let tighter = |found: &Limit| tightest.as_ref().is_none_or(|limit| found.cpus < limit.cpus);
        if let Some(found) = found.filter(tighter) {
            tightest = Some(found);
        }
    }
    let unseen = (!groups.reaches_root).then(|| unseen(&groups));
    Ok(Tightest { own_folder: groups.folders.into_iter().next(), limit: tightest, unseen })
}

/// Groups above the topmost folder are another namespace's, or outside of what is mounted.
fn unseen(groups: &Groups) -> CheckUnavailable {
    let limits = "limit CPU time to less than the CPUs that are allowed";
    let sentence = match &groups.folders[..] {
        [own, .., top] => format!(
            "The control groups from /{own} up to /{top} do not {limits}; those above cannot be seen from here."
        ),
        [] | [_] => {
            let own = groups.folders.first().map_or("", String::as_str);
            format!(
                "The control group /{own} does not {limits}; those above it cannot be seen from here."
            )
        }
    };
    CheckUnavailable { sentence, evidence: vec![groups.listed.clone()] }
}

/// `cpu.max` holds `max 100000` or `50000 100000`: microseconds a period of microseconds.
fn version_two(system: &mut System<'_>, folder: &str) -> Result<Option<Limit>, CheckUnavailable> {
    let file = format!("{folder}/cpu.max");
    // The root group, and groups to which the controller is not handed down, have no such file.
    let Some(found) = system.find(&file)? else { return Ok(None) };
    let mut words = found.text.split_whitespace();
    let (quota, period) = (words.next().unwrap_or_default(), words.next().unwrap_or("100000"));
    if quota == "max" {
        return Ok(None);
    }
    let cpus = cpus(quota.parse().ok(), period.parse().ok())
        .ok_or_else(|| found.unexpected("`max` or microseconds, and a period"))?;
    let lift = write("max", &file);
    Ok(Some(Limit { cpus, folder: folder.to_owned(), evidence: vec![found], lift }))
}

/// `cpu.cfs_quota_us` is -1 without a limit.
fn version_one(system: &mut System<'_>, folder: &str) -> Result<Option<Limit>, CheckUnavailable> {
    let file = format!("{folder}/cpu.cfs_quota_us");
    let Some(quota) = system.find(&file)? else { return Ok(None) };
    let microseconds: i64 = quota.number()?;
    if microseconds < 0 {
        return Ok(None);
    }
    let period = system.read(&format!("{folder}/cpu.cfs_period_us"))?;
    let cpus = cpus(Some(microseconds as f64), Some(period.number()?))
        .ok_or_else(|| period.unexpected("microseconds"))?;
    let lift = write("-1", &file);
    Ok(Some(Limit { cpus, folder: folder.to_owned(), evidence: vec![quota, period], lift }))
}

fn cpus(quota: Option<f64>, period: Option<f64>) -> Option<f64> {
    let (quota, period) = quota.zip(period)?;
    (quota >= 0.0 && period > 0.0 && quota.is_finite()).then(|| quota / period)
}

/// Number of times that the group has been stopped, if it ever was.
fn stops(system: &mut System<'_>, folder: &str) -> Result<Option<Evidence>, CheckUnavailable> {
    let Some(account) = system.find(&format!("{folder}/cpu.stat"))? else { return Ok(None) };
    let line = account.text.lines().find_map(|line| line.strip_prefix("nr_throttled "));
    let stops = line.and_then(|number| number.parse::<usize>().ok()).filter(|&stops| stops > 0);
    Ok(stops.map(|stops| Evidence::new(account.file, format!("nr_throttled {stops}"))))
}
