//! A run without a tracer that says which process does the work: every program that a command's processes run or become, with
//! its processor time.
//!
//! Processes are stopped where they begin, become another program (exec) and end, and run as they would alone in between.
#![expect(
    clippy::disallowed_methods,
    reason = "files of the kernel, and names that may be no text"
)]

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use corun_machine::descendants::{Mark, Orphans};
use nix::errno::Errno;
use nix::sys::ptrace::{self, Event, Options};
use nix::sys::signal::Signal;
use nix::unistd::Pid;

use crate::inherited::ProcessAttributes;
use crate::process::{Process, silence};
use crate::{ProcessContext, Target};

/// The processes of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// The programs in the order in which they began; the first is the command's own.
    pub programs: Vec<SurveyedProgram>,
    /// True if the kernel told a process that a time which it had set was over (SIGALRM, SIGVTALRM).
    pub has_alarms: bool,
}

/// A program that a process ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurveyedProgram {
    /// True if the process is the one that was started.
    pub is_in_first_process: bool,
    /// True if the process became it (exec); false for the command's own program, and for a copy of the parent (fork).
    pub is_executed: bool,
    /// Command line.
    pub argv: Vec<OsString>,
    /// Processor time up to the end.
    pub time: Duration,
    /// Target that starts this program by itself, or the reason why none can.
    pub target: Result<Target, NotAlone>,
}

/// A program that starts another one, as `env` does, takes about as long as a short one that it starts.
const MANY: u32 = 4;

/// Why a program cannot be run without the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAlone {
    /// File or memory of the process could not be read.
    #[error("it is not known how it was started")]
    Unknown,
    /// Input that is not there without the others.
    #[error("its standard input is no file that can be read from the start")]
    Input,
    /// It sees another file system.
    #[error("it has another root folder")]
    Root,
    /// A limit that a tracer would use up.
    #[error("its limit on {0}, which a tracer uses up, is set before")]
    Limit(&'static str),
    /// Its attributes are others, and cannot be set for it.
    #[error("it runs {0}")]
    Attributes(&'static str),
}

impl Survey {
    /// Runs a command to its end, its output thrown away. What is running when its first process ends is killed, as it is by all
    /// commands, and has done nothing; what is running once `stop` is set is killed, with its time so far.
    ///
    /// # Errors
    /// If it cannot be run, or the kernel does not let it be watched.
    pub fn run(target: &Target, stop: &AtomicBool) -> io::Result<Self> {
        // Of a thread of its own the children are what it watches.
        std::thread::scope(|scope| {
            let watch = || run(target, stop);
            let watch = std::thread::Builder::new().spawn_scoped(scope, watch)?;
            watch.join().expect("watching does not panic")
        })
    }

    /// The program of the first process that does its work: the last one that it becomes, unless one before takes many times
    /// as long.
    pub fn main(&self) -> &SurveyedProgram {
        let own = || self.programs.iter().rev().filter(|it| it.is_in_first_process);
        let longest = own().max_by_key(|it| it.time).unwrap_or(&self.programs[0]);
        own().find(|it| MANY * it.time >= longest.time).unwrap_or(longest)
    }

    /// The program of another process that takes most time.
    pub fn child(&self) -> Option<&SurveyedProgram> {
        self.programs.iter().filter(|it| !it.is_in_first_process).max_by_key(|it| it.time)
    }

    /// The share of a part of the time in that of all.
    pub fn share(&self, is_part: impl Fn(&SurveyedProgram) -> bool) -> f64 {
        let sum = |of: &dyn Fn(&SurveyedProgram) -> bool| {
            self.programs.iter().filter(|it| of(it)).map(|it| it.time.as_secs_f64()).sum::<f64>()
        };
        sum(&is_part) / sum(&|_| true).max(f64::MIN_POSITIVE)
    }
}

impl SurveyedProgram {
    /// Command line as a shell takes it.
    pub fn line(&self) -> String {
        let words = self.argv.iter().map(corun_record::shown);
        words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
    }
}

fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_=+./,:@%".contains(it);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

fn run(target: &Target, stop: &AtomicBool) -> io::Result<Survey> {
    let mut command = Command::new(&target.program);
    command.args(&target.arguments);
    silence(&mut command);
    target.context.apply(&mut command)?;
    let mark = Mark::prepare(Orphans::Left);
    // SAFETY: between fork and exec the child makes system calls only.
    unsafe {
        command.pre_exec(move || {
            mark.apply();
            Ok(ptrace::traceme()?)
        })
    };
    let child = command.spawn()?;
    let leader = Pid::from_raw(child.id().cast_signed());
    let id = rustix::process::Pid::from_child(&child);
    let mut watch = Watch::new(leader, target);
    let followed = Process::of(id).and_then(|process| {
        let (followed, was_stopped) = process.until(stop, || watch.follow())?;
        followed.map(|()| was_stopped)
    });
    watch.end(followed.as_ref().is_ok_and(|was_stopped| *was_stopped));
    mark.end_all();
    followed?;
    Ok(Survey { programs: watch.programs, has_alarms: watch.has_alarms })
}

/// A program that a process runs at the moment.
struct Current {
    /// Index among the programs.
    program: usize,
    /// The process's time when it began.
    since: Duration,
}

struct Watch<'a> {
    leader: Pid,
    target: &'a Target,
    /// Input of the first process, ...
    input: Option<PathBuf>,
    /// ... and what it inherited; none if it is not known.
    attributes: Option<ProcessAttributes>,
    programs: Vec<SurveyedProgram>,
    has_alarms: bool,
    /// By the number of the process.
    processes: HashMap<Pid, Current>,
    threads: HashSet<Pid>,
}

