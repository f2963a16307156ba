//! The rows of the table of tasks: threads or processes, flat or as a tree.
//!
//! A row holds sums and the index of a task that stands for it; texts are made for visible rows only, so that 10,000
//! threads cost no 10,000 texts.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

use corun_record::{Activity, TaskActivity};

use super::order::{Order, SortBy};

/// Grouping of rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Grouping {
    /// Not at all.
    #[default]
    Flat,
    /// Below the process that started them.
    Processes,
    /// Below their control group.
    ControlGroups,
}

impl Grouping {
    /// The next one; after the last comes the first.
    pub(super) fn next(self) -> Self {
        match self {
            Self::Flat => Self::Processes,
            Self::Processes => Self::ControlGroups,
            Self::ControlGroups => Self::Flat,
        }
    }

    /// Word for the grouping.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Flat => "none",
            Self::Processes => "processes",
            Self::ControlGroups => "control groups",
        }
    }
}

/// Kind of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowKind {
    /// A thread.
    Thread,
    /// All threads of a process.
    Process,
    /// All tasks in a control group and below, with the part of its path that the groups above do not have.
    Group(String),
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Kind of the row.
    pub kind: RowKind,
    /// Depth in its tree.
    pub depth: usize,
    /// The task that stands for it, an index into the tasks of the activity: its main thread, or its busiest.
    pub task: usize,
    /// The number of the thread or process.
    pub number: u32,
    /// The threads that it sums.
    pub threads: usize,
    /// The last logical CPU of its busiest thread.
    pub cpu: u32,
    /// Time in its own code, in shares of one CPU.
    pub user: f64,
    /// Time in the kernel, in shares of one CPU.
    pub system: f64,
    /// Changes of the logical CPU, where they are known.
    pub migrations: Option<u64>,
    /// The share of its running time beside a busy sibling, where it is known.
    pub beside: Option<f64>,
}

impl Row {
    /// Processor time, in shares of one CPU.
    pub fn used(&self) -> f64 {
        self.user + self.system
    }

    /// Processor time beside a busy sibling, in shares of one CPU.
    pub fn beside_time(&self) -> f64 {
        self.used() * self.beside.unwrap_or(0.0)
    }

    /// Which of two rows stands first; `name` gives a row's name. Rows that are equal stand by their number.
    fn compare<'a>(&self, other: &Self, order: Order, name: impl Fn(&Self) -> &'a str) -> Ordering {
        let most_first = |value: fn(&Self) -> f64| value(other).total_cmp(&value(self));
        let by_key = match order.by {
            SortBy::Used => most_first(Self::used),
            SortBy::Number => Ordering::Equal,
            SortBy::Cpu => self.cpu.cmp(&other.cpu),
            SortBy::Migrations => other.migrations.cmp(&self.migrations),
            SortBy::Beside => most_first(Self::beside_time),
            SortBy::Name => name(self).cmp(name(other)),
        };
        let ordering = by_key.then_with(|| self.number.cmp(&other.number));
        if order.reversed { ordering.reverse() } else { ordering }
    }

    fn sum(kind: RowKind, tasks: &[TaskActivity], members: &[usize]) -> Option<Self> {
        let of = |index: &usize| tasks.get(*index);
        let by_use = |index: &&usize| of(index).map_or(0.0, TaskActivity::used);
        let busiest = *members.iter().max_by(|one, other| by_use(one).total_cmp(&by_use(other)))?;
        let is_main = |index: &&usize| of(index).is_some_and(|it| it.thread == it.process);
        let stands_for = *members.iter().find(is_main).unwrap_or(&busiest);
        let known = |index: &usize| Some((of(index)?.used(), of(index)?.beside_busy?));
        let beside: Vec<(f64, f64)> = members.iter().filter_map(known).collect();
        let weight: f64 = beside.iter().map(|(used, _)| used).sum();
        let share = beside.iter().map(|(used, beside)| used * beside).sum::<f64>() / weight;
        let moves: Vec<u64> = members.iter().filter_map(|it| of(it)?.migrations).collect();
        let task = tasks.get(stands_for)?;
        Some(Self {
            depth: 0,
            task: stands_for,
            number: if kind == RowKind::Thread { task.thread } else { task.process },
            kind,
            threads: members.len(),
            cpu: tasks.get(busiest)?.cpu,
            user: members.iter().filter_map(of).map(|it| it.user).sum(),
            system: members.iter().filter_map(of).map(|it| it.system).sum(),
            migrations: (!moves.is_empty())
                .then(|| moves.iter().fold(0, |sum: u64, it| sum.saturating_add(*it))),
            beside: (weight > 0.0).then_some(share),
        })
    }
}

/// Which rows are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// True if threads have rows, or processes only.
    pub threads: bool,
    /// Their grouping.
    pub grouping: Grouping,
    /// Only tasks whose name or control group contains this, or whose number it is; all if it is empty.
    pub filter: String,
    /// Their order, among those that stand at one place.
    pub order: Order,
}

/// The rows of an activity, in their order.
pub fn rows(activity: &Activity, wanted: &Selection) -> Vec<Row> {
    let tasks = &activity.tasks;
    let filter = Filter::new(&wanted.filter);
    let chosen: Vec<usize> = (0..tasks.len()).filter(|it| filter.takes(&tasks[*it])).collect();
    let table = Table { tasks, wanted };
    match wanted.grouping {
        Grouping::Flat if wanted.threads => table.sorted(table.threads(&chosen)),
        Grouping::Flat => table.sorted(table.processes(&chosen)),
        Grouping::Processes => table.by_process(&chosen),
        Grouping::ControlGroups => table.by_group(&chosen),
    }
}

