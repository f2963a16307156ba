//! A service to measure: a server, and a load generator that asks it.
//!
//! The options are those of every command that measures programs.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use corun_machine::CpuSet;
use corun_measure::execution::{
    LatencySource, LoadReport, Location, Quantile, Readiness, StopSignal, TimeUnit,
};
use corun_measure::{ServiceRequest, WorkRequest};
use regex::Regex;

use super::work::{ContextArguments, WorkArguments};
use crate::problem::Problem;
use crate::values::{self, Words, words};

/// A server and its load.
#[derive(Debug, Args)]
#[command(next_help_heading = "Service")]
pub(super) struct ServiceArguments {
    /// Start this server in each placement, afresh for each sample; `{workers}` in its arguments
    /// becomes the number of workers, and all its threads and processes share the placement's CPUs
    #[arg(long, value_name = "COMMAND", requires_all = ["load", "ready"], value_parser = words)]
    #[arg(conflicts_with_all = ["command", "workload", "copies", "steady"])]
    serve: Option<Words>,
    /// Ask the server by this load generator, on CPUs of its own; wrk, wrk2, ab, redis-benchmark,
    /// pgbench and memtier_benchmark are known, of others say where their figures stand
    #[arg(long, value_name = "COMMAND", requires = "serve", value_parser = words)]
    load: Option<Words>,
    /// Wait until the server answers at PORT, HOST:PORT or a socket /PATH, or writes a line that
    /// matches (`line REGEX`)
    #[arg(long, value_name = "WHERE", requires = "serve")]
    ready: Option<Readiness>,
    /// Give up when the server is not ready by then
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = values::duration)]
    #[arg(requires = "serve")]
    ready_limit: Duration,
    /// Run this command from the load's CPUs before the load, outside the measurement: to fill the
    /// server or to warm it up
    #[arg(long, value_name = "COMMAND", requires = "serve", value_parser = words)]
    load_warmup: Option<Words>,
    /// Give these CPUs to the load, and their cores not to the server (default: a third of the cores,
    /// or with `--cores` all others)
    #[arg(long, value_name = "LIST", requires = "serve")]
    load_cpus: Option<CpuSet>,
    /// Take a latency from the load's output: `p50=REGEX`, `p90=`, `p99=` or `max=`, the last match's
    /// first group; a second group is the unit (repeatable)
    #[arg(long, value_name = "NAME=REGEX", value_parser = latency, requires = "serve")]
    latency: Vec<(Quantile, Location)>,
    /// Take a figure from JSON of the load: `throughput=POINTER`, `p50=`, `p90=`, `p99=` or `max=`
    /// (repeatable; a pointer is like /totals/p99)
    #[arg(long, value_name = "NAME=POINTER", value_parser = json, requires = "serve")]
    load_json: Vec<Figure>,
    /// Take latencies from this interval log of HdrHistogram that the load writes
    #[arg(long, value_name = "FILE", conflicts_with = "latency", requires = "serve")]
    latency_hdr: Option<PathBuf>,
    /// The unit of latencies that come without one: s, ms, us, ns (default: ms; of --latency-hdr: ns)
    #[arg(long, value_name = "UNIT", requires = "serve")]
    latency_unit: Option<TimeUnit>,
    /// Read the figures from this file that the load writes, instead of its output
    #[arg(long, value_name = "FILE", requires = "serve")]
    load_output: Option<PathBuf>,
    /// Stop the server by this signal: TERM, INT, QUIT or KILL
    #[arg(long, value_name = "SIGNAL", default_value = "TERM", value_parser = stop_signal)]
    #[arg(requires = "serve")]
    stop_signal: StopSignal,
    /// Give up when the server runs longer after that
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::duration)]
    #[arg(requires = "serve")]
    stop_limit: Duration,
}

/// A figure that stands in JSON.
#[derive(Debug, Clone)]
enum Figure {
    Throughput(Location),
    Latency(Quantile, Location),
}

