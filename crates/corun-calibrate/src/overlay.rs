//! A timing table of what was measured, to be laid over that of the base.
//!
//! Ports cannot be derived from times. A row keeps the base's ports where they give the measured throughput, and is else
//! bent until they do: a micro-op keeps its port for longer, or has the next larger set of ports.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use corun_model::timing::{ComputeUop, Late, LateSource, Lookup, Timing, TimingTable};
use corun_model::{CoreModel, cycles_of_many};

use crate::figure::FormFigure;

/// A row of a timing table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Name of the form.
    pub form: String,
    /// Timing of the form.
    pub timing: Timing,
    /// Timing in the base, if it knows the form.
    pub base: Option<Timing>,
    /// True if the ports are the base's own.
    pub has_ports_of_base: bool,
    /// True if it is of measurements of its form; else it follows from rows that are.
    pub is_measured: bool,
}

/// By how much a throughput may be off: a share of it, and cycles.
const SHARE: f64 = 0.08;
const CYCLES: f64 = 0.03;
/// By how much measured slots may be off a whole number.
const WHOLE: f64 = 0.3;
/// From how many slots on the base is corrected.
const LONG: u8 = 3;

/// The head of a table of what was measured on this core.
pub fn head(core: &str, cpu: u32, base: &CoreModel) -> [String; 3] {
    [
        format!(
            "Measured on {core}, CPU {cpu}, by `corun models calibrate`; what is not here is {}'s.",
            base.name
        ),
        "measured: latency measured; slots and ports those of the base, which give the throughput."
            .to_owned(),
        "bent: so are these, but ports changed until they give the throughput that was measured."
            .to_owned(),
    ]
}

/// Rows for the measured forms.
pub fn rows(figures: &[FormFigure], base: &TimingTable, model: &CoreModel) -> Vec<Row> {
    let sets: BTreeSet<Vec<String>> =
        base.rows().flat_map(|(_, timing)| timing.uops.iter().map(|it| it.ports.clone())).collect();
    let rows: Vec<Row> =
        figures.iter().filter_map(|figure| row(figure, base, model, &sets)).collect();
    settled(agreeing(rows, model), base)
}

/// With memory, the same computes as with registers; a mask that merges reads its target later than the rest.
fn agreeing(mut rows: Vec<Row>, model: &CoreModel) -> Vec<Row> {
    let known: BTreeMap<String, Timing> =
        rows.iter().map(|row| (row.form.clone(), row.timing.clone())).collect();
    for row in &mut rows {
        let timing = &mut row.timing;
        let accesses = (timing.loads > 0) != (timing.stores > 0);
        let plain = row.form.strip_suffix(" {k}").and_then(|plain| known.get(plain));
        if let Some(plain) = plain
            && timing.latency < plain.latency
        {
            timing.late.retain(|late| late.source == LateSource::Target);
            timing.late.push(Late { source: LateSource::Operand(0), latency: timing.latency });
            timing.latency = plain.latency;
        }
        let with_registers = accesses.then(|| {
            corun_model::timing::with_registers(&row.form).find_map(|name| known.get(&name))
        });
        if let Some(other) = with_registers.flatten()
            && cycles_of_many(&without_accesses(timing), model) > cycles_of_many(other, model)
        {
            timing.uops.clone_from(&other.uops);
            timing.slots = other.slots;
            row.has_ports_of_base = false;
        }
    }
    rows
}

fn without_accesses(timing: &Timing) -> Timing {
    Timing { loads: 0, stores: 0, ..timing.clone() }
}

/// Rounds of leaving out and of changing what contradicts.
const ROUNDS: usize = 16;

/// Without measured rows that no core could have, and with rows for forms that were not measured where the
/// base's would contradict what was.
fn settled(rows: Vec<Row>, base: &TimingTable) -> Vec<Row> {
    let known: BTreeSet<String> = base.implausible().into_iter().map(|it| it.form).collect();
    let mut rows: BTreeMap<String, Row> =
        rows.into_iter().map(|row| (row.form.clone(), row)).collect();
    for _ in 0..ROUNDS {
        let mut table = base.clone();
        table.extend(rows.values().map(|row| (row.form.clone(), row.timing.clone())));
        let faults = table.implausible();
        let new = faults.iter().filter(|fault| !known.contains(&fault.form));
        let mut is_settled = true;
        for fault in new {
            is_settled = false;
            if rows.get(&fault.form).is_some_and(|row| row.is_measured) {
                rows.remove(&fault.form);
                continue;
            }
            let other = fault.other.as_ref().and_then(|other| table.row(other));
            if let (Some(own), Some(other)) = (table.row(&fault.form), other) {
                let mut timing = own.clone();
                // What it contradicts next, if anything, is found in the next round: a row only becomes slower.
                if timing.latency < other.latency {
                    timing.latency = other.latency;
                } else {
                    timing.uops.clone_from(&other.uops);
                }
                let known = base.row(&fault.form).cloned();
                let row = Row {
                    form: fault.form.clone(),
                    has_ports_of_base: known.as_ref().is_some_and(|it| it.uops == timing.uops),
                    timing,
                    base: known,
                    is_measured: false,
                };
                rows.insert(fault.form.clone(), row);
            }
        }
        if is_settled {
            break;
        }
    }
    rows.into_values().collect()
}

