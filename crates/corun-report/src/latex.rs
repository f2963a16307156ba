//! Tables for an article in LaTeX, with the rules of the package `booktabs`.

use std::fmt::Write as _;

use corun_record::{Bench, Record, Run, StudyResult, ThreadSweep, on_one_line};

use crate::tables::{self, Table};
use crate::{prose, study, threads};

/// The tables of a run.
pub fn to_latex(run: &Run) -> String {
    let caption = prose::answers(run).into_iter().map(|it| it.1).collect::<Vec<_>>().join(" ");
    let name = &run.workload.name;
    let mut text = head(&prose::work(&run.workload), &prose::machine(&run.machine));
    text += &table(&tables::arms(run), &caption, &format!("{name}-arms"));
    for (of, kind) in [
        (tables::comparisons(run), "comparisons"),
        (tables::details(run), "details"),
        (tables::latencies(run), "latencies"),
    ] {
        if !of.rows.is_empty() {
            text += &table(&of, &format!("{name}: {kind}."), &format!("{name}-{kind}"));
        }
    }
    text
}

/// The candidates of a sweep over numbers of workers.
pub fn threads_to_latex(sweep: &Record<ThreadSweep>) -> String {
    let body = &sweep.body;
    let machine = sweep.machine.as_ref().map(prose::machine).unwrap_or_default();
    let label = format!("{}-threads", body.workload.name);
    head(&prose::work(&body.workload), &machine)
        + &table(&threads::table(body), &threads::answer(sweep), &label)
}

/// The figures of a study.
pub fn study_to_latex(result: &StudyResult) -> String {
    let (figures, reasons, unpredicted) = study::figures(result);
    let machine = result.machine.as_ref().map(prose::machine).unwrap_or_default();
    let errors = study::errors(&result.errors).join(" ");
    let caption = format!("{}. {errors}", result.title);
    let mut text = head(&result.citation, &machine);
    text += &table(&figures, &caption, &format!("{}-figures", result.study));
    for reason in study::numbered(&reasons).into_iter().chain(study::lettered(&unpredicted)) {
        let _ = writeln!(text, "% {}", on_one_line(&reason));
    }
    text
}

/// The workloads of a bench.
pub fn bench_to_latex(bench: &Bench) -> String {
    let machine = bench.runs.first().map(|run| prose::machine(&run.machine)).unwrap_or_default();
    head("corun bench", &machine) + &table(&crate::bench::table(bench), &machine, "bench")
}

/// Head of the tables: their subject and the packages they need, as comments.
fn head(what: &str, machine: &str) -> String {
    format!("% {}\n% {}\n% \\usepackage{{booktabs}}\n", on_one_line(what), on_one_line(machine))
}

/// A table that floats.
fn table(table: &Table, caption: &str, label: &str) -> String {
    let table = table.plain();
    let columns = "l".repeat(table.header.len());
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|it| escaped(it)).collect();
        format!("{} \\\\\n", cells.join(" & "))
    };
    let rows: String = table.rows.iter().map(|it| row(it)).collect();
    format!(
        "\\begin{{table}}\n\\centering\n\\caption{{{}}}\n\\label{{tab:{}}}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n{}\
         \\midrule\n{rows}\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n",
        escaped(&on_one_line(caption)),
        label_of(label),
        row(&table.header)
    )
}

/// A name with nothing in it that a label does not take.
fn label_of(name: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    name.chars().map(plain).collect()
}

/// The text as LaTeX prints it.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            '\\' => escaped.push_str("\\textbackslash{}"),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '<' => escaped.push_str("\\textless{}"),
            '>' => escaped.push_str("\\textgreater{}"),
            '"' => escaped.push_str("\\textquotedbl{}"),
            '|' => escaped.push_str("\\textbar{}"),
            '±' => escaped.push_str("$\\pm$"),
            'µ' => escaped.push_str("$\\mu$"),
            // A hyphen alone stands for nothing; several would become a dash.
            '-' => escaped.push_str("{-}"),
            '\u{a0}' => escaped.push('~'),
            '#' | '$' | '%' | '&' | '_' | '{' | '}' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            // A bracket after the end of a row would be its argument.
            '[' => escaped.push_str("{[}"),
            ']' => escaped.push_str("{]}"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_others_wrote_is_a_command() {
        assert_eq!(
            escaped("\\input{x} 5 % & a_b #1 $y$ ~^ <a|b> \"q\""),
            "\\textbackslash{}input\\{x\\} 5 \\% \\& a\\_b \\#1 \\$y\\$ \\textasciitilde{}\\textasciicircum{} \
             \\textless{}a\\textbar{}b\\textgreater{} \\textquotedbl{}q\\textquotedbl{}"
        );
        assert_eq!(escaped("1.2\u{a0}µs ± 3 %"), "1.2~$\\mu$s $\\pm$ 3 \\%");
        assert_eq!(escaped("[a] --x"), "{[}a{]} {-}{-}x");
    }

    #[test]
    fn a_table_has_a_row_a_line_and_no_line_end_of_others() {
        let of = Table {
            header: vec!["arm".to_owned(), "time".to_owned()],
            rows: vec![vec!["a\nb".to_owned(), "1 ms".to_owned()]],
        };
        insta::assert_snapshot!(table(&of, "What % was\nseen", "a b"), @r"
        \begin{table}
        \centering
        \caption{What \% was\textbackslash{}nseen}
        \label{tab:a-b}
        \begin{tabular}{ll}
        \toprule
        arm & time \\
        \midrule
        a\textbackslash{}nb & 1 ms \\
        \bottomrule
        \end{tabular}
        \end{table}
        ");
    }
}
