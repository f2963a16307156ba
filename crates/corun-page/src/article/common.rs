//! Parts that all articles have: caveats, the machine, who wrote it when.

use corun_record::{Caveat, Ending, Estimate, MachineSummary, Workload, shortened};
use corun_report::parts::{figures, prose};
use corun_report::seconds;

use super::{Part, Section};

/// Limits of trust, with a warning first where the work was cut short.
pub(super) fn trust(caveats: &[Caveat], ending: &Ending) -> Option<Section> {
    let cut =
        ending.is_interrupted().then(|| "Partial result: the work was interrupted.".to_owned());
    let sentences = caveats.iter().map(|it| it.sentence.clone());
    Section::of_sentences("What limits trust", cut.into_iter().chain(sentences).collect())
}

/// The machine in all that is known of it, folded.
pub(super) fn machine(machine: Option<&MachineSummary>) -> Option<Section> {
    let machine = machine?;
    let mut facts = vec![("machine".to_owned(), prose::machine(machine))];
    let mut add = |name: &str, value: Option<String>| {
        facts.extend(value.map(|value| (name.to_owned(), value)));
    };
    add("kernel", machine.kernel.clone());
    add("hypervisor", machine.hypervisor.clone());
    add("online logical CPUs", Some(machine.online_cpus.to_string()));
    add("allowed logical CPUs", Some(machine.allowed_cpus.to_string()));
    add("cores", Some(machine.cores.to_string()));
    add("SMT width", Some(machine.smt_width.to_string()));
    add("smt/control", machine.smt_control.clone());
    add("smt/active", machine.smt_active.map(|it| if it { "yes" } else { "no" }.to_owned()));
    let governors = (!machine.governors.is_empty()).then(|| machine.governors.join(", "));
    add("frequency governors", governors);
    Some(Section::folded("The machine", vec![Part::Facts(facts)]))
}

/// Who wrote it when, and why it ended.
pub(super) fn origin(
    version: &str,
    started: &str,
    elapsed_s: f64,
    ending: &Ending,
) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    if !started.is_empty() {
        facts.push(("started".to_owned(), started.to_owned()));
    }
    facts.push(("took".to_owned(), seconds(elapsed_s)));
    facts.push(("ended".to_owned(), ending.sentence.clone()));
    if !version.is_empty() {
        facts.push(("corun".to_owned(), version.to_owned()));
    }
    facts
}

/// The limits of an interval, where they say something.
pub(super) fn limits(estimate: &Estimate) -> Option<[f64; 2]> {
    figures::is_sensible(estimate).then_some([estimate.low, estimate.high])
}

/// The confidence of an interval: `95 %`.
pub(super) fn level(estimate: &Estimate) -> String {
    let percent = estimate.level * 100.0;
    match percent.fract() {
        0.0 => format!("{percent:.0} %"),
        _ => format!("{percent:.1} %"),
    }
}

/// At most so many of some values, evenly by rank, the smallest and the largest among them.
pub(super) fn thinned<T: Clone>(mut all: Vec<T>, most: usize, by: impl Fn(&T) -> f64) -> Vec<T> {
    if all.len() <= most {
        return all;
    }
    all.sort_by(|one, other| by(one).total_cmp(&by(other)));
    let last = all.len() - 1;
    let steps = most.max(2) - 1;
    (0..=steps).map(|step| all[step * last / steps].clone()).collect()
}

/// Title of the work, for a heading: a command with its arguments, the middle of a long one left out, or a workload's
/// name.
pub(super) fn title(workload: &Workload) -> String {
    const MOST: usize = 120;
    match workload.command.is_empty() {
        true => workload.name.clone(),
        false => shortened(&shell_words::join(&workload.command), MOST).into_owned(),
    }
}

/// A text with a capital first.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_both_ends() {
        let few = thinned((0..10_000).rev().collect(), 50, |it| f64::from(*it));
        assert_eq!((few.len(), few[0], few[49]), (50, 0, 9_999));
        assert_eq!(thinned(vec![3, 1, 2], 3, |it| f64::from(*it)), [3, 1, 2]);
    }
}
