//! Siblings on one core: outcomes that follow from the model by reasoning, for every model.

use corun_model::timing::TimingTable;
use corun_model::{CoreModel, Policy, Vendor};
use corun_sim::{Part, Unwatched, simulate};
use corun_trace::format::Trace;

use crate::made::{self, By, Loop, body, simulated, smt_yield};

fn models() -> Vec<CoreModel> {
    corun_model::designs().unwrap()
}

fn find(name: &str) -> CoreModel {
    corun_model::find(name).unwrap()
}

fn with(model: &CoreModel, settings: &[(&str, &str)]) -> CoreModel {
    let owned = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    model.clone().with(&owned.collect::<Vec<_>>()).unwrap()
}

/// imul rax, rax: 20 times.
fn chain() -> Vec<u8> {
    [0x48, 0x0f, 0xaf, 0xc0].repeat(20)
}

#[test]
fn two_chains_of_latency_do_not_notice_each_other() {
    let chain = body(&chain());
    for model in models() {
        let found = smt_yield(&model, &[&chain]);
        assert!((1.97..=2.01).contains(&found), "{}: {found}", model.name);
    }
}

/// imul r8, rdi, 3; imul r9, rdi, 3; ...: one port, no dependencies.
fn products() -> Vec<u8> {
    (0..24).flat_map(|place: u8| [0x4c, 0x6b, 0xc7 | (place % 8) << 3, 0x03]).collect()
}

#[test]
fn two_streams_for_the_same_port_gain_nothing() {
    let stream = body(&products());
    for model in models() {
        let found = smt_yield(&model, &[&stream]);
        assert!((0.97..=1.05).contains(&found), "{}: {found}", model.name);
    }
}

/// Of the cycles in which siblings of a core that run this program start micro-ops, those in which both do.
fn at_once(model: &CoreModel, program: &Trace) -> f64 {
    let full = simulated(model, &[program], "full@2", 1);
    let workers = full.phases.iter().flat_map(|phase| &phase.workers);
    let issue =
        workers.map(|one| one.simulated.issue).reduce(corun_record::IssueCycles::plus).unwrap();
    issue.with_sibling as f64 / issue.own as f64
}

#[test]
fn siblings_start_micro_ops_in_the_same_cycle_where_the_core_has_ports_for_both() {
    // add rax, rax: one a cycle for each thread, on any of several ports.
    let additions = body(&[0x48, 0x01, 0xc0].repeat(20));
    for model in models() {
        let found = at_once(&model, &additions);
        assert!((0.7..=1.0).contains(&found), "{}: {found}", model.name);
        let alone = simulated(&model, &[&additions], "spread", 1);
        let workers = alone.phases.iter().flat_map(|phase| &phase.workers);
        assert!(
            workers.map(|one| one.simulated.issue).all(|it| it.own > 0 && it.with_sibling == 0)
        );
    }
    // One of its ports multiplies, and starts one micro-op a cycle.
    let found = at_once(&corun_model::find("coffee-lake").unwrap(), &body(&products()));
    assert!(found <= 0.2, "{found}");
}

/// The SMT yield of one program on all of a core's threads, or on so many.
fn yield_of(model: &CoreModel, program: &Trace, placement: &str) -> f64 {
    let [spread, full] = ["spread", placement].map(|it| simulated(model, &[program], it, 2));
    assert_eq!(full.cores(), 1);
    full.per_core(&spread).unwrap().mean
}

#[test]
fn four_siblings_are_as_good_as_four_cores_or_as_one() {
    let model = corun_model::find("little-smt4").unwrap();
    // mulsd xmm0, xmm0: five cycles of latency, one of a port.
    let latency = body(&[0xf2, 0x0f, 0x59, 0xc0].repeat(20));
    let port = body(&products());
    for (placement, threads) in [("full", 4.0), ("full@3", 3.0), ("full@2", 2.0)] {
        let found = yield_of(&model, &latency, placement);
        assert!((0.985 * threads..=1.005 * threads).contains(&found), "{placement}: {found}");
        let found = yield_of(&model, &port, placement);
        assert!((0.97..=1.05).contains(&found), "{placement}: {found}");
    }
    // Three cycles of latency, each of which another thread can have: a fourth has none left.
    let product = yield_of(&model, &body(&chain()), "full");
    assert!((2.95..=3.05).contains(&product), "{product}");
}

