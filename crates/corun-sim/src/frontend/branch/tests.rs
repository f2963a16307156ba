//! What a predictor of this class is known to learn, and what it cannot.

use corun_trace::BranchKind::{self, Call, Conditional, IndirectCall, IndirectJump, Jump, Return};
use proptest::prelude::*;

use crate::frontend::branch::*;
use corun_model::{Indirect, Sharing, Tage};

/// A model of the sizes of a published TAGE.
fn model() -> BranchPrediction {
    BranchPrediction {
        direction: Tage {
            base: 16384,
            table: 2048,
            histories: vec![4, 9, 18, 36, 72, 144, 288, 576],
            tag: 11,
            of_taken: false,
            allocations: 1,
        },
        targets: vec![1536, 7168],
        taken: vec![0, 3],
        indirect: Indirect {
            entries: 2048,
            of_branch: None,
            histories: vec![4, 8, 16, 32],
            bubble: 0,
        },
        ahead: 0,
        linking: 0,
        return_stack: 32,
        mispredict: 13,
        resteer: 8,
        wrong_paths: false,
        sharing: Sharing {
            policy: Policy::Shared,
            cap: None,
            source: "a test".into(),
            assumed: true,
        },
    }
}

fn with_policy(policy: Policy) -> BranchPrediction {
    let mut model = model();
    model.sharing.policy = policy;
    model
}

/// A branch of two bytes.
#[derive(Debug, Clone, Copy)]
struct Branch {
    at: u64,
    kind: BranchKind,
    target: u64,
}

fn conditional(at: u64, is_taken: bool) -> Branch {
    Branch { at, kind: Conditional, target: if is_taken { at + 0x40 } else { at + 2 } }
}

fn go(predictor: &mut Predictor, thread: usize, branch: Branch) -> Outcome {
    predictor.branch(thread, branch.at, 2, branch.kind, branch.target)
}

/// Mispredictions among the branches from the `warm`-th on.
fn wrong(
    predictor: &mut Predictor,
    branches: impl IntoIterator<Item = Branch>,
    warm: usize,
) -> usize {
    let outcomes = branches.into_iter().map(|branch| go(predictor, 0, branch));
    outcomes.skip(warm).filter(|outcome| *outcome == Outcome::Mispredict).count()
}

/// Words that look random, always the same ones.
fn noise(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        // splitmix64 (Vigna 2015)
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    })
}

/// The branch back of a loop of `period` iterations.
fn loops(period: usize) -> impl Iterator<Item = Branch> {
    (1..).map(move |iteration: usize| conditional(0x1000, !iteration.is_multiple_of(period)))
}

#[test]
fn loops_up_to_the_longest_history_are_learned() {
    for period in [2, 3, 7, 30, 100, 250, 500, 576] {
        let branches = loops(period).take(420 * period);
        assert_eq!(wrong(&mut Predictor::new(&model()), branches, 400 * period), 0, "{period}");
    }
}

#[test]
fn a_loop_longer_than_every_history_ends_in_surprise() {
    let branches = loops(1000).take(100_000);
    let wrong = wrong(&mut Predictor::new(&model()), branches, 50_000);
    assert!((45..=60).contains(&wrong), "{wrong}");
}

#[test]
fn alternation_is_learned_with_a_history_of_one_and_by_gshare() {
    for histories in [vec![1], vec![]] {
        let mut model = model();
        model.direction.histories = histories;
        assert_eq!(wrong(&mut Predictor::new(&model), loops(2).take(1000), 500), 0);
    }
}

/// Rounds of a coin's throw, so many branches that always go the same way, and a branch that goes as the throw did.
fn repeated(rounds: usize, between: u64, is_taken: bool) -> impl Iterator<Item = Branch> {
    noise(6).take(rounds).flat_map(move |word| {
        let between = (0..between).map(move |place| conditional(0x10_0000 + place * 16, is_taken));
        let [first, last] = [0x1000, 0x2000].map(|at| conditional(at, word & 1 == 1));
        [first].into_iter().chain(between).chain([last])
    })
}

