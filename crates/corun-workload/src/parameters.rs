//! Parameters as given (`name=value`) become values that the workload declared, or a clear error,
//! before anything is prepared; pure, and it can be written out again as it was read.

use std::fmt;
use std::path::Path;

use corun_record::nearest_first;

use crate::{Descriptor, Domain, Parameter, WorkloadError, caches, quantity};

/// A value for every parameter of one workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters {
    workload: &'static str,
    values: Vec<(&'static Parameter, Value)>,
}

impl Parameters {
    /// Reads `name=value` pairs; a parameter that is not among them gets its default.
    ///
    /// # Errors
    /// [`WorkloadError::NotAPair`], [`WorkloadError::UnknownParameter`],
    /// [`WorkloadError::Repeated`] or [`WorkloadError::BadValue`].
    pub fn parse<Pair: AsRef<str>>(
        descriptor: &'static Descriptor,
        pairs: impl IntoIterator<Item = Pair>,
    ) -> Result<Self, WorkloadError> {
        let mut given: Vec<(&Parameter, Value)> = Vec::new();
        for pair in pairs {
            let (parameter, text) = split(descriptor, pair.as_ref())?;
            if given.iter().any(|(earlier, _)| earlier.name == parameter.name) {
                return Err(WorkloadError::Repeated {
                    workload: descriptor.name,
                    parameter: parameter.name,
                });
            }
            given.push((parameter, value(descriptor, parameter, text)?));
        }
        let values = descriptor
            .parameters
            .iter()
            .map(|parameter| {
                let value = match given.iter().find(|(other, _)| other.name == parameter.name) {
                    Some((_, value)) => value.clone(),
                    None => value(descriptor, parameter, parameter.default)?,
                };
                Ok((parameter, value))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { workload: descriptor.name, values })
    }

    /// Every parameter's name and value in order of declaration, as [`parse`](Self::parse) reads
    /// them; sizes in bytes.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.values.iter().map(|(parameter, value)| (parameter.name, value.to_string()))
    }

    /// The value of a choice.
    ///
    /// # Errors
    /// [`WorkloadError::NotDeclared`] if the workload has no such choice.
    pub fn choice(&self, parameter: &Parameter) -> Result<&'static str, WorkloadError> {
        match self.value(parameter) {
            Some(&Value::Choice(value)) => Ok(value),
            _ => Err(self.not_declared("choice", parameter)),
        }
    }

    /// The value of a count, or of a size in bytes.
    ///
    /// # Errors
    /// [`WorkloadError::NotDeclared`] if the workload has no such count or size.
    pub fn number(&self, parameter: &Parameter) -> Result<u64, WorkloadError> {
        match self.value(parameter) {
            Some(&Value::Number(value)) => Ok(value),
            _ => Err(self.not_declared("number", parameter)),
        }
    }

    /// The path of a file; `None` where what comes with corun is meant.
    ///
    /// # Errors
    /// [`WorkloadError::NotDeclared`] if the workload takes no such file.
    pub fn file(&self, parameter: &Parameter) -> Result<Option<&Path>, WorkloadError> {
        match self.value(parameter) {
            Some(Value::File(path)) if path == parameter.default => Ok(None),
            Some(Value::File(path)) => Ok(Some(Path::new(path))),
            _ => Err(self.not_declared("file", parameter)),
        }
    }

    fn value(&self, parameter: &Parameter) -> Option<&Value> {
        self.values.iter().find(|(own, _)| own.name == parameter.name).map(|(_, value)| value)
    }

    fn not_declared(&self, domain: &'static str, parameter: &Parameter) -> WorkloadError {
        WorkloadError::NotDeclared { workload: self.workload, domain, parameter: parameter.name }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Choice(&'static str),
    File(String),
    Number(u64),
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Choice(value) => formatter.write_str(value),
            Self::File(path) => formatter.write_str(path),
            Self::Number(value) => write!(formatter, "{value}"),
        }
    }
}

/// Reads a size in bytes: `4096`, `4K`, `4KiB`, or in data caches of this machine, `4xL3`.
pub fn size(text: &str) -> Option<u64> {
    quantity::parse_size(text).or_else(|| caches::parse_multiple(text, Path::new("/")))
}

fn split<'a>(
    descriptor: &'static Descriptor,
    pair: &'a str,
) -> Result<(&'static Parameter, &'a str), WorkloadError> {
    let (name, text) = pair.split_once('=').ok_or_else(|| WorkloadError::NotAPair {
        workload: descriptor.name,
        found: pair.to_owned(),
    })?;
    descriptor
        .parameters
        .iter()
        .find(|parameter| parameter.name == name)
        .map(|parameter| (parameter, text))
        .ok_or_else(|| WorkloadError::UnknownParameter {
            workload: descriptor.name,
            found: name.to_owned(),
            known: nearest_first(name, descriptor.parameters.iter().map(|known| known.name)),
        })
}

fn value(
    descriptor: &Descriptor,
    parameter: &Parameter,
    text: &str,
) -> Result<Value, WorkloadError> {
    let value = match parameter.domain {
        Domain::Choice(choices) => choices
            .iter()
            .find(|choice| choice.value == text)
            .map(|choice| Value::Choice(choice.value)),
        Domain::File => (!text.is_empty()).then(|| Value::File(text.to_owned())),
        Domain::Count { least, most, .. } => quantity::parse_count(text)
            .filter(|count| (least..=most).contains(count))
            .map(Value::Number),
        Domain::Size { least, most, multiple_of } => size(text)
            .filter(|size| (least..=most).contains(size) && size.is_multiple_of(multiple_of))
            .map(Value::Number),
    };
    value.ok_or_else(|| WorkloadError::BadValue {
        workload: descriptor.name,
        parameter: parameter.name,
        expected: parameter.domain,
        found: text.to_owned(),
    })
}
