//! The metrics: their names, units and help, as `docs/exporter.md` lists them.
//!
//! Written as OpenMetrics 1.0 (<https://prometheus.io/docs/specs/om/open_metrics_spec/>) by Prometheus's own client
//! library, which escapes what others wrote into labels. The names are corun's alone, as a text file shares a page with the metrics of node_exporter itself.

use std::borrow::Cow;
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use corun_record::{CoBusyMethod, YieldSource};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use super::{ProcessUse, SmtReading, Totals};

/// Everything that a scrape shows.
#[derive(Debug, Clone, Default)]
pub struct Exposition {
    /// Totals of the machine.
    pub totals: Totals,
    /// The SMT switch.
    pub smt: SmtReading,
    /// Use by the exporter itself.
    pub process: ProcessUse,
    /// When the last interval ended.
    pub sampled_at: Option<SystemTime>,
    /// The version of corun.
    pub version: String,
}

impl Exposition {
    /// The whole page in OpenMetrics.
    pub(super) fn open_metrics(self) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut page = String::new();
        prometheus_client::encoding::text::encode(&mut page, &registry)
            .expect("a string takes everything");
        page
    }
}

impl Collector for Exposition {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut families = Families(encoder);
        self.cores(&mut families)?;
        self.capacity(&mut families)?;
        self.cgroups(&mut families)?;
        self.evidence(&mut families)?;
        self.machine(&mut families)?;
        self.exporter(&mut families)
    }
}

impl Exposition {
    fn cores(&self, families: &mut Families<'_>) -> fmt::Result {
        let cores = &self.totals.cores;
        let labels = |id: &u32, package: Option<u32>, name, value: String| {
            let package = package.map(|it| it.to_string()).unwrap_or_default();
            vec![label("package", package), label("core", id.to_string()), label(name, value)]
        };
        let by_number_busy = cores.iter().flat_map(|(id, core)| {
            let each = core.busy_s.iter().enumerate();
            each.map(move |(busy, &seconds)| {
                (labels(id, core.package, "busy_cpus", busy.to_string()), seconds)
            })
        });
        families.counters(
            "corun_core_time",
            "Time that the core had this number of its logical CPUs busy.",
            Some(Unit::Seconds),
            by_number_busy,
        )?;
        let by_cpu = cores.iter().flat_map(|(id, core)| {
            let each = core.cpus.iter();
            each.map(move |(cpu, &seconds)| {
                (labels(id, core.package, "cpu", cpu.to_string()), seconds)
            })
        });
        families.counters(
            "corun_cpu_busy",
            "Time that the logical CPU was busy, as the kernel reports it.",
            Some(Unit::Seconds),
            by_cpu,
        )
    }

    fn capacity(&self, families: &mut Families<'_>) -> fmt::Result {
        let observed = self.totals.observed_s;
        let seconds = self.totals.capacity;
        let left_low = (observed - seconds.used_high).max(0.0);
        let left_high = (observed - seconds.used_low).max(0.0);
        families.counters(
            "corun_capacity_used",
            "Capacity of the machine that was used, at least and at most; a second is all that it can do in one.",
            Some(Unit::Seconds),
            bounds(seconds.used_low, seconds.used_high),
        )?;
        families.counters(
            "corun_capacity_left",
            "Capacity of the machine that was left.",
            Some(Unit::Seconds),
            bounds(left_low, left_high),
        )?;
        families.counters(
            "corun_capacity_reported",
            "Busy time as the kernel reports it: the mean over the logical CPUs.",
            Some(Unit::Seconds),
            [(Vec::new(), seconds.reported)],
        )?;
        families.counters(
            "corun_observed",
            "Time that the counters of capacity and of cores hold for.",
            Some(Unit::Seconds),
            [(Vec::new(), observed)],
        )?;
        let Some(last) = &self.totals.last else { return Ok(()) };
        let used = &last.capacity;
        families.gauges(
            "corun_capacity_used",
            "Share of the machine's capacity that was used in the last interval.",
            Some(ratio()),
            bounds(used.used_low, used.used_high),
        )?;
        families.gauges(
            "corun_capacity_left",
            "Share of the machine's capacity that was left in the last interval.",
            Some(ratio()),
            bounds(1.0 - used.used_high, 1.0 - used.used_low),
        )?;
        families.gauges(
            "corun_capacity_reported",
            "Busy share in the last interval as the kernel reports it.",
            Some(ratio()),
            [(Vec::new(), used.reported)],
        )?;
        let source = match used.yields.source {
            YieldSource::Any => "any",
            YieldSource::Given => "given",
            YieldSource::Measured => "measured",
            YieldSource::Predicted => "predicted",
        };
        let with_source = |(mut labels, value): (Labels, f64)| {
            labels.push(label("source", source));
            (labels, value)
        };
        families.gauges(
            "corun_smt_yield",
            "SMT yields that the capacity holds for: the work of a core with all siblings busy, where one alone does 1.",
            Some(ratio()),
            bounds(used.yields.low, used.yields.high).map(with_source),
        )
    }