#[test]
fn a_history_of_taken_branches_reaches_as_many_of_them_and_ignores_others() {
    let rounds = 4000;
    // The throw is wrong every other time, and so is the last branch if it is not known.
    let is_known = |of_taken: bool, between: u64, is_taken: bool| {
        let mut model = model();
        model.direction.histories = vec![2, 4, 8, 14, 25, 44];
        model.direction.of_taken = of_taken;
        let branches = repeated(rounds, between, is_taken);
        let half = rounds / 2;
        let warm = half * (between as usize + 2);
        let wrong = wrong(&mut Predictor::new(&model), branches, warm) as f64 / half as f64;
        assert!((0.4..0.75).contains(&wrong) || (0.9..1.1).contains(&wrong), "{wrong}");
        wrong < 0.8
    };
    for (between, is_taken, expected) in
        [(42, true, [true, true]), (46, true, [false, false]), (300, false, [false, true])]
    {
        let found = [false, true].map(|of_taken| is_known(of_taken, between, is_taken));
        assert_eq!(found, expected, "{between} {is_taken}");
    }
}

#[test]
fn with_more_entries_for_a_misprediction_a_random_sequence_is_learned_sooner() {
    let sequence: Vec<Branch> = noise(7)
        .take(2048)
        .zip(0..)
        .map(|(word, at)| conditional(0x1000 + at % 32 * 16, word & 1 == 1))
        .collect();
    let wrong = |allocations| {
        let mut model = model();
        model.direction.allocations = allocations;
        let passes = sequence.iter().copied().cycle().take(3 * sequence.len());
        wrong(&mut Predictor::new(&model), passes, sequence.len())
    };
    assert!(wrong(2) * 10 < wrong(1) * 9, "{} {}", wrong(2), wrong(1));
}

#[test]
fn half_of_a_coin_s_throws_are_wrong() {
    let throws = noise(1).map(|word| conditional(0x1000, word & 1 == 1)).take(40_000);
    let wrong = wrong(&mut Predictor::new(&model()), throws, 20_000);
    assert!((9_000..=11_000).contains(&wrong), "{wrong}");
}

#[test]
fn a_branch_is_predicted_by_those_that_decide_it() {
    let branches = noise(2).flat_map(|word| {
        let (first, second) = (word & 1 == 1, word & 2 == 2);
        [
            conditional(0x1000, first),
            conditional(0x2000, second),
            conditional(0x3000, first != second),
        ]
    });
    let mut predictor = Predictor::new(&model());
    let mut wrong = 0;
    for (number, branch) in branches.take(30_000).enumerate() {
        let outcome = go(&mut predictor, 0, branch);
        let counts = number >= 15_000 && branch.at == 0x3000;
        wrong += usize::from(counts && outcome == Outcome::Mispredict);
    }
    assert!(wrong < 50, "{wrong} of 5000");
}

/// A nest of calls of some depth, and the returns from it.
fn nest(depth: u64) -> Vec<Branch> {
    let calls = (0..depth).map(|level| Branch {
        at: 0x1000 + level * 0x100,
        kind: if level.is_multiple_of(3) { IndirectCall } else { Call },
        target: 0x10f0 + level * 0x100,
    });
    let returns = (0..depth).rev().map(|level| Branch {
        at: 0x11f8 + level * 0x100,
        kind: Return,
        target: 0x1002 + level * 0x100,
    });
    calls.chain(returns).collect()
}

#[test]
fn calls_return_up_to_the_depth_of_the_stack() {
    for (depth, expected) in [(1, 0), (32, 0), (33, 1), (40, 8)] {
        let rounds = std::iter::repeat_n(nest(depth), 5).flatten();
        let warm = 4 * 2 * depth as usize;
        let wrong = wrong(&mut Predictor::new(&model()), rounds, warm);
        assert_eq!(wrong, expected, "{depth}");
    }
}

