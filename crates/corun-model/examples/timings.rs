//! Makes a table of timings from what LLVM's scheduling model says of each form.
//!
//!     timings CORE SAMPLES <MODEL >models/timing/CORE.csv
//!
//! SAMPLES is what the example `forms` prints, MODEL what `scripts/timing/timings.cpp` makes of it.
//! `docs/timing-tables.md` says what is changed on the way, and why.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::{self, BufRead, Write};
use std::{env, fs};

use corun_model::timing::Class;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().collect();
    let [_, core, samples] = arguments.as_slice() else {
        return Err("usage: timings CORE SAMPLES <MODEL >TABLE".into());
    };
    let core = Core::of(core).ok_or("CORE has no table that is made of LLVM's")?;
    let samples = fs::read_to_string(samples)?;
    let samples: BTreeMap<&str, Sample> = samples.lines().filter_map(Sample::of).collect();
    let mut model = BTreeMap::new();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (form, modelled) =
            Modelled::of(&line).ok_or_else(|| format!("not of a model: {line}"))?;
        model.insert(form, modelled);
    }
    let rows = core.table(&samples, &model);
    let mut out = io::stdout().lock();
    write!(out, "{}", core.head())?;
    for (form, row) in &rows {
        writeln!(out, "{form},{}", row.columns())?;
    }
    for class in Class::ALL {
        if let Some(row) = class.examples().iter().find_map(|form| rows.get(*form)) {
            writeln!(out, "class:{},{}", class.name(), row.columns())?;
        }
    }
    Ok(())
}

/// Operands of an instruction, and the cores that have it.
struct Sample {
    loads: u32,
    stores: u32,
    features: Vec<String>,
}

impl Sample {
    fn of(line: &str) -> Option<(&str, Self)> {
        let fields: Vec<&str> = line.split(',').collect();
        let [form, _, loads, stores, features] = fields.as_slice() else { return None };
        let features = features.split(' ').map(str::to_owned).collect();
        Some((form, Self { loads: loads.parse().ok()?, stores: stores.parse().ok()?, features }))
    }
}

/// Timing of a form in LLVM's model.
struct Modelled {
    uops: u32,
    latency: u32,
    /// Units, and cycles.
    uses: Vec<(Vec<String>, u32)>,
}

impl Modelled {
    fn of(line: &str) -> Option<(String, Self)> {
        let fields: Vec<&str> = line.split(',').collect();
        let [form, uops, latency, uses] = fields.as_slice() else { return None };
        let units = |used: &str| {
            let (units, cycles) = used.split_once(':')?;
            Some((units.split('|').map(str::to_owned).collect(), cycles.parse().ok()?))
        };
        let uses = uses.split_whitespace().map(units).collect::<Option<_>>()?;
        let modelled = Self { uops: uops.parse().ok()?, latency: latency.parse().ok()?, uses };
        Some(((*form).to_owned(), modelled))
    }
}

/// A row of the table.
#[derive(Clone, PartialEq)]
struct Row {
    slots: u32,
    latency: u32,
    uops: BTreeMap<(Vec<String>, u32), u32>,
    loads: u32,
    stores: u32,
}

impl Row {
    fn columns(&self) -> String {
        let times = |count: u32| if count > 1 { format!("{count}*") } else { String::new() };
        let mut terms = Vec::new();
        if self.loads > 0 {
            terms.push(format!("{}L", times(self.loads)));
        }
        for ((ports, busy), count) in &self.uops {
            let busy = if *busy > 1 { format!(":{busy}") } else { String::new() };
            terms.push(format!("{}{}{busy}", times(*count), ports.join("|")));
        }
        if self.stores > 0 {
            terms.push(format!("{}S", times(self.stores)));
        }
        format!("{},{},{},", self.slots.min(255), self.latency, terms.join("+"))
    }
}