    fn cgroups(&self, families: &mut Families<'_>) -> fmt::Result {
        let Some(cgroups) = &self.totals.cgroups else { return Ok(()) };
        let labels = |name: Option<&str>| vec![label("cgroup", name.unwrap_or(OTHERS).to_owned())];
        families.counters(
            "corun_cgroup_cpu",
            "Processor time of the control group.",
            Some(Unit::Seconds),
            cgroups.rows().map(|(name, seconds)| (labels(name), seconds.used)),
        )?;
        families.counters(
            "corun_cgroup_co_busy",
            "Processor time of the control group beside a busy sibling.",
            Some(Unit::Seconds),
            cgroups.rows().map(|(name, seconds)| (labels(name), seconds.co_busy)),
        )
    }

    fn evidence(&self, families: &mut Families<'_>) -> fmt::Result {
        let Some(last) = &self.totals.last else { return Ok(()) };
        let method = match last.co_busy.method {
            CoBusyMethod::Bounds => "bounds",
            CoBusyMethod::Sampled => "sampled",
            CoBusyMethod::Exact => "exact",
        };
        families.info(
            "corun_co_busy_method",
            "How it is found which siblings are busy at the same time.",
            vec![label("method", method)],
        )?;
        families.gauges(
            "corun_co_busy_error",
            "Largest error of a core's share of time in the last interval, at 95 % confidence.",
            Some(ratio()),
            [(Vec::new(), last.co_busy.error)],
        )?;
        families.gauges(
            "corun_tasks_not_seen",
            "Tasks that could not be read in the last interval, or were left out.",
            None,
            // Of hidden tasks the number is not known.
            (!last.tasks_hidden).then(|| (Vec::new(), last.tasks_not_seen as f64)),
        )?;
        families.gauges(
            "corun_tasks_hidden",
            "1 if /proc hides the tasks of other users (hidepid), else 0.",
            None,
            [(Vec::new(), f64::from(u8::from(last.tasks_hidden)))],
        )
    }

    fn machine(&self, families: &mut Families<'_>) -> fmt::Result {
        if let Some(active) = self.smt.active {
            families.gauges(
                "corun_smt_active",
                "1 if a core has two siblings online, else 0.",
                None,
                [(Vec::new(), f64::from(u8::from(active)))],
            )?;
        }
        if let Some(control) = &self.smt.control {
            families.info(
                "corun_smt_control",
                "State of the kernel's SMT switch.",
                vec![label("control", control.to_string())],
            )?;
        }
        Ok(())
    }

    fn exporter(&self, families: &mut Families<'_>) -> fmt::Result {
        families.counters(
            "corun_exporter_cpu",
            "Processor time of the exporter itself.",
            Some(Unit::Seconds),
            [(Vec::new(), self.process.cpu_s)],
        )?;
        if let Some(bytes) = self.process.resident_bytes {
            families.gauges(
                "corun_exporter_resident_memory",
                "Memory of the exporter itself.",
                Some(Unit::Bytes),
                [(Vec::new(), bytes as f64)],
            )?;
        }
        families.counters(
            "corun_sample_failures",
            "Intervals that could not be read.",
            None,
            [(Vec::new(), self.totals.failures as f64)],
        )?;
        let since_epoch = self.sampled_at.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        if let Some(since_epoch) = since_epoch {
            families.gauges(
                "corun_last_sample_timestamp",
                "When the last interval ended, in seconds since 1970.",
                Some(Unit::Seconds),
                [(Vec::new(), since_epoch.as_secs_f64())],
            )?;
        }
        families.info(
            "corun_build",
            "The version of corun.",
            vec![label("version", self.version.clone())],
        )
    }
}

/// The name of all control groups that have no row of their own; no group has it.
const OTHERS: &str = "(others)";

type Labels = Vec<(&'static str, Cow<'static, str>)>;

fn label(
    name: &'static str,
    value: impl Into<Cow<'static, str>>,
) -> (&'static str, Cow<'static, str>) {
    (name, value.into())
}

fn bounds(low: f64, high: f64) -> impl Iterator<Item = (Labels, f64)> {
    [("low", low), ("high", high)]
        .map(|(bound, value)| (vec![label("bound", bound)], value))
        .into_iter()
}

fn ratio() -> Unit {
    Unit::Other("ratio".to_owned())
}

/// Metric families, one after the other; one without rows is left out.
struct Families<'a>(DescriptorEncoder<'a>);

