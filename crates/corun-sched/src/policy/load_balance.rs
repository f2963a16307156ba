//! Load balancing by scheduling domains: which queue a CPU takes tasks from, how much, and when.
//!
//! It follows `load_balance` and what that calls in `kernel/sched/fair.c` of Linux 6.1: groups are classed
//! by what they have to spare, an imbalance is a load or a number of tasks, what is too heavy for the
//! imbalance moves only after failures, and after more failures a task that runs is moved (active balance).
//! Loads are those of the moment; the kernel's are averages over some 32 ms.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::Balance;
use crate::engine::{State, TaskId};
use crate::topology::Topology;

/// The tick, with `CONFIG_HZ=250`, in nanoseconds.
const TICK: u64 = 4_000_000;
/// Ticks a second.
const TICKS_PER_SECOND: u64 = 1_000_000_000 / TICK;
/// Factor by which a busy CPU balances more rarely than an idle one (`sd->busy_factor`).
const BUSY_FACTOR: u64 = 16;
/// A task that ran within this time is cache-hot (`sysctl_sched_migration_cost`), in nanoseconds.
const MIGRATION_COST: u64 = 500_000;
/// At most so many tasks move at once (`sysctl_sched_nr_migrate`).
const MAX_TASKS: usize = 32;
/// The weight of a task at nice 0, and the capacity of a CPU.
const SCALE: u64 = 1024;

/// Queues as balancing reads and changes them.
pub(super) trait Queues {
    /// Runnable tasks of a CPU, the running one included.
    fn tasks(&self, state: &State, cpu: usize) -> usize;
    /// Load: the sum of these tasks' weights.
    fn load(&self, state: &State, cpu: usize) -> u64;
    /// True if a task waits at the CPUs of one of the last-level caches, or within one.
    fn has_waiting(&self, state: &State, cpus: &[usize]) -> bool;
    /// The waiting tasks of a CPU, the one that was longest neither run nor enqueued first.
    fn candidates(&self, state: &State, cpu: usize) -> Vec<TaskId>;
    /// True if a waiting task had better not go to a CPU, though it may, for more than its cache.
    fn is_unfit(&self, _state: &State, _task: TaskId, _to: usize) -> bool {
        false
    }
    /// Moves a waiting task from the queue of one CPU to that of another.
    fn transfer(&mut self, state: &State, task: TaskId, from: usize, to: usize);
}

/// Result of balancing at all levels that were due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moved {
    Nothing,
    Waiting,
    /// The running task of this CPU is to be moved.
    Running(usize),
}

/// A scheduling domain of one CPU.
#[derive(Debug, Clone)]
struct Domain {
    /// The place of its level and span in [`Domains::spans`].
    span: usize,
    /// The place of the CPU's own group among the span's.
    own: usize,
    /// In milliseconds, as the kernel counts it.
    interval: u64,
    last_balance: u64,
    failed: u32,
}

/// The CPUs of a domain, by groups: all CPUs of the domain below it that lie together.
#[derive(Debug)]
struct Span {
    cpus: Vec<usize>,
    groups: Vec<Vec<usize>>,
    /// `sd->imbalance_pct`.
    imbalance_percent: u64,
    /// `sd->cache_nice_tries`.
    nice_tries: u32,
    /// True if the siblings of a core are its groups.
    is_core: bool,
    /// True if all share a last-level cache.
    shares_cache: bool,
    /// True if a domain lies below, whose CPUs are to be spread over (`SD_PREFER_SIBLING`).
    prefers_sibling: bool,
    /// By group: whether affinities kept the level below from balancing it (`sgc->imbalance`).
    is_bound: Vec<bool>,
}

/// The domains of all CPUs.
#[derive(Debug, Default)]
pub(super) struct Domains {
    spans: Vec<Span>,
    /// By CPU, the smallest domain first.
    domains: Vec<Vec<Domain>>,
    /// When the ticks of each CPU come, within [`TICK`].
    phases: Vec<u64>,
    /// The longest time between two balancings, in ticks.
    longest: u64,
    random: Option<ChaCha8Rng>,
}

/// `enum group_type`; the later relieves the earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum GroupType {
    HasSpare,
    FullyBusy,
    /// A level below could not be balanced because of affinities.
    Imbalanced,
    Overloaded,
}

