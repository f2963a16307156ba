//! Tables of instruction timings: one row a form, as `docs/timing-tables.md` describes.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use corun_files::InputKind;
use corun_record::shown;
use iced_x86::{Instruction, InstructionInfoFactory, OpAccess};

use super::Class;
use super::derive;
use super::form::form;
use super::plausible::{self, Implausible};
use super::usage::Usage;
use crate::CoreModel;

/// Name and text of the tables that come with corun.
static TABLES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/timings.rs"));

/// Timing of one form of instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// Micro-ops in queue, renaming, reorder buffer and retirement (fused where the core fuses).
    pub slots: u8,
    /// Cycles from register operands to results; of a form that loads, without the load.
    pub latency: u16,
    /// Micro-ops that compute, without loads and stores.
    pub uops: Vec<ComputeUop>,
    /// Loads.
    pub loads: u8,
    /// Stores.
    pub stores: u8,
    /// Sources that are needed later than the others, and one that is none (a false dependency).
    pub late: Vec<Late>,
}

/// One micro-op for a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComputeUop {
    /// Names of the ports that can do it.
    pub ports: Vec<String>,
    /// Cycles for which it keeps the port from others.
    pub busy: u16,
}

/// A source that is needed later than the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Late {
    /// The source.
    pub source: LateSource,
    /// Cycles from this source to the results.
    pub latency: u16,
}

/// Which source of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LateSource {
    /// The register that is the operand of this index.
    Operand(u8),
    /// The flags.
    Flags,
    /// The index register of an address that is calculated only (`lea`).
    Index,
    /// The register that is the first operand, for which the form waits although it only writes it.
    Target,
}

impl std::fmt::Display for LateSource {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Operand(index) => write!(formatter, "{index}"),
            Self::Flags => formatter.write_str("flags"),
            Self::Index => formatter.write_str("index"),
            Self::Target => formatter.write_str("target"),
        }
    }
}

/// Result of looking an instruction up in a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup<'t> {
    /// A row of its own, or one made of the same form with registers instead of memory.
    Known(Cow<'t, Timing>),
    /// The row of its class, with the loads and stores of the instruction.
    Fallback(Class, Cow<'t, Timing>),
}

impl Lookup<'_> {
    /// Timing of the instruction, wherever it is from.
    pub fn timing(&self) -> &Timing {
        match self {
            Self::Known(timing) | Self::Fallback(_, timing) => timing,
        }
    }
}

/// Timings by form.
#[derive(Debug, Clone, Default)]
pub struct TimingTable {
    rows: BTreeMap<String, Row>,
    usage: Arc<Usage>,
}

/// The timing of a form. Thousands of forms share a few hundred timings, each of which is read once.
#[derive(Debug, Clone)]
struct Row {
    timing: Arc<Timing>,
    origin: Option<Origin>,
}

/// Origin of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The table.
    pub table: Arc<str>,
    /// Line there, counted from 1.
    pub line: u64,
    /// Text of the column `source`.
    pub source: Arc<str>,
}

/// Provenance of the timing of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provenance {
    /// By a row of its form that was measured or published for this core.
    Own,
    /// By the row of another form, or by one of its own that is derived from others or assumed.
    Derived,
    /// By a row that is kept from an older core: nothing is known of the form on this one.
    Inherited,
    /// By the row of its class alone.
    Class,
}

impl Provenance {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Own, Self::Derived, Self::Inherited, Self::Class];
}

impl Origin {
    /// Provenance of the row.
    pub fn provenance(&self) -> Provenance {
        match self.source.split(' ').next() {
            Some("inherited") => Provenance::Inherited,
            Some("derived" | "assumed") => Provenance::Derived,
            _ => Provenance::Own,
        }
    }
}

/// Why a table cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of {table}: expected {expected}, found {found}")]
pub struct TableError {
    /// Name of the table.
    pub table: String,
    /// Counted from 1.
    pub line: u64,
    /// Allowed values.
    pub expected: String,
    /// Value that is there.
    pub found: String,
}

impl TimingTable {
    /// The table that comes with corun under this name.
    ///
    /// # Errors
    /// If there is none, or it is wrong.
    pub fn named(name: &str) -> Result<Self, TableError> {
        Self::parse(name, own_text(name)?)
    }

