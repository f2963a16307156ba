//! The campaign as its TOML file has it: what to run, in which placements, on which nodes, how often.

use std::time::Duration;

use corun_record::{Placement, excerpt, on_one_line};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use crate::error::FleetError;
use crate::plan::SmtArm;

/// The `format` of a campaign file.
const FORMAT: &str = "corun-campaign";
/// The newest `version` of it.
const VERSION: u32 = 1;
/// The most tasks of a campaign.
pub(crate) const MAX_TASKS: u64 = 100_000;

/// A campaign.
#[derive(Debug, Clone, PartialEq)]
pub struct Campaign {
    /// Name, any text.
    pub name: String,
    /// The partition of Slurm; the default one where there is none.
    pub partition: Option<String>,
    /// More options of `sbatch`, such as `--account=NAME`.
    pub sbatch: Vec<String>,
    /// Nodes on which tasks run.
    pub nodes: Nodes,
    /// With siblings, without them, or both.
    pub smt: Vec<SmtArm>,
    /// Placements to measure; empty: those that `corun measure` chooses.
    pub placements: Vec<Placement>,
    /// True if each task searches for the best number of threads (`corun threads`) instead of measuring placements.
    pub searches_threads: bool,
    /// Repeats of each program in each arm on each node.
    pub repeats: u32,
    /// Limits of its cost.
    pub budget: Budget,
    /// Programs.
    pub programs: Vec<Program>,
}

/// Nodes on which tasks run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nodes {
    /// On whichever node of the partition is free.
    Any,
    /// On one node of each hardware type.
    EachType,
    /// On each of these; Slurm's host lists such as `n[1-4]` are possible.
    Named(Vec<String>),
}

/// Limits of a campaign's cost.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Budget {
    /// Time limit of a task's measurement: `--max-time` of `corun measure`.
    #[serde(default = "five_minutes", deserialize_with = "duration")]
    pub time: Duration,
    /// Exactly this many blocks, instead of as many as are needed.
    #[serde(default)]
    pub blocks: Option<u32>,
    /// The job's time limit, instead of one that follows from `time` and the pilot run.
    #[serde(default, deserialize_with = "some_duration")]
    pub time_limit: Option<Duration>,
    /// The most node hours: a campaign that could take more is not submitted.
    #[serde(default)]
    pub node_hours: Option<f64>,
}

impl Default for Budget {
    fn default() -> Self {
        Self { time: five_minutes(), blocks: None, time_limit: None, node_hours: None }
    }
}

/// A program to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Name in tables.
    pub name: String,
    /// Work of the program.
    pub work: Work,
    /// More options of `corun measure`.
    pub options: Vec<String>,
}

/// Work of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// A program and its arguments; `{workers}` becomes the number of threads.
    Command(Vec<String>),
    /// A built-in workload with its parameters, `NAME=VALUE` each.
    Workload {
        /// Name of the workload.
        name: String,
        /// Parameters of the workload.
        parameters: Vec<String>,
    },
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    format: Spanned<String>,
    version: Spanned<u32>,
    name: Spanned<String>,
    partition: Option<Spanned<String>>,
    #[serde(default)]
    sbatch: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    nodes: Option<Spanned<toml::Value>>,
    #[serde(default = "with_siblings")]
    smt: Spanned<Vec<SmtArm>>,
    #[serde(default)]
    placements: Vec<Placement>,
    threads: Option<Spanned<toml::Value>>,
    #[serde(default = "once")]
    repeats: Spanned<u32>,
    #[serde(default)]
    budget: Budget,
    #[serde(default)]
    program: Vec<Spanned<FileProgram>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FileProgram {
    name: Option<String>,
    #[serde(default)]
    command: Vec<String>,
    workload: Option<String>,
    #[serde(default)]
    parameters: Vec<String>,
    #[serde(default)]
    options: Vec<String>,
}

/// A mistake: the byte at which it stands, and a sentence.
type ValidationError = (usize, String);

