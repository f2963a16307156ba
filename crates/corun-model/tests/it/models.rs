//! The models that come with corun, and what is said of wrong ones.

use corun_model::timing::TimingTable;
use corun_model::{CoreModel, ModelError, Validation};
use proptest::prelude::*;

#[test]
fn every_model_is_read() {
    for name in corun_model::names() {
        match corun_model::find(name) {
            Ok(found) => assert_eq!(found.name, name),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Every figure that a model has otherwise is a known difference with its reason, and is counted as one.
#[test]
fn models_agree_with_what_was_published_but_for_known_differences() {
    for model in corun_model::all().unwrap() {
        let compared = corun_model::compare_published(&model).unwrap();
        for one in &compared {
            let is_of_form = one.figure.contains(' ');
            assert!(is_of_form || one.modelled.is_some(), "{}: {one:#?}", model.name);
            assert_eq!(one.differs(), one.difference.is_some(), "{}: {one:#?}", model.name);
        }
        let validation = Validation::of(&compared);
        let known = compared.iter().filter(|it| it.difference.is_some()).count();
        assert_eq!(validation.0.differ, known, "{}", model.name);
        assert!(known == 0 || !validation.is_validated(), "{}", model.name);
    }
}

#[test]
fn every_policy_names_a_source_of_its_model() {
    for model in corun_model::all().unwrap() {
        let sharings = model.sharings();
        assert!(sharings.len() > 15, "{}", model.name);
        for (path, sharing) in sharings {
            let first =
                sharing.source.split(|it: char| !(it.is_alphanumeric() || "-_".contains(it)));
            let source = first.into_iter().next().unwrap_or_default();
            assert!(model.sources.contains_key(source), "{}: {path}: {source}", model.name);
        }
    }
}

#[test]
fn a_policy_without_a_source_is_refused() {
    let text = example();
    let sharing = text.lines().find(|line| line.starts_with("sharing = { policy = ")).unwrap();
    let reported = reported(sharing, "sharing = { policy = \"shared\", source = \"\" }");
    assert!(reported.contains("sharing.source"), "{reported}");
}

#[test]
fn the_ports_of_a_timing_table_are_the_models() {
    for model in corun_model::all().unwrap() {
        let schedulers = model.back.schedulers.iter().flat_map(|it| &it.ports);
        let known: Vec<&String> = schedulers.chain(&model.back.units).collect();
        for name in std::iter::once(&model.timing).chain(&model.overlays) {
            let table = TimingTable::named(name).unwrap();
            for port in table.ports() {
                assert!(known.iter().any(|it| *it == port), "{}: {name}: {port}", model.name);
            }
        }
    }
}

/// What the fuzzer begins with: mistakes that once were, or might be, answered by a panic.
#[test]
fn what_the_fuzzer_begins_with_is_read_or_refused() {
    let corpus = corun_testing::repository().join("fuzz/corpus/models");
    let mut inputs = 0;
    for input in std::fs::read_dir(corpus).unwrap() {
        let text = String::from_utf8(std::fs::read(input.unwrap().path()).unwrap()).unwrap();
        if let Err(error) = CoreModel::from_toml("fuzzed.toml", &text) {
            let reported = error.to_string();
            assert!(reported.lines().all(|line| !line.contains(char::is_control)), "{reported:?}");
        }
        inputs += 1;
    }
    assert!(inputs >= 8);
}

/// A model that stays as it is: an early one of Zen 2.
fn example() -> String {
    let path = corun_testing::repository().join("fuzz/corpus/models/right");
    std::fs::read_to_string(path).unwrap()
}

/// Report on the example with one text in place of another.
#[track_caller]
fn reported(replaced: &str, by: &str) -> String {
    let text = example();
    assert!(text.contains(replaced), "{replaced}");
    match CoreModel::from_toml("a.toml", &text.replacen(replaced, by, 1)) {
        Ok(_) => "nothing".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_mistake_is_reported_with_line_field_and_what_is_allowed() {
    insta::assert_snapshot!(
        [
            reported("format = \"corun-model\"", "format = \"corun-study\""),
            reported("version = 1", "version = 3"),
            reported("smt_width = 2", "smt_width = 9"),
            reported("gigahertz = 2.2", "gigahertz = nan"),
            reported("timing = \"zen2\"", "timing = \"../zen2\""),
            reported("[front.fetch]\nbytes = 32", "[front.fetch]\nbytes = 33"),
            reported("aligned = true", "aligend = true"),
            reported("kib = 32\nways = 8", "kib = 32\nways = 7"),
            reported("entries = 224", "entries = 225"),
            reported("histories = [4, 9", "histories = [9, 4"),
            reported("taken = [0, 1, 4]", "taken = [0]"),
            reported("ports = [\"ALU0\"]", "ports = [\"ALU1\"]"),
            reported("vector_data_ports = [\"FP2\"", "vector_data_ports = [\"FP9\""),
            reported("schedulers = [\"vector\"", "schedulers = [\"vektor\""),
            reported("with_branch = [\"cmp\"", "with_branch = [\"cpm\""),
            reported("source = \"anandtech; sog 2.10.3", "source = \"anandtech; sgo 2.10.3"),
            reported(
                "policy = \"partitioned\", source",
                "policy = \"partitioned\", cap = 3, source"
            ),
            reported("policy = \"partitioned\"", "policy = \"split\""),
            reported("\"front.itlb.miss\" =", "\"front.tlb.miss\" ="),
            reported("title = \"AMD", "title = \"\\u001b[31mAMD"),
            reported("first = 2", "first = 9"),
        ]
        .join("\n\n")
    );
}

#[test]
fn all_mistakes_are_reported_at_once_from_the_top() {
    let text = example().replace("entries = 224", "entries = 0").replace("width = 8", "width = 0");
    let Err(ModelError::Invalid { faults, .. }) = CoreModel::from_toml("a.toml", &text) else {
        panic!("it is wrong");
    };
    assert!(faults.len() >= 2 && faults.is_sorted(), "{faults:?}");
}

#[test]
fn a_core_with_more_ports_than_a_set_can_name_is_refused() {
    let more: String = (0..32).map(|port| format!(", \"P{port}\"")).collect();
    let reported = reported("ports = [\"ALU0\"]", &format!("ports = [\"ALU0\"{more}]"));
    assert!(reported.contains("at most 32 ports"), "{reported}");
}

#[test]
fn an_unknown_name_brings_the_nearest() {
    let Err(ModelError::Unknown { known, .. }) = corun_model::find("zen6") else {
        panic!("there is none");
    };
    assert!(known[0].starts_with("zen"));
    assert_eq!(known.len(), corun_model::names().count());
}

proptest! {
    /// What is read never makes the simulator divide by nothing or ask for more than there is.
    #[test]
    fn any_number_anywhere_is_read_or_refused(line in 0_usize..400, number in any::<u32>()) {
        let text = example();
        let numbered = |line: &&str| line.split_once(" = ").is_some_and(|(_, value)| value.parse::<u32>().is_ok());
        let lines: Vec<&str> = text.lines().filter(numbered).collect();
        let chosen = lines[line % lines.len()];
        let (field, _) = chosen.split_once(" = ").unwrap();
        let changed = text.replacen(chosen, &format!("{field} = {number}"), 1);
        if let Ok(model) = CoreModel::from_toml("a.toml", &changed) {
            prop_assert!(model.back.rob.entries <= 1 << 20 && model.back.dispatch.entries > 0);
            prop_assert!(model.front.l1i.kib > 0 && model.memory.l1d.ways > 0);
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,200}", at in 0_usize..8000) {
        let _ = CoreModel::from_toml("a.toml", &text);
        let mut changed = example();
        let at = (0..=at.min(changed.len())).rev().find(|&at| changed.is_char_boundary(at)).unwrap();
        changed.insert_str(at, &text);
        let _ = CoreModel::from_toml("a.toml", &changed);
    }
}

#[test]
fn ports_that_renaming_counts_are_not_given_late() {
    let path = corun_testing::repository().join("models/ivy-bridge.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let late = text.replacen("\ngroup = ", "\nbinds_late = true\ngroup = ", 1);
    let said = CoreModel::from_toml("a.toml", &late).unwrap_err().to_string();
    assert!(said.contains("`back.schedulers.0.binds_late`: expected false"), "{said}");
    let fewest = late.replacen("port_assignment = \"rotation\"\n", "", 1);
    let said = CoreModel::from_toml("a.toml", &fewest).map(drop).err().map(|it| it.to_string());
    assert!(!said.clone().unwrap_or_default().contains("binds_late"), "{said:?}");
}

#[test]
fn no_window_bounds_the_lines_of_a_trace_cache() {
    let path = corun_testing::repository().join("models/netburst-xeon-mp.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let with = |cycles| format!("trace_cache = true\nfurther_read = {cycles}");
    let said = |text: &str| CoreModel::from_toml("a.toml", text).unwrap_err().to_string();
    let trace = said(&text.replacen("trace_cache = true", &with(2), 1));
    assert!(trace.contains("`front.op_cache.further_read`: expected none in a trace"), "{trace}");
    let path = corun_testing::repository().join("models/zen5.toml");
    let zen5 = std::fs::read_to_string(path).unwrap();
    let short = said(&zen5.replacen("further_read = 2", "further_read = 1", 1));
    assert!(
        short.contains("`front.op_cache.further_read`: expected a number from 2 to 16"),
        "{short}"
    );
}

#[test]
fn a_fit_without_a_second_source_is_refused() {
    let path = corun_testing::repository().join("models/ivy-bridge.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let own = text.lines().find(|line| line.starts_with("\"memory.dtlb.repeats\" = ")).unwrap();
    let checked = |estimate: &str| {
        let line = format!("\"memory.dtlb.repeats\" = \"{estimate}\"");
        CoreModel::from_toml("a.toml", &text.replacen(own, &line, 1)).map_err(|it| it.to_string())
    };
    for (estimate, found) in [
        ("fitted to bhive: one loop", "found no second source"),
        ("as fitted on another core", "found no second source"),
        ("fitted; second source: metrics", "found a fit to no source"),
        ("fitted to bhive; second source: bhive, other blocks", "found one source twice"),
        ("fitted to bhive; second source: nobody", "found \"nobody\""),
        ("fitted to bihve; second source: metrics", "expected one of"),
    ] {
        let refusal = checked(estimate).unwrap_err();
        assert!(refusal.contains("`estimates.memory.dtlb.repeats`"), "{refusal}");
        assert!(refusal.contains(found), "{estimate}: {refusal}");
    }
    assert!(checked("fitted to bhive; second source: bhive-skylake").is_ok());
    // A source that estimates alone name is used.
    let unused = checked("not published").unwrap_err();
    assert!(unused.contains("`sources.bhive-skylake`"), "{unused}");
}
