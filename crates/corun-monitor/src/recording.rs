//! Recordings of activities: a line that says what machine it was, then a line for each interval.
//!
//! Each line is on the disk before the next interval begins, so that a recorder that is killed leaves what it saw. A
//! file whose name ends with `.zst` is compressed with zstd; a reader knows it by its first bytes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use corun_machine::Machine;
use corun_record::{Activity, Tree, excerpt, read_json, shown};
use serde::{Deserialize, Serialize};

use crate::{MonitorError, Playback, Source};

/// The `format` of a recording's first line.
const FORMAT: &str = "corun-recording";
/// The newest version, which is written; all up to it are read.
const VERSION: u32 = 1;
/// The longest line that is read: an interval with a hundred thousand tasks has less.
const LONGEST: u64 = 64 << 20;
/// Magic number of zstd's frames (RFC 8878).
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Quick, and lines are much alike.
const LEVEL: i32 = 3;

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    format: String,
    version: u32,
    corun_version: String,
    /// Start, UTC, RFC 3339.
    started: String,
    machine: Machine,
}

/// Writes a recording.
#[derive(Debug)]
pub struct Recorder {
    name: String,
    output: Output,
}

enum Output {
    Plain(File),
    Packed(zstd::stream::write::AutoFinishEncoder<'static, File>, File),
}

impl std::fmt::Debug for Output {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Plain(_) => "Plain",
            Self::Packed(..) => "Packed",
        })
    }
}

impl Recorder {
    /// Begins a recording in a new file; a file that is there stays as it is.
    ///
    /// # Errors
    /// If there is a file of this name, or it cannot be written.
    pub fn create(path: &Path, machine: &Machine) -> Result<Self, MonitorError> {
        let name = shown(path);
        let is_packed = path.extension().is_some_and(|it| it == "zst");
        let opened = corun_files::growing(path).and_then(|file| Output::new(file, is_packed));
        let output = opened.map_err(|error| unwritable(&name, &error))?;
        let mut recorder = Self { name, output };
        let started = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        recorder.line(&Head {
            format: FORMAT.to_owned(),
            version: VERSION,
            corun_version: env!("CARGO_PKG_VERSION").to_owned(),
            started,
            machine: machine.clone(),
        })?;
        Ok(recorder)
    }

    /// Adds an interval; it is on the disk when this returns.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&mut self, activity: &Activity) -> Result<(), MonitorError> {
        self.line(activity)
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), MonitorError> {
        let written = serde_json::to_vec(value).map_err(io::Error::from).and_then(|mut line| {
            line.push(b'\n');
            self.output.write(&line)
        });
        written.map_err(|error| unwritable(&self.name, &error))
    }
}

impl Output {
    fn new(file: File, is_packed: bool) -> io::Result<Self> {
        if !is_packed {
            return Ok(Self::Plain(file));
        }
        let encoder = zstd::stream::write::Encoder::new(file.try_clone()?, LEVEL)?;
        Ok(Self::Packed(encoder.auto_finish(), file))
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let file = match self {
            Self::Plain(file) => {
                file.write_all(line)?;
                file
            }
            Self::Packed(encoder, file) => {
                encoder.write_all(line)?;
                // A block of its own, which can be read without what follows.
                encoder.flush()?;
                file
            }
        };
        match file.sync_data() {
            // A pipe or a terminal, which has no disk.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            synced => synced,
        }
    }
}

/// A source whose intervals are recorded as they are given.
#[derive(Debug)]
pub struct Recorded<S> {
    source: S,
    recorder: Recorder,
}

impl<S: Source> Recorded<S> {
    /// Records what this source gives.
    pub fn new(source: S, recorder: Recorder) -> Self {
        Self { source, recorder }
    }
}

impl<S: Source> Source for Recorded<S> {
    fn next(&mut self, wait: Duration) -> Result<Activity, MonitorError> {
        let activity = self.source.next(wait)?;
        self.recorder.write(&activity)?;
        Ok(activity)
    }

    fn caveat(&self) -> Option<&str> {
        self.source.caveat()
    }
}

fn unwritable(name: &str, error: &io::Error) -> MonitorError {
    MonitorError::Unwritable { file: name.to_owned(), found: error.to_string() }
}

/// Reads a recording as a source.
pub struct Replay {
    name: String,
    lines: Box<dyn BufRead + Send>,
    line: u64,
    machine: Machine,
    started: String,
    speed: Option<f64>,
    is_first: bool,
    caveat: Option<String>,
    path: PathBuf,
    /// Seconds from the beginning of the recording to the end of the interval that was read last.
    elapsed_s: f64,
    playback: Option<Playback>,
    has_ended: bool,
}

impl std::fmt::Debug for Replay {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Replay");
        shown.field("name", &self.name).field("line", &self.line).finish_non_exhaustive()
    }
}

