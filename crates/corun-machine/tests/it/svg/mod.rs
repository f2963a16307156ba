//! Pictures of machines: what they say, and that they are well formed whatever sysfs holds.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use corun_machine::probe::{Contention, Contradiction, Pair, Probe, Relation, Sharing, Sureness};
use corun_machine::{Machine, draw_svg};
use proptest::prelude::*;
use roxmltree::Document;

use crate::hwloc::captured::CapturedFiles;
use crate::trees::builder::Tree;

/// Two cores of two siblings, one of them offline, in a machine with a name that needs care.
fn small() -> Machine {
    Tree::of_cores(&[&[0, 1], &[2, 3]])
        .smt("on", "1")
        .file("proc/cpuinfo", "model name : A \"fast\" <CPU> & more\nflags : fpu hypervisor")
        .offline(3)
        .machine()
}

/// sysfs says 0-1 and 2-3; the truth is 0-2 and 1-3.
fn crossed() -> Probe {
    let pair = |one: u32, other: u32| {
        let shares = one % 2 == other % 2;
        let sibling = one / 2 == other / 2;
        Pair {
            cpus: [one, other],
            conclusion: if shares { Relation::SharesACore } else { Relation::SharesAnL3 },
            sureness: if shares { Sureness::Sure } else { Sureness::AsSysfsSays },
            sharing: shares.then_some(Sharing::Smt),
            because: "so it was measured".to_owned(),
            sysfs: Some(if sibling { Relation::SharesACore } else { Relation::SharesAnL3 }),
            ports: Contention { work_ratio: Some(if shares { 1.0 } else { 2.0 }), at_once: 1.0 },
            chains: Contention { work_ratio: Some(2.0), at_once: 1.0 },
            round_trip_ns: Some(50.0),
            rounds: 4,
        }
    };
    let pairs: Vec<Pair> =
        (0..4).flat_map(|one| (one + 1..4).map(move |other| pair(one, other))).collect();
    let is_lie = |pair: &&Pair| pair.sysfs != Some(pair.conclusion);
    let lie = |pair: &Pair| Contradiction {
        cpus: pair.cpus,
        sysfs: Relation::SharesACore,
        found: pair.conclusion,
        sentence: format!("sysfs is wrong about CPUs {} and {}", pair.cpus[0], pair.cpus[1]),
    };
    let contradictions = pairs.iter().filter(is_lie).map(lie).collect();
    Probe { seconds: 1.5, possible_pairs: 6, pairs, contradictions, ..Probe::default() }
}

/// All texts of a picture, in the order of reading, without its style.
fn texts(picture: &str) -> Vec<String> {
    let document = Document::parse(picture).expect("well-formed XML");
    let lines = document.descendants().filter(|node| node.has_tag_name("text"));
    lines.filter_map(|node| node.text()).map(|text| text.trim_end().to_owned()).collect()
}

/// The tooltips.
fn tooltips(picture: &str) -> Vec<String> {
    let document = Document::parse(picture).expect("well-formed XML");
    let titles = document.descendants().filter(|node| node.has_tag_name("title"));
    titles.filter_map(|node| node.text()).map(str::to_owned).collect()
}

