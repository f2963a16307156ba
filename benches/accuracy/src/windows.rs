//! What windows predict beside what the whole run predicts: whether they are enough, and warm enough.

use std::fmt::Write;
use std::path::Path;

use corun_record::{Document, Estimate, Metric, Prediction, Source};

use nix::sys::personality::{self, Persona};

use crate::predicted::said;
use crate::programs::Program;

/// Ways to choose windows, as `corun predict` takes them.
const WAYS: [(&str, &[&str]); 3] = [
    ("by default", &[]),
    ("100 windows", &["--sample=100:25k"]),
    ("10 large ones", &["--sample=10:1M"]),
];

/// Lets each run of a program have the same addresses, on which what predictors and caches hold depends.
///
/// # Errors
/// If the kernel refuses.
pub(crate) fn keep_addresses() -> Result<(), String> {
    let same = personality::get().map(|own| own | Persona::ADDR_NO_RANDOMIZE);
    let set = same.and_then(personality::set);
    set.map(|_| ()).map_err(|error| format!("addresses that stay the same: {error}"))
}

/// Million cycles of each program as a whole, and by how much each way to choose windows differs, in Markdown.
///
/// # Errors
/// If a program cannot be predicted.
pub(crate) fn table(
    corun: &Path,
    programs: &[Program],
    model: Option<&str>,
) -> Result<String, String> {
    keep_addresses()?;
    let model: Vec<String> = model.map(|model| format!("--model={model}")).into_iter().collect();
    let cycles = |program: &Program, options: &[&str]| {
        let own = options.iter().map(|&option| option.to_owned());
        let all: Vec<String> =
            model.iter().cloned().chain(own).chain(["--no-measure".to_owned()]).collect();
        let text = said(corun, program, &all)?;
        let prediction = Prediction::from_json(&text).map_err(|error| error.to_string())?;
        let found = prediction.estimate(Metric::Cycles, Source::Predicted).copied();
        found.ok_or_else(|| format!("{}: nothing is predicted", program.name))
    };
    let mut text = String::from("| program | whole (M cycles) |");
    for (name, _) in WAYS {
        write!(text, " {name} |").expect("a string takes everything");
    }
    text += &format!("\n|---|---|{}\n", "---|".repeat(WAYS.len()));
    for program in programs {
        eprintln!("{}", program.name);
        // Of the program alone: a sibling changes nothing in these cycles.
        let whole = cycles(program, &["--whole", "--placement=spread"])?;
        write!(text, "| `{}` | {:.1} |", program.name, whole.value * 1e-6)
            .expect("a string takes everything");
        for (_, options) in WAYS {
            let found = cycles(program, options)?;
            write!(text, " {} |", difference(&found, &whole)).expect("a string takes everything");
        }
        text += "\n";
    }
    Ok(text)
}

/// In percent, with half of the interval that the choice of windows leaves.
fn difference(found: &Estimate, whole: &Estimate) -> String {
    let percent = |value: f64| 100.0 * value / whole.value;
    format!(
        "{:+.1} % (±{:.1})",
        percent(found.value) - 100.0,
        percent(found.high - found.low) / 2.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_shares_of_the_whole() {
        let estimate = |value, low, high| Estimate { value, low, high, level: 0.95, blocks: 2 };
        let whole = estimate(200.0, 200.0, 200.0);
        assert_eq!(difference(&estimate(190.0, 180.0, 200.0), &whole), "-5.0 % (±5.0)");
    }
}