#[test]
fn four_siblings_have_a_quarter_of_what_is_partitioned() {
    let model = corun_model::find("little-smt4").unwrap();
    let light = [0xf3, 0x90].repeat(8);
    let light = Loop { body: &light, rounds: 1000, ..Loop::default() }.trace();
    // Two misses are in half of the buffer together, and not in a quarter of it.
    let misses = misses(model.back.rob.entries as usize * 7 / 20);
    let beside = |policy, siblings: &[&Trace], placement| {
        let model = with(&model, &[("rob.policy", policy)]);
        let workers = [&[&misses], siblings].concat();
        simulated(&model, &workers, placement, 1).cycles(0).unwrap()
    };
    let two = beside("partitioned", &[&light], "full@2");
    let four = beside("partitioned", &[&light; 3], "full");
    let shared = beside("shared", &[&light; 3], "full");
    assert!(four > 1.3 * two && shared < 1.1 * two, "{two} {four} {shared}");
}

#[test]
fn each_of_four_gets_a_turn() {
    let model = corun_model::find("little-smt4").unwrap();
    // mov r8d, edi: renaming alone.
    let moves = body(&[0x41, 0x89, 0xf8].repeat(24));
    let four = simulated(&model, &[&moves], "full", 1);
    let workers = &four.phases[0].workers;
    let cycles: Vec<f64> = workers.iter().map(|one| one.cycles).collect();
    let mean = cycles.iter().sum::<f64>() / 4.0;
    assert_eq!(cycles.len(), 4);
    assert!(cycles.iter().all(|it| (it - mean).abs() < 0.02 * mean), "{cycles:?}");
}

#[test]
fn four_workers_of_a_process_are_packed_on_a_core_that_four_cores_had() {
    let model = corun_model::find("little-smt4").unwrap();
    let port = body(&products());
    let workers = [&port; 4];
    let [spread, packed] = ["spread", "packed"].map(|it| simulated(&model, &workers, it, 1));
    assert_eq!((spread.cores(), packed.cores()), (4, 1));
    let longer = packed.time_against(&spread).unwrap().mean;
    assert!((3.9..=4.1).contains(&longer), "{longer}");
}

#[test]
fn two_that_divide_share_the_divider() {
    // mov eax, 7; xor edx, edx; div r8: independent of each other.
    let stream = [0xb8, 7, 0, 0, 0, 0x31, 0xd2, 0x49, 0xf7, 0xf0].repeat(8);
    let divide = Loop { body: &stream, rounds: 1000, ..Loop::default() }.trace();
    for model in models() {
        let found = smt_yield(&model, &[&divide]);
        assert!((0.95..=1.3).contains(&found), "{}: {found}", model.name);
    }
}

/// Loads of lines that nothing holds, each `fillers` instructions after the one before.
fn misses(fillers: usize) -> Trace {
    // mov rax, [rbx]; test edi, edi: again and again
    let body = [&[0x48, 0x8b, 0x03][..], &[0x85, 0xff].repeat(fillers)].concat();
    // Far apart, in no order that a prefetcher follows, and in few pages.
    let touches =
        |round: u64| vec![0x100_0000 + (round.wrapping_mul(0x9e37_79b9) % (1 << 19)) * 64];
    Loop { body: &body, touches: &touches, rounds: 120, ..Loop::default() }.trace()
}

/// Mean cycles of the first worker beside the second.
fn beside(model: &CoreModel, first: &Trace, second: &Trace) -> f64 {
    simulated(model, &[first, second], "full@2", 1).cycles(0).unwrap()
}

#[test]
fn half_a_reorder_buffer_hides_fewer_misses() {
    // pause: takes nothing but time.
    let light = [0xf3, 0x90].repeat(8);
    let light = Loop { body: &light, rounds: 1000, ..Loop::default() }.trace();
    for model in models() {
        // Two misses are in the whole buffer together, and not in half of it.
        let misses = misses(model.back.rob.entries as usize * 7 / 10);
        let alone = simulated(&model, &[&misses], "single", 1).cycles(0).unwrap();
        let of = |policy| beside(&with(&model, &[("rob.policy", policy)]), &misses, &light);
        let (half, shared) = (of("partitioned"), of("shared"));
        assert!(half > 1.3 * alone, "{}: {half} of {alone}", model.name);
        assert!(shared < 1.1 * alone, "{}: {shared} of {alone}", model.name);
    }
}

