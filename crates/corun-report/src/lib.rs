//! Tables and exports, from observations alone.
//!
//! A [`Run`](corun_record::Run) is all that this crate sees; what the terminal shows, what a file
//! holds and what a later program prints of the same run are therefore the same.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod audit;
mod bars;
mod bench;
mod calibration;
mod capacity;
mod compare;
mod csv;
mod destination;
mod figures;
mod fleet;
mod fleet_report;
mod grid;
mod latex;
mod markdown;
mod model;
mod prediction;
mod prose;
mod run_screen;
mod runs;
mod schedule;
mod screen;
mod simulation;
mod study;
mod sweep;
mod tables;
mod terminal;
mod threads;
mod times;
mod top_down;
mod trace;

pub use audit::{audit_to_csv, audit_to_terminal, list_audit_properties};
pub use bench::{
    HierarchySweep, bench_to_terminal, describe_workload, list_workloads, memory_hierarchy,
};
pub use calibration::{
    block_timings_to_csv, block_timings_to_terminal, calibration_to_terminal, forms_to_terminal,
};
pub use capacity::{capacity_in_brief, capacity_to_csv, capacity_to_terminal};
pub use compare::{
    comparison_in_brief, comparison_to_markdown, comparison_to_terminal, trend_to_terminal,
};
pub use corun_stats::percent;
pub use csv::{bench_to_csv, to_csv};
pub use destination::{Destination, ExportError, rescue};
pub use figures::{grouped, interval, joules, ratio, seconds};
pub use fleet::{fleet_plan_to_terminal, fleet_status_to_terminal};
pub use fleet_report::{
    fleet_report_in_brief, fleet_report_to_csv, fleet_report_to_markdown, fleet_report_to_terminal,
};
pub use latex::{bench_to_latex, study_to_latex, threads_to_latex, to_latex};
pub use markdown::to_markdown;
pub use model::{checked_models, describe_model, list_models, models_side_by_side};
pub use prediction::{
    prediction_in_brief, prediction_on_screen, prediction_to_terminal, predictions_on_screen,
    predictions_to_terminal,
};
pub use run_screen::run_on_screen;
pub use runs::list_runs;
pub use schedule::{list_scheduling, schedule_to_csv, schedule_to_terminal, shortened_timeline};
pub use screen::View;
pub use simulation::{
    blocks_to_csv, blocks_to_terminal, placements_to_terminal, simulation_to_terminal,
};
pub use study::{
    describe_study, list_studies, study_on_screen, study_to_csv, study_to_markdown,
    study_to_terminal,
};
pub use sweep::{sweep_in_brief, sweep_on_screen, sweep_to_csv, sweep_to_terminal};
pub use terminal::{answers_to_terminal, to_terminal};
/// The sentences and tables that results are shown with, before they take a form: for pages.
pub mod parts {
    pub use crate::grid::{glue, lines};
    pub use crate::tables::Table;

    /// Numbers with as many digits as their intervals support.
    pub mod figures {
        pub use crate::figures::{
            difference, half_width, is_sensible, share, size_text, three_digits, unit,
            with_half_width,
        };
        pub use crate::tables::{RateScale, list};
    }

    /// Sentences about any run.
    pub mod prose {
        pub use crate::prose::{answers, course, load, machine, not_possible, plural, work};
    }

    /// Tables of a run.
    pub mod run {
        pub use crate::tables::{arms, comparisons, details, latencies};
    }

    /// Parts of a sweep over numbers of workers.
    pub mod threads {
        pub use crate::threads::{answer, course, failures, is_answered, label, legend, standing};
    }

    /// Parts of a capacity curve.
    pub mod capacity {
        pub use crate::capacity::{answer, course, legend, levels, range, with_interval};
    }

    /// Parts of a comparison of runs.
    pub mod comparison {
        pub use crate::compare::answers::{answers, gate};
        pub use crate::compare::comparison::{differences, method, name, not_compared, tables};
    }

    /// Parts of a report over nodes.
    pub mod fleet {
        pub use crate::fleet_report::words::{
            answers, method, odd_nodes, reasons, tables, title, unmeasured,
        };
    }

    /// Parts of a workload's figures over its runs.
    pub mod trend {
        pub use crate::compare::comparison::quantity;
        pub use crate::compare::trend::{answer, change, note, title};
    }

    /// Parts of a study's result.
    pub mod study {
        pub use crate::study::{
            answers, caveats, course, errors, figures, heading, lettered, numbered, times,
        };
    }

    /// Parts of a prediction.
    pub mod prediction {
        pub use crate::prediction::{
            advice, alone, answers, category, course, figures, gerund, most_and_least, reasons,
            sentences,
        };
    }

    /// Parts of a bench.
    pub mod bench {
        pub use crate::bench::{caveats, name, table};
    }
}

pub use threads::{
    threads_in_brief, threads_to_csv, threads_to_markdown, threads_to_screen, threads_to_terminal,
};
pub use times::times_to_terminal;
pub use trace::trace_to_terminal;
