//! Measurements by hyperfine, as runs: its JSON has the times of every run of each command.
//!
//! The kernel placed its programs, one at a time, so that a command is an arm `free@1` whose blocks are single runs.
//! Versions 1 (`times`) and 2 (`measurements`) of hyperfine are read.

use std::collections::BTreeMap;
use std::time::SystemTime;

use corun_record::{
    Actionable, Arm, Caveat, CheckedJson, Design, Document, EndReason, Ending, Evidence, Exit,
    MachineSummary, Mode, Placement, Run, Sample, WorkerSample, Workload, excerpt, moment,
};
use serde_json::Value;

use crate::analysis::{AnalysisRequest, Workers, analyse};

/// Practical difference, as `corun measure` has it by default.
const PRACTICAL: f64 = 0.02;
/// The level of intervals.
const LEVEL: f64 = 0.95;

/// A command that hyperfine measured.
#[derive(Debug, Clone, PartialEq)]
pub struct HyperfineRun {
    /// As a run of corun.
    pub run: Run,
    /// As hyperfine wrote it, compact: the same measurement is the same text.
    pub source: String,
}

/// Error of such a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected what hyperfine exports, found {0}")]
pub struct HyperfineError(String);

impl Actionable for HyperfineError {
    fn exit(&self) -> Exit {
        Exit::Failed
    }

    fn next_step(&self) -> String {
        "Name a file that hyperfine wrote with --export-json FILE.".to_owned()
    }
}

/// A longer time is a fault of the file, in seconds: 30 years. So is a shorter one above 0: hyperfine's clock counts
/// nanoseconds, and its mean of CPU times less.
const LONGEST: f64 = 1e9;
const SHORTEST: f64 = 1e-9;

/// The JSON of an export, which may begin with a byte-order mark.
fn read(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text.trim_start_matches('\u{feff}'))
}

/// True if a text looks like an export of hyperfine.
pub fn is_export(text: &str) -> bool {
    CheckedJson::new(text).is_ok_and(|json| {
        let has_results = json.get("results").is_some_and(CheckedJson::is_list);
        has_results && json.get("format").is_none_or(CheckedJson::is_null)
    })
}

/// The commands of an export that was written at this time, each as a run or with why it is none.
///
/// # Errors
/// If the export says a start that is none.
pub fn runs(
    text: &str,
    written: SystemTime,
) -> Result<Vec<Result<HyperfineRun, HyperfineError>>, HyperfineError> {
    let json = read(text).map_err(|error| HyperfineError(error.to_string()))?;
    let started = match json["metadata"]["start_time"].as_str() {
        None => written,
        Some(stated) => moment(stated).ok_or_else(|| {
            let stated = excerpt(stated);
            HyperfineError(format!("a `start_time` that is not in RFC 3339, \"{stated}\""))
        })?,
    };
    let started = humantime::format_rfc3339_seconds(started).to_string();
    let results = json["results"].as_array().into_iter().flatten();
    Ok(results.map(|result| of_result(result, &started)).collect())
}