#[test]
fn a_call_of_what_follows_returns_nowhere() {
    let call = Branch { at: 0x1000, kind: Call, target: 0x2000 };
    let whereabouts = Branch { at: 0x2000, kind: Call, target: 0x2002 };
    let back = Branch { at: 0x2010, kind: Return, target: 0x1002 };
    assert_eq!(wrong(&mut Predictor::new(&model()), [call, whereabouts, back], 0), 0);
}

#[test]
fn an_interpreter_s_jump_is_learned_by_history() {
    let program = [0x2000, 0x3010, 0x2000, 0x4024, 0x5037, 0x3010];
    let jumps =
        program.iter().cycle().map(|&target| Branch { at: 0x1000, kind: IndirectJump, target });
    assert_eq!(wrong(&mut Predictor::new(&model()), jumps.clone().take(600), 300), 0);
    let mut without = model();
    without.indirect.histories = vec![0];
    assert!(wrong(&mut Predictor::new(&without), jumps.take(600), 300) > 150);
}

/// An interpreter whose operations read data at random: the last jumps determine the next one, and only a short history
/// has nothing of the data in it; where a micro-op depends on several before, only a long one has them all.
#[test]
fn short_and_long_histories_each_predict_the_jumps_that_need_them() {
    let of = |histories: &[u32], is_noisy: bool| {
        let mut model = model();
        model.indirect.histories = histories.to_vec();
        let mut branches = Vec::new();
        for (word, step) in noise(7).zip(0u64..60_000) {
            let uop = if is_noisy { step % 8 } else { u64::from(step % 12 == 0) };
            let taken = is_noisy && word & 1 == 1;
            branches.extend(
                (0..3).map(|at| conditional(0x1000 + 8 * at, taken && word >> at & 2 != 0)),
            );
            let target = 0x2000 + 0x135 * uop;
            branches.push(Branch { at: 0x8000 + 0x10 * (step % 2), kind: IndirectJump, target });
        }
        let mut predictor = Predictor::new(&model);
        let mut wrong = 0;
        for (number, branch) in branches.into_iter().enumerate() {
            let outcome = go(&mut predictor, 0, branch);
            let counts = number >= 200_000 && branch.kind == IndirectJump;
            wrong += usize::from(counts && outcome == Outcome::Mispredict);
        }
        wrong
    };
    let (noisy, long) = (true, false);
    for (histories, is_noisy, is_enough) in [
        (&[6, 12, 24, 48][..], noisy, true),
        (&[48], noisy, false),
        (&[6, 12, 24, 60], long, true),
        (&[6], long, false),
    ] {
        let wrong = of(histories, is_noisy);
        assert_eq!(wrong < 500, is_enough, "{wrong} by {histories:?}");
    }
}

#[test]
fn an_alternating_target_is_learned() {
    let jumps = (0..).map(|turn: u64| Branch {
        at: 0x1000,
        kind: IndirectCall,
        target: 0x2000 + turn % 2 * 0x100,
    });
    assert_eq!(wrong(&mut Predictor::new(&model()), jumps.take(100), 50), 0);
}

#[test]
fn what_is_unknown_is_found_by_decoding_or_by_execution() {
    let mut predictor = Predictor::new(&model());
    let jump = Branch { at: 0x1000, kind: Jump, target: 0x2000 };
    assert_eq!(go(&mut predictor, 0, jump), Outcome::Resteer);
    assert_eq!(go(&mut predictor, 0, jump), Outcome::Right { bubble: 0 });
    let indirect = Branch { at: 0x3000, kind: IndirectJump, target: 0x2000 };
    assert_eq!(go(&mut predictor, 0, indirect), Outcome::Mispredict);
    assert_eq!(go(&mut predictor, 0, indirect), Outcome::Right { bubble: 0 });
    let other = Branch { at: 0x4000, kind: BranchKind::Other, target: 0x4002 };
    assert_eq!(go(&mut predictor, 0, other), Outcome::Right { bubble: 0 });
    assert_eq!(go(&mut predictor, 0, Branch { target: 0x5000, ..other }), Outcome::Mispredict);
}