    /// Names of the tables that come with corun.
    pub fn names() -> impl Iterator<Item = &'static str> {
        TABLES.iter().map(|(name, _)| *name)
    }

    /// Reads a table; `name` is what errors call it.
    ///
    /// # Errors
    /// At the first line that is wrong.
    pub fn parse(name: &str, text: &str) -> Result<Self, TableError> {
        Self::parse_forms(name, text, &|_| true)
    }

    fn parse_forms(
        name: &str,
        text: &str,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Self, TableError> {
        let mut table = Self::default();
        let mut shared = Shared::of(name);
        let mut columns = None;
        let rows =
            (1..).zip(text.lines()).filter(|(_, row)| !row.is_empty() && !row.starts_with('#'));
        for (line, row) in rows {
            let wrong = |(expected, found): FieldError| TableError {
                table: name.to_owned(),
                line,
                expected: expected.to_owned(),
                found,
            };
            let (form, rest) = row.split_once(',').unwrap_or((row, ""));
            if columns.is_some() && !is_wanted(form) {
                continue;
            }
            let found = row.split(',').count();
            let Some(columns) = columns else {
                if row != HEAD && row != HEAD_WITH_SOURCE {
                    return Err(wrong((HEADS, format!("{row:?}"))));
                }
                columns = Some(found);
                continue;
            };
            if found != columns {
                let found = format!("{found} columns");
                return Err(wrong(("as many columns as the head has", found)));
            }
            let (timing, source) = match columns == HEAD_WITH_SOURCE.split(',').count() {
                true => rest.rsplit_once(',').unwrap_or((rest, "")),
                false => (rest, ""),
            };
            check_form(form).map_err(wrong)?;
            let timing = shared.timing(timing).map_err(wrong)?;
            let origin = Some(shared.origin(line, source.trim()));
            if table.rows.insert(form.to_owned(), Row { timing, origin }).is_some() {
                return Err(wrong(("each form once", format!("{form:?} again"))));
            }
        }
        if columns.is_none() {
            return Err(TableError {
                table: name.to_owned(),
                line: 1,
                expected: HEADS.to_owned(),
                found: "no line".to_owned(),
            });
        }
        Ok(table)
    }

    /// The table of a model, with what is laid over it. Tables that do not come with corun are files
    /// beside the model's own: `NAME.csv`.
    ///
    /// # Errors
    /// If one of them is missing, or wrong, names a port that the model lacks, or says what no core does.
    pub fn of(model: &CoreModel) -> Result<Self, TableError> {
        let all = Self::unchecked(model)?;
        if comes_with_corun(model) {
            return Ok(all);
        }
        match all.implausible().first() {
            None => Ok(all),
            Some(first) => Err(all.refusal(first)),
        }
    }

    /// The table, without a check of its rows.
    ///
    /// # Errors
    /// If a table is missing, or wrong, or names a port that the model lacks.
    pub fn unchecked(model: &CoreModel) -> Result<Self, TableError> {
        Self::of_forms(model, &|_| true)
    }

    /// The rows of these forms alone, whatever they say.
    ///
    /// # Errors
    /// As [`unchecked`](Self::unchecked), as far as those rows show it.
    pub fn of_forms(
        model: &CoreModel,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Self, TableError> {
        let folder = model.folder.as_deref();
        let mut all = Self::default();
        for name in std::iter::once(&model.timing).chain(&model.overlays) {
            let table = Self::parse_forms(name, &own_text_or_beside(name, folder)?, is_wanted)?;
            table.check_ports(name, model)?;
            all.overlay(table);
        }
        all.divide(model);
        Ok(all)
    }

    /// Gives divisions the time that the model says of their quotient.
    fn divide(&mut self, model: &CoreModel) {
        for division in &model.back.divisions {
            let (bits, width) = (division.assumed_bits, division.width);
            let forms = division
                .mnemonics
                .iter()
                .flat_map(|name| ["r", "m"].map(|kind| format!("{name} {kind}{width}")));
            for form in forms {
                let Some(row) = self.rows.get_mut(&form) else { continue };
                let row = Arc::make_mut(&mut row.timing);
                row.latency = division.latency(bits).min(u16::MAX.into()) as u16;
                for uop in &mut row.uops {
                    if uop.ports.iter().any(|port| model.back.units.contains(port)) {
                        uop.busy = division.busy(bits).clamp(1, u16::MAX.into()) as u16;
                    }
                }
            }
        }
    }

    /// Rows that no core can have, in the order of the forms.
    pub fn implausible(&self) -> Vec<Implausible> {
        plausible::faults(self)
    }

    /// A fault as an error.
    pub fn refusal(&self, fault: &Implausible) -> TableError {
        let origin = self.origin(&fault.form);
        TableError {
            table: origin.map_or("the timing tables".to_owned(), |it| it.table.to_string()),
            line: origin.map_or(1, |it| it.line),
            expected: fault.expected.clone(),
            found: format!("{:?} with {}", fault.form, fault.found),
        }
    }

    /// Origin of the row of this form.
    pub fn origin(&self, form: &str) -> Option<&Origin> {
        self.rows.get(form)?.origin.as_ref()
    }

    /// Number of rows of a provenance.
    pub fn rows_of(&self, provenance: Provenance) -> usize {
        self.rows.values().filter(|row| row.provenance() == provenance).count()
    }

    /// Usage: instructions executed by this table so far.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// A micro-op none of whose ports were there would take none.
    fn check_ports(&self, name: &str, model: &CoreModel) -> Result<(), TableError> {
        let schedulers = model.back.schedulers.iter().flat_map(|scheduler| &scheduler.ports);
        let known: Vec<&str> = schedulers.chain(&model.back.units).map(String::as_str).collect();
        let unknown = self.ports().find(|port| !known.contains(port));
        unknown.map_or(Ok(()), |port| {
            Err(TableError {
                table: name.to_owned(),
                line: 1,
                expected: format!("the ports of the model ({})", known.join(", ")),
                found: format!("{port:?} in one of its rows"),
            })
        })
    }

    /// Rows of `over` replace those of one form.
    pub fn overlay(&mut self, over: Self) {
        match self.rows.is_empty() {
            true => self.rows = over.rows,
            false => self.rows.extend(over.rows),
        }
    }

    /// Rows without a source that replace those of one form.
    pub fn extend(&mut self, rows: impl IntoIterator<Item = (String, Timing)>) {
        let own = |(form, timing)| (form, Row { timing: Arc::new(timing), origin: None });
        self.rows.extend(rows.into_iter().map(own));
    }

    /// The row of a form (`add r64 m64`) or class (`class:integer`) of this name.
    pub fn row(&self, name: &str) -> Option<&Timing> {
        self.rows.get(name).map(|row| &*row.timing)
    }

    /// All rows, by name.
    pub fn rows(&self) -> impl Iterator<Item = (&str, &Timing)> {
        self.rows.iter().map(|(name, row)| (name.as_str(), &*row.timing))
    }

    /// Names of the ports of all rows, without those that loads and stores use.
    pub fn ports(&self) -> impl Iterator<Item = &str> {
        let mut seen = HashSet::new();
        let timings = self.rows.values().map(|row| &row.timing);
        let uops = timings.filter(move |it| seen.insert(Arc::as_ptr(it))).flat_map(|it| &it.uops);
        uops.flat_map(|uop| uop.ports.iter().map(String::as_str))
    }

    /// Timing of the instruction.
    ///
    /// A form without a row takes that of the same form with a register instead of memory, without
    /// broadcast or without a mask, and adds its loads and stores; else its class decides.
    pub fn lookup(&self, instruction: &Instruction) -> Lookup<'_> {
        self.trace(instruction).0
    }

    /// Timing of the instruction, and its provenance.
    pub fn trace(&self, instruction: &Instruction) -> (Lookup<'_>, Provenance) {
        let name = form(instruction);
        if let Some(row) = self.rows.get(&name) {
            return (Lookup::Known(Cow::Borrowed(&row.timing)), row.provenance());
        }
        let (loads, stores) = accesses(instruction);
        if let Some(found) = derive::candidates(&name).find_map(|name| self.rows.get(&name)) {
            let timing = self.with_accesses(&found.timing, loads, stores);
            let provenance = match found.provenance() {
                Provenance::Own => Provenance::Derived,
                other => other,
            };
            return (Lookup::Known(Cow::Owned(timing)), provenance);
        }
        let class = Class::of(instruction);
        let timing = self.row(&format!("class:{}", class.name()));
        let timing = timing.map_or_else(Timing::plain, Timing::clone);
        let timing = self.with_accesses(&timing, loads, stores);
        (Lookup::Fallback(class, Cow::Owned(timing)), Provenance::Class)
    }

    /// The timing with so many loads and stores, if it has fewer.
    fn with_accesses(&self, timing: &Timing, loads: u8, stores: u8) -> Timing {
        let mut timing = timing.clone();
        let both = loads > 0 && stores > 0;
        if both && timing.loads == 0 && timing.stores == 0 {
            // Loading, computing and storing take as many slots more than computing as an addition.
            let update = self.row("class:update").map_or(1, |update| update.slots);
            timing.slots = timing.slots.saturating_add(update.saturating_sub(1));
        }
        timing.loads = timing.loads.max(loads);
        timing.stores = timing.stores.max(stores);
        timing.slots = timing.slots.max(1);
        timing
    }
}