fn row(
    figure: &FormFigure,
    base: &TimingTable,
    model: &CoreModel,
    sets: &BTreeSet<Vec<String>>,
) -> Option<Row> {
    let own = base.row(&figure.form);
    let found = figure.sample.as_ref().map(|sample| base.lookup(sample));
    let known = own.or_else(|| found.as_ref().map(Lookup::timing))?.clone();
    let mut timing = known.clone();
    if let Some(latency) = figure.latency {
        timing.latency = latency.median.round().max(0.0) as u16;
        // What computes has its result a cycle later, at the least.
        let is_computed = !timing.uops.is_empty() && timing.loads == 0;
        timing.latency = timing.latency.max(u16::from(is_computed));
        // Which register is waited for in vain is not measured, and nothing is needed later than its result.
        timing.late.retain_mut(|late| {
            let is_target = late.source == LateSource::Target;
            late.latency = if is_target { timing.latency } else { late.latency };
            is_target || late.latency < timing.latency
        });
    }
    // Beside NOPs, the front end may be what takes longer for one or two slots.
    if let Some(slots) = figure.slots.map(|slots| slots.median)
        && (slots - slots.round()).abs() <= WHOLE
        && (known.loads == 0 || known.stores == 0)
        && (known.slots >= LONG || slots >= f64::from(4 * LONG))
    {
        timing.slots = slots.round().clamp(1.0, 255.0) as u8;
    }
    // Where no register has the latency, an instruction keeps back what comes after it, if it takes long.
    if let Some(cycles) = figure.cycles
        && figure.latency.is_none()
        && known.loads + known.stores == 0
        && cycles.median > 4.0
    {
        timing.latency = timing.latency.max(cycles.median.round() as u16);
    }
    // A sibling that takes ports makes it slower: what is slower than the base was so in all but a
    // tenth of the samples.
    let modelled = cycles_of_many(&timing, model);
    let measured = figure
        .cycles
        .map(
            |cycles| {
                if cycles.median > modelled { cycles.p10.max(modelled) } else { cycles.median }
            },
        )
        // Loads and stores have rates of their own, which are fields of the model.
        .filter(|cycles| {
            let accesses = known.loads > 0 || known.stores > 0;
            let both = known.loads > 0 && known.stores > 0;
            !accesses || *cycles > modelled && !known.uops.is_empty() && !both
        });
    if let Some(cycles) = measured.filter(|cycles| !is_near(modelled, *cycles)) {
        bend(&mut timing, cycles, model, sets);
        if !is_near(cycles_of_many(&timing, model), cycles) {
            choose(&mut timing, cycles, model, sets);
        }
        share_out(&mut timing);
    }
    let has_ports_of_base = timing.uops == known.uops;
    Some(Row {
        form: figure.form.clone(),
        timing,
        base: own.cloned(),
        has_ports_of_base,
        is_measured: true,
    })
}

/// A long microprogram keeps all of its ports, one after the other, and not one of them for as long.
fn share_out(timing: &mut Timing) {
    let is_divider = |it: &ComputeUop| it.ports.iter().any(|port| port.ends_with("DIV"));
    if let [uop] = &timing.uops[..]
        && usize::from(uop.busy) >= 4 * uop.ports.len()
        && !is_divider(uop)
    {
        let ports = uop.ports.clone();
        let busy = (uop.busy / ports.len() as u16).max(1);
        timing.uops = vec![ComputeUop { ports: ports.clone(), busy }; ports.len()];
    }
}

/// One micro-op on that set of ports of the same kind which gives the throughput best, the nearest to
/// what it had.
fn choose(timing: &mut Timing, measured: f64, model: &CoreModel, sets: &BTreeSet<Vec<String>>) {
    let Some(had) = timing.uops.first().map(|it| it.ports.clone()) else { return };
    let kind =
        |ports: &[String]| ports[0].trim_end_matches(|it: char| it.is_ascii_digit()).to_owned();
    let shared = |set: &&Vec<String>| set.iter().filter(|port| had.contains(port)).count();
    let off = |timing: &Timing| (cycles_of_many(timing, model) - measured).abs();
    let mut best = (off(timing), timing.uops.clone());
    let mut all: Vec<&Vec<String>> = sets.iter().filter(|set| kind(set) == kind(&had)).collect();
    all.sort_by_key(|set| std::cmp::Reverse(shared(set)));
    for set in all {
        let busy = ((measured * set.len() as f64).round() as u16).max(1);
        let mut tried = timing.clone();
        tried.uops = vec![ComputeUop { ports: set.clone(), busy }];
        if off(&tried) < 0.8 * best.0 {
            best = (off(&tried), tried.uops);
        }
    }
    timing.uops = best.1;
}

