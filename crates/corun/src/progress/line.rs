//! The line of a terminal on which the course of work is drawn, once a second.

use std::io::IsTerminal;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use corun_record::{Progress, Stage, on_one_line};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::course::{Course, clock};
use crate::problem::say;

/// Steps of a bar.
const STEPS: u64 = 1000;
/// A line with a bar, and one that only shows that time passes; both fit 60 columns.
const WITH_BAR: &str = "{prefix} [{bar:14}] {percent:>3} % {wide_msg}";
const WITHOUT_BAR: &str = "{spinner} {prefix} {wide_msg}";

/// The bar that is on the terminal, which makes room for whatever else is said.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Says something while no bar is in its way.
pub(crate) fn aside(say: impl FnOnce()) {
    let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match shown {
        Some(bar) => bar.suspend(say),
        None => say(),
    }
}

/// A line on which long work shows how far it has come.
pub(crate) struct StepProgress(Arc<Line>);

struct Line {
    manner: Manner,
    bar: ProgressBar,
    since: Instant,
    course: Mutex<Course>,
}

/// Manner in which progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// On one line, drawn again and again.
    Bar,
    /// In a line of text now and then: a program writes to the same terminal.
    Lines,
    /// Not at all.
    Hidden,
}

impl StepProgress {
    /// A line on standard error if that is a terminal and `quiet` is not asked for.
    pub(crate) fn new(quiet: bool) -> Self {
        Self::shown(if quiet { Manner::Hidden } else { Manner::Bar })
    }

    /// A line for progress while a program runs that writes where corun writes: on the same terminal only a line of
    /// text now and then.
    #[expect(clippy::disallowed_methods, reason = "nothing is written")]
    pub(crate) fn beside_a_program(quiet: bool) -> Self {
        match std::io::stdout().is_terminal() {
            true if !quiet => Self::shown(Manner::Lines),
            _ => Self::new(quiet),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "nothing is written")]
    fn shown(manner: Manner) -> Self {
        let manner = if std::io::stderr().is_terminal() { manner } else { Manner::Hidden };
        let target = match manner {
            Manner::Bar => ProgressDrawTarget::stderr(),
            Manner::Lines | Manner::Hidden => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(STEPS), target);
        let course = Mutex::new(Course::new());
        let line = Arc::new(Line { manner, bar, since: Instant::now(), course });
        if manner == Manner::Bar {
            *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(line.bar.clone());
        }
        if manner != Manner::Hidden {
            show_each_second(&line);
        }
        Self(line)
    }

    /// Shows what is going on.
    pub(crate) fn show(&self, text: String) {
        self.0.course().does(text);
        self.0.draw();
    }

    /// So many units of the stage are done in all.
    pub(crate) fn reach(&self, units: u64) {
        self.0.course().reach(units);
    }

    /// All of the work is expected to end so long after it began.
    pub(crate) fn ends_at(&self, end: Duration) {
        self.0.course().ends_at(end);
    }

    /// All of the work ends so long after it began at the latest.
    pub(crate) fn ends_before(&self, limit: Duration) {
        self.0.course().ends_before(limit);
    }

    /// Takes the line away.
    pub(crate) fn finish(&self) {
        self.0.bar.finish_and_clear();
        if self.0.manner == Manner::Bar {
            *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

impl Progress for StepProgress {
    fn begin(&self, stage: Stage) {
        let now = self.0.since.elapsed();
        self.0.course().begin(stage, now);
        self.0.draw();
    }

    fn advance(&self, units: u64) {
        self.0.course().advance(units);
    }
}

impl Drop for StepProgress {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Line {
    fn course(&self) -> MutexGuard<'_, Course> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws the line, in which nothing steers a terminal.
    #[expect(clippy::disallowed_methods, reason = "this is the writer")]
    fn draw(&self) {
        if self.manner != Manner::Bar {
            return;
        }
        let now = self.since.elapsed();
        let mut course = self.course();
        let (text, share) = (course.text(now), course.share(now));
        let announcement = course.announcement(now);
        drop(course);
        if let Some(announcement) = announcement {
            say(&format!("corun: {announcement}"));
        }
        let template = if share.is_some() { WITH_BAR } else { WITHOUT_BAR };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style.progress_chars("=> "));
        }
        self.bar.set_position((share.unwrap_or(0.0) * STEPS as f64) as u64);
        self.bar.set_prefix(clock(now));
        self.bar.set_message(on_one_line(&text));
        self.bar.tick();
    }
}

/// The time after which a line of text is first shown, and by what factor it grows from line to line.
const FIRST_LINE: Duration = Duration::from_secs(10);
const LATER_LINES: u32 = 3;

/// Shows progress from a thread of its own. indicatif's ticker panics where there can be none; here the line then
/// moves only when there is news.
fn show_each_second(line: &Arc<Line>) {
    let line = Arc::downgrade(line);
    let ticker = move || {
        let mut next = FIRST_LINE;
        while let Some(line) = line.upgrade().filter(|line| !line.bar.is_finished()) {
            let now = line.since.elapsed();
            if line.manner == Manner::Lines && now >= next {
                say(&format!("corun: {}", line.course().text(now)));
                next = now.saturating_mul(LATER_LINES);
            }
            line.draw();
            drop(line);
            std::thread::sleep(Duration::from_secs(1));
        }
    };
    let _ = std::thread::Builder::new().spawn(ticker);
}
