//! The built-in workloads in the words of the help: the registry describes itself.

use std::fmt::Write;

/// One line: that there are workloads, and their names.
pub fn names() -> String {
    let names: Vec<&str> = corun_workload::all().map(|workload| workload.about().name).collect();
    format!("Run a built-in workload instead of a command: {} (more with --help)", names.join(", "))
}

/// Every workload with its parameters and their defaults.
pub fn descriptions() -> String {
    let mut text = "Run a built-in workload instead of a command:".to_owned();
    for about in corun_workload::all().map(|workload| workload.about()) {
        let _ = write!(text, "\n- {}: {}", about.name, about.summary);
        for parameter in about.parameters {
            let domain = parameter.domain;
            let (name, default) = (parameter.name, parameter.default);
            let _ = write!(text, "\n    {name}={default}  {} ({domain})", parameter.summary);
        }
    }
    text
}
