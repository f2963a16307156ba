//! Measurements of a core in words: each figure beside the base's and what was published, and what was not measured.

use corun_record::{
    BlockFrontEnd, BlockTimings, CalibratedCoreField, CalibratedFigure, CalibratedForm,
    CoreCalibration, FormCalibration, MeasuredSpread, Record, TimedBlock, TimingAgreement,
};

use crate::prose::plural;
use crate::tables::Table;
use crate::terminal::{grid, section, wrap};

/// Blocks that were not timed and are named with their reasons.
const MAX_NAMED: usize = 5;

/// A measured core as text for a terminal of this many columns.
pub fn calibration_to_terminal(record: &Record<CoreCalibration>, columns: u16) -> String {
    let found = &record.body;
    let mut text = wrap(&format!("{}, CPU {}", found.core, found.cpu), "  ", columns);
    let base =
        format!("What cannot be measured is that of the model {}: {}.", found.base, found.reason);
    text += &wrap(&base, "", columns);
    for table in [fields(found), figures(found), differing_forms(&found.forms, &found.base)] {
        if !table.rows.is_empty() {
            text += &format!("\n{}\n", grid(&table, columns));
        }
    }
    let differing = found.fields.iter().filter(|it| differs(it.value, it.base)).count();
    let course = format!(
        "{differing} of {} measured fields differ from {}; {} measured, the ports of {} of them \
         adjusted to the measured throughput.",
        found.fields.len(),
        found.base,
        plural(found.forms.len(), "form"),
        found.adjusted_rows,
    );
    text += &format!("\n{}", wrap(&course, "", columns));
    let not_measured = vec![found.not_measured.join(", ")];
    section(&mut text, &format!("Not measured, of {}", found.base), not_measured, columns);
    caveats(&mut text, record, columns);
    text
}

/// Measured forms of instructions as text for a terminal of this many columns.
pub fn forms_to_terminal(record: &Record<FormCalibration>, columns: u16) -> String {
    let found = &record.body;
    let mut text = wrap(&format!("{}, CPU {}", found.core, found.cpu), "  ", columns);
    let table = differing_forms(&found.forms, &found.base);
    if !table.rows.is_empty() {
        text += &format!("\n{}\n", grid(&table, columns));
    }
    let course = format!(
        "{} measured, {} of them with other ports than {} has",
        plural(found.timing_rows, "form"),
        found.adjusted_rows,
        found.base
    );
    text += &format!("\n{}", wrap(&course, "", columns));
    caveats(&mut text, record, columns);
    text
}

fn caveats<B>(text: &mut String, record: &Record<B>, columns: u16) {
    let caveats = record.caveats.iter().map(|it| it.sentence.clone()).collect();
    section(text, "What limits trust", caveats, columns);
}

fn fields(found: &CoreCalibration) -> Table {
    let row = |it: &CalibratedCoreField| {
        vec![
            it.field.clone(),
            it.value.to_string(),
            range(it.measured),
            it.base.to_string(),
            it.published.map_or("-".to_owned(), |it| it.to_string()),
            if differs(it.value, it.base) { "differs" } else { "" }.to_owned(),
        ]
    };
    table(
        ["field", "measured", "p10 to p90", &found.base, "published", ""],
        found.fields.iter().map(row).collect(),
    )
}

fn figures(found: &CoreCalibration) -> Table {
    let row = |it: &CalibratedFigure| {
        let measured = format!("{:.2} {}", it.measured.median, it.unit);
        vec![it.name.clone(), measured, range(it.measured)]
    };
    table(
        ["beside the model's fields", "measured", "p10 to p90"],
        found.figures.iter().map(row).collect(),
    )
}