impl Families<'_> {
    fn counters(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        rows: impl IntoIterator<Item = (Labels, f64)>,
    ) -> fmt::Result {
        self.family(name, help, unit, MetricType::Counter, rows, |row, value| {
            row.encode_counter::<NoLabelSet, f64, f64>(&value, None)
        })
    }

    fn gauges(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        rows: impl IntoIterator<Item = (Labels, f64)>,
    ) -> fmt::Result {
        self.family(name, help, unit, MetricType::Gauge, rows, |row, value| {
            row.encode_gauge(&value)
        })
    }

    fn info(&mut self, name: &str, help: &str, labels: Labels) -> fmt::Result {
        self.0.encode_descriptor(name, help, None, MetricType::Info)?.encode_info(&labels)
    }

    fn family(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        kind: MetricType,
        rows: impl IntoIterator<Item = (Labels, f64)>,
        write: impl Fn(&mut MetricEncoder<'_>, f64) -> fmt::Result,
    ) -> fmt::Result {
        let mut rows = rows.into_iter().peekable();
        if rows.peek().is_none() {
            return Ok(());
        }
        let mut family = self.0.encode_descriptor(name, help, unit.as_ref(), kind)?;
        for (labels, value) in rows {
            match labels.is_empty() {
                true => write(&mut family, value)?,
                false => write(&mut family.encode_family(&labels)?, value)?,
            }
        }
        Ok(())
    }
}

/// Metrics in the text format of Prometheus, 0.0.4.
///
/// There the family of a counter has the name of its samples, an info is a gauge, and units are part of names alone.
pub(super) fn text(open_metrics: &str) -> String {
    let mut page = String::with_capacity(open_metrics.len());
    let mut help = "";
    for line in open_metrics.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ').map_or("", |(_, help)| help);
        } else if let Some((name, kind)) =
            line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
        {
            let (suffix, kind) = match kind {
                "counter" => ("_total", "counter"),
                "info" => ("_info", "gauge"),
                kind => ("", kind),
            };
            page += &format!("# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {kind}\n");
        } else if !line.starts_with('#') {
            page += line;
            page.push('\n');
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use corun_record::{
        Activity, CapacityUse, CoBusyEvidence, CoreActivity, CpuActivity, TaskActivity, YieldRange,
    };

    use super::*;

    fn exposition() -> Exposition {
        let cpu = |cpu, user| CpuActivity { cpu, user, system: 0.25, ..CpuActivity::default() };
        let task = TaskActivity {
            cgroup: Some("/system.slice/say \"hi\"\n\\.service".to_owned()),
            user: 0.5,
            beside_busy: Some(0.5),
            ..TaskActivity::default()
        };
        let mut totals = Totals::new(10);
        totals.add_failure();
        totals.add(&Activity {
            interval_s: 4.0,
            co_busy: CoBusyEvidence {
                method: CoBusyMethod::Sampled,
                error: 0.0625,
                ..CoBusyEvidence::default()
            },
            cores: vec![CoreActivity {
                core: 0,
                package: Some(0),
                cpus: vec![cpu(0, 0.5), cpu(8, 0.0)],
                busy_siblings: vec![0.25, 0.5, 0.25],
            }],
            capacity: CapacityUse {
                reported: 0.5,
                used_low: 0.5,
                used_high: 0.75,
                yields: YieldRange { low: 1.0, high: 2.0, source: YieldSource::Any },
            },
            tasks: vec![task],
            tasks_not_seen: 2,
            tasks_hidden: false,
        });
        Exposition {
            totals,
            smt: SmtReading { control: "on".parse().ok(), active: Some(true) },
            process: ProcessUse { cpu_s: 0.125, resident_bytes: Some(8 << 20) },
            sampled_at: Some(UNIX_EPOCH + Duration::from_secs(1000)),
            version: "0.1.0".to_owned(),
        }
    }

    #[test]
    fn the_page_in_open_metrics() {
        insta::assert_snapshot!(exposition().open_metrics());
    }

    #[test]
    fn the_page_in_the_text_format() {
        insta::assert_snapshot!(text(&exposition().open_metrics()));
    }

    #[test]
    fn after_an_interval_that_is_not_known_there_are_no_shares() {
        let mut exposition = exposition();
        exposition.totals.add_failure();
        let page = exposition.open_metrics();
        assert!(
            !page.contains("corun_capacity_left_ratio") && !page.contains("corun_tasks"),
            "{page}"
        );
        assert!(page.contains("corun_sample_failures_total 2"), "{page}");
        assert!(page.contains("corun_observed_seconds_total 4.0\n"), "{page}");
    }

    #[test]
    fn before_the_first_interval_there_are_no_shares() {
        let page =
            Exposition { version: "0.1.0".to_owned(), ..Exposition::default() }.open_metrics();
        assert!(page.contains("corun_observed_seconds_total 0.0\n"), "{page}");
        assert!(!page.contains("_ratio"), "{page}");
        assert!(page.ends_with("# EOF\n"), "{page}");
    }

    /// What stands in the names of others ends no value, no line and no page.
    #[test]
    fn names_of_others_stay_in_their_quotes() {
        let page = exposition().open_metrics();
        let line = page.lines().find(|line| line.contains("say")).expect("the group has a row");
        let expected = "corun_cgroup_cpu_seconds_total{cgroup=\"/system.slice/say \\\"hi\\\"\\n\\\\.service\"} 2.0";
        assert_eq!(line, expected);
    }
}