fn is_near(modelled: f64, measured: f64) -> bool {
    (modelled - measured).abs() <= SHARE * measured + CYCLES
}

/// Changes ports until one of many instructions takes so many cycles, as nearly as they can.
fn bend(timing: &mut Timing, measured: f64, model: &CoreModel, sets: &BTreeSet<Vec<String>>) {
    let width = f64::from(model.back.dispatch.entries);
    if f64::from(timing.slots) / width > measured {
        timing.slots = ((measured * width).round() as u8).max(1);
    }
    // Micro-ops that it does not have time for.
    while timing.uops.len() > 1 && cycles_of_many(timing, model) > measured * (1.0 + SHARE) {
        let longest = (0..timing.uops.len())
            .max_by_key(|&index| {
                let uop = &timing.uops[index];
                usize::from(uop.busy) * 64 / uop.ports.len().max(1)
            })
            .unwrap_or_default();
        match &mut timing.uops[longest].busy {
            1 => drop(timing.uops.remove(longest)),
            busy => *busy -= 1,
        }
    }
    let [uop] = &mut timing.uops[..] else {
        // What keeps its ports longest decides, a divider for instance.
        let share = |it: &ComputeUop| usize::from(it.busy) * 64 / it.ports.len().max(1);
        if let Some(longest) = timing.uops.iter_mut().max_by_key(|it| share(it)) {
            longest.busy = ((measured * longest.ports.len() as f64).round() as u16).max(1);
        }
        return;
    };
    let ports = |uop: &ComputeUop| uop.ports.len() as f64;
    uop.busy = 1;
    if 1.0 / ports(uop) > measured * (1.0 + SHARE) + CYCLES {
        let larger = sets
            .iter()
            .filter(|set| uop.ports.iter().all(|port| set.contains(port)))
            .filter(|set| 1.0 / set.len() as f64 <= measured * (1.0 + SHARE) + CYCLES)
            .min_by_key(|set| set.len());
        if let Some(set) = larger {
            uop.ports.clone_from(set);
        }
    }
    uop.busy = ((measured * ports(uop)).round() as u16).max(1);
}

/// The rows as a file; `head` says of them what a reader should know, a line each.
pub fn csv(rows: &[Row], head: &[String]) -> String {
    let mut text: String = head.iter().map(|line| format!("# {line}\n")).collect();
    text += "form,slots,latency,ports,late,source\n";
    for row in rows {
        let source = match (row.is_measured, row.has_ports_of_base) {
            (false, _) => "derived",
            (true, true) => "measured",
            (true, false) => "bent",
        };
        let Timing { slots, latency, .. } = row.timing;
        let _ = writeln!(
            text,
            "{},{slots},{latency},{},{},{source}",
            row.form,
            ports(&row.timing),
            late(&row.timing)
        );
    }
    text
}

fn ports(timing: &Timing) -> String {
    let memory = |letter: &str, times: u8| match times {
        0 => None,
        1 => Some(letter.to_owned()),
        _ => Some(format!("{times}*{letter}")),
    };
    let uops = timing.uops.iter().map(|uop| {
        let ports = uop.ports.join("|");
        if uop.busy > 1 { format!("{ports}:{}", uop.busy) } else { ports }
    });
    let terms = memory("L", timing.loads).into_iter().chain(uops);
    terms.chain(memory("S", timing.stores)).collect::<Vec<_>>().join("+")
}