/// True if all that a model's timings are made from comes with corun. Tests check those for what no core does, which
/// takes longer than to read them.
fn comes_with_corun(model: &CoreModel) -> bool {
    let parts = |it: &CoreModel| {
        (it.timing.clone(), it.overlays.clone(), it.back.divisions.clone(), it.back.units.clone())
    };
    model.folder.is_none() && crate::find(&model.name).is_ok_and(|own| parts(&own) == parts(model))
}

/// The text of the table that comes with corun under this name.
fn own_text(name: &str) -> Result<&'static str, TableError> {
    let found = TABLES.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text).ok_or_else(|| TableError {
        table: "the list of timing tables".to_owned(),
        line: 1,
        expected: format!("one of {}", TimingTable::names().collect::<Vec<_>>().join(", ")),
        found: format!("{name:?}"),
    })
}

/// Own text of the table, or the text of the file in `folder`.
fn own_text_or_beside(name: &str, folder: Option<&Path>) -> Result<Cow<'static, str>, TableError> {
    let Some(folder) = folder.filter(|_| !TimingTable::names().any(|known| known == name)) else {
        return own_text(name).map(Cow::Borrowed);
    };
    let file = folder.join(format!("{name}.csv"));
    let text = corun_files::text(&file, InputKind::TIMINGS).map_err(|error| TableError {
        table: shown(&file),
        line: 1,
        expected: "a timing table in the folder of the model that names it".to_owned(),
        found: error.to_string(),
    })?;
    Ok(Cow::Owned(text))
}