/// Forms that take something else than the base says, by name.
fn differing_forms(forms: &[CalibratedForm], base: &str) -> Table {
    let row = |it: &CalibratedForm| {
        let cell = |it: Option<MeasuredSpread>| {
            it.map_or("-".to_owned(), |it| format!("{:.2} ({})", it.median, range(it)))
        };
        it.differing_base.map(|of_base| {
            vec![
                it.form.clone(),
                cell(it.latency),
                of_base.latency.to_string(),
                cell(it.cycles),
                format!("{:.2}", of_base.cycles),
            ]
        })
    };
    let mut rows: Vec<Vec<String>> = forms.iter().filter_map(row).collect();
    rows.sort();
    table(
        ["form that differs", "latency", base, "cycles of one of many", &format!("{base} ")],
        rows,
    )
}

fn table<const N: usize>(header: [&str; N], rows: Vec<Vec<String>>) -> Table {
    Table { header: header.map(str::to_owned).to_vec(), rows }
}

fn range(spread: MeasuredSpread) -> String {
    format!("{:.2} to {:.2}", spread.p10, spread.p90)
}

fn differs(one: f64, other: f64) -> bool {
    (one - other).abs() > 1e-9
}

/// Timed blocks as CSV, with a line before it that says what it is.
pub fn block_timings_to_csv(record: &Record<BlockTimings>) -> String {
    let found = &record.body;
    let mut text = format!(
        "# Core cycles of an iteration in steady state, measured on {} (CPU {}) by `corun models calibrate \
         --block-file`.\nblock,cycles,p10,p90,front_end\n",
        found.core, found.cpu
    );
    for TimedBlock { block, cycles, p10, p90, front_end, .. } in &found.blocks {
        text += &format!("{block},{cycles:.3},{p10:.3},{p90:.3},{}\n", front_end.name());
    }
    text
}

/// The outcome of timing blocks, in a few lines.
pub fn block_timings_to_terminal(record: &Record<BlockTimings>) -> String {
    let found = &record.body;
    let mut text = format!(
        "{} measured on {}, CPU {}\n",
        plural(found.blocks.len(), "block"),
        found.core,
        found.cpu
    );
    let of = |is_meant: fn(&&TimedBlock) -> bool| found.blocks.iter().filter(is_meant).count();
    let shared = of(|it| it.alone < it.groups);
    if shared > 0 {
        text += &format!(
            "{shared} of them were timed beside a busy sibling, in part at least, and may take less.\n"
        );
    }
    let decoded = of(|it| it.front_end == BlockFrontEnd::Decoders);
    if decoded > 0 {
        text += &format!(
            "{decoded} of them are too long or too dense for an op cache to hold several copies: decoders \
             may have a part in their cycles.\n"
        );
    }
    if let Some(TimingAgreement { blocks, mean, median, tau }) = found.agreement {
        let tau = tau.map_or("-".to_owned(), |it| format!("{it:.3}"));
        text += &format!(
            "against the file's own cycles ({}): mean difference {:.1} %, median {:.1} %, Kendall's \
             tau-b {tau}\n",
            plural(blocks, "block"),
            100.0 * mean,
            100.0 * median
        );
    }
    for it in found.not_possible.iter().take(MAX_NAMED) {
        text += &format!("left out: {}: {}\n", it.block, it.reason);
    }
    if found.not_possible.len() > MAX_NAMED {
        text += &format!("left out: {} more\n", found.not_possible.len() - MAX_NAMED);
    }
    text
}

#[cfg(test)]
mod tests {
    use corun_record::{BaseForm, Body, Caveat, DisturbedSamples, UntimedBlock};

    use super::*;

    fn record<B: Body>(body: B) -> Record<B> {
        Record::new(String::new(), 1.0, body)
    }

    fn spread(median: f64) -> MeasuredSpread {
        MeasuredSpread { median, p10: median - 0.5, p90: median + 0.25, samples: 9 }
    }

    fn form(name: &str, differing_base: Option<BaseForm>) -> CalibratedForm {
        let exact = MeasuredSpread { median: 0.25, p10: 0.25, p90: 0.25, samples: 1 };
        CalibratedForm {
            form: name.to_owned(),
            latency: Some(spread(1.0)),
            cycles: Some(exact),
            slots: None,
            differing_base,
        }
    }