impl Campaign {
    /// Reads a campaign file called `file`.
    ///
    /// # Errors
    /// [`FleetError::Campaign`], with the line and what is expected there.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, FleetError> {
        let wrong = |(at, sentence): ValidationError| FleetError::Campaign {
            file: file.to_owned(),
            line: 1 + text[..at.min(text.len())].matches('\n').count(),
            sentence,
        };
        let read: File = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            wrong((at, on_one_line(error.message().trim())))
        })?;
        Self::of(read).map_err(wrong)
    }

    fn of(file: File) -> Result<Self, ValidationError> {
        expect(file.format.as_ref() == FORMAT, &file.format, || {
            format!("expected format \"{FORMAT}\", found \"{}\"", excerpt(file.format.as_ref()))
        })?;
        expect((1..=VERSION).contains(file.version.as_ref()), &file.version, || {
            format!("expected a version up to {VERSION}, found {}", file.version.as_ref())
        })?;
        expect(!file.name.as_ref().trim().is_empty(), &file.name, || {
            "expected a name of the campaign, found an empty one".to_owned()
        })?;
        if let Some(partition) = &file.partition {
            expect(is_slurm_name(partition.as_ref()), partition, || {
                format!(
                    "expected the name of a partition, found \"{}\"",
                    excerpt(partition.as_ref())
                )
            })?;
        }
        if let Some(sbatch) = &file.sbatch {
            let is_option = |it: &String| it.starts_with('-') && !it.contains('\0');
            expect(sbatch.as_ref().iter().all(is_option), sbatch, || {
                "expected options of sbatch, each with its value in one text such as \"--account=NAME\"".to_owned()
            })?;
        }
        expect((1..=10_000).contains(file.repeats.as_ref()), &file.repeats, || {
            format!("expected 1 to 10000 repeats, found {}", file.repeats.as_ref())
        })?;
        let smt = file.smt.as_ref();
        let is_once = |arm: &SmtArm| smt.iter().filter(|it| *it == arm).count() == 1;
        expect(!smt.is_empty() && smt.iter().all(is_once), &file.smt, || {
            "expected \"on\", \"nomultithread\" or each of them once".to_owned()
        })?;
        expect(!file.program.is_empty(), &file.name, || {
            "expected a [[program]] to measure, found none".to_owned()
        })?;
        let threads = file.threads.as_ref().map(|it| Ok((it, threads(it)?))).transpose()?;
        let searches_threads = matches!(threads, Some((_, Threads::Best)));
        if let Some((at, Threads::Best)) = &threads {
            expect(file.placements.is_empty() && file.budget.blocks.is_none(), at, || {
                "expected neither `placements` nor `blocks` beside threads = \"best\", which chooses both".to_owned()
            })?;
        }
        Ok(Self {
            placements: placements(&file.placements, threads)?,
            searches_threads,
            nodes: file.nodes.as_ref().map_or(Ok(Nodes::Any), nodes)?,
            programs: file.program.iter().map(program).collect::<Result<_, _>>()?,
            name: file.name.into_inner(),
            partition: file.partition.map(Spanned::into_inner),
            sbatch: file.sbatch.map(Spanned::into_inner).unwrap_or_default(),
            smt: file.smt.into_inner(),
            repeats: file.repeats.into_inner(),
            budget: file.budget,
        })
    }
}

fn expect<T>(
    is_so: bool,
    at: &Spanned<T>,
    sentence: impl FnOnce() -> String,
) -> Result<(), ValidationError> {
    if is_so { Ok(()) } else { Err((at.span().start, sentence())) }
}

/// Number of threads.
enum Threads {
    /// The best number, which each task searches for.
    Best,
    Counts(Vec<u32>),
}

fn threads(value: &Spanned<toml::Value>) -> Result<Threads, ValidationError> {
    let count = |it: &toml::Value| {
        u32::try_from(it.as_integer()?).ok().filter(|it| (1..=1 << 16).contains(it))
    };
    let found = match value.as_ref() {
        toml::Value::String(text) if text == "best" => Some(Threads::Best),
        toml::Value::Array(counts) if !counts.is_empty() => {
            counts.iter().map(count).collect::<Option<_>>().map(Threads::Counts)
        }
        _ => None,
    };
    found.ok_or_else(|| {
        let sentence = "expected \"best\" or numbers of threads from 1 on, such as [4, 8]";
        (value.span().start, sentence.to_owned())
    })
}

