//! Arms whose logical CPUs the user lists, as `taskset` takes them.

use std::str::FromStr;

use corun_machine::{CpuSet, CpuSetError};
use corun_record::{Arm, Placement};

use super::LayoutError;
use crate::cores::Core;

/// An arm with a worker on each of these logical CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedArm {
    /// The arm's id.
    pub name: String,
    /// The logical CPU of each worker, none twice.
    pub cpus: Vec<u32>,
}

/// A text that lists no arm.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListedArmError {
    /// No name, or no list.
    #[error("expected a name and logical CPUs such as siblings=0,4, found \"{}\"", corun_record::shown(.0))]
    NoList(String),
    /// A name that is none.
    #[error(
        "expected a name of letters, digits, - and _, other than a placement's, found \"{}\"",
        corun_record::shown(.0)
    )]
    NoName(String),
    /// A list that is none.
    #[error(transparent)]
    Cpus(#[from] CpuSetError),
    /// A logical CPU with two workers.
    #[error(
        "expected each logical CPU once, found {0} twice; workers that share a CPU are the placement stacked"
    )]
    Twice(u32),
}

impl FromStr for ListedArm {
    type Err = ListedArmError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let no_list = || ListedArmError::NoList(text.to_owned());
        let (name, list) = text.split_once('=').ok_or_else(no_list)?;
        let is_letter = |it: u8| it.is_ascii_alphanumeric() || b"-_".contains(&it);
        if name.is_empty() || !name.bytes().all(is_letter) || name.parse::<Placement>().is_ok() {
            return Err(ListedArmError::NoName(name.to_owned()));
        }
        let mut cpus = Vec::new();
        for element in list.split(',') {
            for cpu in CpuSet::from_list(element)?.iter() {
                if cpus.contains(&cpu) {
                    return Err(ListedArmError::Twice(cpu));
                }
                cpus.push(cpu);
            }
        }
        match cpus.is_empty() {
            true => Err(no_list()),
            false => Ok(Self { name: name.to_owned(), cpus }),
        }
    }
}

impl ListedArm {
    /// The arm on these cores.
    ///
    /// # Errors
    /// If one of its CPUs is not among those that workers may use.
    pub(super) fn arm(&self, cores: &[Core]) -> Result<Arm, LayoutError> {
        let usable: CpuSet = cores.iter().flat_map(|core| core.cpus.iter().copied()).collect();
        if let Some(&cpu) = self.cpus.iter().find(|cpu| !usable.contains(**cpu)) {
            return Err(LayoutError::NotUsable { name: self.name.clone(), cpu, usable });
        }
        let is_used = |core: &&Core| core.cpus.iter().any(|cpu| self.cpus.contains(cpu));
        let used: Vec<&Core> = cores.iter().filter(is_used).collect();
        let siblings = used.iter().flat_map(|core| core.online_siblings.iter().copied());
        let (workers, on) = (self.cpus.len() as u32, used.len() as u32);
        Ok(Arm {
            id: self.name.clone(),
            idle_siblings: siblings.filter(|cpu| !self.cpus.contains(cpu)).collect(),
            ..Arm::new(Placement::Cpus, workers, on, self.cpus.clone())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_cpus_is_that_of_workers() {
        let listed: ListedArm = "two-cores=4,0-1".parse().unwrap();
        assert_eq!((listed.name.as_str(), &listed.cpus[..]), ("two-cores", &[4, 0, 1][..]));
    }

    #[test]
    fn what_lists_no_arm_is_refused() {
        let refused = |text: &str| text.parse::<ListedArm>().unwrap_err().to_string();
        let texts = [
            "0,4", "=0", "a=", "a b=0", "a.aa=0", "spread=0", "free@2=0", "a=0-", "a=0,1,0",
            "a=0-3,2",
        ];
        insta::assert_snapshot!(texts.map(refused).join("\n"), @r#"
        expected a name and logical CPUs such as siblings=0,4, found "0,4"
        expected a name of letters, digits, - and _, other than a placement's, found ""
        expected a name and logical CPUs such as siblings=0,4, found "a="
        expected a name of letters, digits, - and _, other than a placement's, found "a b"
        expected a name of letters, digits, - and _, other than a placement's, found "a.aa"
        expected a name of letters, digits, - and _, other than a placement's, found "spread"
        expected a name of letters, digits, - and _, other than a placement's, found "free@2"
        expected CPU numbers and ranges such as `0-3,8`, found `0-`
        expected each logical CPU once, found 0 twice; workers that share a CPU are the placement stacked
        expected each logical CPU once, found 2 twice; workers that share a CPU are the placement stacked
        "#);
    }
}