#[test]
fn what_fits_into_the_first_level_alone_may_not_fit_twice() {
    for model in models() {
        let lines = u64::from(model.memory.l1d.kib) * 1024 / 64 * 3 / 4;
        // mov rax, [rax]: one line after the other
        let touches = move |round: u64| vec![0x10_0000 + round % lines * 64];
        let body = [0x48, 0x8b, 0x00];
        let rounds = 12 * lines;
        let chase = Loop { body: &body, touches: &touches, rounds, ..Loop::default() }.trace();
        let mut quiet = with(
            &model,
            &[
                ("prefetch.strides", "0"),
                ("prefetch.streams", "0"),
                ("prefetch.next_line", "false"),
            ],
        );
        quiet.hierarchy.prefetch.lines = None;
        let shared = smt_yield(&quiet, &[&chase]);
        let own = smt_yield(&with(&quiet, &[("l1d.policy", "replicated")]), &[&chase]);
        assert!(shared < 1.2, "{}: {shared}", model.name);
        assert!(own > 1.9, "{}: {own}", model.name);
    }
}

#[test]
fn decoded_code_that_fits_alone_may_not_fit_twice() {
    for model in models() {
        let Some(cache) = &model.front.op_cache else { continue };
        // Decoders are slower than this: mov r8d, edi needs no port on AMD's cores, with prefixes few of it fit into
        // a fetch where each thread has decoders of its own, and few of mov r8, 0x1122334455667788 into one of Intel's.
        let has_own_decoders = model.front.decoder.sharing.policy == Policy::Replicated;
        let one = |register: u8| match model.vendor {
            Vendor::Amd => {
                let prefixes = if has_own_decoders { 7 } else { 0 };
                [&[0x2e].repeat(prefixes)[..], &[0x41, 0x89, 0xf8 | register]].concat()
            }
            _ => [&[0x49, 0xb8 | register][..], &0x1122_3344_5566_7788_u64.to_le_bytes()].concat(),
        };
        let length = one(0).len();
        let in_window = cache.window as usize / length;
        let lines = (cache.sets * cache.ways) as usize * 3 / 4;
        let windows = lines / in_window.div_ceil(cache.line as usize);
        let code: Vec<u8> =
            (0..windows * in_window).flat_map(|place| one(place as u8 % 8)).collect();
        let large = Loop { body: &code, rounds: 12, ..Loop::default() }.trace();
        let of = |policy| smt_yield(&with(&model, &[("op_cache.policy", policy)]), &[&large]);
        let [shared, parts, own] = ["shared", "partitioned", "replicated"].map(of);
        assert!(
            shared < 0.95 * own && parts < 0.95 * own,
            "{}: {shared} {parts} {own}",
            model.name
        );
    }
}

#[test]
fn a_thread_that_mispredicts_leaves_the_ports_to_its_sibling() {
    let guesses = made::guesses(4000);
    // What fills all ports of additions, and what fills one at which no branch waits, lea and imul.
    let additions =
        body(&[0x4c, 0x8d, 0x03, 0x4c, 0x8d, 0x0b, 0x4c, 0x8d, 0x13, 0x4c, 0x8d, 0x1b].repeat(8));
    let multiplications =
        body(&[0x4c, 0x0f, 0xaf, 0xc3, 0x4c, 0x0f, 0xaf, 0xcb, 0x4c, 0x0f, 0xaf, 0xd3].repeat(8));
    for model in models() {
        let yields = [&additions, &multiplications].map(|busy| {
            let spread = simulated(&model, &[&guesses, busy], "spread", 1);
            let full = simulated(&model, &[&guesses, busy], "full@2", 1);
            let [alone, beside] = [&spread, &full].map(|of| of.cycles(1).unwrap());
            assert!(beside < 1.2 * alone, "{}: {beside} for {alone}", model.name);
            full.per_core(&spread).unwrap().mean
        });
        // Beside additions the branches themselves wait, where they take the same ports.
        assert!(yields[1] > 1.5, "{}: {yields:?}", model.name);
    }
}

