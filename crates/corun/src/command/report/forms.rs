//! Forms of a document beside its page: those that its command writes when it ends.

use corun_record::AnyDocument;

/// Forms of a document; `None` where its command has none.
#[derive(Debug, Default)]
pub(super) struct Forms {
    pub(super) format: String,
    pub(super) csv: Option<String>,
    pub(super) markdown: Option<String>,
    pub(super) latex: Option<String>,
}

impl Forms {
    pub(super) fn of(document: AnyDocument) -> Self {
        let format = document.format().to_owned();
        let [csv, markdown, latex] = match document {
            AnyDocument::Run(it) => [
                Some(corun_report::to_csv(&it)),
                Some(corun_report::to_markdown(&it)),
                Some(corun_report::to_latex(&it)),
            ],
            AnyDocument::Threads(it) => [
                Some(corun_report::threads_to_csv(&it)),
                Some(corun_report::threads_to_markdown(&it)),
                Some(corun_report::threads_to_latex(&it)),
            ],
            AnyDocument::Study(it) => [
                Some(corun_report::study_to_csv(&it)),
                Some(corun_report::study_to_markdown(&it)),
                Some(corun_report::study_to_latex(&it)),
            ],
            AnyDocument::Bench(it) => [
                Some(corun_report::bench_to_csv(&it)),
                None,
                Some(corun_report::bench_to_latex(&it)),
            ],
            AnyDocument::FleetReport(it) => [
                Some(corun_report::fleet_report_to_csv(&it)),
                Some(corun_report::fleet_report_to_markdown(&it)),
                None,
            ],
            AnyDocument::Comparison(it) => {
                [None, Some(corun_report::comparison_to_markdown(&it)), None]
            }
            AnyDocument::Audit(it) => [Some(corun_report::audit_to_csv(&it)), None, None],
            AnyDocument::Capacity(it) => [Some(corun_report::capacity_to_csv(&it)), None, None],
            AnyDocument::Blocks(it) => [Some(corun_report::blocks_to_csv(&it)), None, None],
            AnyDocument::Schedule(it) => {
                [Some(corun_report::schedule_to_csv(&it.body)), None, None]
            }
            AnyDocument::Sweep(it) => [Some(corun_report::sweep_to_csv(&it)), None, None],
            AnyDocument::Prediction(_)
            | AnyDocument::Predictions(_)
            | AnyDocument::Simulation(_)
            | AnyDocument::Placements(_)
            | AnyDocument::Trend(_)
            | AnyDocument::Other { .. } => [None, None, None],
        };
        Self { format, csv, markdown, latex }
    }
}
