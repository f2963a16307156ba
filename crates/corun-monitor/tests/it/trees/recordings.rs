//! Recordings and their replay.

use std::fs;
use std::path::Path;
use std::time::Duration;

use corun_monitor::{MonitorError, Recorder, Replay, Source, System};
use corun_record::{Actionable, Activity, Exit};

use crate::trees::builder::{Shown, Tree, second};

/// Three seconds of a system, with a name that would steer a terminal.
fn recorded(path: &Path) -> Vec<Activity> {
    let tree = Tree::of_cores(&[&[0, 1]]);
    tree.process(10, Shown::new("\u{1b}]0;x\u{7}\nforged", 0, 0, 0));
    let mut system: System = tree.open();
    let mut recorder = Recorder::create(path, system.machine()).unwrap();
    let mut activities = Vec::new();
    for round in 1..=3 {
        tree.process(10, Shown::new("\u{1b}]0;x\u{7}\nforged", 17 * round, 0, 0));
        let activity = second(&mut system);
        recorder.write(&activity).unwrap();
        activities.push(activity);
    }
    activities
}

/// All that a replay has, and how it ended.
fn replayed(replay: &mut Replay) -> (Vec<Activity>, MonitorError) {
    let mut activities = Vec::new();
    loop {
        match replay.next(Duration::ZERO) {
            Ok(activity) => activities.push(activity),
            Err(error) => return (activities, error),
        }
    }
}

#[test]
fn a_replay_has_what_was_recorded() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["lecture.jsonl", "lecture.jsonl.zst"] {
        let path = folder.path().join(name);
        let activities = recorded(&path);
        let mut replay = Replay::open(&path, None).unwrap();
        assert_eq!((replay.machine().cores.len(), replay.started().len()), (1, 20));
        let (found, error) = replayed(&mut replay);
        assert_eq!(found, activities, "{name}");
        assert!(
            matches!(error, MonitorError::Ended) && replay.caveat().is_none(),
            "{name}: {error}"
        );
        assert!(
            !fs::read_to_string(&path).unwrap_or_default().contains('\u{1b}'),
            "JSON escapes it"
        );
    }
}

#[test]
fn a_replay_goes_back_and_forth_and_says_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lecture.jsonl.zst");
    let activities = recorded(&path);
    let mut replay = Replay::open(&path, None).unwrap();
    let playback = replay.playback();
    assert_eq!(replay.next(Duration::ZERO).unwrap(), activities[0]);
    assert!(replay.moment().unwrap().ends_with(" UTC, 1s into it"), "{:?}", replay.moment());
    playback.step(2);
    assert_eq!(replay.next(Duration::ZERO).unwrap(), activities[2]);
    assert!(matches!(replay.next(Duration::ZERO), Err(MonitorError::Ended)));
    for (steps, shown) in [(-1, 1), (-9, 0), (9, 2)] {
        playback.step(steps);
        assert_eq!(replay.next(Duration::ZERO).unwrap(), activities[shown], "{steps}");
    }
    assert!(replay.moment().unwrap().ends_with(" UTC, 3s into it"), "{:?}", replay.moment());
}

#[test]
fn a_recorder_that_was_killed_leaves_what_it_saw() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.jsonl", "a.jsonl.zst"] {
        let path = folder.path().join(name);
        let activities = recorded(&path);
        let bytes = fs::read(&path).unwrap();
        let (mut ends, mut most) = (0, 0);
        for length in (0..bytes.len()).rev().step_by(7) {
            fs::write(&path, &bytes[..length]).unwrap();
            let Ok(mut replay) = Replay::open(&path, None) else { continue };
            let (found, error) = replayed(&mut replay);
            match found.is_empty() {
                // Nothing was seen yet, or the first line is what was cut.
                true => assert!(
                    matches!(error, MonitorError::Ended | MonitorError::NoRecording { .. }),
                    "{name} {length}: {error}"
                ),
                false => assert!(matches!(error, MonitorError::Ended), "{name} {length}: {error}"),
            }
            assert_eq!(found, activities[..found.len()], "{name} {length}");
            most = most.max(found.len());
            ends += usize::from(replay.caveat().is_some());
            assert!(replay.caveat().is_none_or(|it| it.contains("ends within line")));
        }
        // Of a compressed line that was cut nothing is left; the lines before it are whole.
        assert!(ends > 3 || name.ends_with("zst"), "{name}: {ends}");
        assert!(most >= 2, "{name}: {most}");
    }
}

#[test]
fn figures_that_no_machine_has_are_refused_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    recorded(&path);
    let text = fs::read_to_string(&path).unwrap();
    for (name, wrong) in [("interval_s", "-5.0"), ("interval_s", "0.0"), ("used_high", "1e300")] {
        let at = text.find(&format!("\"{name}\":")).unwrap() + name.len() + 3;
        let end = at + text[at..].find([',', '}']).unwrap();
        fs::write(&path, format!("{}{wrong}{}", &text[..at], &text[end..])).unwrap();
        let error = Replay::open(&path, None).unwrap().next(Duration::ZERO).unwrap_err();
        assert!(matches!(error, MonitorError::Line { line: 2, .. }), "{name} {wrong}: {error}");
    }
}

#[test]
fn what_is_there_is_not_recorded_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    recorded(&path);
    let tree = Tree::of_cores(&[&[0, 1]]);
    let error = Recorder::create(&path, tree.open().machine()).unwrap_err();
    assert!(error.to_string().contains("found: File exists"), "{error}");
    assert_eq!(error.exit(), Exit::Failed);
    assert_eq!(replayed(&mut Replay::open(&path, None).unwrap()).0.len(), 3);
}

#[test]
fn a_file_that_is_no_recording_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    recorded(&path);
    let text = fs::read_to_string(&path).unwrap();
    let (head, rest) = text.split_once('\n').unwrap();
    let refused = |text: &str| {
        fs::write(&path, text).unwrap();
        let error = Replay::open(&path, None).unwrap_err();
        assert_eq!(error.exit(), Exit::Failed);
        error.to_string()
    };
    assert!(refused("").ends_with("a first line that does not say what the file is"));
    assert!(refused("{}\n").ends_with("a first line that does not say what the file is"));
    assert!(
        refused("{\"format\":\"corun-run\",\"version\":1}\n").ends_with("format \"corun-run\"")
    );
    let newer = head.replacen("\"version\":1", "\"version\":9", 1);
    assert!(
        refused(&newer).ends_with("version 9, where this corun reads up to 1"),
        "{}",
        refused(&newer)
    );
    fs::write(&path, format!("{head}\n{{\"interval_s\":\u{1}}}\n{rest}")).unwrap();
    let error = replayed(&mut Replay::open(&path, None).unwrap()).1;
    assert!(error.to_string().contains("expected an interval in line 2 of "), "{error}");
    assert!(!error.to_string().contains('\u{1}'));
    let error = Replay::open(&folder.path().join("none"), None).unwrap_err();
    assert!(error.to_string().contains("No such file"), "{error}");
}