impl Replay {
    /// Opens a recording. Its intervals pass `speed` times as fast as they did; without a speed they pass at once.
    ///
    /// # Errors
    /// If it cannot be read, is no recording, or is one of a newer version.
    pub fn open(path: &Path, speed: Option<f64>) -> Result<Self, MonitorError> {
        let name = shown(path);
        let no_recording = |found: String| MonitorError::NoRecording { file: name.clone(), found };
        let lines = lines(path).map_err(|error| no_recording(error.to_string()))?;
        let mut lines: Box<dyn BufRead + Send> = lines;
        let mut text = Vec::new();
        read_line(&mut lines, &mut text).map_err(|error| no_recording(error.to_string()))?;
        let head = head(&text).map_err(no_recording)?;
        Ok(Self {
            name,
            lines,
            line: 1,
            machine: head.machine,
            started: head.started,
            speed: speed.filter(|speed| *speed > 0.0 && speed.is_finite()),
            is_first: true,
            caveat: None,
            path: path.to_owned(),
            elapsed_s: 0.0,
            playback: None,
            has_ended: false,
        })
    }

    /// Handle that pauses the replay and steps through it.
    pub fn playback(&mut self) -> Playback {
        self.playback.get_or_insert_default().clone()
    }

    /// The machine that was recorded.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// When the recording began, UTC, RFC 3339.
    pub fn started(&self) -> &str {
        &self.started
    }

    fn ends_early(&mut self) -> MonitorError {
        self.caveat = Some(format!(
            "The recording ends within line {}: its recorder was killed, and the interval of that line is lost.",
            self.line
        ));
        MonitorError::Ended
    }
}

impl Source for Replay {
    /// Waits as the recording did, whatever `wait` says.
    fn next(&mut self, _wait: Duration) -> Result<Activity, MonitorError> {
        if self.has_ended {
            let Some(playback) = &self.playback else { return Err(MonitorError::Ended) };
            let steps = playback.wait(None);
            return self.go_to(self.line.saturating_add_signed(steps));
        }
        let shown = self.line;
        let was_first = self.is_first;
        let activity = match self.read() {
            Err(MonitorError::Ended) => {
                // The interval that is shown stays where steps go from.
                self.line = shown;
                self.has_ended = true;
                return Err(MonitorError::Ended);
            }
            read => read?,
        };
        if was_first {
            return Ok(activity);
        }
        let length = self.speed.map(|speed| {
            let length = Duration::try_from_secs_f64(activity.interval_s / speed);
            length.unwrap_or_default().min(LONGEST_PAUSE)
        });
        let steps = match (&self.playback, length) {
            (Some(playback), length) => playback.wait(Some(length.unwrap_or_default())),
            (None, Some(length)) => {
                std::thread::sleep(length);
                0
            }
            (None, None) => 0,
        };
        match steps {
            0 | 1 => Ok(activity),
            steps => self.go_to(shown.saturating_add_signed(steps)),
        }
    }

    fn caveat(&self) -> Option<&str> {
        self.caveat.as_deref()
    }

    fn moment(&self) -> Option<String> {
        let into = format!("{} into it", humantime::format_duration(whole_seconds(self.elapsed_s)));
        let started = humantime::parse_rfc3339(&self.started).ok();
        let at = started.and_then(|it| it.checked_add(whole_seconds(self.elapsed_s)));
        Some(match at {
            Some(at) => {
                let text = humantime::format_rfc3339_seconds(at).to_string();
                format!("{} UTC, {into}", text.trim_end_matches('Z').replace('T', " "))
            }
            None => into,
        })
    }

    fn can_go_back(&self) -> bool {
        self.playback.is_some()
    }
}

fn whole_seconds(seconds: f64) -> Duration {
    Duration::from_secs(Duration::try_from_secs_f64(seconds).unwrap_or_default().as_secs())
}

impl Replay {
    /// Reads the next interval.
    fn read(&mut self) -> Result<Activity, MonitorError> {
        if self.caveat.is_some() {
            return Err(MonitorError::Ended);
        }
        let mut text = Vec::new();
        self.line += 1;
        let read = read_line(&mut self.lines, &mut text);
        let is_whole = text.last() == Some(&b'\n');
        match read {
            Ok(()) if text.is_empty() && self.is_first => {
                return Err(MonitorError::NoRecording {
                    file: self.name.clone(),
                    found: "a head without an interval".to_owned(),
                });
            }
            Ok(()) if text.is_empty() => return Err(MonitorError::Ended),
            // A compressed recording that was not ended.
            Err(error)
                if error.kind() == io::ErrorKind::UnexpectedEof
                    && text.is_empty()
                    && !self.is_first =>
            {
                return Err(MonitorError::Ended);
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(self.ends_early());
            }
            Err(error) => return Err(self.wrong(error.to_string())),
            Ok(()) => {}
        }
        let activity: Activity = match read_json(&String::from_utf8_lossy(&text)) {
            Ok(activity) => activity,
            Err(_) if !is_whole => return Err(self.ends_early()),
            Err(error) => return Err(self.wrong(error.to_string())),
        };
        check(&activity).map_err(|found| self.wrong(found))?;
        self.is_first = false;
        self.elapsed_s += activity.interval_s;
        Ok(activity)
    }