#[test]
fn a_wrong_path_takes_slots_from_the_sibling_and_no_time_from_its_own_thread() {
    // imul rax, rax: five times; then a branch that is mispredicted half of the time.
    let late = made::late_guesses(&[0x48, 0x0f, 0xaf, 0xc0].repeat(5), 3000);
    // Renaming alone: mov r8d, edi; ..., or xor r8d, r8d; ..., if only that needs no port.
    let [moves, idioms] = [[0x41, 0x89, 0xf8], [0x45, 0x31, 0xc0]].map(|it| body(&it.repeat(48)));
    for model in models() {
        let elimination = &model.back.elimination;
        let has_idioms = elimination.without_port.iter().any(|it| it == "xor");
        let moves = if has_idioms && !elimination.integer_moves { &idioms } else { &moves };
        let without = with(&model, &[("front.prediction.wrong_paths", "false")]);
        let cycles = |model: &CoreModel, placement: &str| {
            let found = simulated(model, &[&late, moves], placement, 1);
            [0, 1].map(|worker| found.cycles(worker).unwrap())
        };
        assert_eq!(cycles(&model, "spread"), cycles(&without, "spread"), "{}", model.name);
        let (with, without) = (cycles(&model, "full@2"), cycles(&without, "full@2"));
        let [own, sibling] = [0, 1].map(|worker| with[worker] / without[worker]);
        assert!(sibling > 1.05, "{}: {sibling} times as long beside a wrong path", model.name);
        assert!((0.97..1.03).contains(&own), "{}: {own} times as long itself", model.name);
    }
}

#[test]
fn loads_on_a_wrong_path_are_squashed_with_it() {
    // Eight times mov rbx, [rsi], each of a line of its own, of 16 MiB; then imul rax, rax: five times, and a branch that is
    // mispredicted half of the time.
    let code = [[0x48, 0x8b, 0x1e].repeat(8), [0x48, 0x0f, 0xaf, 0xc0].repeat(5)].concat();
    let touches = |round: u64| -> Vec<u64> {
        let place = |load: u64| (round * 8 + load).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 46 << 6;
        (0..8).map(|load| 0x1000_0000 + place(load)).collect()
    };
    let late = made::late_guesses_that_touch(&code, 1500, &touches);
    let moves = body(&[0x41, 0x89, 0xf8].repeat(48));
    for model in models() {
        let without = with(&model, &[("front.prediction.wrong_paths", "false")]);
        let [found, without] =
            [&model, &without].map(|model| simulated(model, &[&late, &moves], "full@2", 1));
        let [own, sibling] =
            [0, 1].map(|worker| found.cycles(worker).unwrap() / without.cycles(worker).unwrap());
        assert!(sibling > 0.97, "{}: {sibling} times as long beside a wrong path", model.name);
        assert!((0.9..1.1).contains(&own), "{}: {own} times as long itself", model.name);
    }
}

#[test]
fn loads_that_are_issued_before_their_bytes_are_there_take_ports_from_the_sibling() {
    // mov rax, [rbx]; add rax, 1; mov [rbx], rax; then eight times mov rcx, [rbx].
    let chain = [0x48, 0x8b, 0x03, 0x48, 0x83, 0xc0, 0x01, 0x48, 0x89, 0x03];
    let code = [&chain[..], &[0x48, 0x8b, 0x0b].repeat(8)].concat();
    let program = Loop { body: &code, touches: &|_| vec![0x9000; 10], ..Loop::default() }.trace();
    for name in ["ivy-bridge", "coffee-lake"] {
        let early = with(&find(name), &[("memory.forwarding.early_issue", "true")]);
        let late = with(&early, &[("memory.forwarding.early_issue", "false")]);
        let [alone, alone_late] =
            [&early, &late].map(|it| simulated(it, &[&program], "spread", 1).cycles(0).unwrap());
        assert!(alone < 1.02 * alone_late, "{name}: {alone} alone, {alone_late}");
        let [early, late] = [&early, &late].map(|model| smt_yield(model, &[&program]));
        assert!(early < 0.95 * late, "{name}: {early} {late}");
    }
}

#[test]
fn a_yield_hardly_depends_on_where_a_stack_lies() {
    // mov rax, [rbx]; inc rax; mov [rbx], rax: a counter. mov rdx, [rsi]; add rdx, rax; mov [rsi], rdx: a sum. Then six times
    // mov r8, [rbx].
    let counter = [0x48, 0x8b, 0x03, 0x48, 0xff, 0xc0, 0x48, 0x89, 0x03];
    let sum = [0x48, 0x8b, 0x16, 0x48, 0x01, 0xc2, 0x48, 0x89, 0x16];
    let code = [&counter[..], &sum, &[0x4c, 0x8b, 0x03].repeat(6)].concat();
    let model = find("coffee-lake");
    // None at the offset of the sum in its page, where loads are late for a reason.
    let yields = [0x0, 0x10, 0x100, 0x840, 0xc00].map(|stack| {
        let places = [vec![0x9000 + stack; 2], vec![0x2_0400; 2], vec![0x9000 + stack; 6]].concat();
        let touches = |_: u64| places.clone();
        smt_yield(&model, &[&Loop { body: &code, touches: &touches, ..Loop::default() }.trace()])
    });
    let [least, most] = [f64::min, f64::max].map(|of| yields.into_iter().reduce(of).unwrap());
    assert!(most - least < 0.05, "{yields:?}");
}