/// The placements; with numbers of threads each placement with each number.
fn placements(
    placements: &[Placement],
    threads: Option<(&Spanned<toml::Value>, Threads)>,
) -> Result<Vec<Placement>, ValidationError> {
    let Some((threads, Threads::Counts(counts))) = threads else { return Ok(placements.to_vec()) };
    let kinds = if placements.is_empty() { &[Placement::Free(None)][..] } else { placements };
    let with = |placement: Placement| -> Result<Vec<Placement>, ValidationError> {
        let form: fn(u32) -> Placement = match placement {
            Placement::Spread(None) => |it| Placement::Spread(Some(it)),
            Placement::Packed(None) => |it| Placement::Packed(Some(it)),
            Placement::Free(None) => |it| Placement::Free(Some(it)),
            other => {
                let sentence = format!(
                    "expected placements that take a number of threads (spread, packed, free), found {other}"
                );
                return Err((threads.span().start, sentence));
            }
        };
        Ok(counts.iter().copied().map(form).collect())
    };
    let all: Result<Vec<_>, _> = kinds.iter().copied().map(with).collect();
    Ok(all?.concat())
}

fn nodes(value: &Spanned<toml::Value>) -> Result<Nodes, ValidationError> {
    let at = value.span().start;
    let unknown = || {
        let value = value.as_ref();
        let found = value
            .as_str()
            .map_or_else(|| value.type_str().to_owned(), |it| format!("\"{}\"", excerpt(it)));
        let sentence = format!(
            "expected \"any\", \"each-type\" or a list of names such as [\"n1\", \"n[2-4]\"], found {found}"
        );
        (at, sentence)
    };
    match value.as_ref() {
        toml::Value::String(text) if text == "any" => Ok(Nodes::Any),
        toml::Value::String(text) if text == "each-type" => Ok(Nodes::EachType),
        toml::Value::Array(names) => {
            let name =
                |it: &toml::Value| it.as_str().filter(|it| is_host_list(it)).map(str::to_owned);
            let names: Vec<_> =
                names.iter().map(name).collect::<Option<_>>().ok_or_else(unknown)?;
            if names.is_empty() { Err(unknown()) } else { Ok(Nodes::Named(names)) }
        }
        _ => Err(unknown()),
    }
}

fn program(file: &Spanned<FileProgram>) -> Result<Program, ValidationError> {
    let FileProgram { name, command, workload, parameters, options } = file.as_ref();
    let work = match (workload, command.first()) {
        (Some(workload), None) => {
            Work::Workload { name: workload.clone(), parameters: parameters.clone() }
        }
        (None, Some(_)) if parameters.is_empty() => Work::Command(command.clone()),
        _ => {
            let sentence =
                "expected either `command` or `workload`, with `parameters` for a workload only";
            return Err((file.span().start, sentence.to_owned()));
        }
    };
    let mut texts = command.iter().chain(workload).chain(parameters).chain(options);
    expect(texts.all(|it| !it.contains('\0')), file, || {
        "expected arguments without NUL characters".to_owned()
    })?;
    let label = match &work {
        Work::Command(words) => shell_words::join(words),
        Work::Workload { name, parameters } => {
            std::iter::once(name).chain(parameters).cloned().collect::<Vec<_>>().join(" ")
        }
    };
    Ok(Program { name: name.clone().unwrap_or(label), work, options: options.clone() })
}

/// True if Slurm could know something by this name.
pub(crate) fn is_slurm_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && name.chars().all(|it| it.is_ascii_alphanumeric() || "_-.".contains(it))
}

/// True if a text may be one of Slurm's host lists.
fn is_host_list(text: &str) -> bool {
    is_slurm_name(&text.replace(['[', ']', ','], "_"))
}

