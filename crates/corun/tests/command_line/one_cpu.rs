//! Started on a single CPU: what can be measured there is, the rest is listed with its reason.

use corun_machine::{Affinity, CpuSet};
use corun_record::Placement;

use crate::common::{Outcome, corun};

#[test]
fn a_single_cpu_leaves_what_needs_no_second_one() {
    let run = on_one_cpu(&["measure", "--blocks=2", "--warmup=0", "--json=-", "--", "true"]).run();
    let arms: Vec<&str> = run.arms.iter().map(|arm| arm.id.as_str()).collect();
    assert_eq!(arms, ["spread", "spread.aa", "stacked", "stacked.aa", "free", "free.aa"]);
    let refused: Vec<Placement> = run.not_possible.iter().map(|it| it.placement).collect();
    assert_eq!(refused, [Placement::Single, Placement::Full(None), Placement::Packed(None)]);
    assert!(run.not_possible.iter().all(|it| it.reason.contains(' ')), "{:?}", run.not_possible);
    assert_eq!(run.machine.allowed_cpus, 1);
}

#[test]
fn the_table_says_so_too() {
    let outcome = on_one_cpu(&["measure", "--verbose", "--blocks=2", "--warmup=0", "--", "true"]);
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""));
    let (_, refused) = outcome.output.split_once("\nNot possible here:\n").expect("a list");
    assert!(refused.contains("- single: "), "{refused}");
    assert!(refused.contains("- full, packed: it needs two logical CPUs of a core"), "{refused}");
}

#[test]
fn more_than_the_single_cpu_is_not_possible() {
    let outcome = on_one_cpu(&["measure", "--cores=2", "--", "true"]);
    assert_eq!(outcome.exit, Some(3), "{}", outcome.errors);
}

/// Runs corun on the first CPU of this process; threads hand their affinity down.
pub(crate) fn on_one_cpu(arguments: &[&str]) -> Outcome {
    let started = std::thread::scope(|scope| {
        let starter = scope.spawn(|| {
            let allowed = Affinity::of(0).expect("every thread has one").cpus();
            let only: CpuSet = allowed.iter().take(1).collect();
            Affinity::new(&only).apply(0).expect("a subset of what is allowed");
            Outcome::of(&mut corun(arguments))
        });
        starter.join()
    });
    started.expect("corun starts")
}