#[test]
fn a_load_is_late_where_a_sibling_stores_at_its_offset_of_a_page() {
    // mov rax, [rax]: a chain of loads of one place. mov [rbx], rcx: stores.
    let at = |body: &[u8], place: u64| {
        Loop { body, touches: &|_| vec![place; 4], ..Loop::default() }.trace()
    };
    let loads = at(&[0x48, 0x8b, 0x00].repeat(4), 0x9000);
    let [same, other] = [0x1_9000, 0x1_9800].map(|place| at(&[0x48, 0x89, 0x0b].repeat(4), place));
    for name in ["ivy-bridge", "coffee-lake", "zen4"] {
        let model = find(name);
        let [same, other] = [&same, &other].map(|stores| beside(&model, &loads, stores));
        match model.memory.forwarding.alias_beside {
            true => assert!(same > 1.5 * other, "{name}: {same} {other}"),
            false => assert!((same / other - 1.0).abs() < 0.02, "{name}: {same} {other}"),
        }
    }
    assert!(find("ivy-bridge").memory.forwarding.alias_beside);
}

#[test]
fn stacks_a_multiple_of_64_kib_apart_evict_each_other_and_an_offset_cures_it() {
    // mov rax, [rax]: 16 lines of a stack, round and round.
    let stack = |at: u64| {
        let touches = move |round: u64| vec![at + round % 16 * 64];
        Loop { body: &[0x48, 0x8b, 0x00], touches: &touches, ..Loop::default() }.trace()
    };
    let first = stack(0xbfff_0000);
    let [aliased, offset] = [0xbfff_0000 - (3 << 16), 0xbfff_0400 - (3 << 16)].map(stack);
    let model = corun_model::find("netburst-xeon-mp").unwrap();
    let cycles = |model: &CoreModel, other: &Trace| beside(model, &first, other);
    assert!(cycles(&model, &aliased) > 1.5 * cycles(&model, &offset));
    let mut apart = model.clone();
    apart.memory.line_alias = None;
    let ratio = cycles(&apart, &aliased) / cycles(&model, &offset);
    assert!(
        (0.98..=1.02).contains(&ratio),
        "{ratio} where lines are distinguished by their whole addresses"
    );
    // The sibling is attributed for it.
    let full = simulated(&model, &[&first, &aliased], "full@2", 1);
    let stack = &full.phases[0].workers[0].simulated.stack;
    let claimed: f64 = stack.cycles().filter(|it| it.0 == "sibling: L1D").map(|it| it.1).sum();
    assert!(claimed > 0.3 * full.cycles(0).unwrap(), "{claimed} of {:?}", full.cycles(0));
}

#[test]
fn a_load_waits_for_a_store_to_a_line_that_excludes_its_own() {
    // mov [rbx], rax; mov rcx, [rdx].
    let body = [0x48, 0x89, 0x03, 0x48, 0x8b, 0x0a];
    let model = corun_model::find("netburst-xeon-mp").unwrap();
    let time = |distance: u64| {
        let touches = move |_| vec![0x10_0000, 0x10_0000 + distance];
        let program = Loop { body: &body, touches: &touches, ..Loop::default() }.trace();
        simulated(&model, &[&program], "single", 1).cycles(0).unwrap()
    };
    assert!(time(1 << 16) > 3.0 * time(1 << 15), "{} {}", time(1 << 16), time(1 << 15));
}

#[test]
fn a_thread_that_pauses_leaves_the_ports_to_its_sibling() {
    // pause; ...; add rax, rbx; add rcx, rdx; ...: two chains.
    let paused = Loop { body: &[0xf3, 0x90].repeat(8), rounds: 1000, ..Loop::default() }.trace();
    let chains = body(&[0x48, 0x01, 0xd8, 0x48, 0x01, 0xd1].repeat(10));
    for model in models() {
        let alone = simulated(&model, &[&chains], "single", 1).cycles(0).unwrap();
        let beside = beside(&model, &chains, &paused);
        assert!(beside < 1.15 * alone, "{}: {beside} of {alone}", model.name);
    }
}