impl<'a> Watch<'a> {
    fn new(leader: Pid, target: &'a Target) -> Self {
        let words = std::iter::once(target.program.as_os_str().to_owned());
        let own = SurveyedProgram {
            is_in_first_process: true,
            is_executed: false,
            argv: words.chain(target.arguments.iter().cloned()).collect(),
            time: Duration::ZERO,
            target: Ok(target.clone()),
        };
        Self {
            leader,
            target,
            input: None,
            attributes: None,
            programs: vec![own],
            has_alarms: false,
            processes: HashMap::new(),
            threads: HashSet::from([leader]),
        }
    }

    /// Follows all processes until the first one has ended.
    fn follow(&mut self) -> io::Result<()> {
        let Some((thread, Stop::Signal(_))) = wait()? else { return Ok(()) };
        let options = Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACEFORK
            | Options::PTRACE_O_TRACEVFORK
            | Options::PTRACE_O_TRACEEXEC
            | Options::PTRACE_O_TRACEEXIT
            | Options::PTRACE_O_EXITKILL;
        ptrace::setoptions(thread, options)?;
        self.input = fs::read_link(format!("/proc/{thread}/fd/0")).ok();
        self.attributes = ProcessAttributes::of(thread).ok();
        self.processes.insert(thread, Current { program: 0, since: time_of(thread) });
        go_on(thread, None)?;
        while let Some((thread, stop)) = wait()? {
            match stop {
                Stop::Ended => {
                    self.threads.remove(&thread);
                    self.processes.remove(&thread);
                    if thread == self.leader {
                        return Ok(());
                    }
                }
                // It begins with a stop that is not its own.
                Stop::Signal(_) if self.threads.insert(thread) => {
                    self.begin(thread);
                    go_on(thread, None)?;
                }
                Stop::Signal(signal) => {
                    self.has_alarms |= is_alarm(thread, signal);
                    go_on(thread, Some(signal))?;
                }
                Stop::Executes => {
                    // Of its threads the one that called exec is left, under the number of the first.
                    let caller = ptrace::getevent(thread)?;
                    self.threads.remove(&Pid::from_raw(caller as i32));
                    self.threads.insert(thread);
                    self.note(thread);
                    self.executes(thread);
                    go_on(thread, None)?;
                }
                Stop::Exits => {
                    self.note(process_of(thread).unwrap_or(thread));
                    go_on(thread, None)?;
                }
                Stop::Other => go_on(thread, None)?,
            }
        }
        Ok(())
    }