/// `struct sg_lb_stats`.
#[derive(Debug, Clone, Copy)]
struct Group {
    kind: GroupType,
    tasks: usize,
    idle: usize,
    weight: usize,
    load: u64,
    used: u64,
}

/// Imbalance: what is to be moved.
#[derive(Debug, Clone, Copy)]
enum Imbalance {
    Load(u64),
    Used(u64),
    Tasks(u64),
}

impl Group {
    fn capacity(&self) -> u64 {
        self.weight as u64 * SCALE
    }

    fn average_load(&self) -> u64 {
        self.load * SCALE / self.capacity()
    }
}

impl Domains {
    /// `balances_siblings`: whether the siblings of a core have queues of their own.
    pub(super) fn new(topology: &Topology, seed: u64, balances_siblings: bool) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed ^ 0x646f_6d61_696e);
        let all: Vec<usize> = (0..topology.cpus.len()).collect();
        let mut spans = Vec::new();
        let mut domains = vec![Vec::new(); all.len()];
        let singles = || all.iter().map(|&cpu| vec![cpu]).collect::<Vec<_>>();
        // Each level's groups are the spans of the one below.
        let levels = [
            (topology.cores.clone(), 110, 0, true),
            (topology.caches.clone(), 117, 1, true),
            (vec![all.clone()], 117, 1, false),
        ];
        let mut below = singles();
        for (place, (members, imbalance_percent, nice_tries, shares_cache)) in
            levels.into_iter().enumerate()
        {
            for cpus in &members {
                let within = |group: &&Vec<usize>| group.iter().all(|cpu| cpus.contains(cpu));
                let groups: Vec<Vec<usize>> = below.iter().filter(within).cloned().collect();
                if groups.len() < 2 || (place == 0 && !balances_siblings) {
                    continue;
                }
                let prefers_sibling = groups.iter().any(|group| group.len() > 1);
                for (own, group) in groups.iter().enumerate() {
                    for &cpu in group {
                        let interval = cpus.len() as u64;
                        domains[cpu].push(Domain {
                            span: spans.len(),
                            own,
                            interval,
                            last_balance: 0,
                            failed: 0,
                        });
                    }
                }
                spans.push(Span {
                    is_bound: vec![false; groups.len()],
                    cpus: cpus.clone(),
                    groups,
                    imbalance_percent,
                    nice_tries,
                    is_core: place == 0,
                    shares_cache,
                    prefers_sibling,
                });
            }
            below = members;
        }
        let longest = (TICKS_PER_SECOND * all.len() as u64 / 10).max(1);
        let phases = all.iter().map(|_| random.random_range(0..TICK)).collect();
        let mut domains = Self { spans, domains, phases, longest, random: None };
        // What went before the load is not known: the first balancing comes at any time of the interval.
        for cpu in all {
            for level in 0..domains.domains[cpu].len() {
                let passed = random.random_range(0..domains.ticks(cpu, level, true));
                domains.domains[cpu][level].last_balance = LONG_AGO - passed;
            }
        }
        domains.random = Some(random);
        domains
    }

    /// `get_sd_balance_interval`, in ticks.
    fn ticks(&self, cpu: usize, level: usize, is_busy: bool) -> u64 {
        let factor = if is_busy { BUSY_FACTOR } else { 1 };
        let milliseconds = self.domains[cpu][level].interval * factor;
        let ticks = (milliseconds * 1_000_000).div_ceil(TICK);
        (ticks - u64::from(is_busy && ticks > 1)).clamp(1, self.longest)
    }

    /// The number of the CPU's tick that has come last; the first ones lie before the start.
    fn tick(&self, now: u64, cpu: usize) -> u64 {
        LONG_AGO + (now + TICK - self.phases[cpu]) / TICK
    }

    /// When the CPU balances next by its timer, in nanoseconds; `None` if it has no domain.
    pub(super) fn next(&self, state: &State, cpu: usize, is_busy: bool) -> Option<u64> {
        let due =
            |level: usize| self.domains[cpu][level].last_balance + self.ticks(cpu, level, is_busy);
        let due = (0..self.domains[cpu].len()).map(due).min()?;
        let tick = due.max(self.tick(state.now(), cpu) + 1) - LONG_AGO;
        Some((tick * TICK + self.phases[cpu]).saturating_sub(TICK))
    }

    /// `rebalance_domains`, or `newidle_balance`: balances at each level that is due.
    pub(super) fn balance(
        &mut self,
        queues: &mut impl Queues,
        state: &State,
        cpu: usize,
        when: Balance,
    ) -> Moved {
        let is_busy = when == Balance::Busy;
        let tick = self.tick(state.now(), cpu);
        let mut moved = Moved::Nothing;
        for level in 0..self.domains[cpu].len() {
            if when == Balance::NewlyIdle {
                match self.balance_level(queues, state, cpu, level, when).0 {
                    Moved::Nothing => continue,
                    moved => return moved,
                }
            }
            if tick < self.domains[cpu][level].last_balance + self.ticks(cpu, level, is_busy) {
                continue;
            }
            let (now_moved, goes_on) = self.balance_level(queues, state, cpu, level, when);
            // Intervals are of `jiffies`, which one CPU counts at its tick: another CPU's tick sees the new
            // count or still the old one, so that the interval is a tick longer or not.
            let is_late = self.random.as_mut().is_some_and(|it| it.random_bool(0.5));
            self.domains[cpu][level].last_balance = tick + u64::from(is_late);
            if now_moved != Moved::Nothing {
                moved = now_moved;
            }
            // A CPU that was idle has a task now; another CPU of the group balances farther out.
            if !goes_on || (moved != Moved::Nothing && !is_busy) {
                break;
            }
        }
        moved
    }

    /// `load_balance`: what was moved, and whether this CPU balances farther out.
    fn balance_level(
        &mut self,
        queues: &mut impl Queues,
        state: &State,
        cpu: usize,
        level: usize,
        when: Balance,
    ) -> (Moved, bool) {
        let Domain { span, own, failed, .. } = self.domains[cpu][level];
        let span = &self.spans[span];
        let balances = when == Balance::NewlyIdle || should_balance(state, &span.groups[own], cpu);
        // Where nothing waits only a running task can be moved, to a CPU that is idle.
        let has_work = queues.has_waiting(state, &span.cpus)
            || (when == Balance::Idle && span.prefers_sibling);
        let mut excluded = Vec::new();
        let mut found = None;
        let mut detached = Detached::default();
        let mut is_sought = balances && has_work;
        while is_sought {
            found = span.busiest(queues, state, own, when, &excluded);
            let Some((from, imbalance)) = found else { break };
            detached = span.detach(queues, state, [from, cpu], imbalance, failed, when);
            // Where none of its waiting tasks may come here: the next busiest queue.
            excluded.push(from);
            is_sought = detached.are_all_bound;
        }
        let (weight, nice_tries) = (span.cpus.len() as u64, span.nice_tries);
        if let Some(outer) = self.domains[cpu].get(level + 1) {
            let bound = &mut self.spans[outer.span].is_bound[outer.own];
            *bound = match found {
                Some(_) => *bound || detached.leaves_bound,
                None => *bound && (detached.are_all_bound || !balances),
            };
        }
        let domain = &mut self.domains[cpu][level];
        let mut moved = if detached.moved > 0 { Moved::Waiting } else { Moved::Nothing };
        let Some((from, imbalance)) = found else {
            domain.failed = 0;
            let most = if detached.are_all_bound { MAX_PINNED_INTERVAL_MS } else { 2 * weight };
            if when != Balance::NewlyIdle && domain.interval < most {
                domain.interval *= 2;
            }
            return (moved, balances);
        };
        domain.interval = weight;
        if moved == Moved::Waiting {
            domain.failed = 0;
            return (moved, balances);
        }
        domain.failed += u32::from(when != Balance::NewlyIdle);
        let is_active = matches!(imbalance, Imbalance::Tasks(_)) && domain.failed > nice_tries + 2;
        if is_active && state.running(cpu).is_none() {
            moved = push(queues, state, from, cpu);
            if moved != Moved::Nothing {
                domain.failed = 0;
            }
        }
        (moved, balances)
    }
}

