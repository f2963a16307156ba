//! The descendants of a process, looked at again and again: what each took, and on which CPUs it ran.
//!
//! A descendant that has been seen is followed also when its parent ends. Processes that are no descendants are read
//! once, so that a look costs little on a machine with many of them. What lives shorter than the time between two
//! looks may not be seen; the caller knows the total from the kernel (`getrusage(2)`) and can say how much is missing.
//! The fields of `/proc/PID/stat` are described in `proc_pid_stat(5)`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use corun_files::TaskStat;
use corun_machine::SystemFiles;
use corun_record::ProcessTimes;

/// The descendants of a process that were seen.
#[derive(Debug)]
pub(crate) struct Descendants {
    root: u32,
    adopter: u32,
    /// Processes that are known to be no descendants.
    others: HashSet<u32>,
    ticks_per_second: f64,
    /// By the time of their start, in ticks since boot, and their number.
    seen: BTreeMap<(u64, u32), ProcessTimes>,
    looks: u64,
}

impl Descendants {
    /// Those of this process, itself included, and what the adopter (the caller, if it is the subreaper) is the
    /// parent of.
    pub(crate) fn of(root: u32, adopter: u32) -> Self {
        Self {
            root,
            adopter,
            others: HashSet::new(),
            ticks_per_second: rustix::param::clock_ticks_per_second().max(1) as f64,
            seen: BTreeMap::new(),
            looks: 0,
        }
    }

    /// Number of looks.
    pub(crate) fn looks(&self) -> u64 {
        self.looks
    }

    /// Looks at them once more.
    pub(crate) fn look(&mut self, files: &mut impl SystemFiles) {
        self.looks += 1;
        self.seen.values_mut().for_each(|process| process.is_left = false);
        let uptime = files.read("proc/uptime").ok().and_then(uptime);
        let numbers = files.list("proc").into_iter().filter_map(|it| it.parse::<u32>().ok());
        let numbers: HashSet<u32> = numbers.collect();
        self.others.retain(|it| numbers.contains(it));
        let mut all: HashMap<u32, Stat> = HashMap::new();
        for &number in numbers.difference(&self.others) {
            let Ok(text) = files.read(&format!("proc/{number}/stat")) else { continue };
            all.extend(Stat::parse(text).map(|stat| (number, stat)));
        }
        let chosen = self.chosen(&all);
        self.others.extend(all.keys().filter(|it| !chosen.contains(it)));
        for number in chosen {
            let Some(stat) = all.get(&number) else { continue };
            let mut cpus = vec![stat.cpu];
            if stat.threads > 1 {
                let folder = format!("proc/{number}/task");
                for thread in files.list(&folder) {
                    let text = files.read(&format!("{folder}/{thread}/stat")).ok();
                    cpus.extend(text.and_then(Stat::parse).map(|stat| stat.cpu));
                }
            }
            self.add(number, stat, &cpus, uptime);
        }
    }

    /// The numbers of descendants among all processes.
    fn chosen(&self, all: &HashMap<u32, Stat>) -> HashSet<u32> {
        let is_same = |(started, number): &(u64, u32)| {
            all.get(number).is_some_and(|stat| stat.started == *started)
        };
        let known = self.seen.keys().filter(|it| is_same(it)).map(|it| it.1);
        // Later its number may be that of another process.
        let root = self.seen.is_empty().then_some(self.root);
        let mut chosen: HashSet<u32> = known.chain(root).collect();
        let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
        for (number, stat) in all {
            children.entry(stat.parent).or_default().push(*number);
        }
        let mut ahead: Vec<u32> = chosen.iter().copied().chain([self.adopter]).collect();
        while let Some(parent) = ahead.pop() {
            for &child in children.get(&parent).into_iter().flatten() {
                if chosen.insert(child) {
                    ahead.push(child);
                }
            }
        }
        chosen
    }

    fn add(&mut self, number: u32, stat: &Stat, cpus: &[u32], uptime: Option<Duration>) {
        let seconds = |ticks: u64| ticks as f64 / self.ticks_per_second;
        let process = self.seen.entry((stat.started, number)).or_insert_with(|| ProcessTimes {
            process: number,
            parent: stat.parent,
            ..ProcessTimes::default()
        });
        // One that has ended and was not waited for yet neither runs nor gets older.
        process.is_left = !stat.has_ended;
        if !stat.has_ended || process.name.is_empty() {
            let age = uptime.map_or(0.0, |it| it.as_secs_f64() - seconds(stat.started));
            process.real_s = age.max(process.real_s);
            process.name.clone_from(&stat.name);
        }
        process.user_s = seconds(stat.user);
        process.system_s = seconds(stat.system);
        process.threads = process.threads.max(stat.threads);
        process.cpus.extend(cpus);
        process.cpus.sort_unstable();
        process.cpus.dedup();
    }