#[test]
fn swapped_siblings_take_as_long_as_before() {
    let (chain, light) = (body(&chain()), body(&[0x48, 0x8d, 0x03].repeat(16)));
    for model in models() {
        let one = simulated(&model, &[&chain, &light], "full@2", 1);
        let other = made::swapped(&model, &[&chain, &light]);
        for worker in [0, 1] {
            let (one, other) = (one.cycles(worker).unwrap(), other.cycles(worker).unwrap());
            assert!((one - other).abs() < 0.002 * one, "{}: {one} {other}", model.name);
        }
    }
}

/// Cycles of each worker that its stack gives to a sibling, and what own copies of everything win back.
fn taken(model: &CoreModel, code: &[u8], own: &[(&str, &str)]) -> (f64, f64) {
    let program = body(code);
    let full = simulated(model, &[&program], "full@2", 1);
    let back = simulated(&with(model, own), &[&program], "full@2", 1);
    let stack = &full.phases[0].workers[0].simulated.stack;
    let claimed =
        stack.cycles().filter(|(name, _)| name.starts_with("sibling")).map(|it| it.1).sum();
    (claimed, full.cycles(0).unwrap() - back.cycles(0).unwrap())
}

#[test]
fn what_a_sibling_is_blamed_for_is_won_back_by_a_copy_of_ones_own() {
    // mov r8d, edi; ...: renaming alone. imul r8, rdi, 3; ...: one port.
    let moves = [0x41, 0x89, 0xf8].repeat(24);
    let all_of_renaming = ["dispatch.policy", "fetch.policy", "op_cache.policy", "retire.policy"]
        .map(|field| (field, "replicated"));
    for name in ["zen2", "zen3", "zen4"] {
        let model = find(name);
        let renaming = taken(&model, &moves, &all_of_renaming);
        let a_port = taken(&model, &products(), &[("schedulers.policy", "replicated")]);
        for (claimed, won) in [renaming, a_port] {
            assert!((claimed - won).abs() < 0.2 * won, "{name}: {claimed} claimed, {won} won back");
        }
    }
}

#[test]
fn lines_that_a_sibling_evicted_stay_in_a_cache_of_ones_own() {
    let quiet = ["strides", "streams", "next_line", "adjacent"].map(|it| format!("prefetch.{it}"));
    for name in ["zen3", "zen4", "ivy-bridge", "little-smt4"] {
        let off = |field: &String| {
            (field.clone(), if field.contains("str") { "0" } else { "false" }.to_owned())
        };
        let model = find(name).with(&quiet.each_ref().map(off)).unwrap();
        for (attributed, policy, kib) in [
            ("sibling: L1D", "l1d.policy", model.memory.l1d.kib),
            ("sibling: L2", "l2.policy", model.hierarchy.l2.kib),
        ] {
            // mov rax, [rax]: one line after the other, in an order without a pattern
            let lines = u64::from(kib) * 16 * 5 / 8;
            let touches = |round: u64| vec![0x100_0000 + round.wrapping_mul(7919) % lines * 64];
            let rounds = if kib > 64 { 3 * lines } else { 12 * lines };
            let body = [0x48, 0x8b, 0x00];
            let chase = Loop { body: &body, touches: &touches, rounds, ..Loop::default() }.trace();
            let of = |model: &CoreModel| simulated(model, &[&chase], "full@2", 1);
            let (full, own) = (of(&model), of(&with(&model, &[(policy, "replicated")])));
            let stack = &full.phases[0].workers[0].simulated.stack;
            let claimed: f64 = stack.cycles().filter(|it| it.0 == attributed).map(|it| it.1).sum();
            let won = full.cycles(0).unwrap() - own.cycles(0).unwrap();
            assert!(
                (claimed - won).abs() < 0.2 * won && won > 0.0,
                "{name}, {attributed}: {claimed} claimed, {won} won back of {:?}",
                stack.cycles().filter(|it| it.1 > 0.0).collect::<Vec<_>>()
            );
        }
    }
}

