//! Places of a model's fields in its file, so that a mistake is reported with its line.
//!
//! A field is called by its path: `front.l1i.ways`, `back.schedulers.2.ports`.

use std::collections::{BTreeMap, BTreeSet};

use corun_record::on_one_line;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The places of all fields of a file.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// By path, the byte at which the value (of a table: its head) begins.
    bytes: BTreeMap<String, usize>,
    /// Paths of texts that hold control characters, and what they hold, written with escapes.
    unprintable: Vec<(String, String)>,
    has_all: bool,
    /// Paths that only the base of a variant has.
    inherited: BTreeSet<String>,
}

impl Places {
    /// Of a document.
    pub(crate) fn of(table: &DeTable<'_>) -> Self {
        let mut places = Self::default();
        places.add_table("", table);
        places
    }

    /// Of a model that is in no file: it is taken to have every field.
    pub(crate) fn all() -> Self {
        Self { has_all: true, ..Self::default() }
    }

    /// Adds the fields of a base, as if each stood where the base is named.
    pub(crate) fn inherit(&mut self, base: &Self) {
        let named = self.byte("base");
        for path in base.bytes.keys() {
            if !self.bytes.contains_key(path) {
                self.bytes.insert(path.clone(), named);
                self.inherited.insert(path.clone());
            }
        }
    }

    /// True if the field is the base's.
    pub(crate) fn is_inherited(&self, path: &str) -> bool {
        self.inherited.contains(path)
    }

    /// Begin of a field, in bytes; where it is missing, where the table begins that lacks it.
    pub(crate) fn byte(&self, path: &str) -> usize {
        let mut path = path;
        loop {
            match (self.bytes.get(path), path.rsplit_once('.')) {
                (Some(&byte), _) => return byte,
                (None, Some((table, _))) => path = table,
                (None, None) => return 0,
            }
        }
    }

    /// True if the file has the field.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.has_all || self.bytes.contains_key(path)
    }

    /// The paths of all fields.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.bytes.keys().map(String::as_str)
    }

    /// Paths of texts that could steer a terminal, with the texts on one line.
    pub(crate) fn unprintable(&self) -> &[(String, String)] {
        &self.unprintable
    }

    fn add_table(&mut self, path: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let name_is_plain = self.add_text(path, name.as_ref());
            let name =
                if name_is_plain { name.as_ref().to_string() } else { on_one_line(name.as_ref()) };
            let path = if path.is_empty() { name } else { format!("{path}.{name}") };
            self.add_value(path, value);
        }
    }

    fn add_value(&mut self, path: String, value: &Spanned<DeValue<'_>>) {
        match value.as_ref() {
            DeValue::String(text) => {
                self.add_text(&path, text);
            }
            DeValue::Array(values) => {
                for (index, value) in values.iter().enumerate() {
                    self.add_value(format!("{path}.{index}"), value);
                }
            }
            DeValue::Table(table) => self.add_table(&path, table),
            _ => {}
        }
        self.bytes.insert(path, value.span().start);
    }

    /// Notes a text; says whether it is printable.
    fn add_text(&mut self, path: &str, text: &str) -> bool {
        let is_plain = !text.contains(char::is_control);
        if !is_plain {
            self.unprintable.push((path.to_owned(), on_one_line(text)));
        }
        is_plain
    }
}