    #[test]
    fn figures_stand_beside_the_bases_and_what_was_published() {
        let field = |name: &str, measured: f64, base: f64, published| CalibratedCoreField {
            field: name.to_owned(),
            measured: spread(measured),
            value: measured,
            base,
            published,
        };
        let calibration = record(CoreCalibration {
            core: "a core".to_owned(),
            cpu: 1,
            base: "zen3".to_owned(),
            reason: "these models of AMD family 19h are Zen 3".to_owned(),
            fields: vec![
                field("back.rob.entries", 240.0, 256.0, Some(256.0)),
                field("memory.loads.latency", 4.0, 4.0, None),
            ],
            figures: vec![CalibratedFigure {
                name: "latency of the second-level cache".to_owned(),
                measured: spread(12.0),
                unit: "cycles".to_owned(),
            }],
            forms: vec![
                form("add r64 r64", None),
                form("lea r64 bis", Some(BaseForm { latency: 2, cycles: 0.5 })),
            ],
            timing_rows: 2,
            adjusted_rows: 1,
            not_measured: vec!["back.retire.entries".to_owned()],
            disturbed: DisturbedSamples::default(),
        });
        let calibration = Record {
            caveats: vec![Caveat::new("shared-core", "The core was shared.")],
            ..calibration
        };
        let text = calibration_to_terminal(&calibration, 100);
        let (tables, rest) = text.split_once("\nNot measured").unwrap();
        insta::assert_snapshot!(tables);
        assert!(rest.contains("back.retire.entries") && rest.contains("- The core was shared."));
    }

    #[test]
    fn forms_alone_are_shown_where_they_differ() {
        let forms = record(FormCalibration {
            core: "a core".to_owned(),
            cpu: 1,
            base: "zen3".to_owned(),
            forms: vec![
                form("lea r64 bis", Some(BaseForm { latency: 2, cycles: 0.5 })),
                form("add r64 r64", None),
            ],
            timing_rows: 2,
            adjusted_rows: 1,
            disturbed: DisturbedSamples::default(),
        });
        let text = forms_to_terminal(&forms, 100);
        assert!(text.contains("lea r64 bis") && !text.contains("add r64 r64"), "{text}");
        assert!(text.contains("2 forms measured, 1 of them with other ports than zen3"), "{text}");
    }

    #[test]
    fn blocks_are_rows_and_those_that_were_not_timed_have_a_reason() {
        let block = |alone, front_end| TimedBlock {
            block: "4801c8".to_owned(),
            cycles: 1.0004,
            p10: 1.0,
            p90: 1.1,
            front_end,
            groups: 31,
            alone,
            expected: None,
        };
        let untimed = UntimedBlock { block: "c3".to_owned(), reason: "it returns".to_owned() };
        let timings = record(BlockTimings {
            core: "a core".to_owned(),
            cpu: 1,
            blocks: vec![block(31, BlockFrontEnd::OpCache), block(3, BlockFrontEnd::Decoders)],
            not_possible: vec![untimed; 7],
            agreement: Some(TimingAgreement { blocks: 1, mean: 0.1, median: 0.1, tau: None }),
        });
        insta::assert_snapshot!(block_timings_to_csv(&timings), @r"
        # Core cycles of an iteration in steady state, measured on a core (CPU 1) by `corun models calibrate --block-file`.
        block,cycles,p10,p90,front_end
        4801c8,1.000,1.000,1.100,op-cache
        4801c8,1.000,1.000,1.100,decoders
        ");
        insta::assert_snapshot!(block_timings_to_terminal(&timings), @r"
        2 blocks measured on a core, CPU 1
        1 of them were timed beside a busy sibling, in part at least, and may take less.
        1 of them are too long or too dense for an op cache to hold several copies: decoders may have a part in their cycles.
        against the file's own cycles (1 block): mean difference 10.0 %, median 10.0 %, Kendall's tau-b -
        left out: c3: it returns
        left out: c3: it returns
        left out: c3: it returns
        left out: c3: it returns
        left out: c3: it returns
        left out: 2 more
        ");
    }
}