    /// All that were seen, in the order of their start; those of the last look that had not ended are left.
    pub(crate) fn into_processes(self) -> Vec<ProcessTimes> {
        self.seen.into_values().collect()
    }
}

/// `12.34 56.78`: the time since boot, and that of idle CPUs.
fn uptime(text: &str) -> Option<Duration> {
    let seconds = text.split(' ').next()?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Fields of `/proc/PID/stat`.
#[derive(Debug, PartialEq)]
struct Stat {
    name: String,
    has_ended: bool,
    parent: u32,
    user: u64,
    system: u64,
    threads: u32,
    started: u64,
    cpu: u32,
}

impl Stat {
    fn parse(text: &str) -> Option<Self> {
        let stat = TaskStat::parse(text)?;
        let short = |number: usize| u32::try_from(stat.field(number)?).ok();
        Some(Self {
            name: stat.name().into_owned(),
            has_ended: stat.has_ended(),
            parent: short(4)?,
            user: stat.field(14)?,
            system: stat.field(15)?,
            threads: short(20)?,
            started: stat.field(22)?,
            cpu: short(39)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use corun_machine::FileError;

    use super::*;

    /// A `/proc` of a few files.
    struct Tree(HashMap<String, String>);

    impl Tree {
        fn new(uptime: &str, processes: &[(u32, &str)]) -> Self {
            let mut files = HashMap::from([("proc/uptime".to_owned(), format!("{uptime} 0"))]);
            for (number, stat) in processes {
                files.insert(format!("proc/{number}/stat"), (*stat).to_owned());
            }
            Self(files)
        }
    }

    impl SystemFiles for Tree {
        fn read(&mut self, path: &str) -> Result<&str, FileError> {
            self.0.get(path).map(String::as_str).ok_or(FileError::Missing)
        }

        fn list(&mut self, directory: &str) -> Vec<String> {
            let below = format!("{directory}/");
            let names =
                self.0.keys().filter_map(|path| path.strip_prefix(&below)?.split('/').next());
            let names: HashSet<&str> = names.collect();
            names.into_iter().map(str::to_owned).collect()
        }
    }

    fn stat(name: &str, state: &str, parent: u32, user: u64, started: u64, cpu: u32) -> String {
        let between = "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0";
        format!(
            "1 ({name}) {state} {parent} 1 1 0 -1 0 0 0 0 0 {user} 0 0 0 20 0 1 0 {started} {between} {cpu} 0 0"
        )
    }

    #[test]
    fn descendants_are_followed_when_their_parent_ends() {
        let ticks = rustix::param::clock_ticks_per_second();
        let mut seen = Descendants::of(10, 9);
        let files = [
            (10, stat("sh", "S", 1, 0, 0, 0)),
            (11, stat("job", "R", 10, ticks, ticks, 3)),
            (12, stat("other", "R", 1, ticks, ticks, 2)),
        ];
        let files = files.each_ref().map(|(number, text)| (*number, text.as_str()));
        seen.look(&mut Tree::new("5.0", &files));
        // The shell has ended: init has its job, which moved; 10 is another program now.
        let files = [
            (10, stat("new", "R", 1, ticks, 9 * ticks, 7)),
            (11, stat("job", "R", 1, 2 * ticks, ticks, 1)),
            // Its parent was never seen, and the adopter has it now.
            (13, stat("orphan", "R", 9, ticks, 3 * ticks, 5)),
        ];
        let files = files.each_ref().map(|(number, text)| (*number, text.as_str()));
        seen.look(&mut Tree::new("8.0", &files));
        assert_eq!(seen.looks(), 2);
        let found = seen.into_processes();
        let names: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["sh", "job", "orphan"]);
        assert_eq!((found[0].real_s, found[0].user_s), (5.0, 0.0));
        assert_eq!((found[1].real_s, found[1].user_s, &found[1].cpus), (7.0, 2.0, &vec![1, 3]));
    }

    #[test]
    fn one_that_ended_has_its_last_times_and_no_longer_life() {
        let ticks = rustix::param::clock_ticks_per_second();
        let mut seen = Descendants::of(10, 9);
        let running = stat("job", "R", 1, ticks, 0, 0);
        seen.look(&mut Tree::new("2.0", &[(10, &running)]));
        let ended = stat("job", "Z", 1, 2 * ticks, 0, 0);
        seen.look(&mut Tree::new("9.0", &[(10, &ended)]));
        let found = seen.into_processes();
        assert_eq!((found[0].real_s, found[0].user_s, found[0].is_left), (2.0, 2.0, false));
    }
}
