//! A run's observations as CSV, one a row, for spreadsheets and plots.

use corun_record::Run;

/// The observations as CSV with a header line.
pub fn to_csv(run: &Run) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let header = [
        "workload",
        "cpu_model",
        "metric",
        "arm",
        "against",
        "unit",
        "value",
        "low",
        "high",
        "level",
        "blocks",
        "source",
    ];
    let rows = run.observations.iter().map(|seen| {
        let source = serde_json::to_value(seen.source).unwrap_or_default();
        let metric = serde_json::to_value(seen.metric).unwrap_or_default();
        [
            run.workload.name.clone(),
            run.machine.cpu_model.clone().unwrap_or_default(),
            metric.as_str().unwrap_or_default().to_owned(),
            seen.arm.clone(),
            seen.against.clone().unwrap_or_default(),
            seen.unit.clone(),
            seen.estimate.value.to_string(),
            seen.estimate.low.to_string(),
            seen.estimate.high.to_string(),
            seen.estimate.level.to_string(),
            seen.estimate.blocks.to_string(),
            source.as_str().unwrap_or_default().to_owned(),
        ]
    });
    // Writing to memory cannot fail, and every row has the header's length.
    let _ = writer.write_record(header);
    for row in rows {
        let _ = writer.write_record(row);
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}