fn with_siblings() -> Spanned<Vec<SmtArm>> {
    Spanned::new(0..0, vec![SmtArm::On])
}

fn once() -> Spanned<u32> {
    Spanned::new(0..0, 1)
}

fn five_minutes() -> Duration {
    Duration::from_secs(300)
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    let parsed = humantime::parse_duration(&text).ok();
    // A century is no time limit, and would overflow sums.
    parsed.filter(|it| (1..=31_536_000).contains(&it.as_secs())).ok_or_else(|| {
        D::Error::custom(format!(
            "expected a time from a second to a year, such as \"5m\", found \"{}\"",
            excerpt(&text)
        ))
    })
}

fn some_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    duration(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "format = \"corun-campaign\"\nversion = 1\nname = \"it\"\n";

    fn read(rest: &str) -> Result<Campaign, String> {
        Campaign::from_toml("it.toml", &format!("{HEAD}{rest}")).map_err(|it| it.to_string())
    }

    #[test]
    fn a_small_file_means_one_task_with_siblings_anywhere() {
        let campaign = read("[[program]]\ncommand = [\"./a b\", \"x\"]\n").unwrap();
        assert_eq!(campaign.nodes, Nodes::Any);
        assert_eq!((campaign.repeats, &campaign.smt[..]), (1, &[SmtArm::On][..]));
        assert_eq!(campaign.programs[0].name, "'./a b' x");
        assert_eq!(campaign.budget, Budget::default());
    }

    #[test]
    fn threads_are_numbers_of_workers_in_placements() {
        let with = |placements: &str| {
            let text = format!(
                "threads = [1, 4]\nplacements = [{placements}]\n[[program]]\nworkload = \"fib\"\n"
            );
            let said: Vec<_> = read(&text)?.placements.iter().map(ToString::to_string).collect();
            Ok::<_, String>(said.join(" "))
        };
        assert_eq!(with("").unwrap(), "free@1 free@4");
        assert_eq!(with("\"spread\", \"packed\"").unwrap(), "spread@1 spread@4 packed@1 packed@4");
        assert!(
            with("\"full\"").unwrap_err().starts_with("it.toml: line 4: expected placements that")
        );
    }

    #[test]
    fn the_best_number_of_threads_is_searched_for_in_placements_of_its_own() {
        let program = "[[program]]\nworkload = \"fib\"\n";
        let campaign = read(&format!("threads = \"best\"\n{program}")).unwrap();
        assert!(campaign.searches_threads && campaign.placements.is_empty());
        assert!(!read(program).unwrap().searches_threads);
        for more in [
            format!("threads = \"best\"\nplacements = [\"spread\"]\n{program}"),
            format!("threads = \"best\"\n{program}[budget]\nblocks = 3\n"),
        ] {
            let said = read(&more).unwrap_err();
            assert!(said.starts_with("it.toml: line 4: expected neither `placements`"), "{said}");
        }
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let program = "[[program]]\nworkload = \"fib\"\n";
        let said: Vec<String> = [
            format!("partitoin = \"main\"\n{program}"),
            format!("partition = \"a b\"\n{program}"),
            format!("nodes = \"all\"\n{program}"),
            format!("nodes = [\"n1\", \"--x\"]\n{program}"),
            format!("smt = [\"on\", \"on\"]\n{program}"),
            format!("smt = [\"off\"]\n{program}"),
            format!("repeats = 0\n{program}"),
            format!("threads = []\n{program}"),
            format!("threads = [4, -1]\n{program}"),
            format!("threads = \"all\"\n{program}"),
            format!("{program}[budget]\ntime = \"soon\"\n"),
            format!("{program}[budget]\nnodehours = 3\n"),
            "[[program]]\nname = \"neither\"\n".to_owned(),
            "[[program]]\ncommand = [\"a\\u0000b\"]\n".to_owned(),
            "program = []\n".to_owned(),
            String::new(),
        ]
        .iter()
        .map(|text| read(text).unwrap_err())
        .collect();
        insta::assert_snapshot!(said.join("\n"));
    }
}