    /// Ends what is left, with its time so far if that counts.
    fn end(&mut self, counts: bool) {
        let processes: Vec<Pid> = self.processes.keys().copied().collect();
        for process in processes {
            match counts {
                true => self.note(process),
                false => self.programs[self.processes[&process].program].time = Duration::ZERO,
            }
        }
        self.threads.retain(|thread| nix::sys::signal::kill(*thread, Signal::SIGKILL).is_ok());
        while !self.threads.is_empty() {
            match wait() {
                Ok(Some((thread, Stop::Ended))) => drop(self.threads.remove(&thread)),
                Ok(Some((thread, _))) => drop(go_on(thread, None)),
                Ok(None) | Err(_) => return,
            }
        }
    }

    /// A new process runs its parent's program; a new thread adds nothing.
    fn begin(&mut self, thread: Pid) {
        if process_of(thread) != Some(thread) || self.processes.contains_key(&thread) {
            return;
        }
        self.programs.push(SurveyedProgram {
            is_in_first_process: false,
            is_executed: false,
            argv: words(&format!("/proc/{thread}/cmdline")),
            time: Duration::ZERO,
            target: Err(NotAlone::Unknown),
        });
        let program = self.programs.len() - 1;
        self.processes.insert(thread, Current { program, since: Duration::ZERO });
    }

    /// The process has become another program.
    fn executes(&mut self, process: Pid) {
        self.programs.push(SurveyedProgram {
            is_in_first_process: process == self.leader,
            is_executed: true,
            argv: words(&format!("/proc/{process}/cmdline")),
            time: Duration::ZERO,
            target: self.alone(process),
        });
        let program = self.programs.len() - 1;
        self.processes.insert(process, Current { program, since: time_of(process) });
    }

    fn note(&mut self, process: Pid) {
        if let Some(Current { program, since }) = self.processes.get(&process) {
            let time = &mut self.programs[*program].time;
            *time = (*time).max(time_of(process).saturating_sub(*since));
        }
    }

    /// The program that a process has just become, as one that is started by itself.
    fn alone(&self, process: Pid) -> Result<Target, NotAlone> {
        let folder = PathBuf::from(format!("/proc/{process}"));
        let link = |name: &str| fs::read_link(folder.join(name)).map_err(|_| NotAlone::Unknown);
        if link("root")? != Path::new("/") {
            return Err(NotAlone::Root);
        }
        let attributes = ProcessAttributes::of(process).map_err(|_| NotAlone::Unknown)?;
        let before = self.attributes.as_ref().ok_or(NotAlone::Unknown)?;
        let inherited = attributes.since(before)?;
        let (file, directory) = (link("exe")?, link("cwd")?);
        // By the name that it was started by, since programs choose by that what they do.
        let named = executed_name(process).map(|name| directory.join(name));
        let program = named.filter(|it| it.canonicalize().is_ok_and(|it| it == file));
        let environment = words(&format!("/proc/{process}/environ")).into_iter().filter_map(|it| {
            let at = it.as_bytes().iter().position(|byte| *byte == b'=')?;
            let (name, value) = it.as_bytes().split_at(at);
            Some((OsStr::from_bytes(name).to_owned(), OsStr::from_bytes(&value[1..]).to_owned()))
        });
        Ok(Target {
            program: program.unwrap_or(file),
            arguments: words(&format!("/proc/{process}/cmdline")).into_iter().skip(1).collect(),
            context: ProcessContext {
                environment: Some(environment.collect()),
                input: self.input_of(&folder)?,
                directory: Some(directory),
                is_silent: self.target.context.is_silent,
                inherited,
            },
        })
    }