#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Core {
    IvyBridge,
    CoffeeLake,
    SkylakeServer,
    SunnyCove,
    GoldenCove,
    Zen2,
    Zen3,
    Zen4,
    Zen5,
}

impl Core {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "ivy-bridge" => Self::IvyBridge,
            "coffee-lake" => Self::CoffeeLake,
            "skylake-server" => Self::SkylakeServer,
            "sunny-cove" => Self::SunnyCove,
            "golden-cove" => Self::GoldenCove,
            "zen2" => Self::Zen2,
            "zen3" => Self::Zen3,
            "zen4" => Self::Zen4,
            "zen5" => Self::Zen5,
            _ => return None,
        })
    }

    fn head(self) -> String {
        let (cpu, file) = match self {
            Self::IvyBridge => ("ivybridge", "X86SchedSandyBridge.td"),
            Self::CoffeeLake => ("skylake", "X86SchedSkylakeClient.td"),
            Self::SkylakeServer => ("skylake-avx512", "X86SchedSkylakeServer.td"),
            Self::SunnyCove => ("icelake-server", "X86SchedIceLake.td"),
            Self::GoldenCove => ("sapphirerapids", "X86SchedSapphireRapids.td"),
            Self::Zen2 => ("znver2", "X86ScheduleZnver2.td"),
            Self::Zen3 => ("znver3", "X86ScheduleZnver3.td"),
            Self::Zen4 | Self::Zen5 => ("znver4", "X86ScheduleZnver4.td"),
        };
        let changed = match self {
            Self::Zen5 => {
                "# LLVM has no other one of Zen 5: ports and latencies of vectors are changed.\n"
            }
            Self::GoldenCove => {
                "# Forms that divide vectors are of icelake-server: this one's say no throughput of its divider.\n"
            }
            _ => "",
        };
        format!(
            "# Generated by scripts/timing/generate from LLVM 19's scheduling model of {cpu} ({file}),\n\
             # Apache License 2.0 with LLVM exception. Columns: docs/timing-tables.md.\n\
             {changed}\
             form,slots,latency,ports,late\n"
        )
    }

    fn is_intel(self) -> bool {
        self < Self::Zen2
    }

    /// True if the core has an instruction that needs this CPUID feature.
    fn has(self, feature: &str) -> bool {
        const BASE: &str = "INTEL8086 INTEL8086_ONLY INTEL186 INTEL286 INTEL386 INTEL486 X64 FPU FPU287 FPU387 \
             MMX SSE SSE2 SSE3 SSSE3 SSE4_1 SSE4_2 POPCNT CMOV CX8 CMPXCHG16B FXSR XSAVE XSAVEOPT CPUID TSC \
             RDTSCP RDPMC SYSCALL SEP MSR PAUSE MULTIBYTENOP CLFSH PREFETCHW PCLMULQDQ AES AVX F16C \
             FSGSBASE RDRAND CET_SS CET_IBT SMM HLE_or_RTM UDBG FCOMI FXSAVE LAHF_SAHF PENTIUM";
        const HASWELL: &str =
            "AVX2 FMA BMI1 BMI2 LZCNT MOVBE ADX RDSEED CLFLUSHOPT INVPCID XSAVEC XSAVES SMAP";
        const SKYLAKE_SERVER: &str =
            "AVX512F AVX512VL AVX512BW AVX512DQ AVX512CD AVX512_VNNI CLWB PKU";
        const SUNNY_COVE: &str = "AVX512_IFMA AVX512_VBMI AVX512_VBMI2 AVX512_BITALG AVX512_VPOPCNTDQ GFNI VAES \
             VPCLMULQDQ SHA RDPID";
        const GOLDEN_COVE: &str =
            "AVX512_BF16 AVX512_FP16 AVX_VNNI MOVDIRI MOVDIR64B SERIALIZE CLDEMOTE WAITPKG";
        const ZEN2: &str = "SHA SSE4A CLWB CLZERO RDPID";
        const ZEN3: &str = "VAES VPCLMULQDQ PKU";
        let listed = |list: &str| list.split_whitespace().any(|known| known == feature);
        match self {
            Self::IvyBridge => listed(BASE),
            Self::CoffeeLake => listed(BASE) || listed(HASWELL),
            Self::SkylakeServer => Self::CoffeeLake.has(feature) || listed(SKYLAKE_SERVER),
            Self::SunnyCove => Self::SkylakeServer.has(feature) || listed(SUNNY_COVE),
            Self::GoldenCove => Self::SunnyCove.has(feature) || listed(GOLDEN_COVE),
            Self::Zen2 => listed(BASE) || listed(HASWELL) || listed(ZEN2),
            Self::Zen3 => Self::Zen2.has(feature) || listed(ZEN3),
            Self::Zen4 => {
                const AVX512: &str = "AVX512F AVX512VL AVX512BW AVX512DQ AVX512CD AVX512_IFMA AVX512_VBMI \
                     AVX512_VBMI2 AVX512_VNNI AVX512_BITALG AVX512_VPOPCNTDQ AVX512_BF16 GFNI";
                Self::Zen3.has(feature) || listed(AVX512)
            }
            Self::Zen5 => Self::Zen4.has(feature) || feature == "AVX_VNNI",
        }
    }

    fn table(
        self,
        samples: &BTreeMap<&str, Sample>,
        model: &BTreeMap<String, Modelled>,
    ) -> BTreeMap<String, Row> {
        let mut rows = BTreeMap::new();
        // What has no memory comes first: the forms with memory take their latency from it.
        for memory in [false, true] {
            for (form, sample) in samples {
                let Some(modelled) = model.get(*form) else { continue };
                // 100 cycles are LLVM's word for "microcode, not known"; of gathers, AMD's models know less
                // than the class says.
                let unknown = modelled.latency >= 100 || !self.is_intel() && form.contains(" vm");
                let present = sample.features.iter().all(|feature| self.has(feature));
                if present && !unknown && memory == (sample.loads + sample.stores > 0) {
                    let row = self.row(form, sample, modelled, &rows, model);
                    // Time at no port is microcode too.
                    if !row.uops.is_empty() || row.latency <= 1 {
                        rows.insert((*form).to_owned(), row);
                    }
                }
            }
        }
        let redundant: BTreeSet<String> = rows
            .iter()
            .filter(|(form, row)| {
                let known = unmasked(form).and_then(|form| rows.get(&form));
                known == Some(row)
            })
            .map(|(form, _)| form.clone())
            .collect();
        rows.retain(|form, _| !redundant.contains(form));
        rows
    }

    fn row(
        self,
        form: &str,
        sample: &Sample,
        modelled: &Modelled,
        rows: &BTreeMap<String, Row>,
        model: &BTreeMap<String, Modelled>,
    ) -> Row {
        let accesses = sample.loads + sample.stores > 0 || form.starts_with("prefetch");
        let gathers = form.contains(" vm") && sample.loads > 0;
        // A prefetch occupies a load's port, though it reads nothing.
        let mut loads = sample.loads + u32::from(form.starts_with("prefetch"));
        let mut uops = BTreeMap::new();
        for (units, cycles) in &modelled.uses {
            if gathers
                && units.iter().any(|unit| {
                    unit.contains("Port23") || unit.ends_with("Port2") || unit.ends_with("Port02")
                })
            {
                loads = *cycles;
            }
            let Some(mut ports) = self.ports(form, units, accesses) else { continue };
            if ports[0].starts_with("AGU") {
                // LLVM lets Zen's address ports compute LEA; its integer ports do.
                ports = (0..4).map(|port| format!("ALU{port}")).collect();
            }
            if self == Self::Zen5 {
                ports = of_zen_5(ports);
            }
            let (count, mut busy) = self.split(&ports, *cycles, modelled);
            if self == Self::Zen5 && form.split(' ').any(|word| word == "z") {
                // Its units have all 64 bytes, Zen 4's half of them.
                busy = busy.div_ceil(2);
            }
            if let Some(divider) =
                divider(form).filter(|divider| busy > 1 && ports.len() == 1 && ports[0] != *divider)
            {
                // The port takes other micro-ops while its divider works.
                *uops.entry((vec![divider.to_owned()], *cycles)).or_insert(0) += 1;
                *uops.entry((ports, 1)).or_insert(0) += 1;
            } else {
                *uops.entry((ports, busy)).or_insert(0) += count;
            }
        }
        let same = with_registers(form).into_iter().find_map(|form| rows.get(&form));
        if let Some(same) = same.filter(|same| !self.is_intel() && !same.uops.is_empty()) {
            // AMD's models have the integer side's load ports in some forms only.
            uops = same.uops.clone();
        }
        let computes: u32 = uops
            .iter()
            .filter(|((ports, _), _)| ports[0] != "DIV" && ports[0] != "FDIV")
            .map(|(_, count)| count)
            .sum();
        let slots = match (self.is_intel(), accesses) {
            (true, true) => {
                computes.max(1) + u32::from(sample.stores > 0 && computes + sample.loads > 0)
            }
            (false, true) => {
                let split = self == Self::Zen2 && sample.loads > 0;
                same.map_or(modelled.uops.saturating_sub(u32::from(split)), |same| same.slots)
            }
            (_, false) => modelled.uops.max(computes),
        };
        let latency = match same {
            // No vector micro-op of Zen 5 has its result after one cycle.
            _ if !accesses && self == Self::Zen5 && is_vector(form) && !uops.is_empty() => {
                modelled.latency.max(2)
            }
            _ if !accesses => modelled.latency,
            Some(same) => same.latency,
            None if uops.is_empty() => 0,
            None if loads > 0 => {
                let load = ["mov r64 m64", "movaps x m128"][usize::from(is_vector(form))];
                let load = model.get(load).map_or(0, |load| load.latency);
                modelled.latency.saturating_sub(load).max(1)
            }
            None => modelled.latency,
        };
        Row { slots: slots.max(1), latency, uops, loads, stores: sample.stores }
    }

    /// Names of the ports of LLVM's units; none for what loads, stores and their addresses use.
    fn ports(self, form: &str, units: &[String], accesses: bool) -> Option<Vec<String>> {
        let name = |unit: &String| -> Option<String> {
            if let Some((_, port)) = unit.split_once("Port") {
                let port: u32 = port.parse().ok()?;
                return matches!(port, 0 | 1 | 5 | 6 | 10).then(|| format!("p{port}"));
            }
            if unit.ends_with("FPDivider") {
                return Some("FDIV".to_owned());
            }
            if unit.ends_with("Divider") {
                return Some("DIV".to_owned());
            }
            let unit = &unit[3..];
            match unit {
                "BRU1" => Some("BRU".to_owned()),
                "FP45" if !accesses => Some("FP4|FP5".to_owned()),
                _ if unit.starts_with("AGU") && form.starts_with("lea ") => Some(unit.to_owned()),
                _ if unit.starts_with("ALU") => Some(unit.to_owned()),
                _ if unit.starts_with("FPU") => Some(unit.replace("FPU", "FP")),
                "FP0" | "FP1" | "FP2" | "FP3" => Some(unit.to_owned()),
                // Loads, stores, and the multiplier, which is ALU1's.
                _ => None,
            }
        };
        let ports: Vec<String> = units.iter().filter_map(name).collect();
        (!ports.is_empty()).then_some(ports)
    }

    /// Number of micro-ops, and the cycles for which each keeps its port.
    fn split(self, ports: &[String], cycles: u32, modelled: &Modelled) -> (u32, u32) {
        if ports[0] == "DIV" || ports[0] == "FDIV" {
            return (1, cycles);
        }
        if self.is_intel() {
            return (cycles, 1);
        }
        let count = cycles.min(modelled.uops).max(1);
        // A group of integer ports that is kept for longer stands for a throughput that follows from the
        // flags (ADC) or from the number of micro-ops.
        if ports.len() > 1 && ports[0].starts_with("ALU") {
            return (count, 1);
        }
        (count, cycles.div_ceil(count))
    }
}