/// `active_load_balance_cpu_stop`: moves a task though it is cache-hot, or runs.
fn push(queues: &mut impl Queues, state: &State, from: usize, to: usize) -> Moved {
    let mut waiting = queues.candidates(state, from).into_iter();
    if let Some(task) = waiting.find(|&task| state.may_run(task, to)) {
        queues.transfer(state, task, from, to);
        return Moved::Waiting;
    }
    match state.running(from).filter(|&task| state.may_run(task, to)) {
        Some(_) => Moved::Running(from),
        None => Moved::Nothing,
    }
}

/// A tick that lies so far back that all intervals fit between it and 0.
const LONG_AGO: u64 = 1 << 40;
/// `MAX_PINNED_INTERVAL`, in milliseconds.
const MAX_PINNED_INTERVAL_MS: u64 = 512;

/// `should_we_balance`: the first idle CPU of the group, else its first.
fn should_balance(state: &State, group: &[usize], cpu: usize) -> bool {
    match group.iter().find(|&&other| state.running(other).is_none()) {
        Some(&idle) => idle == cpu,
        None => group[0] == cpu,
    }
}

impl Span {
    /// `update_sg_lb_stats` and `group_classify`.
    fn group(&self, queues: &impl Queues, state: &State, place: usize) -> Group {
        let cpus = &self.groups[place];
        let mut group = Group {
            kind: GroupType::HasSpare,
            tasks: 0,
            idle: 0,
            weight: cpus.len(),
            load: 0,
            used: 0,
        };
        for &cpu in cpus {
            let tasks = queues.tasks(state, cpu);
            group.tasks += tasks;
            group.idle += usize::from(tasks == 0);
            group.used += if tasks > 0 { SCALE } else { 0 };
            group.load += queues.load(state, cpu);
        }
        let capacity = group.capacity();
        let percent = self.imbalance_percent;
        let is_pressed = capacity * percent < group.tasks as u64 * SCALE * 100;
        let is_used = capacity * 100 < group.used * percent;
        group.kind = if group.tasks > group.weight && (is_pressed || is_used) {
            GroupType::Overloaded
        } else if self.is_bound[place] {
            GroupType::Imbalanced
        } else if group.tasks >= group.weight && (is_pressed || is_used) {
            GroupType::FullyBusy
        } else {
            GroupType::HasSpare
        };
        group
    }

