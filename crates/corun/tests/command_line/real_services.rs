//! Services as they are in use: Redis, PostgreSQL and nginx, each asked by its usual load generator.
//! A test whose programs are not installed is skipped under its own name.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use corun_record::{Mode, Run};

use crate::common::{Outcome, Scratch, measure};

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a free port").port()
}

/// The paths of these programs, or a skip of this name.
pub(crate) fn programs<const N: usize>(skip: &str, names: [&str; N]) -> Option<[PathBuf; N]> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> =
        std::env::split_paths(&search).chain(["/usr/sbin".into(), "/sbin".into()]).collect();
    let find =
        |name: &&str| folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    let found: Vec<PathBuf> = names.iter().filter_map(find).collect();
    let found = found.try_into().ok();
    if found.is_none() {
        corun_testing::skip(skip, &format!("it needs {}", names.join(", ")));
    }
    found
}

/// A measurement in one placement, of which every sample has a throughput and latencies.
#[track_caller]
fn measured(serve: &str, load: &str, ready: &str, more: &[&str]) -> Run {
    let mut command = measure("spread", 2);
    command.args(["--serve", serve, "--load", load, "--ready", ready, "--json=-"]).args(more);
    let run = Outcome::of(&mut command).run();
    assert_eq!(run.workload.mode, Mode::Service);
    assert_eq!(run.samples.len(), 4);
    for sample in &run.samples {
        let latency = sample.latencies.values().next().expect("latencies");
        let (p50, p99) = (latency.p50_s.expect("p50"), latency.p99_s.expect("p99"));
        assert!(sample.throughput > 0.0 && p50 > 0.0 && p50 <= p99, "{sample:?}");
        assert!(p99 <= sample.makespan_s, "seconds, not another unit: {sample:?}");
        assert!(sample.evidence.displaced.is_empty(), "{sample:?}");
        assert!(sample.evidence.user_s + sample.evidence.system_s > 0.0, "{sample:?}");
    }
    run
}

/// The only kind of latency that the samples have.
fn kind(run: &Run) -> &str {
    run.samples[0].latencies.keys().next().expect("a kind")
}

#[test]
fn redis_is_asked_by_redis_benchmark() {
    if programs("redis", ["redis-server", "redis-benchmark"]).is_none() {
        return;
    }
    let folder = Scratch::new();
    let port = free_port();
    let serve = format!(
        "redis-server --port {port} --bind 127.0.0.1 --save '' --dir '{}' --io-threads {{workers}}",
        folder.path().display()
    );
    let load = format!("redis-benchmark -p {port} -n 40000 -c 4 -t get");
    let run = measured(&serve, &load, &port.to_string(), &[]);
    assert_eq!((kind(&run), run.workload.operation.as_str()), ("requests", "requests"));
    assert!(run.samples.iter().all(|it| it.latencies["requests"].count == Some(40_000)));
    let two_tests = format!("redis-benchmark -p {port} -n 100 -c 1 -t get,set");
    let mut command = measure("spread", 2);
    command.args(["--serve", &serve, "--load", &two_tests, "--ready", &port.to_string()]);
    let outcome = Outcome::of(&mut command);
    assert!(outcome.errors.contains("2 tests"), "{}", outcome.errors);
}

#[test]
fn nginx_is_asked_by_wrk_and_ab() {
    let Some([nginx]) = programs("nginx", ["nginx"]) else { return };
    let folder = Scratch::new();
    let path = folder.path().display();
    let port = free_port();
    std::fs::write(folder.file("index.html"), "hello\n").unwrap();
    let configuration = format!(
        "pid {path}/pid; error_log stderr; events {{}}
         http {{ access_log off; client_body_temp_path {path}/body; proxy_temp_path {path}/proxy;
         fastcgi_temp_path {path}/fastcgi; uwsgi_temp_path {path}/uwsgi; scgi_temp_path {path}/scgi;
         server {{ listen 127.0.0.1:{port}; root {path}; }} }}"
    );
    std::fs::write(folder.file("nginx.conf"), configuration).unwrap();
    // nginx's workers are of another user.
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let serve = format!(
        "{} -e stderr -c {path}/nginx.conf -g 'daemon off; worker_processes {{workers}};'",
        nginx.display()
    );
    let (ready, url) = (port.to_string(), format!("http://127.0.0.1:{port}"));
    if programs("wrk", ["wrk"]).is_some() {
        let run = measured(&serve, &format!("wrk -t 1 -c 2 -d 1s {url}/"), &ready, &[]);
        assert_eq!(kind(&run), "requests");
    }
    if programs("ab", ["ab"]).is_some() {
        let run = measured(&serve, &format!("ab -q -n 8000 -c 2 {url}/"), &ready, &[]);
        assert!(run.samples.iter().all(|it| it.latencies["requests"].count == Some(8000)));
        let wrong = format!("ab -q -n 10 -c 1 {url}/missing");
        let mut command = measure("spread", 2);
        command.args(["--serve", &serve, "--load", &wrong, "--ready", &ready]);
        let outcome = Outcome::of(&mut command);
        assert!(outcome.errors.contains("another status than 2xx"), "{}", outcome.errors);
    }
}

/// The folder of PostgreSQL's server, of which Debian puts only the clients on the search path.
fn postgres_folder() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    versions.map(|it| it.path().join("bin")).find(|it| it.join("initdb").is_file())
}

/// Its server refuses root: a user of its own is there where Debian installed it.
fn as_postgres(program: &Path) -> Vec<String> {
    let is_root = rustix::process::geteuid().is_root();
    let wrapper: &[&str] = match is_root {
        true => &["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"],
        false => &[],
    };
    let wrapper = wrapper.iter().map(|&word| word.to_owned());
    wrapper.chain([program.display().to_string()]).collect()
}

#[test]
fn postgresql_is_asked_by_pgbench() {
    let Some([_pgbench, _setpriv]) = programs("postgresql", ["pgbench", "setpriv"]) else { return };
    let Some(binaries) = postgres_folder() else {
        corun_testing::skip("postgresql", "it needs the server, in /usr/lib/postgresql");
        return;
    };
    let folder = Scratch::new();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let data = folder.file("data").display().to_string();
    let initdb = as_postgres(&binaries.join("initdb"));
    let made = Command::new(&initdb[0])
        .args(&initdb[1..])
        .args(["--no-sync", "-A", "trust", "-U", "corun", "-D", &data])
        .current_dir(folder.path())
        .output()
        .expect("initdb starts");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let port = free_port();
    let server = as_postgres(&binaries.join("postgres")).join(" ");
    let serve = format!(
        "{server} -D {data} -p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
         -c fsync=off -c max_parallel_workers={{workers}}"
    );
    let client = format!("pgbench -h 127.0.0.1 -p {port} -U corun");
    let load = format!("{client} -n -S -c 2 -j 1 -t 1000 postgres");
    let warmup = format!("--load-warmup={client} -i -q -s 1 postgres");
    let run = measured(&serve, &load, "line ready to accept connections", &[&warmup]);
    assert_eq!((kind(&run), run.workload.operation.as_str()), ("transactions", "transactions"));
    // Two clients, and the log of every one of their transactions: enough for several ticks of CPU time, since a
    // server process that used less than one tick shows none.
    assert!(run.samples.iter().all(|it| it.latencies["transactions"].count == Some(2_000)));
    assert!(run.samples.iter().all(|it| it.evidence.left_running.is_empty()));
}
