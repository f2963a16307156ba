//! A real Prometheus scrapes two exporters, and evaluates every query of `contrib/`: each returns data.
//!
//! One machine is loaded so that every alert on capacity fires, on the other SMT is off and nothing is sampled any more,
//! and a third does not answer. A metric that is renamed leaves a query without data.

use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use corun_monitor::capacity_use;
use corun_monitor::exporter::{Exposition, Format, Limits, Page, ProcessUse, SmtReading, Totals};
use corun_record::{
    Activity, CoBusyEvidence, CoBusyMethod, CoreActivity, CpuActivity, TaskActivity, YieldRange,
    YieldSource,
};
use corun_testing::{repository, skip};
use serde_json::Value;

use super::running::{PATIENCE, Running};

const RULES: &str = "contrib/prometheus/corun.rules.yml";
const DASHBOARD: &str = "contrib/grafana/corun.json";

/// The length of the windows of rates here, where scrapes are a fraction of a second apart.
const WINDOW: &str = "[4s]";

/// Ended when it is dropped.
struct Prometheus {
    child: Child,
    port: u16,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Prometheus {
    fn start(folder: &Path, targets: &[String]) -> Self {
        let rules = repository().join(RULES).canonicalize().expect("the repository has rules");
        let configuration = format!(
            "global: {{scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 1s}}\n\
             rule_files: ['{}']\n\
             scrape_configs:\n- {{job_name: corun, static_configs: [{{targets: {targets:?}}}]}}\n",
            rules.display()
        );
        let file = folder.join("prometheus.yml");
        std::fs::write(&file, configuration).expect("a file can be written");
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("an address").port();
        drop(free);
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .arg("--log.level=warn")
            .stdout(Stdio::null())
            .spawn()
            .expect("Prometheus starts");
        Self { child, port }
    }

    /// Answer of its HTTP API; nothing while it cannot be asked.
    fn get(&self, path: &str, query: Option<&str>) -> Option<Value> {
        let mut request = ureq::get(format!("http://127.0.0.1:{}/api/v1/{path}", self.port));
        if let Some(query) = query {
            request = request.query("query", query);
        }
        let text = request.call().ok()?.body_mut().read_to_string().ok()?;
        let answer: Value = serde_json::from_str(&text).expect("Prometheus answers in JSON");
        Some(answer["data"].clone())
    }

    fn has_data(&self, query: &str) -> bool {
        let answer = self.get("query", Some(query));
        answer.is_some_and(|data| data["result"].as_array().is_some_and(|rows| !rows.is_empty()))
    }
}

/// A machine with four cores, one sibling busy on each almost all the time.
fn loaded(interval_s: f64) -> Activity {
    let cpu = |cpu, user| CpuActivity { cpu, user, idle: 1.0 - user, ..CpuActivity::default() };
    let core = |core| CoreActivity {
        core,
        package: Some(0),
        cpus: vec![cpu(2 * core, 0.98), cpu(2 * core + 1, 0.1)],
        busy_siblings: vec![0.02, 0.88, 0.10],
    };
    let cores: Vec<CoreActivity> = (0..4).map(core).collect();
    let yields = YieldRange { low: 1.0, high: 1.03, source: YieldSource::Measured };
    let task = TaskActivity {
        cgroup: Some("/system.slice/database.service".to_owned()),
        user: 0.9,
        beside_busy: Some(0.95),
        ..TaskActivity::default()
    };
    Activity {
        interval_s,
        co_busy: CoBusyEvidence {
            method: CoBusyMethod::Exact,
            error: 0.001,
            ..CoBusyEvidence::default()
        },
        capacity: capacity_use(&cores, yields),
        cores,
        tasks: vec![task],
        tasks_not_seen: 0,
        tasks_hidden: false,
    }
}

fn smt(control: &str, active: bool) -> SmtReading {
    SmtReading { control: control.parse().ok(), active: Some(active) }
}

fn exposition(totals: &Totals, smt: SmtReading, sampled_at: SystemTime) -> Exposition {
    Exposition {
        totals: totals.clone(),
        smt,
        process: ProcessUse::now(),
        sampled_at: Some(sampled_at),
        version: "1.2.3".to_owned(),
    }
}

/// Queries that stand anywhere in a document.
fn expressions(document: &Value, found: &mut Vec<String>) {
    match document {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(query) if name == "expr" => found.push(query.clone()),
                    value => expressions(value, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| expressions(value, found)),
        _ => {}
    }
}

fn dashboard(instance: &str) -> Vec<String> {
    let text =
        std::fs::read_to_string(repository().join(DASHBOARD)).expect("the repository has it");
    let mut found = Vec::new();
    expressions(&serde_json::from_str(&text).expect("a dashboard is JSON"), &mut found);
    assert!(found.len() > 10, "{found:?}");
    found.push("corun_build_info{instance=\"$instance\"}".to_owned());
    let here =
        |query: &String| query.replace("[$__rate_interval]", WINDOW).replace("$instance", instance);
    found.iter().map(here).collect()
}

/// The rules as Prometheus has read them.
fn rules(prometheus: &Prometheus) -> Option<Vec<String>> {
    let groups = prometheus.get("rules", None)?;
    let rules = groups["groups"].as_array()?.iter().filter_map(|group| group["rules"].as_array());
    let queries: Vec<String> = rules
        .flatten()
        .map(|rule| rule["query"].as_str().expect("a rule has a query").replace("[5m]", WINDOW))
        .collect();
    (!queries.is_empty()).then_some(queries)
}

#[test]
fn every_query_of_the_dashboard_and_the_alerts_returns_data() {
    if which::which("prometheus").is_err() {
        return skip("prometheus", "Prometheus is not installed");
    }
    let (busy, off) = (Running::new(Limits::default()), Running::new(Limits::default()));
    let down = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let targets = [busy.address, off.address, down.local_addr().expect("an address")];
    drop(down);
    let folder = tempfile::tempdir().expect("a folder");
    let prometheus = Prometheus::start(folder.path(), &targets.map(|it| it.to_string()));
    let mut open = dashboard(&busy.address.to_string());
    let mut has_rules = false;
    let mut totals = Totals::new(10);
    let begin = Instant::now();
    let mut counted = Duration::ZERO;
    while !(has_rules && open.is_empty()) {
        let elapsed = begin.elapsed();
        assert!(elapsed < PATIENCE, "without data: {open:#?}");
        totals.add(&loaded((elapsed - counted).as_secs_f64()));
        counted = elapsed;
        let now = SystemTime::now();
        busy.page.publish(exposition(&totals, smt("on", true), now));
        let long_ago = now - Duration::from_secs(600);
        off.page.publish(exposition(&Totals::new(10), smt("off", false), long_ago));
        if !has_rules && let Some(queries) = rules(&prometheus) {
            assert!(queries.len() > 5, "{queries:?}");
            open.extend(queries);
            has_rules = true;
        }
        open.retain(|query| !prometheus.has_data(query));
    }
}

#[test]
fn promtool_finds_nothing_wrong() {
    if which::which("promtool").is_err() {
        return skip("promtool", "Prometheus is not installed");
    }
    let page = Page::default();
    let mut totals = Totals::new(10);
    totals.add(&loaded(1.0));
    page.publish(exposition(&totals, smt("on", true), SystemTime::now()));
    let said = promtool(&["check", "metrics"], &page.get(Format::Text));
    assert_eq!(said, "", "promtool check metrics");
    let rules = repository().join(RULES);
    let said = promtool(&["check", "rules", rules.to_str().expect("a path of text")], b"");
    assert!(said.contains("SUCCESS"), "{said}");
}

/// Output of promtool for this input, which it must accept.
fn promtool(arguments: &[&str], input: &[u8]) -> String {
    let mut child = Command::new("promtool")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool starts");
    child.stdin.take().expect("a pipe").write_all(input).expect("promtool reads");
    let output = child.wait_with_output().expect("promtool ends");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success(), "{said}");
    said
}