    /// `find_busiest_group`, `calculate_imbalance` and `find_busiest_queue`: where tasks are taken from,
    /// and how much.
    fn busiest(
        &self,
        queues: &impl Queues,
        state: &State,
        own: usize,
        when: Balance,
        excluded: &[usize],
    ) -> Option<(usize, Imbalance)> {
        let count = self.groups.len();
        let local = self.group(queues, state, own);
        let (mut load, mut capacity) = (local.load, local.capacity());
        let mut busiest: Option<(usize, Group)> = None;
        for place in (1..count).map(|step| (own + step) % count) {
            let group = self.group(queues, state, place);
            load += group.load;
            capacity += group.capacity();
            let is_left = self.groups[place].iter().any(|cpu| !excluded.contains(cpu));
            if group.tasks > 0
                && is_left
                && busiest.as_ref().is_none_or(|(_, than)| is_busier(&group, than))
            {
                busiest = Some((place, group));
            }
        }
        let (place, busiest) = busiest?;
        let average = load * SCALE / capacity;
        let imbalance = self.imbalance(&local, &busiest, average, when)?;
        let cpus = self.groups[place].iter().copied().filter(|cpu| !excluded.contains(cpu));
        let from = busiest_queue(queues, state, cpus, imbalance)?;
        Some((from, imbalance))
    }

    fn imbalance(
        &self,
        local: &Group,
        busiest: &Group,
        average: u64,
        when: Balance,
    ) -> Option<Imbalance> {
        if local.kind > busiest.kind {
            return None;
        }
        let [own_load, most_load] = [local, busiest].map(Group::average_load);
        if local.kind == GroupType::Overloaded
            && (own_load >= most_load.min(average)
                || 100 * most_load <= self.imbalance_percent * own_load)
        {
            return None;
        }
        let is_uneven = self.prefers_sibling
            && local.kind == GroupType::HasSpare
            && busiest.tasks > local.tasks + 1;
        if busiest.kind == GroupType::Imbalanced {
            return Some(Imbalance::Tasks(1));
        }
        if !is_uneven && busiest.kind != GroupType::Overloaded {
            let is_even = busiest.weight > 1 && local.idle <= busiest.idle + 1;
            if when == Balance::Busy || is_even || busiest.tasks == 1 {
                return None;
            }
        }
        if local.kind == GroupType::HasSpare {
            if busiest.kind > GroupType::FullyBusy && !self.shares_cache {
                let spare = local.capacity() - local.used;
                return match (spare, when) {
                    (0, Balance::Busy) => None,
                    (0, _) => Some(Imbalance::Tasks(1)),
                    _ => Some(Imbalance::Used(spare)),
                };
            }
            let difference = if busiest.weight == 1 || self.prefers_sibling {
                busiest.tasks.saturating_sub(local.tasks)
            } else {
                local.idle.saturating_sub(busiest.idle)
            };
            return (difference > 1).then_some(Imbalance::Tasks(difference as u64 / 2));
        }
        if own_load >= most_load.min(average) {
            return None;
        }
        let above = most_load.saturating_sub(average) * busiest.capacity();
        let below = (average - own_load) * local.capacity();
        let least = above.min(below) / SCALE;
        (least > 0).then_some(Imbalance::Load(least))
    }