    /// Reads the interval of a line, or the nearest that there is, without waiting.
    fn go_to(&mut self, line: u64) -> Result<Activity, MonitorError> {
        let line = line.max(FIRST_INTERVAL);
        if line <= self.line {
            let again = Self::open(&self.path, self.speed)?;
            *self = Self { playback: self.playback.take(), ..again };
        }
        self.has_ended = false;
        let mut found = None;
        while self.line < line {
            match self.read() {
                Ok(activity) => found = Some(activity),
                Err(MonitorError::Ended) => {
                    self.line -= 1;
                    self.has_ended = true;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        found.ok_or(MonitorError::Ended)
    }
}

/// Line of the first interval, after the head.
const FIRST_INTERVAL: u64 = 2;

/// Checks that a machine can have done it.
fn check(activity: &Activity) -> Result<(), String> {
    let number = |what: &str, value: f64, most: f64| match (0.0..=most).contains(&value) {
        true => Ok(()),
        false => Err(format!("{what} of {value:e}, not 0 to {most}")),
    };
    let share = |what: &str, value: f64| number(what, value, MOST_SHARE);
    if activity.interval_s <= 0.0 {
        return Err(format!("an interval of {} s", activity.interval_s));
    }
    number("an interval in seconds", activity.interval_s, 1e9)?;
    for core in &activity.cores {
        core.busy_siblings.iter().try_for_each(|it| share("a share of a core", *it))?;
        for cpu in &core.cpus {
            [cpu.user, cpu.system, cpu.idle, cpu.steal]
                .iter()
                .try_for_each(|it| share("a share of a logical CPU", *it))?;
        }
    }
    let used = &activity.capacity;
    [used.reported, used.used_low, used.used_high]
        .iter()
        .try_for_each(|it| share("a share of the capacity", *it))?;
    number("a yield", used.yields.high.max(used.yields.low), 64.0)?;
    for task in &activity.tasks {
        // Ticks of the time before may be counted with a short interval.
        number("a task's time in shares of one CPU", task.used(), 1e4)?;
        [task.user, task.system].iter().try_for_each(|it| number("a task's time", *it, 1e4))?;
    }
    Ok(())
}

/// Shares may be above 1 by what their parts were rounded.
const MOST_SHARE: f64 = 1.001;

/// A pause of a replay is no longer than this.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

impl Replay {
    fn wrong(&self, found: String) -> MonitorError {
        let found = excerpt(&found);
        MonitorError::Line {
            expected: "an interval",
            line: self.line,
            file: self.name.clone(),
            found,
        }
    }
}

/// The lines of a recording, compressed or not.
fn lines(path: &Path) -> io::Result<Box<dyn BufRead + Send>> {
    let mut input = BufReader::new(corun_files::stream(path)?);
    let is_packed = input.fill_buf()?.starts_with(&ZSTD);
    if !is_packed {
        return Ok(Box::new(input));
    }
    Ok(Box::new(BufReader::new(zstd::stream::read::Decoder::with_buffer(input)?)))
}

/// Reads a line with its end; empty at the end of the file.
fn read_line(lines: &mut impl BufRead, into: &mut Vec<u8>) -> io::Result<()> {
    let length = lines.take(LONGEST).read_until(b'\n', into)?;
    match length as u64 == LONGEST {
        true => Err(io::Error::other(format!("a line of more than {} MiB", LONGEST >> 20))),
        false => Ok(()),
    }
}

/// The first line, or what is found in its place.
fn head(text: &[u8]) -> Result<Head, String> {
    let says_nothing = "a first line that does not say what the file is";
    let text = std::str::from_utf8(text).unwrap_or_default();
    let tree = Tree::parse(text).map_err(|_| says_nothing.to_owned())?;
    match (tree.get("format"), tree.get("version")) {
        (Some(Tree::Text(format)), Some(Tree::Count(_))) if format != FORMAT => {
            return Err(format!("format \"{}\"", excerpt(format)));
        }
        (Some(Tree::Text(_)), Some(Tree::Count(version))) => {
            if !(1..=u64::from(VERSION)).contains(version) {
                return Err(format!("version {version}, where this corun reads up to {VERSION}"));
            }
        }
        _ => return Err(says_nothing.to_owned()),
    }
    tree.read().map_err(|error| excerpt(&error.to_string()))
}