fn late(timing: &Timing) -> String {
    let terms = timing.late.iter().map(|late| format!("{}={}", late.source, late.latency));
    terms.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spread;

    const TABLE: &str = "form,slots,latency,ports,late\n\
        a r64,1,1,ALU0|ALU1|ALU2|ALU3,\nb r64,1,1,ALU1|ALU2,\nc r64,2,3,ALU1+ALU2,1=2 flags=1\n\
        f r64,1,9,ALU1+DIV:5,\nd r64 r64,1,1,2*FP0|FP1:3,\ne r64 m64,1,1,L+2*FP0|FP1:3,\n\
        mov r64 m64,1,0,L,\nmov m64 r64,1,0,S,\nh m64 r64,1,1,L+ALU0|ALU1|ALU2|ALU3+S,\n";

    fn measured(form: &str, latency: f64, cycles: f64) -> FormFigure {
        let latency = Some(Spread::exact(latency));
        FormFigure {
            form: form.to_owned(),
            latency,
            cycles: Some(Spread::exact(cycles)),
            slots: None,
            sample: None,
        }
    }

    fn written(figures: &[FormFigure]) -> String {
        let model = corun_model::find("zen3").unwrap();
        let base = TimingTable::parse("t", TABLE).unwrap();
        let text = csv(&rows(figures, &base, &model), &["why".to_owned()]);
        TimingTable::parse("written", &text).unwrap();
        text
    }

    #[test]
    fn what_agrees_keeps_its_ports_and_takes_the_measured_latency() {
        assert_eq!(
            written(&[measured("a r64", 2.01, 0.252), measured("c r64", 3.0, 1.02)]),
            "# why\nform,slots,latency,ports,late,source\n\
             a r64,1,2,ALU0|ALU1|ALU2|ALU3,,measured\nc r64,2,3,ALU1+ALU2,1=2 flags=1,measured\n"
        );
    }

    #[test]
    fn what_differs_is_bent_to_the_measured_throughput() {
        let slower = written(&[measured("a r64", 1.0, 0.5), measured("b r64", 1.0, 3.1)]);
        assert!(slower.contains("a r64,1,1,ALU0|ALU1|ALU2|ALU3:2,,bent"), "{slower}");
        assert!(slower.contains("b r64,1,1,ALU1|ALU2:6,,bent"), "{slower}");
        let faster = written(&[measured("b r64", 1.0, 0.25), measured("d r64 r64", 1.0, 0.5)]);
        assert!(faster.contains("b r64,1,1,ALU0|ALU1|ALU2|ALU3,,bent"), "{faster}");
        assert!(faster.contains("d r64 r64,1,1,FP0|FP1,,bent"), "{faster}");
    }

    #[test]
    fn a_divider_is_bent_and_not_the_port_before_it() {
        let text = written(&[measured("f r64", 9.0, 9.0)]);
        assert!(text.contains("f r64,1,9,ALU1+DIV:9,,bent"), "{text}");
    }

    #[test]
    fn what_loads_and_computes_is_bent_where_it_is_slower() {
        let text = written(&[measured("e r64 m64", 1.0, 9.0)]);
        assert!(text.contains("e r64 m64,1,1,L+FP0|FP1:9+FP0|FP1:9,,bent"), "{text}");
    }

    #[test]
    fn loads_and_stores_are_not_taken_for_slow_ports() {
        let forms = ["mov r64 m64", "mov m64 r64", "h m64 r64"];
        let text = written(&forms.map(|form| measured(form, 1.0, 9.0)));
        for row in [
            "mov r64 m64,1,1,L,,measured",
            "mov m64 r64,1,1,S,,measured",
            "h m64 r64,1,1,L+ALU0|ALU1|ALU2|ALU3+S,,measured",
        ] {
            assert!(text.contains(row), "{text}");
        }
        // Quicker than the base says: the load may have been what decided.
        let quick = written(&[measured("e r64 m64", 1.0, 0.5)]);
        assert!(quick.contains("e r64 m64,1,1,L+FP0|FP1:3+FP0|FP1:3,,measured"), "{quick}");
    }

    #[test]
    fn a_form_that_was_not_measured_follows_from_all_that_were() {
        // As measured on a Zen 4: the wide one takes longer and its ports are free sooner, and of the narrow ones with memory
        // nothing is known but the base's throughput.
        let table = "form,slots,latency,ports,late\n\
            t k y m256,1,4,L+FP0|FP1:4,\nt k y y,1,4,FP0|FP1:4,\n\
            t k z m512,1,4,L+FP0|FP1:4,\nt k z z,1,4,FP0|FP1:4,\n";
        let base = TimingTable::parse("t", table).unwrap();
        let model = corun_model::find("zen3").unwrap();
        let found =
            rows(&[measured("t k y y", 4.0, 0.5), measured("t k z z", 5.0, 1.0)], &base, &model);
        let text = csv(&found, &[]);
        assert!(text.contains("t k z z,1,5,FP0|FP1:2,,bent"), "{text}");
        assert!(text.contains("t k z m512,1,5,L+FP0|FP1:4,,derived"), "{text}");
        let mut all = base;
        all.overlay(TimingTable::parse("measured", &text).unwrap());
        assert_eq!(all.implausible(), []);
    }

    #[test]
    fn forms_that_the_base_does_not_have_get_no_row() {
        assert!(
            rows(
                &[measured("x r64", 1.0, 1.0)],
                &TimingTable::parse("t", TABLE).unwrap(),
                &corun_model::find("zen3").unwrap()
            )
            .is_empty()
        );
    }
}