    /// `detach_tasks`: moves waiting tasks from one CPU to another.
    fn detach(
        &self,
        queues: &mut impl Queues,
        state: &State,
        [from, to]: [usize; 2],
        imbalance: Imbalance,
        failed: u32,
        when: Balance,
    ) -> Detached {
        let candidates = queues.candidates(state, from);
        let mut detached =
            Detached { are_all_bound: !candidates.is_empty(), ..Detached::default() };
        let shrink = |value: u64| value.checked_shr(failed).unwrap_or(0);
        let mut left = imbalance;
        for task in candidates.into_iter().take(MAX_TASKS) {
            if when != Balance::Busy && queues.tasks(state, from) <= 1 {
                break;
            }
            if !state.may_run(task, to) {
                detached.leaves_bound = true;
                continue;
            }
            detached.are_all_bound = false;
            let is_hot = !self.is_core && state.now() - state.task(task).last_ran < MIGRATION_COST;
            let is_hot = is_hot || queues.is_unfit(state, task, to);
            if is_hot && failed <= self.nice_tries {
                continue;
            }
            let heavy = match left {
                Imbalance::Load(_) => state.task(task).weight,
                Imbalance::Used(_) => SCALE / queues.tasks(state, from).max(1) as u64,
                Imbalance::Tasks(_) => 1,
            };
            let (Imbalance::Load(rest) | Imbalance::Used(rest) | Imbalance::Tasks(rest)) =
                &mut left;
            if !matches!(imbalance, Imbalance::Tasks(_)) && shrink(heavy) > *rest {
                continue;
            }
            *rest = rest.saturating_sub(heavy);
            let is_enough = *rest == 0;
            queues.transfer(state, task, from, to);
            detached.moved += 1;
            if is_enough || when == Balance::NewlyIdle {
                detached.leaves_bound &= !is_enough;
                break;
            }
        }
        detached
    }
}

/// Tasks detached from a queue.
#[derive(Debug, Clone, Copy, Default)]
struct Detached {
    moved: usize,
    /// True if none of them may run where they were to go (`LBF_ALL_PINNED`).
    are_all_bound: bool,
    /// True if some may not, and an imbalance is left (`LBF_SOME_PINNED`).
    leaves_bound: bool,
}

/// `update_sd_pick_busiest`.
fn is_busier(group: &Group, than: &Group) -> bool {
    match group.kind.cmp(&than.kind) {
        std::cmp::Ordering::Equal => match group.kind {
            GroupType::Overloaded => group.average_load() > than.average_load(),
            GroupType::Imbalanced | GroupType::FullyBusy => false,
            GroupType::HasSpare => {
                group.idle < than.idle || (group.idle == than.idle && group.tasks > than.tasks)
            }
        },
        order => order.is_gt(),
    }
}

/// `find_busiest_queue`.
fn busiest_queue(
    queues: &impl Queues,
    state: &State,
    cpus: impl Iterator<Item = usize>,
    imbalance: Imbalance,
) -> Option<usize> {
    let mut busiest = None;
    for cpu in cpus {
        let tasks = queues.tasks(state, cpu);
        let key = match imbalance {
            Imbalance::Load(imbalance) => {
                let load = queues.load(state, cpu);
                if tasks == 1 && load > imbalance { 0 } else { load }
            }
            Imbalance::Used(_) => {
                if tasks > 1 {
                    SCALE
                } else {
                    0
                }
            }
            Imbalance::Tasks(_) => tasks as u64,
        };
        if key > busiest.map_or(0, |(_, most)| most) {
            busiest = Some((cpu, key));
        }
    }
    busiest.map(|(cpu, _)| cpu)
}
