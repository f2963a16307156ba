//! Options that were renamed: the former names are understood and shown nowhere.

use crate::common::{Outcome, corun};

/// A command with the former option, the former option, and today's.
const RENAMED: [(&[&str], &str, &str); 10] = [
    (&["measure", "--arms=x", "--", "true"], "--arms", "--placement <LIST>"),
    (&["audit", "--budget=60"], "--budget", "--max-time <TIME>"),
    (&["audit", "--held-on=x"], "--held-on", "--pinned-to <CPUS>"),
    (&["study", "run", "os-lecture", "--budget=60"], "--budget", "--max-time <TIME>"),
    (&["predict", "--budget=60", "--", "true"], "--budget", "--max-time <TIME>"),
    (&["topo", "--probe", "--probe-time=60"], "--probe-time", "--max-time <TIME>"),
    (&["schedule", "--until=60"], "--until", "--max-time <TIME>"),
    (
        &["trace", "-o", "t", "--sample=1:1", "--warm-up=x", "--", "true"],
        "--warm-up",
        "--warmup <N>",
    ),
    (&["simulate", "--model=zen4", "--blocks"], "--blocks", "--block-file <FILE>"),
    (&["calibrate", "--csv=-", "--blocks"], "--blocks", "--block-file <FILE>"),
];

#[test]
fn former_options_mean_those_of_today() {
    for (arguments, _, today) in RENAMED {
        let outcome = Outcome::of(&mut corun(arguments));
        assert_eq!(outcome.exit, Some(2), "{arguments:?}");
        assert!(
            outcome.errors.contains(&format!("'{today}'")),
            "{arguments:?}: {}",
            outcome.errors
        );
    }
}

#[test]
fn help_shows_the_options_of_today_alone() {
    for (arguments, former, today) in RENAMED {
        let mut command = match arguments[0] {
            "study" => corun(["study", "run", "--help"]),
            other => corun([other, "--help"]),
        };
        let help = Outcome::of(&mut command).output;
        let option = today.split(' ').next().expect("a word");
        assert!(help.contains(option), "{arguments:?}: {help}");
        assert!(!help.contains(&format!("{former} <")), "{arguments:?}: {help}");
    }
}
