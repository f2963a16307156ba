//! Findings of a campaign on hardware types and nodes: for the terminal, as Markdown and as CSV.

pub(crate) mod words;

use corun_record::{CsvText, FleetReport, Record, on_lines, on_one_line};

use crate::grid::grid;
use crate::markdown::{self, literal};
use crate::terminal::{section, wrap};

/// The report for a terminal of this many columns.
pub fn fleet_report_to_terminal(record: &Record<FleetReport>, columns: u16) -> String {
    let report = &record.body;
    let mut text = String::new();
    for (_, sentence) in words::answers(report) {
        text.push_str(&wrap(&on_one_line(&sentence), "  ", columns));
    }
    for of_type in &report.types {
        text.push('\n');
        text.push_str(&wrap(&on_one_line(&words::title(of_type)), "  ", columns));
        for (program, table) in words::tables(of_type) {
            text.push_str(&format!(
                "\n{}{}\n",
                wrap(&program, "  ", columns),
                grid(&table, columns)
            ));
        }
    }
    section(&mut text, "Nodes that differ", words::odd_nodes(report), columns);
    section(&mut text, "Nodes without a result", words::unmeasured(report), columns);
    section(&mut text, "Why", words::reasons(report), columns);
    if !report.advice.is_empty() {
        text.push_str("\nWhat to do:\n");
        for advice in &report.advice {
            // A line to copy is not broken.
            text.push_str(&format!("  {}\n", on_one_line(&advice.line)));
        }
    }
    let caveats = record.caveats.iter().map(|it| it.sentence.clone()).collect();
    section(&mut text, "What limits trust", caveats, columns);
    text.push('\n');
    text.push_str(&wrap(&words::method(report), "", columns));
    // Programs and nodes are named by others.
    on_lines(&text).into_owned()
}

/// The answers alone.
pub fn fleet_report_in_brief(record: &Record<FleetReport>, columns: u16) -> String {
    let answers = words::answers(&record.body).into_iter();
    answers.map(|(_, sentence)| wrap(&on_one_line(&sentence), "  ", columns)).collect()
}

/// The report as Markdown.
pub fn fleet_report_to_markdown(record: &Record<FleetReport>) -> String {
    let report = &record.body;
    let name = report.campaign.as_deref().unwrap_or("Nodes");
    let mut text = format!("# {}\n\n", literal(&on_one_line(name)));
    for (_, sentence) in words::answers(report) {
        text.push_str(&format!("**{}**\n\n", literal(&sentence)));
    }
    for of_type in &report.types {
        text.push_str(&format!("## {}\n\n", literal(&words::title(of_type))));
        for (program, table) in words::tables(of_type) {
            text.push_str(&format!("{}\n\n{}\n\n", literal(&program), markdown::grid(&table)));
        }
    }
    let caveats = record.caveats.iter().map(|it| it.sentence.clone()).collect();
    for (title, lines) in [
        ("Nodes that differ", words::odd_nodes(report)),
        ("Nodes without a result", words::unmeasured(report)),
        ("Why", words::reasons(report)),
        ("What limits trust", caveats),
    ] {
        if !lines.is_empty() {
            text.push_str(&format!("## {title}\n\n"));
            lines.iter().for_each(|line| text.push_str(&format!("- {}\n", literal(line))));
            text.push('\n');
        }
    }
    text.push_str(&literal(&words::method(report)));
    text.push('\n');
    on_lines(&text).into_owned()
}

/// The value of each node as CSV with a header line.
pub fn fleet_report_to_csv(record: &Record<FleetReport>) -> String {
    let mut table = CsvText::with_header([
        "hardware",
        "program",
        "metric",
        "arm",
        "against",
        "unit",
        "node",
        "runs",
        "value",
        "low",
        "high",
        "level",
        "blocks",
        "outlying",
        "deviations",
        "probability",
    ]);
    for of_type in &record.body.types {
        for program in &of_type.programs {
            for figure in &program.figures {
                let metric = serde_json::to_value(figure.metric).unwrap_or_default();
                for value in &figure.values {
                    let odd = value.outlying.as_ref();
                    let number = |it: Option<f64>| it.map_or_else(String::new, |it| it.to_string());
                    table.row([
                        of_type.name.clone(),
                        program.workload.clone(),
                        metric.as_str().unwrap_or_default().to_owned(),
                        figure.arm.clone(),
                        figure.against.clone().unwrap_or_default(),
                        figure.unit.clone(),
                        value.node.clone(),
                        value.runs.to_string(),
                        value.estimate.value.to_string(),
                        value.estimate.low.to_string(),
                        value.estimate.high.to_string(),
                        value.estimate.level.to_string(),
                        value.estimate.blocks.to_string(),
                        if odd.is_some() { "yes" } else { "no" }.to_owned(),
                        number(odd.map(|it| it.deviations)),
                        number(odd.map(|it| it.probability)),
                    ]);
                }
            }
        }
    }
    table.finish()
}

#[cfg(test)]
mod tests;