#[test]
fn copies_of_a_program_gain_nothing_by_its_addresses() {
    // add rax, rbx; mov rbx, rax: the loop of the Fibonacci numbers
    let fib = body(&[0x48, 0x01, 0xd8, 0x48, 0x89, 0xc3].repeat(8));
    let guesses = made::guesses(4000);
    // mov r8d, edi: what half of an op cache holds.
    let decoded = Loop { body: &[0x41, 0x89, 0xf8].repeat(600), rounds: 200, ..Loop::default() };
    let decoded = decoded.trace();
    for name in ["zen3", "zen4", "ivy-bridge", "coffee-lake"] {
        let model = find(name);
        for (what, program) in [("fib", &fib), ("guesses", &guesses), ("decoded", &decoded)] {
            let [common, own] =
                [false, true].map(|own| made::yield_with_code(&model, program, own));
            assert!((common / own - 1.0).abs() < 0.02, "{name}, {what}: {common} {own}");
        }
        // The first level holds the code once, and not twice: the copies of a real program have that, too.
        let large = made::jumps(512 * 3 / 4, 12, |place| place * 64);
        let [common, own] = [false, true].map(|own| made::yield_with_code(&model, &large, own));
        // Prediction that is ahead of fetch hides that.
        let least = if model.front.prediction.ahead > 0 { 0.98 } else { 1.5 };
        assert!(common > least * own, "{name}: {common} {own}");
    }
}

#[test]
fn a_thread_never_begins_before_another_one_let_it_in() {
    let model = find("zen4");
    let handed_over = |by, is_after| made::handed_over(&chain(), 500, by, is_after);
    let ratio = |by| {
        let time = |is_after| made::on_two_cores(&model, &handed_over(by, is_after));
        time(true) / time(false)
    };
    // However often it polled when it was recorded.
    for by in
        [By::SystemCalls, By::Spinning(2), By::Spinning(1000), By::Storing(2), By::Storing(1000)]
    {
        assert!((1.9..=2.1).contains(&ratio(by)), "{by:?} {}", ratio(by));
    }
    assert!((0.9..=1.1).contains(&ratio(By::Nothing)), "{}", ratio(By::Nothing));
    // Who spins has its slices, too.
    let time = |by| made::in_turns(&model, &handed_over(by, true));
    let ratio = time(By::Spinning(100)) / time(By::Nothing);
    assert!((1.2..=2.1).contains(&ratio), "{ratio}");
}

#[test]
fn what_warms_up_is_what_lies_before() {
    // mov rax, [rax]: each round another line, so that what is counted is in no cache yet.
    let touches = |round: u64| vec![0x100_0000 + round.wrapping_mul(7919) % (1 << 16) * 64];
    let fresh = Loop { body: &[0x48, 0x8b, 0x00], touches: &touches, ..Loop::default() }.trace();
    let thread = fresh.threads()[0].id;
    let warm_up = fresh.threads()[0].instructions / 4;
    for model in models() {
        let timings = TimingTable::of(&model).unwrap();
        let part = Part { thread, warm_up, ..Part::default() };
        let plain = simulate(&model, &timings, &fresh, part, &Unwatched).unwrap().cycles as f64;
        let placed = simulated(&model, &[&fresh], "single", 1).cycles(0).unwrap();
        assert!((placed / plain - 1.0).abs() < 0.01, "{}: {placed} {plain}", model.name);
    }
}

#[test]
fn beside_copies_of_everything_a_thread_takes_as_long_as_alone() {
    // mov rax, [rbx]; inc rax; mov [rbx], rax: through memory; mov rcx, [rbx + 8]: independent loads.
    let place = |_| vec![0x10000, 0x10000];
    let stored = [0x48, 0x8b, 0x03, 0x48, 0xff, 0xc0, 0x48, 0x89, 0x03];
    let stored = Loop { body: &stored, touches: &place, ..Loop::default() }.trace();
    let places = |_| vec![0x10008; 3];
    let loads = [0x48, 0x8b, 0x4b, 0x08].repeat(3);
    let loads = Loop { body: &loads, touches: &places, ..Loop::default() }.trace();
    let (moves, products) = (body(&[0x41, 0x89, 0xf8].repeat(24)), body(&products()));
    for model in models() {
        let own = with(&model, &[("*.policy", "replicated")]);
        for (what, program) in
            [("stored", &stored), ("loads", &loads), ("moves", &moves), ("products", &products)]
        {
            let [alone, beside] = ["single", "full@2"]
                .map(|placement| simulated(&own, &[program], placement, 1).cycles(0).unwrap());
            let ratio = beside / alone;
            assert!((0.99..=1.01).contains(&ratio), "{}, {what}: {ratio}", model.name);
        }
    }
}

