//! Course of work so far, as a person reads it: a share, the time left, a rate.
//!
//! It has no clock and no terminal. What is not known is left out: no share without a total, no time left before
//! there is a rate.

use std::time::Duration;

use corun_record::Stage;

/// Work below this is too short to have a rate.
const SHORTEST: Duration = Duration::from_secs(2);
/// Work that takes longer than this is announced.
const LONG: Duration = Duration::from_secs(60);

/// A stage of work, and how far it has come.
#[derive(Debug, Clone)]
pub(super) struct Course {
    stage: Stage,
    /// When it began; this and all other times are since the line was made.
    begun: Duration,
    done: u64,
    /// When all of it is expected to end, where that is known in another way than by a rate.
    end: Option<Duration>,
    /// When it ends at the latest.
    limit: Option<Duration>,
    is_announced: bool,
}

impl Course {
    /// Of work of which nothing is known.
    pub(super) fn new() -> Self {
        Self {
            stage: Stage::new("", "", None),
            begun: Duration::ZERO,
            done: 0,
            end: None,
            limit: None,
            is_announced: false,
        }
    }

    /// Another stage begins.
    pub(super) fn begin(&mut self, stage: Stage, now: Duration) {
        (self.stage, self.begun, self.done) = (stage, now, 0);
    }

    /// Names another part of the same stage.
    pub(super) fn does(&mut self, what: String) {
        self.stage.what = what;
    }

    /// So many more units are done.
    pub(super) fn advance(&mut self, units: u64) {
        self.done = self.done.saturating_add(units);
    }

    /// So many units are done in all.
    pub(super) fn reach(&mut self, units: u64) {
        self.done = units;
    }

    /// All of it is expected to end then.
    pub(super) fn ends_at(&mut self, end: Duration) {
        self.end = Some(end);
    }

    /// All of it ends then at the latest.
    pub(super) fn ends_before(&mut self, limit: Duration) {
        self.limit = Some(limit);
    }

    /// The part that is done, from 0 to 1; less than 1 while the work goes on. Of work with nothing done and a limit
    /// it is that of the time allowed.
    pub(super) fn share(&self, now: Duration) -> Option<f64> {
        let of_time = |end: Duration| now.as_secs_f64() / end.as_secs_f64().max(f64::MIN_POSITIVE);
        let share = match (self.end, self.stage.total, self.limit) {
            (Some(end), _, _) => of_time(end),
            (None, Some(total), _) if total > 0 && self.done > 0 => self.done as f64 / total as f64,
            (None, _, Some(limit)) => of_time(limit),
            (None, Some(_), None) => 0.0,
            (None, None, None) => return None,
        };
        Some(share.clamp(0.0, 0.999))
    }

    /// The time that is left, as far as it can be known.
    pub(super) fn left(&self, now: Duration) -> Option<Duration> {
        if let Some(end) = self.end {
            return Some(end.saturating_sub(now));
        }
        let took = now.saturating_sub(self.begun);
        let total = self.stage.total.filter(|_| took >= SHORTEST && self.done > 0)?;
        let left = took.mul_f64(total.saturating_sub(self.done) as f64 / self.done as f64);
        Some(self.limit.map_or(left, |limit| left.min(limit.saturating_sub(now))))
    }

    /// Text beside the bar.
    pub(super) fn text(&self, now: Duration) -> String {
        let left = match (self.left(now), self.limit) {
            (Some(left), _) => Some(format!("{} left", about(left))),
            (None, Some(limit)) => {
                Some(format!("at most {} left", about(limit.saturating_sub(now))))
            }
            (None, None) => None,
        };
        // The end of a long line is cut off.
        let parts = [left, Some(self.stage.what.clone()), self.count(now)];
        parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }

    /// Count of an unknown whole, and its rate.
    fn count(&self, now: Duration) -> Option<String> {
        let Stage { unit, total, .. } = self.stage;
        if total.is_some() || unit.is_empty() || self.done == 0 {
            return None;
        }
        let took = now.saturating_sub(self.begun);
        let rate = match took >= SHORTEST {
            true => format!(", {}/s", short(self.done as f64 / took.as_secs_f64())),
            false => String::new(),
        };
        Some(format!("{} {unit}{rate}", short(self.done as f64)))
    }

    /// Announcement of the time for all of it, once it is known that this is more than a minute; only once. Of
    /// several pieces with a common limit, the limit is said at once.
    pub(super) fn announcement(&mut self, now: Duration) -> Option<String> {
        let (whole, said) = match (self.left(now), self.limit, self.stage.total) {
            (Some(left), _, _) => (now + left, format!("about {}", about(now + left))),
            (None, Some(limit), Some(_)) => (limit, format!("{} at most", about(limit))),
            _ => return None,
        };
        if self.is_announced || whole <= LONG {
            return None;
        }
        self.is_announced = true;
        Some(format!("this takes {said}"))
    }
}