/// Ports of Zen 5 for a group of Zen 4's: six integer ports, three of which multiply and shift and the others
/// jump; vectors are as they were.
fn of_zen_5(ports: Vec<String>) -> Vec<String> {
    let names = |numbers: std::ops::Range<u32>| numbers.map(|port| format!("ALU{port}")).collect();
    match ports.join("|").as_str() {
        "ALU0|ALU1|ALU2|ALU3" | "ALU0|ALU3" => names(0..6),
        "ALU1" | "ALU1|ALU2" => names(0..3),
        "ALU0|BRU" | "ALU3" => names(3..6),
        _ => ports,
    }
}

/// The unit that an instruction which divides keeps for long.
fn divider(form: &str) -> Option<&'static str> {
    let mnemonic = form.split(' ').next().unwrap_or_default();
    let bare = mnemonic.strip_prefix('v').unwrap_or(mnemonic);
    match bare {
        "div" | "idiv" => Some("DIV"),
        _ if ["div", "sqrt", "fdiv", "fsqrt", "fidiv"]
            .iter()
            .any(|start| bare.starts_with(start)) =>
        {
            Some("FDIV")
        }
        _ => None,
    }
}

fn is_vector(form: &str) -> bool {
    form.split(' ').any(|word| matches!(word, "x" | "y" | "z" | "mm"))
}

