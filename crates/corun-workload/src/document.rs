//! A workload's description of itself as the document of `corun bench list` and `show`.

use corun_record::{
    LineSharing as RecordedLineSharing, ParameterChoice, ParameterDomain, RowFigure, SuiteRow,
    WorkloadDescription, WorkloadParameter, WorkloadTally,
};

use crate::descriptor::{Domain, Figure, Parameter, Row};
use crate::workload::Workload;

/// Description of a workload, and whether it can run on this machine.
pub fn description(workload: &Workload) -> WorkloadDescription {
    let about = workload.descriptor();
    let tally = |it: &crate::Tally| WorkloadTally { counted: it.counted.to_owned() };
    WorkloadDescription {
        name: about.name.to_owned(),
        summary: about.summary.to_owned(),
        tags: about.tags.iter().map(|tag| tag.name().to_owned()).collect(),
        parameters: about.parameters.iter().map(parameter).collect(),
        operation: about.operation.to_owned(),
        counted: about.counted.to_owned(),
        default_mode: about.default_mode,
        default_placement: about.default_placement,
        line_sharing: about.line_sharing.map(|it| RecordedLineSharing {
            parameter: it.parameter.to_owned(),
            shared: it.shared.to_owned(),
            own: it.own.to_owned(),
        }),
        disk_bytes: about.disk_bytes,
        least_operations: about.least_operations,
        row: about.row.map(row),
        tallies: about.tallies.iter().map(tally).collect(),
        subtracts: about.subtracts.map(str::to_owned),
        unavailable: workload.unavailable(),
    }
}

fn parameter(parameter: &Parameter) -> WorkloadParameter {
    let domain = match parameter.domain {
        Domain::Choice(choices) => {
            let choice = |it: &crate::Choice| ParameterChoice {
                value: it.value.to_owned(),
                summary: it.summary.to_owned(),
            };
            ParameterDomain::Choice(choices.iter().map(choice).collect())
        }
        Domain::File => ParameterDomain::File,
        Domain::Count { unit, least, most } => {
            ParameterDomain::Count { unit: unit.to_owned(), least, most }
        }
        Domain::Size { least, most, multiple_of } => {
            ParameterDomain::Size { least, most, multiple_of }
        }
    };
    WorkloadParameter {
        name: parameter.name.to_owned(),
        summary: parameter.summary.to_owned(),
        default: parameter.default.to_owned(),
        domain,
        expected: parameter.domain.to_string(),
    }
}

fn row(row: Row) -> SuiteRow {
    SuiteRow {
        suite: row.suite.name().to_owned(),
        name: row.name.to_owned(),
        figure: match row.figure {
            Figure::Microseconds => RowFigure::Microseconds,
            Figure::Rate { per, unit } => RowFigure::Rate { per, unit: unit.to_owned() },
        },
        credit: row.credit,
    }
}