impl Timing {
    /// One micro-op of one cycle that any port does at once.
    fn plain() -> Self {
        Self { slots: 1, latency: 1, uops: Vec::new(), loads: 0, stores: 0, late: Vec::new() }
    }
}

/// Loads and stores of an instruction; a string instruction counts those of one element.
fn accesses(instruction: &Instruction) -> (u8, u8) {
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(instruction);
    let (mut loads, mut stores) = (0u8, 0u8);
    for memory in info.used_memory() {
        let (load, store) = match memory.access() {
            OpAccess::Read | OpAccess::CondRead => (1, 0),
            OpAccess::Write | OpAccess::CondWrite => (0, 1),
            OpAccess::ReadWrite | OpAccess::ReadCondWrite => (1, 1),
            OpAccess::None | OpAccess::NoMemAccess => (0, 0),
        };
        loads = loads.saturating_add(load);
        stores = stores.saturating_add(store);
    }
    (loads, stores)
}

const HEAD: &str = "form,slots,latency,ports,late";
const HEAD_WITH_SOURCE: &str = "form,slots,latency,ports,late,source";
const HEADS: &str = "form,slots,latency,ports,late or form,slots,latency,ports,late,source";

/// A fault in a field: the allowed values, and the value that is there.
type FieldError = (&'static str, String);

impl Row {
    fn provenance(&self) -> Provenance {
        self.origin.as_ref().map_or(Provenance::Own, Origin::provenance)
    }
}

/// Texts that rows of one table have in common, by its text.
struct Shared<'t> {
    table: Arc<str>,
    timings: HashMap<&'t str, Arc<Timing>>,
    sources: HashMap<&'t str, Arc<str>>,
}

impl<'t> Shared<'t> {
    fn of(table: &str) -> Self {
        Self { table: Arc::from(table), timings: HashMap::new(), sources: HashMap::new() }
    }

    fn timing(&mut self, text: &'t str) -> Result<Arc<Timing>, FieldError> {
        if let Some(known) = self.timings.get(text) {
            return Ok(Arc::clone(known));
        }
        let timing = Arc::new(timing(text)?);
        self.timings.insert(text, Arc::clone(&timing));
        Ok(timing)
    }

    fn origin(&mut self, line: u64, source: &'t str) -> Origin {
        let source = self.sources.entry(source).or_insert_with(|| Arc::from(source));
        Origin { table: Arc::clone(&self.table), line, source: Arc::clone(source) }
    }
}

fn check_form(form: &str) -> Result<(), FieldError> {
    let known = |class: &str| Class::ALL.iter().any(|known| known.name() == class);
    match form.is_empty() || form.strip_prefix("class:").is_some_and(|class| !known(class)) {
        true => Err(("a form or class:NAME with the name of a class", format!("{form:?}"))),
        false => Ok(()),
    }
}

