//! The sentences around the tables: what was run, the answer, what could not be done, what limits
//! trust, and how the experiment went.

use corun_record::{
    Answer, Arm, EndReason, Ending, MachineSummary, Metric, Mode, Run, ServiceLoad, Workload,
    on_one_line,
};

use crate::figures::{seconds, with_half_width};
use crate::tables::list;

/// Work and machine, in two lines.
pub(crate) fn heading(run: &Run) -> Vec<String> {
    let mut lines = vec![work(&run.workload)];
    lines.extend(run.workload.load.as_ref().map(load));
    lines.push(machine(&run.machine));
    lines
}

/// Work, and the kind of its workers.
pub fn work(workload: &Workload) -> String {
    let parameters: Vec<String> =
        workload.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let what = if workload.command.is_empty() {
        format!("workload {} {}", workload.name, parameters.join(" "))
    } else {
        command_line(&workload.command)
    };
    let how = match workload.mode {
        Mode::Copies => "a process for each worker",
        Mode::WorkersTotal => "one process, a thread for each worker, a fixed total of work",
        Mode::WorkersPerWorker => "one process, a thread for each worker, work for each",
        Mode::Service => "a service, pinned to the arm's CPUs as a whole",
    };
    let steady = if workload.steady { ", restarted until all have a window" } else { "" };
    format!("{} ({how}{steady})", what.trim_end())
}

/// A command as a line to copy, quoted where a shell would change it.
pub(crate) fn command_line(words: &[String]) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "_-./:=,+%@".contains(it);
    let quoted = words.iter().map(|word| {
        match !word.is_empty() && word.replace("{workers}", "").chars().all(is_plain) {
            true => word.clone(),
            false => shell_words::quote(word).into_owned(),
        }
    });
    on_one_line(&quoted.collect::<Vec<_>>().join(" "))
}

/// Load generator of a service, and its CPUs.
pub fn load(load: &ServiceLoad) -> String {
    let command = command_line(&load.command);
    match load.cpus.is_empty() {
        true => format!("load: {command} (on the server's CPUs)"),
        false => format!("load: {command} (on CPU {})", list(&load.cpus)),
    }
}

/// The machine, one line.
pub fn machine(machine: &MachineSummary) -> String {
    if machine.online_cpus == 0 {
        return "an unknown machine".to_owned();
    }
    let mut facts = vec![machine.cpu_model.clone().unwrap_or_else(|| "unknown CPU".to_owned())];
    facts.push(format!(
        "{}, {}",
        plural(machine.cores as usize, "core"),
        match machine.allowed_cpus == machine.online_cpus {
            true => plural(machine.online_cpus as usize, "logical CPU"),
            false => format!(
                "{} of {} allowed",
                plural(machine.allowed_cpus as usize, "logical CPU"),
                machine.online_cpus
            ),
        }
    ));
    facts.push(match (machine.smt_width, &machine.smt_control) {
        (1, Some(control)) => format!("no siblings (smt/control: {control})"),
        (1, None) => "no siblings".to_owned(),
        (width, _) => format!("SMT width {width}"),
    });
    if let Some(hypervisor) = &machine.hypervisor {
        facts.push(format!("virtual machine ({hypervisor})"));
    }
    facts.join(", ")
}

/// The machine in as few words as say what holds in every run on it.
pub(crate) fn machine_in_short(machine: &MachineSummary) -> String {
    if machine.online_cpus == 0 {
        return "an unknown machine".to_owned();
    }
    let mut facts = vec![machine.cpu_model.clone().unwrap_or_else(|| "unknown CPU".to_owned())];
    facts.push(plural(machine.cores as usize, "core"));
    if machine.allowed_cpus < machine.online_cpus {
        facts.push(format!(
            "{} of {} logical CPUs allowed",
            machine.allowed_cpus, machine.online_cpus
        ));
    }
    facts.push(match machine.smt_width {
        1 => "no siblings".to_owned(),
        width => format!("SMT width {width}"),
    });
    facts.extend(machine.hypervisor.as_ref().map(|name| format!("virtual machine ({name})")));
    facts.join(", ")
}

/// A count of things: `1 core`, `2 cores`.
pub fn plural(count: usize, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    }
}

/// At most so many characters of a text, with dots where that is not all.
pub(crate) fn begin_of(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// The verdicts as sentences, the headline first, each sentence once; or why there is no verdict.
pub fn answers(run: &Run) -> Vec<(Answer, String)> {
    if run.is_without_interval() {
        return vec![(Answer::Inconclusive, too_few_blocks(&run.ending))];
    }
    let mut answers: Vec<(Answer, String)> = Vec::new();
    for verdict in &run.verdicts {
        if !answers.iter().any(|(_, sentence)| *sentence == verdict.sentence) {
            answers.push((verdict.answer, verdict.sentence.clone()));
        }
    }
    if answers.is_empty() {
        answers.push((Answer::Inconclusive, nothing_to_compare(run)));
    }
    answers
}

/// Times of the only arms, where nothing is compared with them.
fn nothing_to_compare(run: &Run) -> String {
    let arms = run.arms.iter().filter(|arm| arm.twin_of.is_none());
    let took = |arm: &Arm| {
        let time = run.observation(Metric::Makespan, &arm.id)?;
        Some(format!(
            "{} takes {}",
            arm.id,
            with_half_width(seconds(time.estimate.value), &time.estimate)
        ))
    };
    let times: Vec<String> = arms.filter_map(took).collect();
    match times.is_empty() {
        true => "No answer: these placements allow no comparison.".to_owned(),
        false => format!("No comparison: {}.", times.join(", ")),
    }
}

/// Sentence that there is no answer, why, and what would give one.
fn too_few_blocks(ending: &Ending) -> String {
    let cure = match ending.reason {
        EndReason::TimeUp => {
            " Allow more with --max-time, measure fewer placements with --placement, or shorten the command."
        }
        _ => "",
    };
    format!("Too few blocks to say: {}.{cure}", ending.sentence)
}

/// Arms that could not be measured, equal reasons joined.
pub fn not_possible(run: &Run) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for refused in &run.not_possible {
        let placement = match &refused.core_type {
            Some(core_type) => format!("{} ({core_type})", refused.placement),
            None => refused.placement.to_string(),
        };
        match reasons.iter_mut().find(|(reason, _)| *reason == refused.reason) {
            Some((_, placements)) => placements.push(placement),
            None => reasons.push((&refused.reason, vec![placement])),
        }
    }
    reasons
        .into_iter()
        .map(|(reason, placements)| format!("{}: {reason}", placements.join(", ")))
        .collect()
}

/// Limits of trust.
pub(crate) fn caveats(run: &Run) -> Vec<String> {
    run.caveats.iter().map(|caveat| caveat.sentence.clone()).collect()
}

/// Course of the experiment in one line.
pub fn course(run: &Run) -> String {
    let twins: fn(&&Arm) -> bool = |arm| arm.twin_of.is_some();
    let arms = run.arms.len();
    let aa = run.arms.iter().filter(twins).count();
    let blocks = match (run.design.blocks, run.arms.iter().any(|arm| arm.smt.is_some())) {
        (blocks, true) => format!("{blocks} cycles (SMT on, off, off, on)"),
        (1, false) => "1 block".to_owned(),
        (blocks, false) => format!("{blocks} blocks"),
    };
    format!(
        "{blocks} of {arms} runs ({aa} of them A/A) in {}, seed {}; {}.",
        seconds(run.elapsed_s),
        run.design.seed,
        run.ending.sentence
    )
}