fn of_result(result: &Value, started: &str) -> Result<HyperfineRun, HyperfineError> {
    let Some(command) = result["command"].as_str() else {
        return Err(HyperfineError("a result without a command".to_owned()));
    };
    let samples = samples(result, command)?;
    let arm = Arm::new(Placement::Free(Some(1)), 1, 0, Vec::new());
    let question = AnalysisRequest {
        practical: PRACTICAL,
        level: LEVEL,
        seed: 0,
        mode: Mode::Copies,
        workers: Workers::Alike,
        row: None,
    };
    let without_time = samples.iter().filter(|sample| sample.makespan_s == 0.0).count();
    let observations = match without_time {
        0 => analyse(std::slice::from_ref(&arm), &samples, &question, None).observations,
        _ => Vec::new(),
    };
    let words = shell_words::split(command).unwrap_or_else(|_| vec![command.to_owned()]);
    let program = words.first().and_then(|it| it.rsplit('/').next()).unwrap_or_default();
    let mut caveats = vec![Caveat::new(
        "hyperfine",
        "Measured by hyperfine: the machine, where the program ran and what disturbed it are unknown.",
    )];
    if without_time > 0 {
        caveats.push(Caveat::new(
            "zero-times",
            format!(
                "{without_time} of {} runs have a time of 0: hyperfine subtracts what its shell takes and stops at 0. No time \
                 is estimated; `hyperfine -N` measures without a shell.",
                samples.len()
            ),
        ));
    }
    let failed = exit_codes(result).filter(|code| *code != 0).count();
    if failed > 0 {
        caveats.push(Caveat::new(
            "failed-runs",
            format!("{failed} of {} runs did not end with exit status 0.", samples.len()),
        ));
    }
    let run = Run {
        format: Run::FORMAT.to_owned(),
        version: Run::VERSION,
        corun_version: env!("CARGO_PKG_VERSION").to_owned(),
        started: started.to_owned(),
        elapsed_s: samples.iter().map(|sample| sample.makespan_s).sum(),
        ending: Ending {
            reason: EndReason::Completed,
            sentence: "measured by hyperfine".to_owned(),
        },
        workload: Workload {
            name: program.to_owned(),
            command: as_run(command, &words),
            parameters: parameters(result),
            mode: Mode::Copies,
            operation: "runs".to_owned(),
            operations: 1.0,
            steady: false,
            load: None,
            program: None,
            input: None,
            prepare: None,
        },
        machine: MachineSummary::default(),
        design: Design {
            seed: 0,
            blocks: samples.len() as u32,
            warmup: 0,
            cores: BTreeMap::new(),
            target: 0.0,
            practical: PRACTICAL,
            interim_analyses: Vec::new(),
            max_time_s: 0.0,
        },
        arms: vec![arm],
        not_possible: Vec::new(),
        observations,
        verdicts: Vec::new(),
        caveats,
        samples,
    };
    Ok(HyperfineRun { run, source: result.to_string() })
}

/// The command as it was run: hyperfine gives it to a shell, which only what consists of plain words does without.
fn as_run(command: &str, words: &[String]) -> Vec<String> {
    if shell_words::split(command).is_ok() && shell_words::join(words) != command {
        return ["sh", "-c", command].map(str::to_owned).to_vec();
    }
    words.to_vec()
}

fn samples(result: &Value, command: &str) -> Result<Vec<Sample>, HyperfineError> {
    let no_times = || HyperfineError(format!("no times of {command:?}"));
    let listed = |times: &Vec<Value>| -> Vec<[Option<f64>; 4]> {
        let memory = &result["memory_usage_byte"];
        // Of the CPU times there is only the mean.
        let run = |(run, time): (usize, &Value)| {
            [time, &result["user"], &result["system"], &memory[run]].map(Value::as_f64)
        };
        times.iter().enumerate().map(run).collect()
    };
    let measured = |all: &Vec<Value>| -> Vec<[Option<f64>; 4]> {
        let value = |it: &Value| {
            let has_unit = matches!(it["unit"].as_str(), None | Some("second" | "byte"));
            it["value"].as_f64().filter(|_| has_unit)
        };
        let names = ["time_wall_clock", "time_user", "time_system", "memory_peak_resident"];
        all.iter().map(|run| names.map(|name| value(&run[name]))).collect()
    };
    let figures = match (result["times"].as_array(), result["measurements"].as_array()) {
        (Some(times), _) => listed(times),
        (None, Some(measurements)) => measured(measurements),
        (None, None) => return Err(no_times()),
    };
    if figures.is_empty() {
        return Err(no_times());
    }
    (0..)
        .zip(figures)
        .map(|(block, [time, user, system, memory])| {
            let is_time = |time: &f64| *time == 0.0 || (SHORTEST..=LONGEST).contains(time);
            let Some(seconds) = time.filter(is_time).map(f64::abs) else {
                return Err(HyperfineError(format!(
                    "a run of {command:?} without a time in seconds"
                )));
            };
            let cpu_times = [user, system].map(|time| time.unwrap_or(0.0));
            if !cpu_times.iter().all(|time| (0.0..=LONGEST).contains(time)) {
                return Err(HyperfineError(format!(
                    "a run of {command:?} with other CPU times than seconds"
                )));
            }
            let [user_s, system_s] = cpu_times.map(f64::abs);
            let throughput = if seconds > 0.0 { 1.0 / seconds } else { 0.0 };
            Ok(Sample {
                block,
                arm: Placement::Free(Some(1)).to_string(),
                makespan_s: seconds,
                throughput,
                workers: vec![WorkerSample {
                    seconds,
                    subtracted_s: None,
                    runs: 1,
                    cpus: BTreeMap::new(),
                    check: None,
                }],
                evidence: Evidence {
                    user_s,
                    system_s,
                    max_resident_bytes: memory.unwrap_or(0.0) as u64,
                    ..Evidence::default()
                },
                ..Sample::default()
            })
        })
        .collect()
}