#[test]
fn each_level_has_its_bubble_and_conditionals_beyond_the_last_are_found_by_decoding() {
    let mut model = model();
    (model.targets, model.taken) = (vec![16, 64], vec![1, 4]);
    for (branches, expected) in [
        (16, Outcome::Right { bubble: 1 }),
        (64, Outcome::Right { bubble: 4 }),
        (128, Outcome::Resteer),
    ] {
        for kind in [Jump, Conditional] {
            let mut predictor = Predictor::new(&model);
            for round in 0..20 {
                for branch in 0..branches {
                    let at = 0x1000 + branch * 16;
                    let outcome = go(&mut predictor, 0, Branch { at, kind, target: at + 8 });
                    assert!(round < 10 || outcome == expected, "{branches} {kind:?} {outcome:?}");
                }
            }
        }
    }
}

/// A synthetic program: biased, periodic and correlated conditionals, calls, jumps of few targets.
fn program(seed: u64, length: usize) -> Vec<Branch> {
    let mut ones = 0u64;
    let words = noise(seed).take(length).zip(0u64..);
    let branches = words.map(|(word, number)| {
        let at = 0x40_0000 + word % 200 * 12;
        let branch = match word >> 8 & 7 {
            0 => Branch { at, kind: Jump, target: at + 0x80 },
            1 => {
                let target = 0x50_0000 + (ones & 3) * 0x40;
                Branch { at: at + 2, kind: IndirectJump, target }
            }
            2 | 3 => conditional(at + 4, word >> 16 & 15 != 0),
            4 | 5 => conditional(at + 6, ones & 1 == 1),
            _ => conditional(at + 8, number % 4 == 0),
        };
        ones = ones << 1 | u64::from(branch.target != branch.at + 2);
        branch
    });
    branches.collect()
}

#[test]
fn the_same_branches_have_the_same_outcomes() {
    let outcomes = || -> Vec<Outcome> {
        let mut predictor = Predictor::new(&model());
        program(3, 20_000).into_iter().map(|branch| go(&mut predictor, 0, branch)).collect()
    };
    assert_eq!(outcomes(), outcomes());
}

/// Outcomes of thread 0 that change if another thread executes other code at the same addresses.
fn disturbed(policy: Policy) -> usize {
    let (own, others) = (program(4, 20_000), program(5, 20_000));
    let mut alone = Predictor::new(&with_policy(policy));
    let mut beside = Predictor::new(&with_policy(policy));
    if policy == Policy::Partitioned {
        alone.admit(1);
    }
    let pairs = own.into_iter().zip(others);
    let differs = pairs.filter(|&(branch, other)| {
        go(&mut beside, 1, Branch { target: other.target ^ 0x8_0000, ..other });
        go(&mut alone, 0, branch) != go(&mut beside, 0, branch)
    });
    differs.count()
}

#[test]
fn siblings_disturb_each_other_in_shared_tables_only() {
    assert!(disturbed(Policy::Shared) > 100);
    assert_eq!(disturbed(Policy::Replicated), 0);
    assert_eq!(disturbed(Policy::Partitioned), 0);
}

#[test]
fn history_and_return_stack_are_each_thread_s_own() {
    let mut predictor = Predictor::new(&model());
    for round in 0..300 {
        for thread in 0..2 {
            let call = Branch { at: 0x1000 + thread * 0x1000, kind: Call, target: 0x8000 };
            let branch = conditional(0x9000 + thread * 0x100, (round + thread) % 3 == 0);
            go(&mut predictor, thread as usize, call);
            let outcome = go(&mut predictor, thread as usize, branch);
            assert!(round < 200 || outcome != Outcome::Mispredict, "{round}");
        }
        for thread in 0..2 {
            let target = 0x1002 + thread * 0x1000;
            let back = Branch { at: 0x8010, kind: Return, target };
            assert_ne!(go(&mut predictor, thread as usize, back), Outcome::Mispredict);
        }
    }
}