/// The form without its mask, or else without its broadcast.
fn unmasked(form: &str) -> Option<String> {
    if let Some(bare) = form.strip_suffix(" {k}") {
        return Some(bare.to_owned());
    }
    let broadcast = form.split(' ').find(|word| word.starts_with('m') && word.ends_with('b'))?;
    let (_, memory) = [("z", "m512"), ("y", "m256"), ("x", "m128")]
        .into_iter()
        .find(|(kind, _)| form.split(' ').any(|word| word == *kind))?;
    Some(form.replace(broadcast, memory))
}

/// The form with registers of each kind instead of memory, unless it only copies.
fn with_registers(form: &str) -> Vec<String> {
    let mnemonic = form.split(' ').next().unwrap_or_default();
    let bare = mnemonic.strip_prefix('v').unwrap_or(mnemonic);
    let copies = [
        "mov",
        "broadcast",
        "pbroadcast",
        "lddqu",
        "push",
        "pop",
        "pextr",
        "extract",
        "call",
        "ret",
    ];
    if copies.iter().any(|copy| bare.starts_with(copy)) {
        return Vec::new();
    }
    let words: Vec<&str> = form.split(' ').collect();
    let digits = |word: &str| {
        word.strip_prefix('m')
            .is_some_and(|width| width.starts_with(|digit: char| digit.is_ascii_digit()))
    };
    let Some(place) = words.iter().position(|word| digits(word)) else { return Vec::new() };
    let general =
        format!("r{}", words[place].trim_matches(|letter| letter == 'm' || letter == 'b'));
    let kinds = if is_vector(form) {
        ["x", "y", "z", "mm", &general]
    } else {
        [&general, "x", "k", "st", "mm"]
    };
    let widest = ["z", "y", "x", "mm"].into_iter().find(|kind| words.contains(kind));
    let with = |kind: &str| {
        let mut words = words.clone();
        words[place] = kind;
        words.join(" ")
    };
    let first = match words[place] {
        "m512" => Some("z"),
        "m256" => Some("y"),
        "m128" => Some("x"),
        word if word.ends_with('b') => widest,
        _ => widest.filter(|kind| *kind == "mm"),
    };
    first.into_iter().chain(kinds).map(with).collect()
}