impl ServiceArguments {
    /// Request of a service from what was typed, if it is one; touches nothing.
    ///
    /// # Errors
    /// If it is said twice where a figure stands.
    pub(super) fn request(
        &self,
        work: &WorkArguments,
        context: &ContextArguments,
    ) -> Result<Option<WorkRequest>, Problem> {
        let (Some(server), Some(load), Some(ready)) = (&self.serve, &self.load, &self.ready) else {
            return Ok(None);
        };
        if context.stdin.is_some() || context.expect_exit != 0 {
            return Err(Problem::usage(
                "expected a server and a load that read no input and end with status 0, found `--stdin` or `--expect-exit`",
                "Leave these options out.",
            ));
        }
        let words: Vec<OsString> = server.0.iter().chain(&load.0).cloned().collect();
        context.check_workers(&words)?;
        Ok(Some(WorkRequest::Service(Box::new(ServiceRequest {
            server: server.0.clone(),
            load: load.0.clone(),
            warmup: self.load_warmup.as_ref().map(|words| words.0.clone()),
            ready: ready.clone(),
            ready_limit: self.ready_limit,
            stop_signal: self.stop_signal,
            stop_limit: self.stop_limit,
            load_cpus: self.load_cpus.clone(),
            report: self.report(work.throughput.as_ref())?,
            environment: context.environment(),
            directory: context.cwd.clone(),
        }))))
    }

    /// Locations of the figures, as far as they were given.
    fn report(&self, throughput: Option<&Regex>) -> Result<LoadReport, Problem> {
        let mut throughputs: Vec<Location> =
            throughput.cloned().map(Location::Text).into_iter().collect();
        let mut latencies = self.latency.clone();
        for figure in &self.load_json {
            match figure.clone() {
                Figure::Throughput(location) => throughputs.push(location),
                Figure::Latency(quantile, location) => latencies.push((quantile, location)),
            }
        }
        latencies.sort_by_key(|(quantile, _)| *quantile);
        let is_twice = latencies.windows(2).any(|pair| pair[0].0 == pair[1].0);
        if throughputs.len() > 1
            || is_twice
            || (!latencies.is_empty() && self.latency_hdr.is_some())
        {
            return Err(Problem::usage(
                "expected one place for each figure of the load, found two for the same",
                "Name each figure once, by an expression, in JSON or in a log of HdrHistogram.",
            ));
        }
        let unit = |default| self.latency_unit.unwrap_or(default);
        let latency = match &self.latency_hdr {
            Some(log) => LatencySource::HdrLog(log.clone(), unit(TimeUnit::Nanoseconds)),
            None if latencies.is_empty() => LatencySource::Generator,
            None => LatencySource::Quantiles(latencies, unit(TimeUnit::Milliseconds)),
        };
        Ok(LoadReport {
            generator: None,
            throughput: throughputs.pop(),
            latency,
            file: self.load_output.clone(),
        })
    }
}

fn named(text: &str) -> Result<(&str, &str), String> {
    text.split_once('=').ok_or_else(|| format!("expected NAME=PLACE, found \"{text}\""))
}

fn latency(text: &str) -> Result<(Quantile, Location), String> {
    let (quantile, pattern) = named(text)?;
    let pattern = Regex::new(pattern).map_err(|error| error.to_string())?;
    match pattern.captures_len() - 1 {
        1 | 2 => Ok((quantile.parse()?, Location::Text(pattern))),
        groups => Err(format!(
            "expected a group around the number, and perhaps one around its unit, as in 'p99: ([0-9.]+)', found {groups} groups"
        )),
    }
}

fn json(text: &str) -> Result<Figure, String> {
    let (name, pointer) = named(text)?;
    if !pointer.starts_with('/') {
        return Err(format!("expected a pointer such as /totals/p99, found \"{pointer}\""));
    }
    let location = Location::Json(pointer.to_owned());
    match name {
        "throughput" => Ok(Figure::Throughput(location)),
        quantile => Ok(Figure::Latency(quantile.parse()?, location)),
    }
}

fn stop_signal(text: &str) -> Result<StopSignal, String> {
    let name = text.strip_prefix("SIG").unwrap_or(text);
    let known = StopSignal::ALL.into_iter().find(|(known, _)| *known == name);
    known.map(|(_, signal)| signal).ok_or_else(|| {
        let names = StopSignal::ALL.map(|(name, _)| name).join(", ");
        format!("expected one of {names}, found \"{text}\"")
    })
}
