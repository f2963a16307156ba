//! The terminal of the live view where corun itself fails.

use std::process::Command;
use std::time::Duration;

use corun_monitor::screen::{Colours, LiveError, Selection, View, live};
use corun_monitor::{MonitorError, Source};
use corun_record::Activity;

const FAULT: &str = "a fault of the source";

/// Shows one interval and panics.
struct Panics {
    is_first: bool,
}

impl Source for Panics {
    fn next(&mut self, _: Duration) -> Result<Activity, MonitorError> {
        assert!(self.is_first, "{FAULT}");
        self.is_first = false;
        Ok(Activity::default())
    }
}

#[test]
#[ignore = "runs on the terminal of the other test"]
fn a_screen_whose_source_panics() {
    let view = View::new(Selection::default());
    let ended = live(Panics { is_first: true }, Duration::from_secs(1), view, Colours::Off, None);
    assert!(matches!(ended, Err(LiveError::SourceGone)), "{ended:?}");
}

#[test]
fn a_panic_gives_the_terminal_back_and_is_read_there() {
    let line = format!(
        "stty rows 24 cols 80; {} --ignored --exact terminal::a_screen_whose_source_panics --nocapture; stty -a",
        std::env::current_exe().expect("a path").display()
    );
    let mut command = Command::new("script");
    command.args(["--quiet", "--command", &line, "/dev/null"]).env("TERM", "xterm-256color");
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            return corun_testing::skip(
                "panic on a terminal",
                &format!("script of util-linux: {error}"),
            );
        }
    };
    let seen = String::from_utf8_lossy(&output.stdout);
    for once in ["\u{1b}[?1049h", "\u{1b}[?1049l"] {
        assert_eq!(seen.matches(once).count(), 1, "{once:?}: {seen:?}");
    }
    let (screen, after) = seen.split_once("\u{1b}[?1049l").expect("the screen was left");
    assert!(!screen.contains(FAULT), "{screen:?}");
    assert!(after.contains("\u{1b}[?25h") && after.contains(FAULT), "{after:?}");
    assert!(after.contains("1 passed"), "{after}");
    for mode in ["icanon", "echo", "isig"] {
        assert!(after.split_whitespace().any(|it| it == mode), "{mode}: {after}");
    }
}
