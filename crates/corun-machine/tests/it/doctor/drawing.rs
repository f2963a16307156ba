//! Diagnoses as a person sees them.

use corun_machine::doctor::{Report, draw};

use crate::doctor::healthy::{CPUS, rewrite, stat, task, tree, watched};

/// A machine with a finding of each severity.
fn sick() -> Report {
    let tree = tree()
        .file("proc/70/stat", task(70, "\x1b[31mred", 0))
        .file(&format!("{CPUS}/intel_pstate/no_turbo"), 0)
        .file("proc/sys/kernel/nmi_watchdog", 1)
        .without("proc/sys/kernel/randomize_va_space")
        .file(
            &format!("{CPUS}/vulnerabilities/mds"),
            "Mitigation: Clear CPU buffers; SMT vulnerable",
        );
    watched(&tree, || {
        rewrite(&tree, "proc/stat", &stat([1050, 1000, 1000, 1000], [0; 4]));
        rewrite(&tree, "proc/70/stat", &task(70, "\x1b[31mred", 50));
    })
}

#[test]
fn what_matters_most_comes_first_and_what_is_fine_is_short() {
    insta::assert_snapshot!(draw(&sick(), 80, false));
}

#[test]
fn nothing_found() {
    insta::assert_snapshot!(draw(&watched(&tree(), || ()), 100, false));
}

#[test]
fn lines_fit_and_commands_are_never_broken() {
    for width in [0, 40, 60, 100] {
        let text = draw(&sick(), width, false);
        for line in text.lines() {
            let is_command = ["echo ", "sudo "].iter().any(|it| line.trim().starts_with(it));
            let is_path = line.split_whitespace().any(|word| word.starts_with('/'));
            let fits = line.chars().count() <= width.max(33);
            assert!(fits || is_command || is_path, "{width}: {line}");
        }
        assert!(text.contains(&format!("echo 1 | sudo tee /{CPUS}/intel_pstate/no_turbo\n")));
    }
}

#[test]
fn colour_changes_nothing_but_colour_and_a_task_cannot_bring_its_own() {
    let report = sick();
    let coloured = draw(&report, 80, true);
    assert!(coloured.contains("\x1b[31mspoils"));
    let sequences = ["\x1b[0m", "\x1b[1m"].map(str::to_owned);
    let colours = (31..37).map(|code| format!("\x1b[{code}m"));
    let plain = colours.chain(sequences).fold(coloured, |text, code| text.replace(&code, ""));
    let expected = draw(&report, 80, false);
    let trimmed = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    assert_eq!(trimmed(&plain), trimmed(&expected));
    assert!(!expected.contains('\x1b') && expected.contains("\u{fffd}[31mred"));
}
