//! chat beside a C program of corun's own, thread for thread and connection for connection: the
//! benchmark of corun-workload, which has both in one process.

/// Runs the benchmark, which prints its own table; whether it reaches its limit.
///
/// # Errors
/// If cargo cannot be started.
pub(crate) fn beside_c() -> Result<bool, String> {
    let mut command = corun_testing::cargo();
    command.args(["bench", "--package=corun-workload", "--bench=chat", "--quiet"]);
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    println!();
    Ok(status.success())
}