/// The columns from the slots to the late sources.
fn timing(text: &str) -> Result<Timing, FieldError> {
    let mut fields = text.split(',');
    let [slots, latency, ports, late] = std::array::from_fn(|_| fields.next().unwrap_or_default());
    let mut timing = Timing {
        slots: number(slots, "a number of slots up to 255")?,
        latency: number(latency, "a number of cycles up to 65535")?,
        uops: Vec::new(),
        loads: 0,
        stores: 0,
        late: late.split_whitespace().map(self::late).collect::<Result<_, _>>()?,
    };
    for term in ports.split('+').filter(|_| !ports.is_empty()) {
        add_term(&mut timing, term)?;
    }
    Ok(timing)
}

fn number<T: FromStr>(text: &str, expected: &'static str) -> Result<T, FieldError> {
    text.parse().map_err(|_| (expected, format!("{text:?}")))
}

/// Micro-ops of one row at most, so that no table fills the memory.
const MAX_UOPS: usize = 4096;

fn add_term(timing: &mut Timing, term: &str) -> Result<(), FieldError> {
    const TERM: &str = "terms [TIMES*]PORT|PORT[:CYCLES], with L for a load and S for a store";
    let wrong = || (TERM, format!("{term:?}"));
    let (times, what) = match term.split_once('*') {
        Some((times, what)) => (number::<u8>(times, TERM)?, what),
        None => (1, term),
    };
    let memory = match what {
        "L" => Some(&mut timing.loads),
        "S" => Some(&mut timing.stores),
        _ => None,
    };
    if let Some(count) = memory {
        *count = count.checked_add(times).ok_or_else(wrong)?;
        return Ok(());
    }
    let (ports, busy) = match what.split_once(':') {
        Some((ports, busy)) => (ports, number::<u16>(busy, TERM)?),
        None => (what, 1),
    };
    let name = |port: &str| {
        let letters = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'_';
        let right = !port.is_empty() && !matches!(port, "L" | "S") && port.bytes().all(letters);
        right.then(|| port.to_owned()).ok_or_else(wrong)
    };
    let ports: Vec<String> = ports.split('|').map(name).collect::<Result<_, _>>()?;
    let uop = ComputeUop { ports, busy };
    if times == 0 || busy == 0 || timing.uops.len() + usize::from(times) > MAX_UOPS {
        return Err(wrong());
    }
    timing.uops.extend(std::iter::repeat_n(uop, usize::from(times)));
    Ok(())
}