/// True if this is the tooltip of a logical CPU.
fn is_cell(tip: &str) -> bool {
    tip.strip_prefix("CPU ")
        .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

#[test]
fn a_small_machine() {
    // The style is a file of its own.
    let picture = draw_svg(&small(), None);
    let (start, rest) = picture.split_once("<style>").expect("a style");
    let (_, end) = rest.split_once("</style>").expect("its end");
    insta::assert_snapshot!(format!("{start}<style/>{end}"));
}

#[test]
fn a_small_machine_with_a_probe() {
    let machine = Tree::of_cores(&[&[0, 1], &[2, 3]]).machine();
    let picture = draw_svg(&machine, Some(&crossed()));
    insta::assert_snapshot!(texts(&picture).join("\n"));
    let tooltips = tooltips(&picture);
    let reported = tooltips.iter().filter(|tip| tip.ends_with("\ncontradicts sysfs")).count();
    assert_eq!(reported, 8, "each of four pairs twice: {tooltips:#?}");
    let cpus = tooltips.iter().filter(|tip| tip.ends_with(", sysfs contradicted by the probe"));
    assert_eq!(cpus.count(), 4, "{tooltips:#?}");
}

#[test]
fn every_cpu_has_a_cell_and_every_core_names_its_caches() {
    let tips = tooltips(&draw_svg(&small(), None));
    assert_eq!(tips.iter().filter(|tip| is_cell(tip)).count(), 4, "{tips:#?}");
    assert!(tips.contains(&"CPU 3, offline".to_owned()), "{tips:#?}");
    let core = "core 0: CPUs 0-1\nL1 data 32 KiB\nL3 16 MiB, shared by CPUs 0-2";
    assert!(tips.contains(&core.to_owned()), "{tips:#?}");
}

#[test]
fn captured_machines() {
    let Some(folder) = corun_testing::reference("topologies/hwloc") else {
        corun_testing::skip("hwloc_corpus", "the captured machines are not beside the repository");
        return;
    };
    for name in ["16em64t-4s2c2t-offlines", "64fake-4n2s2ca2c2t"] {
        let machine = captured(&folder.join(format!("{name}.tar.bz2")));
        let picture = draw_svg(&machine, None);
        insta::assert_snapshot!(name, texts(&picture).join("\n"));
        let tips: BTreeSet<String> = tooltips(&picture).into_iter().collect();
        let cells = tips.iter().filter(|tip| is_cell(tip)).count();
        assert_eq!(cells, machine.logical_cpus.len(), "{name}");
    }
}

/// Reads a captured machine, whose tree lies in a folder of its own.
fn captured(archive: &Path) -> Machine {
    let mut files = CapturedFiles::default();
    let unpacked = bzip2::read::BzDecoder::new(File::open(archive).expect("an archive"));
    for entry in tar::Archive::new(unpacked).entries().expect("entries") {
        let mut entry = entry.expect("an entry");
        let path: PathBuf = entry.path().expect("a path").components().skip(1).collect();
        let path = path.display().to_string();
        let is_read = ["proc/cpuinfo", "sys/devices/system/cpu/", "sys/devices/system/node/"];
        let is_read =
            is_read.iter().any(|start| path.starts_with(start)) && !path.contains("/memory");
        let mut bytes = Vec::new();
        if is_read && entry.read_to_end(&mut bytes).is_ok() {
            files.insert(path, &bytes);
        }
    }
    Machine::from_files(&mut files).expect("a machine")
}

#[test]
fn a_large_machine_has_a_matrix_without_words() {
    let cores: Vec<[u32; 2]> = (0..32).map(|core| [core, core + 32]).collect();
    let cores: Vec<&[u32]> = cores.iter().map(|core| &core[..]).collect();
    let machine = Tree::of_cores(&cores).machine();
    let template = crossed().pairs[0].clone();
    let pairs: Vec<Pair> = (0..32)
        .map(|core| Pair { cpus: [core, core + 32], sysfs: None, ..template.clone() })
        .collect();
    let probe = Probe { possible_pairs: 2016, pairs, ..Probe::default() };
    let picture = draw_svg(&machine, Some(&probe));
    let tips = tooltips(&picture);
    assert_eq!(tips.iter().filter(|tip| tip.starts_with("CPUs ")).count(), 64, "each pair twice");
    assert!(!texts(&picture).contains(&"core".to_owned()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn no_name_breaks_the_picture(name in any::<String>()) {
        let mut machine = small();
        machine.cpu_model = Some(name.clone());
        machine.hypervisor = Some(name);
        prop_assert!(Document::parse(&draw_svg(&machine, None)).is_ok());
    }
}