struct Filter {
    text: String,
    number: Option<u32>,
}

impl Filter {
    fn new(text: &str) -> Self {
        Self { text: text.to_lowercase(), number: text.parse().ok() }
    }

    fn takes(&self, task: &TaskActivity) -> bool {
        self.text.is_empty()
            || self.number.is_some_and(|it| [task.thread, task.process].contains(&it))
            || task.name.to_lowercase().contains(&self.text)
            || task.cgroup.as_ref().is_some_and(|it| it.to_lowercase().contains(&self.text))
    }
}

struct Table<'a> {
    tasks: &'a [TaskActivity],
    wanted: &'a Selection,
}

/// The most levels of control groups that have rows of their own; a recording does not hold the limit of its kernel.
const MOST_LEVELS: usize = 32;

/// A control group with what is in it.
#[derive(Default)]
struct Group {
    below: BTreeMap<String, Group>,
    own: Vec<usize>,
}

impl Group {
    fn all(&self) -> Vec<usize> {
        let mut all = self.own.clone();
        all.extend(self.below.values().flat_map(Self::all));
        all
    }
}

impl Table<'_> {
    fn sorted(&self, mut rows: Vec<Row>) -> Vec<Row> {
        let name = |row: &Row| self.tasks.get(row.task).map_or("", |it| it.name.as_str());
        rows.sort_by(|one, other| one.compare(other, self.wanted.order, name));
        rows
    }

    fn threads(&self, chosen: &[usize]) -> Vec<Row> {
        chosen.iter().filter_map(|it| Row::sum(RowKind::Thread, self.tasks, &[*it])).collect()
    }

    fn processes(&self, chosen: &[usize]) -> Vec<Row> {
        let members = self.members(chosen);
        members.values().filter_map(|it| Row::sum(RowKind::Process, self.tasks, it)).collect()
    }

    fn members(&self, chosen: &[usize]) -> BTreeMap<u32, Vec<usize>> {
        let mut members: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for &index in chosen {
            members.entry(self.tasks[index].process).or_default().push(index);
        }
        members
    }

    /// A process, and below it its threads if it has several and they are wanted.
    fn push(&self, row: Row, depth: usize, members: &[usize], rows: &mut Vec<Row>) {
        rows.push(Row { depth, ..row });
        if self.wanted.threads && members.len() > 1 {
            let threads = self.sorted(self.threads(members));
            rows.extend(threads.into_iter().map(|row| Row { depth: depth + 1, ..row }));
        }
    }

    fn by_process(&self, chosen: &[usize]) -> Vec<Row> {
        let members = self.members(chosen);
        let processes = self.sorted(self.processes(chosen));
        let parent = |row: &Row| self.tasks[row.task].parent;
        let mut children: HashMap<u32, Vec<&Row>> = HashMap::new();
        // Those that stand first are taken from the end of the stack.
        let mut stack: Vec<(&Row, usize)> = Vec::new();
        for row in processes.iter().rev() {
            if members.contains_key(&parent(row)) && parent(row) != row.number {
                children.entry(parent(row)).or_default().push(row);
            } else {
                stack.push((row, 0));
            }
        }
        let (mut rows, mut seen) = (Vec::new(), HashSet::new());
        // In a damaged recording processes may be each other's parents, so that no root leads to them.
        let mut left = processes.iter();
        loop {
            let Some((row, depth)) = stack.pop() else {
                match left.find(|row| !seen.contains(&row.number)) {
                    Some(row) => stack.push((row, 0)),
                    None => return rows,
                }
                continue;
            };
            if !seen.insert(row.number) {
                continue;
            }
            self.push(row.clone(), depth, &members[&row.number], &mut rows);
            let below = children.get(&row.number).into_iter().flatten();
            stack.extend(below.map(|row| (*row, depth + 1)));
        }
    }

    fn by_group(&self, chosen: &[usize]) -> Vec<Row> {
        let mut root = Group::default();
        for &index in chosen {
            let path = self.tasks[index].cgroup.as_deref().unwrap_or("(unknown)");
            let mut group = &mut root;
            for part in path.split('/').filter(|it| !it.is_empty()).take(MOST_LEVELS) {
                group = group.below.entry(part.to_owned()).or_default();
            }
            group.own.push(index);
        }
        let mut rows = Vec::new();
        self.push_group("/".to_owned(), &root, 0, &mut rows);
        rows
    }

    fn push_group(&self, label: String, group: &Group, depth: usize, rows: &mut Vec<Row>) {
        // A group with nothing but one group in it stands in the same row.
        if let (Some((name, below)), true) =
            (group.below.iter().next(), group.own.is_empty() && group.below.len() == 1)
        {
            let label = format!("{}/{name}", label.trim_end_matches('/'));
            return self.push_group(label, below, depth, rows);
        }
        let Some(row) = Row::sum(RowKind::Group(label), self.tasks, &group.all()) else { return };
        rows.push(Row { depth, ..row });
        let members = self.members(&group.own);
        for row in self.sorted(self.processes(&group.own)) {
            let members = &members[&row.number];
            self.push(row, depth + 1, members, rows);
        }
        let mut below: Vec<(&String, &Group, f64)> = group
            .below
            .iter()
            .map(|(name, group)| {
                let used = group.all().iter().map(|it| self.tasks[*it].used()).sum();
                (name, group, used)
            })
            .collect();
        below.sort_by(|one, other| other.2.total_cmp(&one.2));
        for (name, group, _) in below {
            self.push_group(name.clone(), group, depth + 1, rows);
        }
    }
}