fn late(text: &str) -> Result<Late, FieldError> {
    const LATE: &str = "OPERAND=CYCLES, flags=, index= or target=CYCLES, separated by blanks";
    let (source, latency) = text.split_once('=').ok_or_else(|| (LATE, format!("{text:?}")))?;
    let source = match source {
        "flags" => LateSource::Flags,
        "index" => LateSource::Index,
        "target" => LateSource::Target,
        operand => LateSource::Operand(number(operand, LATE)?),
    };
    Ok(Late { source, latency: number(latency, LATE)? })
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use proptest::prelude::*;

    use super::*;

    const HEADER: &str = "form,slots,latency,ports,late\n";

    fn refused(rows: &str) -> String {
        TimingTable::parse("t", &format!("{HEADER}{rows}")).unwrap_err().to_string()
    }

    #[test]
    fn reads_every_column() {
        let text = "# why\nform,slots,latency,ports,late,source\n\
                    adc m64 r64,3,4,L+2*p0|p6:3+p1+2*S,1=2 flags=1,sog 2.1\n";
        let table = TimingTable::parse("t", text).unwrap();
        let timing = table.row("adc m64 r64").unwrap();
        assert_eq!((timing.slots, timing.latency, timing.loads, timing.stores), (3, 4, 1, 2));
        let both = ComputeUop { ports: vec!["p0".to_owned(), "p6".to_owned()], busy: 3 };
        let one = ComputeUop { ports: vec!["p1".to_owned()], busy: 1 };
        assert_eq!(timing.uops, [both.clone(), both, one]);
        let late = [
            Late { source: LateSource::Operand(1), latency: 2 },
            Late { source: LateSource::Flags, latency: 1 },
        ];
        assert_eq!(timing.late, late);
        let text = format!("{HEADER}lea r64 bid,1,2,p0:3,index=1\n");
        let table = TimingTable::parse("t", &text).unwrap();
        let late = [Late { source: LateSource::Index, latency: 1 }];
        assert_eq!(table.row("lea r64 bid").unwrap().late, late);
        let text = format!("{HEADER}popcnt r64 r64,1,3,p1,target=3\n");
        let popcnt = TimingTable::parse("t", &text).unwrap();
        let late = [Late { source: LateSource::Target, latency: 3 }];
        assert_eq!(popcnt.row("popcnt r64 r64").unwrap().late, late);
        assert_eq!(late[0].source.to_string(), "target");
    }

    #[test]
    fn says_where_a_table_is_wrong() {
        assert_snapshot!(TimingTable::parse("t", "# why\nform,slots\n").unwrap_err(), @r#"line 2 of t: expected form,slots,latency,ports,late or form,slots,latency,ports,late,source, found "form,slots""#);
        assert_snapshot!(TimingTable::parse("t", "").unwrap_err(), @"line 1 of t: expected form,slots,latency,ports,late or form,slots,latency,ports,late,source, found no line");
        assert_snapshot!(refused("nop,1,0,,\nnop,1,0,,\n"), @r#"line 3 of t: expected each form once, found "nop" again"#);
        assert_snapshot!(refused("nop,256,0,,\n"), @r#"line 2 of t: expected a number of slots up to 255, found "256""#);
        assert_snapshot!(refused("nop,1,-1,,\n"), @r#"line 2 of t: expected a number of cycles up to 65535, found "-1""#);
        assert_snapshot!(refused("nop,1,1\n"), @"line 2 of t: expected as many columns as the head has, found 3 columns");
        assert_snapshot!(refused("nop,1,1,p0|,\n"), @r#"line 2 of t: expected terms [TIMES*]PORT|PORT[:CYCLES], with L for a load and S for a store, found "p0|""#);
        assert_snapshot!(refused("nop,1,1,0*p0,\n"), @r#"line 2 of t: expected terms [TIMES*]PORT|PORT[:CYCLES], with L for a load and S for a store, found "0*p0""#);
        assert_snapshot!(refused("nop,1,1,p0:0,\n"), @r#"line 2 of t: expected terms [TIMES*]PORT|PORT[:CYCLES], with L for a load and S for a store, found "p0:0""#);
        assert_snapshot!(refused("nop,1,1,200*L+200*L,\n"), @r#"line 2 of t: expected terms [TIMES*]PORT|PORT[:CYCLES], with L for a load and S for a store, found "200*L""#);
        assert_snapshot!(refused("nop,1,1,,late\n"), @r#"line 2 of t: expected OPERAND=CYCLES, flags=, index= or target=CYCLES, separated by blanks, found "late""#);
        assert_snapshot!(refused("class:magic,1,1,,\n"), @r#"line 2 of t: expected a form or class:NAME with the name of a class, found "class:magic""#);
        let unknown = TimingTable::named("zen9").unwrap_err();
        assert_eq!(unknown.found, r#""zen9""#);
        assert!(unknown.expected.contains("zen4-published, zen4"), "{unknown}");
    }

    #[test]
    fn later_tables_replace_rows() {
        let parse = |rows: &str| TimingTable::parse("t", &format!("{HEADER}{rows}")).unwrap();
        let mut table = parse("nop,1,0,,\ncpuid,1,100,p0,\n");
        table.overlay(parse("cpuid,2,120,p0,\nrdtsc,1,20,p0,\n"));
        let latencies: Vec<_> = table.rows().map(|(name, timing)| (name, timing.latency)).collect();
        assert_eq!(latencies, [("cpuid", 120), ("nop", 0), ("rdtsc", 20)]);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in any::<String>(), row in "[a-z0-9 ,+*|:=LS\n]{0,60}") {
            let _ = TimingTable::parse("t", &text);
            let _ = TimingTable::parse("t", &format!("{HEADER}{row}"));
        }

        #[test]
        fn every_instruction_has_a_timing(bytes in any::<[u8; 15]>()) {
            let mut decoder = iced_x86::Decoder::with_ip(64, &bytes, 0, iced_x86::DecoderOptions::NONE);
            let instruction = decoder.decode();
            let table = TimingTable::named("zen2").unwrap();
            let (loads, stores) = accesses(&instruction);
            let found = table.lookup(&instruction);
            prop_assert!(found.timing().slots > 0);
            if let Lookup::Fallback(_, timing) = &found {
                prop_assert!(timing.loads >= loads && timing.stores >= stores);
            }
        }
    }
}
