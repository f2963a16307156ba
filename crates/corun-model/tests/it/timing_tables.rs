//! The tables that come with corun: they parse, have a timing for every class, and agree with what is
//! published of the commonest forms.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use corun_model::timing::{Class, Lookup, Provenance, Timing, TimingTable, form};
use iced_x86::{Decoder, DecoderOptions, Instruction};
use object::{Object, ObjectSection};

const CORES: [&str; 9] = [
    "coffee-lake",
    "golden-cove",
    "ivy-bridge",
    "skylake-server",
    "sunny-cove",
    "zen2",
    "zen3",
    "zen4",
    "zen5",
];

/// A core's table with what is published about it.
fn core(name: &str) -> TimingTable {
    let mut table = TimingTable::named(name).unwrap();
    let of = if name == "skylake-server" { "coffee-lake" } else { name };
    if name != "netburst" {
        table.overlay(TimingTable::named(&format!("{of}-published")).unwrap());
    }
    table
}

fn decode(hex: &str) -> Instruction {
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
    Decoder::with_ip(64, &bytes, 0x1000, DecoderOptions::NONE).decode()
}

#[test]
fn all_parse_with_names_of_their_core_s_ports() {
    let zen_5 = "ALU0 ALU1 ALU2 ALU3 ALU4 ALU5 FP0 FP1 FP2 FP3 FP4 FP5 DIV FDIV";
    let zen = "ALU0 ALU1 ALU2 ALU3 BRU FP0 FP1 FP2 FP3 FP4 FP5 DIV FDIV";
    for name in TimingTable::names() {
        let allowed = match name {
            "netburst" => "p0 p0h p1 p1h DIV FDIV",
            _ if name.starts_with("ivy-bridge") => "p0 p1 p5 DIV FDIV",
            _ if name.starts_with("golden-cove") => "p0 p1 p5 p6 p10 DIV FDIV",
            _ if ["coffee-lake", "skylake-server", "sunny-cove"]
                .iter()
                .any(|it| name.starts_with(it)) =>
            {
                "p0 p1 p5 p6 DIV FDIV"
            }
            _ if name.starts_with("zen5") => zen_5,
            _ => zen,
        };
        let allowed: BTreeSet<&str> = allowed.split(' ').collect();
        let table = TimingTable::named(name).unwrap();
        assert!(table.rows().count() > 0, "{name} is empty");
        let used: BTreeSet<&str> = table.ports().collect();
        assert!(used.is_subset(&allowed), "{name} uses {:?}", used.difference(&allowed));
    }
}

#[test]
fn each_core_has_every_class_and_slots_for_what_it_does() {
    for name in CORES.into_iter().chain(["netburst"]) {
        let table = core(name);
        for class in Class::ALL {
            let row = format!("class:{}", class.name());
            assert!(table.row(&row).is_some(), "{name} lacks {row}");
        }
        for (form, timing) in table.rows() {
            assert!(timing.slots > 0, "{name}: {form} has no slot");
            let works = !timing.uops.is_empty();
            assert!(timing.latency <= 1 || works, "{name}: {form} takes time at no port");
        }
    }
}

/// Slots, latency, micro-ops, loads, stores.
fn shape(timing: &Timing) -> (u8, u16, usize, u8, u8) {
    (timing.slots, timing.latency, timing.uops.len(), timing.loads, timing.stores)
}

#[test]
fn agrees_with_what_is_published_of_the_commonest_forms() {
    // Latencies in the order of the cores: AMD's and Intel's optimization guides, uops.info.
    let latencies = [
        ("add r64 r64", [1, 1, 1, 1, 1, 1, 1, 1, 1]),
        ("imul r64 r64", [3, 3, 3, 3, 3, 3, 3, 3, 3]),
        ("adc r64 r64", [1, 1, 2, 1, 1, 1, 1, 1, 1]),
        ("lea r64 bisd", [3, 2, 3, 3, 1, 2, 2, 2, 2]),
        ("addsd x x", [4, 2, 3, 4, 4, 3, 3, 3, 3]),
        ("mulsd x x", [4, 4, 5, 4, 4, 3, 3, 3, 3]),
        ("paddd x x", [1, 1, 1, 1, 1, 1, 1, 1, 2]),
        ("aesenc x x", [4, 3, 7, 4, 3, 4, 4, 4, 4]),
    ];
    for (form, expected) in latencies {
        let found = CORES.map(|name| core(name).row(form).unwrap().latency);
        assert_eq!(found, expected, "{form}");
    }
    let fused = ["coffee-lake", "zen2", "zen3", "zen4", "zen5"];
    assert_eq!(
        fused.map(|name| core(name).row("vfmadd231pd y y y").unwrap().latency),
        [4, 5, 4, 4, 4]
    );

    // Loading, computing and storing: two fused micro-ops at Intel, one at AMD.
    let update = CORES.map(|name| shape(core(name).row("add m64 r64").unwrap()));
    let (intel, amd) = ((2, 1, 1, 1, 1), (1, 1, 1, 1, 1));
    assert_eq!(update, [intel, intel, intel, intel, intel, amd, amd, amd, amd]);
    for name in CORES {
        assert_eq!(shape(core(name).row("mov r64 m64").unwrap()), (1, 0, 0, 1, 0), "{name}");
        assert_eq!(shape(core(name).row("mov m64 r64").unwrap()), (1, 0, 0, 0, 1), "{name}");
        assert_eq!(shape(core(name).row("addsd x m64").unwrap()).2, 1, "{name}");
    }
}