/// Exit statuses, of version 1 in a list, of version 2 with each run.
fn exit_codes(result: &Value) -> impl Iterator<Item = i64> {
    let listed = result["exit_codes"].as_array().into_iter().flatten();
    let measured = result["measurements"].as_array().into_iter().flatten();
    listed.chain(measured.map(|it| &it["exit_code"])).filter_map(Value::as_i64)
}

fn parameters(result: &Value) -> BTreeMap<String, String> {
    let given = result["parameters"].as_object().into_iter().flatten();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    given.map(|(name, value)| (name.clone(), text(value))).collect()
}

#[cfg(test)]
mod tests {
    use corun_record::Metric;

    use super::*;

    const FIRST: &str = r#"{ "results": [
        { "command": "sleep 0.1", "mean": 0.11, "stddev": 0.01, "median": 0.11, "user": 0.001, "system": 0.002,
          "min": 0.1, "max": 0.12, "times": [0.10, 0.12, 0.11], "memory_usage_byte": [1000, 2000, 3000],
          "exit_codes": [0, 0, 1], "parameters": { "delay": "0.1" } },
        { "command": "'a b/prog' \"x", "times": [1.5], "exit_codes": [0] } ] }"#;
    const SECOND: &str = r#"{ "schema_version": 2, "metadata": { "start_time": "2026-10-01T08:00:00Z" },
        "results": [ { "command": "sleep 1", "name": "one", "measurements": [
          { "time_wall_clock": { "value": 1.0, "unit": "second" }, "time_user": { "value": 0.25, "unit": "second" },
            "exit_code": 0 },
          { "time_wall_clock": { "value": 1.2, "unit": "second" }, "exit_code": 0 } ] } ] }"#;

    fn of(text: &str) -> Vec<HyperfineRun> {
        assert!(is_export(text));
        let all = runs(text, SystemTime::UNIX_EPOCH).unwrap();
        all.into_iter().collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn each_command_is_a_run_and_each_time_a_sample() {
        let found = of(FIRST);
        let run = &found[0].run;
        let times: Vec<f64> = run.samples.iter().map(|sample| sample.makespan_s).collect();
        assert_eq!(times, [0.10, 0.12, 0.11]);
        assert_eq!(
            (run.workload.name.as_str(), &run.workload.parameters["delay"][..]),
            ("sleep", "0.1")
        );
        assert_eq!((run.samples[1].evidence.max_resident_bytes, run.design.blocks), (2000, 3));
        assert!(run.caveats[1].sentence.starts_with("1 of 3 runs"), "{:?}", run.caveats);
        let time = run.observation(Metric::Makespan, "free@1").unwrap().estimate;
        assert!(time.low < 0.11 && 0.11 < time.high, "{time:?}");
        assert_eq!(Run::from_json(&run.to_json()).unwrap(), *run);
        // No shell reads this.
        assert_eq!(found[1].run.workload.command, ["'a b/prog' \"x"]);
    }

    #[test]
    fn a_shell_line_stays_one_and_plain_words_stay_words() {
        let command = |line: &str| {
            let json = serde_json::json!({ "results": [{ "command": line, "times": [0.1] }] });
            of(&json.to_string())[0].run.workload.command.clone()
        };
        for line in
            ["sort big.txt | uniq -c > /dev/null", "ls *.c", "echo $HOME", "a; b", "f \"x\""]
        {
            assert_eq!(command(line), ["sh", "-c", line]);
        }
        assert_eq!(command("sleep 0.1"), ["sleep", "0.1"]);
        assert_eq!(command("'a b/prog' -x"), ["a b/prog", "-x"]);
    }

    #[test]
    fn times_of_zero_are_kept_without_an_estimate() {
        let json = r#"{"results":[{"command":"tiny","times":[0.0,0.0,0.0006,0.0002]}]}"#;
        let text = format!("\u{feff}{json}");
        let [HyperfineRun { run, .. }] = &of(&text)[..] else { panic!("one command") };
        let times: Vec<f64> = run.samples.iter().map(|sample| sample.makespan_s).collect();
        assert_eq!(times, [0.0, 0.0, 0.0006, 0.0002]);
        assert_eq!(run.observations, []);
        assert!(run.caveats[1].sentence.starts_with("2 of 4 runs have a time of 0"));
        assert_eq!(Run::from_json(&run.to_json()).unwrap(), *run);
        let refused = |fields: &str| {
            let text = format!(r#"{{"results":[{{"command":"x",{fields}}}]}}"#);
            runs(&text, SystemTime::UNIX_EPOCH).unwrap()[0].is_err()
        };
        // Of the last one the rate would be no number.
        for wrong in ["-0.1", "1e308", "1e10", "1e-320"] {
            assert!(refused(&format!(r#""times":[{wrong}]"#)), "{wrong}");
        }
        for wrong in [r#""user":1e308"#, r#""system":-1"#] {
            assert!(refused(&format!(r#""times":[0.1],{wrong}"#)), "{wrong}");
        }
        let signed = r#"{"results":[{"command":"x","times":[-0.0]}]}"#;
        assert!(!of(signed)[0].run.to_json().contains("-0.0"));
    }

    #[test]
    fn the_second_version_says_when_it_was() {
        let [HyperfineRun { run, .. }] = &of(SECOND)[..] else { panic!("one command") };
        assert_eq!((run.started.as_str(), run.samples.len()), ("2026-10-01T08:00:00Z", 2));
        assert_eq!((run.samples[0].evidence.user_s, run.samples[1].makespan_s), (0.25, 1.2));
    }

    #[test]
    fn what_has_no_times_is_left_out() {
        for (text, found) in [
            (r#"{"results":[{"command":"x"}]}"#, "no times"),
            (r#"{"results":[{"command":"x","times":[]}]}"#, "no times"),
            (r#"{"results":[{"command":"x","times":[0.1,null]}]}"#, "without a time"),
            (r#"{"results":[{"times":[0.1]}]}"#, "without a command"),
            (
                r#"{"results":[{"command":"x","measurements":[{"time_wall_clock":{"value":1,"unit":"ms"}}]}]}"#,
                "without a time",
            ),
        ] {
            let all = runs(text, SystemTime::UNIX_EPOCH).unwrap();
            let error = all[0].as_ref().unwrap_err().to_string();
            assert!(error.contains(found), "{error}");
        }
        let both = r#"{"results":[{"command":"x"},{"command":"y","times":[0.1]}]}"#;
        let both = runs(both, SystemTime::UNIX_EPOCH).unwrap();
        assert!(matches!(&both[..], [Err(_), Ok(run)] if run.run.workload.name == "y"), "{both:?}");
        let undated = SECOND.replace("2026-10-01T08:00:00Z", "1 October");
        let error = runs(&undated, SystemTime::UNIX_EPOCH).unwrap_err().to_string();
        assert!(error.contains("RFC 3339, \"1 October\""), "{error}");
        for other in ["", "[]", "{}", r#"{"format":"corun-run","results":[]}"#] {
            assert!(!is_export(other), "{other}");
        }
    }
}