    /// Input of a process, as the context of a program has it.
    fn input_of(&self, folder: &Path) -> Result<Option<PathBuf>, NotAlone> {
        let link = fs::read_link(folder.join("fd/0")).ok();
        let at = corun_files::kernel_text(folder.join("fdinfo/0")).unwrap_or_default();
        let is_at_start = at.lines().any(|it| it.split_whitespace().eq(["pos:", "0"]));
        match link {
            Some(_) if !is_at_start => Err(NotAlone::Input),
            same if same == self.input => Ok(self.target.context.input.clone()),
            Some(file) if file == Path::new("/dev/null") || file.is_file() => Ok(Some(file)),
            _ => Err(NotAlone::Input),
        }
    }
}

/// The words of a file of the kernel, each ended by a null.
fn words(file: &str) -> Vec<OsString> {
    let mut bytes = fs::read(file).unwrap_or_default();
    if bytes.last() == Some(&0) {
        bytes.pop();
    }
    if bytes.is_empty() {
        return Vec::new();
    }
    bytes.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec())).collect()
}

/// The name that a program was given to execve(2), which the kernel leaves on its stack.
fn executed_name(process: Pid) -> Option<PathBuf> {
    let vector = fs::read(format!("/proc/{process}/auxv")).ok()?;
    let mut pairs = vector.chunks_exact(2 * size_of::<usize>()).map(|pair| {
        let (key, value) = pair.split_at(size_of::<usize>());
        let number = |bytes: &[u8]| bytes.try_into().map(usize::from_ne_bytes).ok();
        (number(key), number(value))
    });
    let (_, address) = pairs.find(|(key, _)| *key == Some(libc::AT_EXECFN as usize))?;
    let memory = File::open(format!("/proc/{process}/mem")).ok()?;
    let mut name = [0; libc::PATH_MAX as usize];
    let length = memory.read_at(&mut name, address? as u64).ok()?;
    let name = name[..length].split(|byte| *byte == 0).next()?;
    Some(OsStr::from_bytes(name).into())
}