#[test]
fn a_core_has_no_form_that_it_cannot_run() {
    let has = |name, form| core(name).row(form).is_some();
    assert!(has("zen4", "vpaddd z z z") && !has("zen3", "vpaddd z z z"));
    assert!(has("skylake-server", "vpaddd z z z") && !has("coffee-lake", "vpaddd z z z"));
    assert!(has("coffee-lake", "vpaddd y y y") && !has("ivy-bridge", "vpaddd y y y"));
    assert!(has("zen3", "vaesenc y y y") && !has("zen2", "vaesenc y y y"));
}

#[test]
fn no_table_says_what_no_core_does() {
    for model in corun_model::all().unwrap() {
        let table = TimingTable::unchecked(&model).unwrap();
        let faults = table.implausible();
        assert!(faults.is_empty(), "{}: {:#?}", model.name, faults);
    }
}

/// Latency, or cycles of one of many if these are more, as far as one set of ports gives them.
fn cost(model: &corun_model::CoreModel, hex: &str) -> (bool, f64) {
    let table = TimingTable::unchecked(model).unwrap();
    let found = table.lookup(&decode(hex));
    let timing = found.timing();
    let many = corun_model::cycles_of_many(timing, model);
    (matches!(found, Lookup::Known(_)), many.max(f64::from(timing.latency)))
}

#[test]
fn microprograms_have_rows_of_their_own() {
    // haddps x m128, haddps x x, phaddd x m128, dpps x x i8; fsin, fptan, f2xm1, fyl2x; mfence, rdtsc, rdrand
    let cases = [
        ("f20f7c00", 3.0),
        ("f20f7cc0", 3.0),
        ("660f380200", 2.0),
        ("660f3a40c105", 8.0),
        ("d9fe", 20.0),
        ("d9f2", 20.0),
        ("d9f0", 20.0),
        ("d9f1", 20.0),
        ("0faef0", 5.0),
        ("0f31", 10.0),
        ("480fc7f0", 20.0),
        ("480fa308", 2.0),
    ];
    for model in corun_model::all().unwrap() {
        // NetBurst has no forms of later cores.
        let is_late = |hex: &str| {
            ["f20f7c", "660f38", "660f3a", "480f", "0fae"].iter().any(|it| hex.starts_with(it))
        };
        for (hex, least) in cases {
            if model.name.starts_with("netburst") && (is_late(hex) || hex.starts_with("d9f")) {
                continue;
            }
            let (is_known, cycles) = cost(&model, hex);
            assert!(is_known && cycles >= least, "{}: {hex} {cycles} {is_known}", model.name);
        }
    }
    let zen2 = corun_model::find("zen2").unwrap();
    for hex in ["c4e2faf5c1", "c4e2fbf5c1"] {
        assert!(cost(&zen2, hex).1 >= 18.0, "{hex}");
    }
}

#[test]
fn rows_of_an_older_core_are_marked() {
    let zen5 = corun_model::find("zen5").unwrap();
    let table = TimingTable::of(&zen5).unwrap();
    assert!(TimingTable::named("zen5").unwrap().rows_of(Provenance::Inherited) > 4000);
    let source = |form: &str| table.origin(form).unwrap().source.clone();
    assert!(source("cpuid").starts_with("inherited"), "{}", source("cpuid"));
    assert_eq!(table.origin("vtestps y y").unwrap().provenance(), Provenance::Own);
    // cpuid, then add r64 r64, then adc m16 r16
    let known = ["0fa2", "4801c8", "661103"].map(|hex| table.trace(&decode(hex)).1);
    assert_eq!(known, [Provenance::Inherited, Provenance::Own, Provenance::Derived]);
}