#[test]
fn a_part_is_smaller_than_the_whole() {
    let part = part(&model(), 3);
    assert_eq!(
        (part.direction.base, part.direction.table, part.indirect.entries),
        (4096, 512, 682)
    );
    assert_eq!(part.targets, [512, 2389]);
    assert_eq!(part.return_stack, 32);
}

/// Cycles that `programs` programs lose to branches.
fn lost(model: &BranchPrediction, programs: u64) -> u32 {
    let lost = |seed| {
        let mut predictor = Predictor::new(model);
        let outcomes = program(seed, 20_000).into_iter().map(|one| go(&mut predictor, 0, one));
        let cost = |outcome| match outcome {
            Outcome::Right { .. } => 0,
            Outcome::Resteer => model.resteer,
            Outcome::Mispredict => model.mispredict,
        };
        outcomes.map(cost).sum::<u32>()
    };
    (0..programs).map(lost).sum()
}

/// One program may lose at random, by where its branches lie in a larger table; several do not. Without
/// tagged tables a larger one uses a longer history, which takes longer to learn.
#[test]
fn more_entries_are_not_notably_worse() {
    for histories in [vec![], vec![2, 5, 13], vec![4, 8, 16, 32, 64]] {
        let mut small = model();
        small.direction = Tage { base: 128, table: 64, histories, ..small.direction };
        small.targets = vec![32];
        small.indirect.entries = 32;
        let mut larger = [small.clone(), small.clone(), small.clone(), small.clone()];
        larger[0].direction.base *= 4;
        larger[1].direction.table *= 4;
        larger[2].targets[0] *= 4;
        larger[3].indirect.entries *= 4;
        let lost_by_small = lost(&small, 16);
        for large in larger {
            let lost_by_large = lost(&large, 16);
            assert!(
                f64::from(lost_by_large) <= 1.02 * f64::from(lost_by_small),
                "{lost_by_small} cycles with few entries, {lost_by_large} with more: {large:?}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_sizes_and_branches_are_taken(
        base in 0u32..6,
        table in 0u32..6,
        histories in prop::collection::btree_set(1u32..4097, 0..5),
        tag in 1u32..33,
        targets in prop::collection::btree_set(1u32..40, 1..4),
        targets_by in prop::collection::btree_set(0u32..65, 0..9),
        policy in prop::sample::select(vec![
            Policy::Replicated, Policy::Partitioned, Policy::Shared, Policy::Alternating,
        ]),
        branches in prop::collection::vec((0..3usize, any::<u64>(), any::<u64>(), 0..7usize), 0..300),
    ) {
        let mut model = with_policy(policy);
        let histories = histories.into_iter().collect();
        let (of_taken, allocations) = (base % 2 == 0, tag % 3 + 1);
        model.direction =
            Tage { base: 1 << base, table: 1 << table, histories, tag, of_taken, allocations };
        model.taken = targets.iter().map(|_| 0).collect();
        model.targets = targets.into_iter().collect();
        let of_branch = Some(1 + (1 << table) / 3).filter(|_| table % 2 == 0);
        model.indirect = Indirect {
            entries: 1 << table,
            of_branch,
            histories: targets_by.into_iter().collect(),
            bubble: 3,
        };
        model.return_stack = 1 + base;
        let kinds = [Conditional, Jump, Call, IndirectJump, IndirectCall, Return, BranchKind::Other];
        let mut predictor = Predictor::new(&model);
        for (thread, at, target, kind) in branches {
            go(&mut predictor, thread, Branch { at, kind: kinds[kind], target });
            if kind > 0 && kind < 5 {
                // The last target of a direct branch is known right away.
                let outcome = go(&mut predictor, thread, Branch { at, kind: Jump, target });
                prop_assert_eq!(outcome, Outcome::Right { bubble: 0 });
            }
        }
    }
}
