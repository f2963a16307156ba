//! A report for a person: what matters most first, what is fine or unknown in brief.

use anstyle::{AnsiColor, Style};
use textwrap::Options;

use super::report::{Diagnosis, Evidence, Report, Severity};
use super::smt_vulnerabilities::{Exposure, SmtVulnerability};
use super::words::count;

/// Columns of the words on the left.
const MARGIN: usize = 13;

/// Draws `report` in lines of up to `width` columns where its words allow it, with ANSI colours if
/// `color`; nothing depends on them.
pub fn draw(report: &Report, width: usize, color: bool) -> String {
    let mut page = Page { text: String::new(), width: width.max(MARGIN + 20), color };
    page.heading(report);
    for severity in Severity::ALL {
        let of_severity = |diagnosis: &&Diagnosis| diagnosis.severity == severity;
        let diagnoses = report.diagnoses.iter().filter(of_severity);
        match severity {
            Severity::Unknown | Severity::Fine => page.in_brief(severity, diagnoses),
            _ => diagnoses.for_each(|diagnosis| page.diagnosis(diagnosis)),
        }
    }
    if !report.smt_vulnerabilities.is_empty() {
        page.line("");
        page.bold("Running siblings at the same time, and the processor's vulnerabilities");
    }
    for vulnerability in &report.smt_vulnerabilities {
        page.vulnerability(vulnerability);
    }
    page.text
}

struct Page {
    text: String,
    width: usize,
    color: bool,
}

impl Page {
    fn heading(&mut self, report: &Report) {
        let model = report.cpu_model.as_deref().unwrap_or("CPU model not known");
        self.bold(model);
        let cpus = count(report.logical_cpus, "logical CPU");
        let watched = match report.watched_s {
            Some(seconds) => format!("watched for {seconds:.1} s"),
            None => "a captured tree, not watched".to_owned(),
        };
        self.wrapped(&format!("{cpus}, {}; {watched}", count(report.cores, "core")));
        let number = |severity| {
            report.diagnoses.iter().filter(|diagnosis| diagnosis.severity == severity).count()
        };
        let parts =
            Severity::ALL.map(|severity| format!("{} {}", severity.word(), number(severity)));
        self.wrapped(&parts.join(" · "));
    }

    fn diagnosis(&mut self, diagnosis: &Diagnosis) {
        let Diagnosis { check, severity, sentence, why, evidence, advice } = diagnosis;
        self.line("");
        self.item(severity.word(), style(*severity), &format!("{check}: {sentence}"));
        self.item("  why", Style::new(), why);
        self.evidence(evidence);
        let Some(advice) = advice else { return };
        self.item("  do", Style::new(), &advice.sentence);
        for command in &advice.commands {
            // Never broken, so that it can be copied.
            let command = printable(command);
            self.line(&format!("{:MARGIN$}  {command}", ""));
        }
    }

    /// Diagnoses of which only the sentence matters, one below the other.
    fn in_brief<'a>(&mut self, severity: Severity, diagnoses: impl Iterator<Item = &'a Diagnosis>) {
        for (position, Diagnosis { check, sentence, evidence, .. }) in diagnoses.enumerate() {
            if position == 0 {
                self.line("");
            }
            self.item(severity.word(), style(severity), &format!("{check}: {sentence}"));
            if severity != Severity::Fine {
                self.evidence(evidence);
            }
        }
    }

    fn vulnerability(&mut self, vulnerability: &SmtVulnerability) {
        let SmtVulnerability { name, evidence, exposure, what, meaning, cost } = vulnerability;
        let severity = match exposure {
            Exposure::Exposed => Severity::Disturbs,
            Exposure::Closed => Severity::Fine,
            Exposure::OnRequest => Severity::Note,
            Exposure::Unknown => Severity::Unknown,
        };
        self.line("");
        self.item(exposure.word(), style(severity), &format!("{name}: {meaning}"));
        self.item("  what", Style::new(), what);
        self.evidence(std::slice::from_ref(evidence));
        self.item("  cost", Style::new(), cost);
    }

    fn evidence(&mut self, evidence: &[Evidence]) {
        for (position, Evidence { file, text }) in evidence.iter().enumerate() {
            let word = if position == 0 { "  seen" } else { "" };
            self.item(word, Style::new(), &format!("/{file}: {text}"));
        }
    }

    /// A word in the margin, and beside it a text in as many lines as it needs.
    fn item(&mut self, word: &str, style: Style, text: &str) {
        let margin = format!("{word:MARGIN$}");
        let margin = if self.color { format!("{style}{margin}{style:#}") } else { margin };
        let indent = " ".repeat(MARGIN);
        let options = Options::new(self.width)
            .initial_indent(&indent)
            .subsequent_indent(&indent)
            .break_words(false)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        let wrapped = textwrap::fill(&printable(text), options);
        let rest = wrapped.get(MARGIN..).unwrap_or_default();
        self.line(format!("{margin}{rest}").trim_end());
    }

    fn wrapped(&mut self, text: &str) {
        self.line(&textwrap::fill(text, self.width));
    }

    fn bold(&mut self, text: &str) {
        let bold = Style::new().bold();
        let text = textwrap::fill(&printable(text), self.width);
        self.line(&if self.color { format!("{bold}{text}{bold:#}") } else { text });
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
}

fn style(severity: Severity) -> Style {
    let color = match severity {
        Severity::Spoils => AnsiColor::Red,
        Severity::Disturbs => AnsiColor::Yellow,
        Severity::Unknown => AnsiColor::Magenta,
        Severity::Note => AnsiColor::Cyan,
        Severity::Fine => AnsiColor::Green,
    };
    Style::new().fg_color(Some(color.into()))
}

/// One line without control characters: a task may call itself anything, an escape sequence too.
fn printable(text: &str) -> String {
    let white = text.split(['\n', '\t']).map(str::trim).filter(|line| !line.is_empty());
    let line = white.collect::<Vec<_>>().join(" | ");
    line.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}
