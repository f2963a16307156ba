//! A timing table of what was measured, to be laid over that of the base.
//!
//! Times tell no ports. A row keeps the base's ports where they give the measured throughput, and is else
//! bent until they do: an operation keeps its port for longer, or has the next larger set of ports.

use std::collections::BTreeSet;
use std::fmt::Write;

use corun_sim::model::{CoreModel, cycles_of_many};
use corun_sim::timing::{ComputeOperation, Timing, TimingTable};

use crate::figure::FormFigure;

/// A measured row of a timing table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Name of the form.
    pub form: String,
    /// What the form needs.
    pub timing: Timing,
    /// What the base says, if it knows the form.
    pub base: Option<Timing>,
    /// Whether the ports are the base's own.
    pub has_ports_of_base: bool,
}

/// By how much a throughput may be off: a share of it, and cycles.
const SHARE: f64 = 0.08;
const CYCLES: f64 = 0.03;

/// Rows for the measured forms that the base has a row for.
pub fn rows(figures: &[FormFigure], base: &TimingTable, model: &CoreModel) -> Vec<Row> {
    let sets: BTreeSet<Vec<String>> = base
        .rows()
        .flat_map(|(_, timing)| timing.operations.iter().map(|it| it.ports.clone()))
        .collect();
    figures
        .iter()
        .filter_map(|figure| {
            let known = base.row(&figure.form)?;
            let mut timing = known.clone();
            if let Some(latency) = figure.latency {
                timing.latency = latency.median.round().max(0.0) as u16;
            }
            // Loads and stores have rates of their own, which are fields of the model.
            let is_told = known.loads == 0 && known.stores == 0;
            // Whoever else takes ports makes it slower: what is slower than the base was so in all but a
            // tenth of the samples.
            let modelled = cycles_of_many(known, model);
            let measured = figure.cycles.filter(|_| is_told).map(|cycles| {
                if cycles.median > modelled { cycles.p10.max(modelled) } else { cycles.median }
            });
            let differs = |cycles: &f64| !is_near(modelled, *cycles);
            if let Some(cycles) = measured.filter(differs) {
                bend(&mut timing, cycles, model, &sets);
            }
            let has_ports_of_base = timing.operations == known.operations;
            Some(Row {
                form: figure.form.clone(),
                timing,
                base: Some(known.clone()),
                has_ports_of_base,
            })
        })
        .collect()
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
    // Operations that it does not have time for.
    while timing.operations.len() > 1 && cycles_of_many(timing, model) > measured * (1.0 + SHARE) {
        let longest = (0..timing.operations.len())
            .max_by_key(|&index| {
                let operation = &timing.operations[index];
                usize::from(operation.busy) * 64 / operation.ports.len().max(1)
            })
            .unwrap_or_default();
        match &mut timing.operations[longest].busy {
            1 => drop(timing.operations.remove(longest)),
            busy => *busy -= 1,
        }
    }
    let [operation] = &mut timing.operations[..] else {
        // What keeps its ports longest decides, a divider for instance.
        let share = |it: &ComputeOperation| usize::from(it.busy) * 64 / it.ports.len().max(1);
        if let Some(longest) = timing.operations.iter_mut().max_by_key(|it| share(it)) {
            longest.busy = ((measured * longest.ports.len() as f64).round() as u16).max(1);
        }
        return;
    };
    let ports = |operation: &ComputeOperation| operation.ports.len() as f64;
    operation.busy = 1;
    if 1.0 / ports(operation) > measured * (1.0 + SHARE) + CYCLES {
        let larger = sets
            .iter()
            .filter(|set| operation.ports.iter().all(|port| set.contains(port)))
            .filter(|set| 1.0 / set.len() as f64 <= measured * (1.0 + SHARE) + CYCLES)
            .min_by_key(|set| set.len());
        if let Some(set) = larger {
            operation.ports.clone_from(set);
        }
    }
    operation.busy = ((measured * ports(operation)).round() as u16).max(1);
}

/// The rows as a file; `head` says of them what a reader should know, a line each.
pub fn csv(rows: &[Row], head: &[String]) -> String {
    let mut text: String = head.iter().map(|line| format!("# {line}\n")).collect();
    text += "form,slots,latency,ports,late,source\n";
    for row in rows {
        let source = if row.has_ports_of_base { "measured" } else { "bent" };
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
    let operations = timing.operations.iter().map(|operation| {
        let ports = operation.ports.join("|");
        if operation.busy > 1 { format!("{ports}:{}", operation.busy) } else { ports }
    });
    let terms = memory("L", timing.loads).into_iter().chain(operations);
    terms.chain(memory("S", timing.stores)).collect::<Vec<_>>().join("+")
}

fn late(timing: &Timing) -> String {
    let source = |operand: Option<u8>| operand.map_or("flags".to_owned(), |it| it.to_string());
    let terms = timing.late.iter().map(|it| format!("{}={}", source(it.operand), it.latency));
    terms.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spread;

    const TABLE: &str = "form,slots,latency,ports,late\n\
        a r64,1,1,ALU0|ALU1|ALU2|ALU3,\nb r64,1,1,ALU1|ALU2,\nc r64,2,3,ALU1+ALU2,1=2 flags=1\n\
        f r64,1,9,ALU1+DIV:5,\nd r64 r64,1,1,2*FP0|FP1:3,\ne r64 m64,1,1,L+2*FP0|FP1:3,\n";

    fn measured(form: &str, latency: f64, cycles: f64) -> FormFigure {
        let latency = Some(Spread::exact(latency));
        FormFigure { form: form.to_owned(), latency, cycles: Some(Spread::exact(cycles)) }
    }

    fn written(figures: &[FormFigure]) -> String {
        let model = corun_sim::model::find("zen3").unwrap();
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
    fn loads_are_not_taken_for_slow_ports() {
        let text = written(&[measured("e r64 m64", 1.0, 9.0)]);
        assert!(text.contains("e r64 m64,1,1,L+FP0|FP1:3+FP0|FP1:3,,measured"), "{text}");
    }

    #[test]
    fn forms_that_the_base_does_not_have_get_no_row() {
        assert!(
            rows(
                &[measured("x r64", 1.0, 1.0)],
                &TimingTable::parse("t", TABLE).unwrap(),
                &corun_sim::model::find("zen3").unwrap()
            )
            .is_empty()
        );
    }
}
