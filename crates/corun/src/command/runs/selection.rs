//! Which runs are meant: filters by host, workload, command, tag and date, or names.

use std::time::{Duration, SystemTime};

use clap::Args;
use corun_store::{Filter, RunKind, Store};

use crate::problem::Problem;

/// The filters.
#[derive(Debug, Args)]
#[command(next_help_heading = "Which runs")]
pub(super) struct FilterArguments {
    /// Those on this host; `*` stands for any characters, here and below
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Those of this workload, or of a command whose first words are these
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
    /// Those of this subcommand of corun: measure, bench, study run, ...
    #[arg(long, value_name = "NAME")]
    command: Option<String>,
    /// Those with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Those started at this time or later, in UTC: 2026-11-01, "2026-11-01 18:30:00", or 7d, which is a week ago
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<Moment>,
    /// Those started up to this time, or on this day
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<Moment>,
    /// The N newest of them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

impl FilterArguments {
    pub(super) fn filter(&self) -> Filter {
        let said = |time: SystemTime| humantime::format_rfc3339_seconds(time).to_string();
        Filter {
            host: self.host.clone(),
            workload: self.workload.clone(),
            command: self.command.clone(),
            tag: self.tag.clone(),
            since: self.since.map(|it| said(it.begin)),
            until: self.until.map(|it| said(it.end)),
            limit: self.limit,
        }
    }
}

/// The numbers of the runs of these names or, where there are none, of a filter.
///
/// # Errors
/// If a name means no run, there are names and filters, or no run is meant.
pub(super) fn numbers(
    store: &Store,
    names: &[String],
    filter: &Filter,
) -> Result<Vec<i64>, Problem> {
    if !names.is_empty() && !filter.is_all() {
        return Err(Problem::usage(
            "expected names of runs or filters, found both",
            "Leave one of the two out.",
        ));
    }
    let mut numbers = Vec::new();
    for name in names {
        let number = store.find(name, RunKind::Finished)?;
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    }
    if names.is_empty() {
        numbers = store.list(filter)?.into_iter().map(|(number, _)| number).collect();
    }
    match numbers.is_empty() {
        false => Ok(numbers),
        true => Err(Problem::usage(
            "expected runs that the filters mean, found none",
            "`corun runs list` has all runs.",
        )),
    }
}

/// A second, or a whole day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Moment {
    begin: SystemTime,
    /// The first second after it.
    end: SystemTime,
}

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn moment(text: &str) -> Result<Moment, String> {
    let lasting = |begin: SystemTime, length| Moment { begin, end: begin + length };
    if let Ok(day) = humantime::parse_rfc3339_weak(&format!("{text} 00:00:00")) {
        return Ok(lasting(day, DAY));
    }
    if let Ok(time) = humantime::parse_rfc3339_weak(text) {
        return Ok(lasting(time, SECOND));
    }
    let ago = humantime::parse_duration(text).ok();
    let time = ago.and_then(|ago| SystemTime::now().checked_sub(ago));
    // Before 1970 there was nothing to keep.
    time.filter(|it| *it >= SystemTime::UNIX_EPOCH).map(|time| lasting(time, SECOND)).ok_or_else(|| {
        format!("expected a date such as 2026-11-01, a time such as \"2026-11-01 18:30:00\" or an age such as 7d, found \"{text}\"")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_times_and_ages_are_understood() {
        let said = |text: &str| {
            let Moment { begin, end } = moment(text).unwrap();
            [begin, end].map(|it| humantime::format_rfc3339_seconds(it).to_string())
        };
        assert_eq!(said("2026-11-01"), ["2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z"]);
        let time = ["2026-11-01T18:30:00Z", "2026-11-01T18:30:01Z"];
        assert_eq!(said("2026-11-01 18:30:00"), time);
        assert_eq!(said("2026-11-01T18:30:00Z"), time);
        assert!(moment("7d").unwrap().begin < SystemTime::now() - 6 * DAY);
        for wrong in ["", "yesterday", "2026-13-01", "1000000y", "-1d", "2026-11-01 25:00:00"] {
            assert!(moment(wrong).is_err(), "{wrong}");
        }
    }
}
