//! AIM9's tests beside corun's rows, each alone on the same logical CPU.

use std::path::Path;
use std::process::Command;

use corun_record::Metric;

use crate::contest::{Contest, Limit};
use crate::{corun, one_cpu, program};

const LIMIT: Limit = Limit::Within(0.10);

/// How long a turn of the original and each of corun's runs take, in seconds.
const SECONDS: f64 = 0.1;

/// The rows that need nothing but the processor and memory.
const ROWS: [&str; 35] = [
    "add_double",
    "add_float",
    "add_long",
    "add_int",
    "add_short",
    "page_test",
    "brk_test",
    "jmp_test",
    "div_double",
    "div_float",
    "div_long",
    "div_int",
    "div_short",
    "fun_cal",
    "fun_cal1",
    "fun_cal2",
    "fun_cal15",
    "sieve",
    "mul_double",
    "mul_float",
    "mul_long",
    "mul_int",
    "mul_short",
    "num_rtns_1",
    "trig_rtns",
    "matrix_rtns",
    "array_rtns",
    "string_rtns",
    "mem_rtns_1",
    "mem_rtns_2",
    "sort_rtns_1",
    "misc_rtns_1",
    "series_1",
    "ram_copy",
    "new_raph",
];

/// Every row, or those of `only`; `driver ROW SECONDS` prints the operations per second that the original credits.
///
/// # Errors
/// If a side fails.
pub(crate) fn rows(driver: &Path, rounds: u32, only: &[String]) -> Result<Vec<Contest>, String> {
    let is_asked = |row: &&&str| only.is_empty() || only.iter().any(|name| name == **row);
    ROWS.iter().filter(is_asked).map(|row| contest(row, driver, rounds)).collect()
}

fn contest(row: &str, driver: &Path, rounds: u32) -> Result<Contest, String> {
    let name = format!("aim9/{row}");
    let original = || {
        let _one_cpu = one_cpu::hold()?;
        let mut command = Command::new(driver);
        command.args([row, &SECONDS.to_string()]);
        program::number(&mut command, r"^([0-9.e+]+)\s*$")
    };
    let credited = format!("{row} as aim9 counts");
    let own = || {
        let run = corun::alone(&name, &[], SECONDS)?;
        let figure = corun::value(&run, Metric::Figure, Some(&credited))
            .or_else(|_| corun::value(&run, Metric::Figure, Some(row)))?;
        Ok(if is_in_thousands(&run) { figure * 1000.0 } else { figure })
    };
    Contest::hold(row, "operations/s", LIMIT, rounds, original, own)
}

/// The arithmetic rows are published in thousands.
fn is_in_thousands(run: &corun_record::Run) -> bool {
    run.observations.iter().any(|it| it.metric == Metric::Figure && it.unit.starts_with("1000 "))
}