/// A time as a clock shows it.
pub(super) fn clock(time: Duration) -> String {
    let (hours, minutes, seconds) =
        (time.as_secs() / 3600, time.as_secs() / 60 % 60, time.as_secs() % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// A time as a person says it.
pub(super) fn about(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    let minutes = (time.as_secs_f64() / 60.0).round() as u64;
    match minutes {
        _ if seconds < 90 => format!("{seconds} s"),
        ..90 => format!("{minutes} min"),
        _ if minutes.is_multiple_of(60) => format!("{} h", minutes / 60),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

/// A number with three digits at most.
fn short(number: f64) -> String {
    let (scaled, unit) = match number {
        1e9.. => (number / 1e9, " G"),
        1e6.. => (number / 1e6, " M"),
        1e3.. => (number / 1e3, " k"),
        _ => (number, ""),
    };
    let digits = usize::from(scaled < 100.0 && !unit.is_empty())
        + usize::from(scaled < 10.0 && !unit.is_empty());
    format!("{scaled:.digits$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn a_stage_with_a_total_has_a_share_and_an_end() {
        let mut course = Course::new();
        course.begin(Stage::new("simulating", "instructions", 1000), seconds(10));
        assert_eq!((course.share(seconds(11)), course.left(seconds(11))), (Some(0.0), None));
        course.advance(200);
        course.advance(50);
        assert_eq!(course.share(seconds(20)), Some(0.25));
        assert_eq!(course.text(seconds(20)), "30 s left, simulating");
        // More than was expected is not more than the whole.
        course.reach(2000);
        assert_eq!(course.share(seconds(50)), Some(0.999));
        assert_eq!(course.text(seconds(50)), "0 s left, simulating");
        course.begin(Stage::new("measuring", "runs", 7), seconds(50));
        assert_eq!(course.share(seconds(50)), Some(0.0));
    }

    #[test]
    fn a_stage_without_a_total_says_what_is_known() {
        let mut course = Course::new();
        assert_eq!(course.text(seconds(0)), "");
        course.begin(Stage::new("tracing", "instructions", None), seconds(0));
        assert_eq!(course.text(seconds(1)), "tracing");
        course.advance(12_340_000);
        assert_eq!(course.text(seconds(1)), "tracing, 12.3 M instructions");
        assert_eq!(course.text(seconds(4)), "tracing, 12.3 M instructions, 3.08 M/s");
        assert_eq!((course.share(seconds(4)), course.left(seconds(4))), (None, None));
    }

    #[test]
    fn an_end_that_is_known_otherwise_goes_before_a_rate() {
        let mut course = Course::new();
        course.begin(Stage::new("block 3", "runs", 100), seconds(0));
        course.ends_before(seconds(300));
        assert_eq!(course.text(seconds(60)), "at most 4 min left, block 3");
        assert_eq!(course.share(seconds(60)), Some(0.2));
        course.reach(1);
        assert_eq!(course.text(seconds(60)), "4 min left, block 3");
        course.ends_at(seconds(120));
        assert_eq!(course.share(seconds(60)), Some(0.5));
        assert_eq!(course.text(seconds(60)), "60 s left, block 3");
    }

    #[test]
    fn what_takes_more_than_a_minute_is_announced_once() {
        let mut course = Course::new();
        course.begin(Stage::new("simulating", "instructions", 100), seconds(0));
        course.advance(2);
        assert_eq!(course.announcement(seconds(1)), None, "too early for a rate");
        assert_eq!(course.announcement(seconds(4)).as_deref(), Some("this takes about 3 min"));
        assert_eq!(course.announcement(seconds(5)), None);
        let mut limited = Course::new();
        limited.ends_before(seconds(180));
        assert_eq!(limited.announcement(seconds(0)), None, "it may end long before");
        limited.begin(Stage::new("", "", 7000), seconds(0));
        assert_eq!(limited.announcement(seconds(0)).as_deref(), Some("this takes 3 min at most"));
        let mut short = Course::new();
        short.begin(Stage::new("simulating", "instructions", 100), seconds(0));
        short.advance(50);
        assert_eq!(short.announcement(seconds(30)), None);
    }

    #[test]
    fn times_and_numbers_are_short() {
        let said = [0, 59, 89, 90, 200, 5399, 5400, 7200].map(|count| about(seconds(count)));
        assert_eq!(
            said,
            ["0 s", "59 s", "89 s", "2 min", "3 min", "1 h 30 min", "1 h 30 min", "2 h"]
        );
        assert_eq!([5, 92, 3723].map(|count| clock(seconds(count))), ["0:05", "1:32", "1:02:03"]);
        let said = [0.0, 7.0, 999.0, 1234.0, 45_600.0, 7.89e8, 3e9].map(short);
        assert_eq!(said, ["0", "7", "999", "1.23 k", "45.6 k", "789 M", "3.00 G"]);
    }
}