#[test]
fn forms_without_a_row_take_the_nearest() {
    let table = TimingTable::parse(
        "small",
        "form,slots,latency,ports,late\n\
         add r64 r64,1,1,p0|p1,\n\
         vpaddd z z z,1,1,p0:2,\n\
         class:update,2,1,L+p0|p1+S,\n\
         class:store,1,0,S,\n\
         class:atomic,9,18,L+p0+S,\n",
    )
    .unwrap();
    let known = |hex: &str| match table.lookup(&decode(hex)) {
        Lookup::Known(timing) => shape(&timing),
        Lookup::Fallback(class, _) => panic!("{hex} falls back to {class:?}"),
    };
    assert_eq!(known("4801c8"), (1, 1, 1, 0, 0));
    // add rax, [rbx]; add [rbx], rax; vpaddd zmm with a mask, and with broadcast
    assert_eq!(known("480303"), (1, 1, 1, 1, 0));
    assert_eq!(known("480103"), (2, 1, 1, 1, 1));
    assert_eq!(known("62f17549fec2"), (1, 1, 1, 0, 0));
    assert_eq!(known("62f17558fe00"), (1, 1, 1, 1, 0));
    let fallback = |hex: &str| match table.lookup(&decode(hex)) {
        Lookup::Known(timing) => panic!("{hex} is known: {timing:?}"),
        Lookup::Fallback(class, timing) => (class, shape(&timing)),
    };
    // lock add [rbx], rax; mov [rbx], rax; addsd xmm0, [rbx]
    assert_eq!(fallback("f0480103"), (Class::Atomic, (9, 18, 1, 1, 1)));
    assert_eq!(fallback("488903"), (Class::Store, (1, 0, 0, 0, 1)));
    assert_eq!(fallback("f20f5803"), (Class::FloatAdd, (1, 1, 0, 1, 0)));
}

#[test]
fn classes_follow_from_what_an_instruction_is() {
    let cases = [
        ("4801c8", Class::Integer),
        ("48d3e0", Class::Shift),
        ("480fafc1", Class::Multiply),
        ("48f7f1", Class::Divide),
        ("488b03", Class::Load),
        ("50", Class::Store),
        ("58", Class::Load),
        ("f0480fc103", Class::Atomic),
        ("488703", Class::Atomic),
        ("7500", Class::Branch),
        ("ffd0", Class::Branch),
        ("c3", Class::Branch),
        ("0f1f00", Class::Nothing),
        ("f3a4", Class::String),
        ("0f05", Class::System),
        ("0fa2", Class::System),
        ("660ffec1", Class::VectorInteger),
        ("c5f8c6c100", Class::Shuffle),
        ("660f70c100", Class::Shuffle),
        ("660f6ec0", Class::Transfer),
        ("f20f2ac0", Class::Conversion),
        ("f20f58c1", Class::FloatAdd),
        ("f20f59c1", Class::FloatMultiply),
        ("f20f5ec1", Class::FloatDivide),
        ("660f38dcc1", Class::Cryptography),
        ("c5f441c2", Class::Mask),
        ("d8c1", Class::X87),
        ("c4e27592049d00000000", Class::Gather),
        ("0f2803", Class::Load),
        ("0f2903", Class::Store),
    ];
    for (hex, expected) in cases {
        let instruction = decode(hex);
        assert_eq!(Class::of(&instruction), expected, "{}", form(&instruction));
    }
}

#[test]
fn most_forms_of_real_programs_have_a_row() {
    let programs = [
        "/usr/bin/xz",
        "/usr/lib/x86_64-linux-gnu/liblzma.so.5",
        "/usr/bin/python3.11",
        "/usr/bin/node",
    ];
    let table = core("zen4");
    for program in programs {
        let path = Path::new(program);
        if !path.exists() {
            corun_testing::skip("forms of real programs", &format!("{program} is missing"));
            continue;
        }
        let forms = forms_of(path);
        let total: u64 = forms.values().map(|(count, _)| count).sum();
        let known =
            |instruction: &Instruction| matches!(table.lookup(instruction), Lookup::Known(_));
        let unknown: BTreeMap<&str, u64> = forms
            .iter()
            .filter(|(_, (_, sample))| !known(sample))
            .map(|(form, (count, _))| (form.as_str(), *count))
            .collect();
        let missed: u64 = unknown.values().sum();
        println!(
            "{program}: {total} instructions, {} forms; without a row: {missed}, {} forms",
            forms.len(),
            unknown.len()
        );
        let mut unknown: Vec<_> = unknown.into_iter().collect();
        unknown.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        println!("{:?}", &unknown[..unknown.len().min(30)]);
        assert!(missed * 1000 < total * 5, "{program}: {missed} of {total} have no row");
    }
}

/// Forms in a program's code, how often each is there, and one of them.
fn forms_of(path: &Path) -> BTreeMap<String, (u64, Instruction)> {
    let data = std::fs::read(path).unwrap();
    let file = object::File::parse(&*data).unwrap();
    let section = file.section_by_name(".text").unwrap();
    let mut forms = BTreeMap::new();
    // The first megabytes of a program of 60 have its forms as well as all of them.
    let code = section.data().unwrap();
    let code = &code[..code.len().min(8 << 20)];
    for instruction in &mut Decoder::with_ip(64, code, section.address(), DecoderOptions::NONE) {
        if !instruction.is_invalid() {
            forms.entry(form(&instruction)).or_insert((0, instruction)).0 += 1;
        }
    }
    forms
}
