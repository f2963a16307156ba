//! A real cluster of Slurm on this machine: munged, slurmctld and a slurmd a node, all on loopback and in a
//! temporary folder.
//!
//! Several slurmd on one host need a Slurm that was built with `--enable-multiple-slurmd`, as Debian's is. All nodes
//! have this host's CPUs and its name; what differs between them is `SLURMD_NODENAME`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::net::{TcpListener, ToSocketAddrs};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use corun_testing::skip;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::fleet::campaign::until;

/// The node names.
pub(crate) const NODES: [&str; 4] = ["n1", "n2", "n3", "n4"];

pub(crate) struct Cluster {
    folder: TempDir,
    daemons: BTreeMap<String, Child>,
}

impl Cluster {
    /// A cluster whose nodes are idle, or a skip that names what is missing.
    pub(crate) fn start() -> Option<Self> {
        if let Err(reason) = can_start() {
            skip("slurm", &reason);
            return None;
        }
        let folder = TempDir::new().expect("a folder");
        for name in ["state", "spool", "log", "run", "munge"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let cluster = Self { folder, daemons: BTreeMap::new() };
        cluster.write_key();
        std::fs::write(cluster.configuration(), cluster.configured()).expect("a configuration");
        Some(cluster.running())
    }

    fn running(mut self) -> Self {
        self.start_munged();
        until("munged listens", || self.path("munge/socket").exists());
        self.start_controller();
        for node in NODES {
            self.start_node(node);
        }
        until("all nodes are idle", || {
            let idle =
                self.slurm("sinfo", &["--noheader", "--Node", "--states=idle", "--format=%N"]);
            idle.lines().count() == NODES.len()
        });
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The file that `SLURM_CONF` names.
    pub(crate) fn configuration(&self) -> PathBuf {
        self.path("slurm.conf")
    }

    /// The output of one of Slurm's commands, whatever its status.
    pub(crate) fn slurm(&self, program: &str, arguments: &[&str]) -> String {
        let mut command = Command::new(program);
        command.args(arguments).env("SLURM_CONF", self.configuration()).stdin(Stdio::null());
        String::from_utf8_lossy(&command.output().expect("Slurm's command starts").stdout)
            .into_owned()
    }

    fn spawn(&mut self, name: &str, program: &str, arguments: &[String]) {
        let log = || File::create(self.path(&format!("log/{name}.out"))).expect("a log");
        let child = Command::new(in_sbin(program))
            .args(arguments)
            .env("SLURM_CONF", self.configuration())
            .stdin(Stdio::null())
            .stdout(log())
            .stderr(log())
            .spawn()
            .expect("the daemon starts");
        self.daemons.insert(name.to_owned(), child);
    }

    fn start_munged(&mut self) {
        let option = |name: &str, file: &str| format!("--{name}={}", self.path(file).display());
        let options = [
            "--foreground".to_owned(),
            option("key-file", "munge/key"),
            option("socket", "munge/socket"),
            option("pid-file", "run/munged.pid"),
            option("log-file", "log/munged.log"),
            option("seed-file", "munge/seed"),
        ];
        self.spawn("munged", "munged", &options);
    }

    pub(crate) fn start_controller(&mut self) {
        self.spawn("slurmctld", "slurmctld", &["-D".to_owned(), "-i".to_owned()]);
    }

    pub(crate) fn start_node(&mut self, node: &str) {
        self.spawn(node, "slurmd", &["-D", "-N", node].map(str::to_owned));
    }

    /// Ends the controller, which has no time to write anything.
    pub(crate) fn kill_controller(&mut self) {
        self.kill("slurmctld");
    }

    fn kill(&mut self, name: &str) {
        if let Some(mut daemon) = self.daemons.remove(name) {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }

    /// Ends a node as a power cut does: its daemon, and all that runs in its jobs.
    pub(crate) fn crash_node(&mut self, node: &str) {
        let log = self.path(&format!("log/slurmd.{node}.log"));
        let daemon = self.daemons.get(node).map(Child::id);
        let steps: Vec<u32> =
            processes().filter(|it| Some(*it) != daemon && has_open(*it, &log)).collect();
        self.kill(node);
        for process in with_descendants(&steps) {
            kill(process);
        }
    }

    fn write_key(&self) {
        let mut key = [0; 128];
        File::open("/dev/urandom")
            .and_then(|mut it| it.read_exact(&mut key))
            .expect("random bytes");
        let mut options = File::options();
        options.write(true).create_new(true).mode(0o600);
        let mut file = options.open(self.path("munge/key")).expect("a key");
        std::io::Write::write_all(&mut file, &key).expect("a key");
    }

    fn configured(&self) -> String {
        let folder = self.folder.path().display();
        let host = host();
        let user = output_of("id", &["-un"]);
        let ports = free_ports(NODES.len() + 1);
        let mut text = format!(
            "ClusterName=test\n\
             SlurmctldHost={host}(127.0.0.1)\n\
             SlurmctldPort={}\n\
             SlurmUser={user}\n\
             SlurmdUser={user}\n\
             AuthType=auth/munge\n\
             # How long a credential lives is also how long a job that was requeued waits.\n\
             AuthInfo=socket={folder}/munge/socket,cred_expire=5\n\
             CommunicationParameters=NoInAddrAny,NoCtldInAddrAny\n\
             StateSaveLocation={folder}/state\n\
             SlurmdSpoolDir={folder}/spool/%n\n\
             SlurmctldPidFile={folder}/run/slurmctld.pid\n\
             SlurmdPidFile={folder}/run/slurmd.%n.pid\n\
             SlurmctldLogFile={folder}/log/slurmctld.log\n\
             SlurmdLogFile={folder}/log/slurmd.%n.log\n\
             ProctrackType=proctrack/linuxproc\n\
             TaskPlugin={}\n\
             JobAcctGatherType=jobacct_gather/none\n\
             MpiDefault=none\n\
             SwitchType=switch/none\n\
             SlurmdParameters=config_overrides\n\
             SelectType=select/cons_tres\n\
             SelectTypeParameters=CR_Core\n\
             SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0,bf_interval=1\n\
             SlurmdTimeout=6\n\
             MessageTimeout=6\n\
             TCPTimeout=4\n\
             KillWait=5\n\
             CompleteWait=0\n\
             InactiveLimit=0\n\
             ReturnToService=2\n\
             JobRequeue=1\n",
            ports[0],
            // Binding is real on a host whose CPUs are the node's.
            if two_cpus() { "task/affinity" } else { "task/none" },
        );
        for (node, port) in NODES.iter().zip(&ports[1..]) {
            let _ = writeln!(
                text,
                "NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 Boards=1 \
                 SocketsPerBoard=1 CoresPerSocket=1 ThreadsPerCore=2 RealMemory=1000 State=UNKNOWN"
            );
        }
        text + "PartitionName=main Nodes=n[1-4] Default=YES MaxTime=INFINITE State=UP\n"
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let own: Vec<u32> = self.daemons.values().map(Child::id).collect();
        let log = self.path("log");
        // What the nodes' steps run has no parent that ends it.
        let steps: Vec<u32> = processes()
            .filter(|it| !own.contains(it) && *it != std::process::id() && has_open(*it, &log))
            .collect();
        for name in self.daemons.keys().cloned().collect::<Vec<_>>() {
            self.kill(&name);
        }
        for process in with_descendants(&steps) {
            kill(process);
        }
    }
}

/// True if this host has the two CPUs of a node, so that Slurm can bind to them.
pub(crate) fn two_cpus() -> bool {
    std::thread::available_parallelism().is_ok_and(|it| it.get() == 2)
}

fn can_start() -> Result<(), String> {
    for program in ["munged", "slurmctld", "slurmd"] {
        if !in_sbin(program).exists() {
            return Err(format!("{program} is not installed"));
        }
    }
    let host = host();
    let addresses = (host.as_str(), 0).to_socket_addrs();
    match addresses.is_ok_and(|mut it| it.any(|address| address.ip().is_loopback())) {
        true => Ok(()),
        false => Err(format!("the host name {host} is no name of the loopback device")),
    }
}

fn in_sbin(program: &str) -> PathBuf {
    Path::new("/usr/sbin").join(program)
}

fn host() -> String {
    output_of("hostname", &["-s"])
}

fn output_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().expect("the program starts");
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

/// Ports that nothing used a moment ago.
fn free_ports(count: usize) -> Vec<u16> {
    let listeners: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port")).collect();
    listeners.iter().map(|it| it.local_addr().expect("an address").port()).collect()
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").expect("/proc");
    entries.filter_map(|it| it.ok()?.file_name().to_str()?.parse().ok())
}

/// True if a process has a file at or below a path open.
fn has_open(process: u32, path: &Path) -> bool {
    let Ok(files) = std::fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    files.flatten().any(|it| std::fs::read_link(it.path()).is_ok_and(|it| it.starts_with(path)))
}

fn with_descendants(roots: &[u32]) -> Vec<u32> {
    let parent = |process: u32| -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
    };
    let parents: Vec<(u32, Option<u32>)> = processes().map(|it| (it, parent(it))).collect();
    let mut found = roots.to_vec();
    let mut next = 0;
    while let Some(&process) = found.get(next) {
        let children = parents.iter().filter(|(_, it)| *it == Some(process));
        found.extend(children.map(|(child, _)| *child));
        next += 1;
    }
    found
}

fn kill(process: u32) {
    if let Some(process) = Pid::from_raw(process.cast_signed()) {
        let _ = kill_process(process, Signal::KILL);
    }
}