/// The process of a thread.
fn process_of(thread: Pid) -> Option<Pid> {
    let status = corun_files::kernel_text(format!("/proc/{thread}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    Some(Pid::from_raw(line.trim().parse().ok()?))
}

/// The processor time of all threads of a process, by its clock (clock_getcpuclockid(3)); none once it has ended.
fn time_of(process: Pid) -> Duration {
    const SCHEDULER: libc::clockid_t = 2;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the time only.
    let result = unsafe { libc::clock_gettime(!process.as_raw() << 3 | SCHEDULER, &raw mut time) };
    match result {
        0 => Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32),
        _ => Duration::ZERO,
    }
}

/// True if a signal is the kernel's, at a time that the process has set.
fn is_alarm(thread: Pid, signal: i32) -> bool {
    let is_of_timer = |code| matches!(code, libc::SI_KERNEL | libc::SI_TIMER);
    matches!(signal, libc::SIGALRM | libc::SIGVTALRM)
        && ptrace::getsiginfo(thread).is_ok_and(|it| is_of_timer(it.si_code))
}

enum Stop {
    Signal(i32),
    Executes,
    Exits,
    Other,
    Ended,
}

/// The next stop of what the calling thread watches, or of its own children; none if there is nothing left.
fn wait() -> io::Result<Option<(Pid, Stop)>> {
    loop {
        let mut status = 0;
        // SAFETY: writes the status only.
        let thread =
            unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
        let thread = match Errno::result(thread) {
            Ok(thread) => Pid::from_raw(thread),
            Err(Errno::EINTR) => continue,
            Err(Errno::ECHILD) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        const EXECUTES: i32 = Event::PTRACE_EVENT_EXEC as i32;
        const EXITS: i32 = Event::PTRACE_EVENT_EXIT as i32;
        let stop = match status >> 16 {
            _ if !libc::WIFSTOPPED(status) => Stop::Ended,
            EXECUTES => Stop::Executes,
            EXITS => Stop::Exits,
            0 => Stop::Signal(libc::WSTOPSIG(status)),
            _ => Stop::Other,
        };
        return Ok(Some((thread, stop)));
    }
}

/// Lets a thread go on; one that was killed meanwhile has gone already. Signals may be real-time ones.
fn go_on(thread: Pid, signal: Option<i32>) -> io::Result<()> {
    let signal = signal.unwrap_or(0) as usize as *mut libc::c_void;
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: no memory is touched.
    let result = unsafe { libc::ptrace(libc::PTRACE_CONT, thread.as_raw(), none, signal) };
    match Errno::result(result) {
        Ok(_) | Err(Errno::ESRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORK: &str = "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done";

    fn shell(script: &str) -> Target {
        let arguments = ["-c", script].map(Into::into).into();
        Target { program: "/bin/sh".into(), arguments, ..Target::default() }
    }

    fn survey(script: &str) -> Survey {
        Survey::run(&shell(script), &AtomicBool::new(false)).unwrap()
    }

    #[test]
    fn a_program_that_does_its_work_is_the_main_one() {
        let found = survey(&format!("{WORK}; true"));
        assert_eq!((found.programs.len(), found.has_alarms), (1, false), "{found:?}");
        assert_eq!(found.main().target.as_ref(), Ok(&shell(&format!("{WORK}; true"))));
        assert!(found.main().time > Duration::ZERO && found.child().is_none());
    }

    #[test]
    fn a_program_that_a_process_becomes_can_be_run_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        let script = format!(
            "cd {}; A=1 exec env B='2 3' sh -c '{WORK}; echo $A $B > seen; exit 7' word",
            folder.path().display()
        );
        let found = survey(&script);
        assert_eq!(found.programs.len(), 3, "{found:?}");
        let main = found.main();
        assert!(main.is_in_first_process && main.is_executed, "{main:?}");
        assert!(main.line().starts_with("sh -c 'i=0;") && main.line().ends_with("' word"));
        let before = survey(&format!("{WORK}; exec true"));
        assert!(!before.main().is_executed, "{before:?}");
        assert!(survey("exec true").main().is_executed);
        std::fs::remove_file(folder.path().join("seen")).unwrap();
        let alone = Survey::run(main.target.as_ref().unwrap(), &AtomicBool::new(false)).unwrap();
        assert_eq!(alone.programs.len(), 1);
        assert_eq!(std::fs::read_to_string(folder.path().join("seen")).unwrap(), "1 2 3\n");
    }

    #[test]
    fn what_is_read_is_known_where_it_is_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let input = folder.path().join("input");
        std::fs::write(&input, "a\nb\n").unwrap();
        let reads = |script: &str| {
            let found = survey(&script.replace("INPUT", &input.display().to_string()));
            let last = found.programs.iter().rfind(|it| it.is_executed).unwrap();
            last.target.clone().map(|it| it.context.input)
        };
        assert_eq!(reads("exec cat < INPUT"), Ok(Some(input.clone())));
        assert_eq!(reads("exec cat"), Ok(None));
        assert_eq!(reads("exec cat < /dev/null"), Ok(None));
        assert_eq!(reads("exec < INPUT; read line; exec cat"), Err(NotAlone::Input));
        assert_eq!(reads("echo a | exec cat"), Err(NotAlone::Input));
    }

    /// The last program that a script becomes, as one that is started by itself.
    fn becomes(script: &str) -> Result<Target, NotAlone> {
        let is_own = |it: &SurveyedProgram| it.is_executed && it.is_in_first_process;
        survey(script).programs.into_iter().rfind(is_own).unwrap().target
    }

    #[test]
    fn limits_and_cpus_that_were_set_before_are_set_again() {
        let folder = tempfile::tempdir().unwrap();
        let seen = folder.path().join("seen");
        let cpus = corun_machine::Affinity::of(0).unwrap().cpus();
        let first = cpus.first().unwrap();
        let asked = "ulimit -s; ulimit -c; nice; grep Cpus_allowed_list /proc/self/status";
        let script = format!(
            "ulimit -s 4096; ulimit -c 77; exec nice -n 3 taskset -c {first} sh -c '({asked}) > {}'",
            seen.display()
        );
        let alone = becomes(&script).unwrap();
        let nice = |file: &str| file.lines().nth(2).unwrap().parse::<i32>().unwrap();
        let with_wrapper = std::fs::read_to_string(&seen).unwrap();
        std::fs::remove_file(&seen).unwrap();
        Survey::run(&alone, &AtomicBool::new(false)).unwrap();
        let by_itself = std::fs::read_to_string(&seen).unwrap();
        assert_eq!(with_wrapper, by_itself);
        assert!(by_itself.starts_with("4096\n77\n") && nice(&by_itself) >= 3, "{by_itself}");
        assert!(by_itself.ends_with(&format!("\t{first}\n")), "{by_itself}");
    }

    #[test]
    fn what_cannot_be_set_again_is_a_reason() {
        let refused = |script: &str| becomes(script).unwrap_err();
        assert_eq!(
            refused("ulimit -v 4000000; exec true"),
            NotAlone::Limit("the address space (RLIMIT_AS)")
        );
        let time = "processor time (RLIMIT_CPU)";
        assert_eq!(refused("ulimit -t 1000; exec true"), NotAlone::Limit(time));
        let open = "open files (RLIMIT_NOFILE)";
        assert_eq!(refused("ulimit -n 77; exec true"), NotAlone::Limit(open));
        let files = NotAlone::Attributes("with open files that it was given");
        assert_eq!(refused("exec 7</dev/null; exec true"), files);
        assert!(becomes("exec 7</dev/null; exec 7<&-; exec true").is_ok());
        assert!(becomes("exec env -i true").is_ok_and(|it| it.context.environment == Some(vec![])));
    }

    #[test]
    fn processes_are_told_apart_and_those_that_are_left_are_ended() {
        let found = survey(&format!("sh -c '{WORK}; exit 0'; true"));
        let child = found.child().unwrap();
        assert!(child.line().starts_with("sh -c "), "{found:?}");
        assert!(found.share(|it| !it.is_in_first_process) > 0.8, "{found:?}");
        let copies = survey(&format!("({WORK}) & wait; true"));
        let copy = copies.child().unwrap();
        assert!(!copy.is_executed && copies.share(|it| it == copy) > 0.8, "{copies:?}");
        // The first process ends, the other one never would.
        let left = survey("(while :; do :; done) & exit 0");
        assert!(left.child().is_none_or(|it| it.time.is_zero()), "{left:?}");
    }

    #[test]
    fn a_time_that_the_program_sets_is_seen() {
        let by_time = "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.01)\nsignal.pause()";
        let Ok(python) = which::which("python3") else { return };
        let arguments = ["-c", by_time].map(Into::into).into();
        let target = Target { program: python, arguments, ..Target::default() };
        assert!(Survey::run(&target, &AtomicBool::new(false)).unwrap().has_alarms);
        assert!(!survey("trap : ALRM; kill -ALRM $$; true").has_alarms);
    }

    #[test]
    fn a_program_that_never_ends_is_stopped_with_its_time() {
        let stopped = |script: &str| Survey::run(&shell(script), &AtomicBool::new(true)).unwrap();
        assert!(stopped("while :; do :; done").programs.len() <= 1);
        assert!(stopped("sleep 3600 & wait").programs.len() <= 3);
    }
}
