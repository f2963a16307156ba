//! `corun` alone: the machine in three lines, and commands that exist.

use crate::common::{Outcome, corun};

#[test]
fn corun_alone_says_what_this_machine_is_and_what_to_try() {
    let outcome = Outcome::of(&mut corun::<&str>([]));
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""));
    let (machine, steps) = outcome.output.split_once("\n\nTry next:\n").expect("two parts");
    assert!(machine.contains("logical CPU"), "{machine}");
    assert!(machine.contains("a measurement"), "{machine}");
    let commands: Vec<&str> = steps
        .lines()
        .filter_map(|line| line.trim().strip_prefix("corun ")?.split(' ').next())
        .collect();
    assert!(commands.contains(&"threads") && commands.contains(&"--help"), "{steps}");
    for command in commands.into_iter().filter(|command| !command.starts_with('-')) {
        let help = Outcome::of(&mut corun([command, "--help"]));
        assert_eq!(help.exit, Some(0), "{command}: {}", help.errors);
    }
}

#[test]
fn a_group_of_subcommands_alone_lists_what_there_is() {
    for [alone, action] in [
        ["bench", "list"],
        ["study", "list"],
        ["models", "list"],
        ["runs", "list"],
        ["smt", "status"],
    ] {
        let (short, long) =
            (Outcome::of(&mut corun([alone])), Outcome::of(&mut corun([alone, action])));
        assert_eq!((short.exit, &short.output), (long.exit, &long.output), "{alone}");
        assert_eq!(short.errors, long.errors, "{alone}");
        assert!(!short.output.contains("Usage:"), "{}", short.output);
    }
}