#[test]
fn what_is_left_of_a_width_is_the_siblings() {
    // mov r8d, edi: renaming alone, of code that is fetched and decoded again in each round.
    let moves = body(&[0x41, 0x89, 0xf8].repeat(24));
    let model = find("zen4");
    let own =
        ["fetch.policy", "decoder.policy", "retire.policy"].map(|field| (field, "replicated"));
    let claimed = |settings: &[(&str, &str)], attributed: &str| {
        let full = simulated(&with(&model, settings), &[&moves], "full@2", 1);
        let stack = &full.phases[0].workers[0].simulated.stack;
        let claimed: f64 = stack.cycles().filter(|it| it.0 == attributed).map(|it| it.1).sum();
        claimed / full.cycles(0).unwrap()
    };
    let parts = [&own[..], &[("dispatch.policy", "partitioned")]].concat();
    let share = claimed(&parts, "sibling: dispatch");
    assert!((0.4..=0.6).contains(&share), "{share} of its slots are the sibling's half");
    // Who comes second finds nothing left of a front end that one thread fills.
    let common = [("fetch.policy", "shared"), ("decoder.policy", "shared")];
    let common =
        [&common[..], &[("dispatch.policy", "replicated"), ("retire.policy", "replicated")]]
            .concat();
    let share = claimed(&common, "sibling: front end");
    assert!(share > 0.1, "{share} of its slots");
}

#[test]
fn a_stalled_thread_leaves_its_turns_to_all_others() {
    let model = corun_model::find("little-smt4").unwrap();
    // pause; ...: nothing but time. mov r8d, edi; ...: renaming alone.
    let stalled = [0xf3, 0x90].repeat(20);
    let stalled = Loop { body: &stalled, rounds: 400, ..Loop::default() }.trace();
    let moves = body(&[0x41, 0x89, 0xf8].repeat(24));
    let four = simulated(&model, &[&stalled, &moves, &moves, &moves], "full", 1);
    let cycles = [1, 2, 3].map(|worker| four.cycles(worker).unwrap());
    let mean = cycles.iter().sum::<f64>() / 3.0;
    assert!(cycles.iter().all(|it| (it - mean).abs() < 0.05 * mean), "{cycles:?}");
}

#[test]
fn whoever_waits_with_fewest_instructions_fetches_first_and_once() {
    let moves = body(&[0x41, 0x89, 0xf8].repeat(24));
    let own = ("*.policy", "replicated");
    let by_count = ("fetch.choice", "instruction-count");
    for name in ["little-smt4", "zen4"] {
        let model = find(name);
        let time = |settings: &[(&str, &str)], siblings: &[&Trace], placement| {
            let model = with(&model, settings);
            simulated(&model, &[&[&moves], siblings].concat(), placement, 1).cycles(0).unwrap()
        };
        let [alone, beside] = ["single", "full@2"]
            .map(|it| time(&[own, by_count], &[&moves][..usize::from(it != "single")], it));
        assert!(
            (beside / alone - 1.0).abs() < 0.01,
            "{name}: {alone} alone, {beside} beside a copy"
        );
        // Misses that wait leave the front end to the others.
        let misses = misses(40);
        let in_turns = time(&[], &[&misses], "full@2");
        let counted = time(&[by_count], &[&misses], "full@2");
        assert!(counted <= in_turns, "{name}: {in_turns} {counted}");
    }
}

#[test]
fn what_a_window_of_misses_is_worth_is_won_back_by_a_whole_one() {
    // mov r8d, edi: renaming alone.
    let moves = body(&[0x41, 0x89, 0xf8].repeat(24));
    for name in ["zen2", "zen3", "zen4", "ivy-bridge", "coffee-lake"] {
        let model = find(name);
        // Two misses are in the whole buffer together, and not in half of it.
        let window = misses(model.back.rob.entries as usize * 6 / 10);
        let of = |model: &CoreModel| simulated(model, &[&window, &moves], "full@2", 1);
        let (full, own) = (of(&model), of(&with(&model, &[("rob.policy", "replicated")])));
        let stack = &full.phases[0].workers[0].simulated.stack;
        let claimed = stack.cycles().filter(|(name, _)| *name == "sibling: reorder buffer");
        let claimed: f64 = claimed.map(|(_, cycles)| cycles).sum();
        let won = full.cycles(0).unwrap() - own.cycles(0).unwrap();
        assert!(
            (claimed - won).abs() < 0.2 * won && won > 0.0,
            "{name}: {claimed} claimed, {won} won back of {:?}",
            stack.cycles().filter(|it| it.1 > 0.0).collect::<Vec<_>>()
        );
    }
}
