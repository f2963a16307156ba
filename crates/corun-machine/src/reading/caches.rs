//! Caches, each once however many CPUs describe it.
//!
//! The folders are described in the kernel's `Documentation/ABI/testing/sysfs-devices-system-cpu`.

use std::collections::{HashMap, HashSet};

use super::source::{CpuSets, Form, SetId, Source, of_each};
use crate::finding::Findings;
use crate::{Cache, CacheType, CpuSet, FindingKind, SystemFiles};

/// Kernels number the caches of a CPU without gaps; captured trees need not.
const ALWAYS_TRIED: u32 = 4;
/// More than any machine has.
const MAX_CACHES: u32 = 16;

/// Reads the caches, by level, type and lowest CPU. `siblings_of` gives the siblings of a CPU.
pub(super) fn read<F: SystemFiles>(
    source: &mut Source<'_, F>,
    online: &CpuSet,
    siblings_of: impl Fn(u32) -> CpuSet,
) -> Vec<Cache> {
    // Where the two disagree (kernels of 2011 on AMD), the mask is right.
    let mut lists =
        CpuSets::new(&[("shared_cpu_map", Form::Mask), ("shared_cpu_list", Form::List)]);
    let mut described: HashSet<(u32, SetId)> = HashSet::new();
    let mut caches: HashMap<(u32, CacheType, CpuSet), Cache> = HashMap::new();
    for cpu in online.iter() {
        for index in 0..MAX_CACHES {
            let Some(list) = lists.read(source, cpu, format_args!("cache/index{index}")) else {
                if index < ALWAYS_TRIED { continue } else { break }
            };
            let serves_itself = lists.get(list).contains(cpu);
            // A CPU that shares this cache, under the same number, has described it already.
            if serves_itself && !described.insert((index, list)) {
                continue;
            }
            let mut cpus = lists.get(list).intersection(online);
            if !serves_itself {
                let what =
                    "the list lacks the CPU itself; the cache is taken to serve its core too";
                report(&mut source.findings, what.to_owned(), &CpuSet::from([cpu]));
                cpus = cpus.union(&siblings_of(cpu).intersection(online));
            }
            if let Some((level, cache_type)) = level_and_type(source, cpu, index) {
                caches
                    .entry((level, cache_type, cpus.clone()))
                    .or_insert_with(|| describe(source, cpu, index, level, cache_type, cpus));
            }
        }
    }
    let mut caches: Vec<Cache> = caches.into_values().collect();
    caches.sort_by(|one, other| order(one).cmp(&order(other)));
    report_contradictions(&caches, &mut source.findings);
    caches
}

fn order(cache: &Cache) -> (u32, CacheType, &CpuSet) {
    (cache.level, cache.cache_type, &cache.cpus)
}

fn level_and_type<F: SystemFiles>(
    source: &mut Source<'_, F>,
    cpu: u32,
    index: u32,
) -> Option<(u32, CacheType)> {
    let level = source.cpu_number(cpu, format_args!("cache/index{index}/level"))?;
    let name = format!("cache/index{index}/type");
    let text = source.cpu_text(cpu, &name)?;
    let Some(cache_type) = cache_type(text) else {
        let what = format!("expected Data, Instruction or Unified, found `{text}`");
        source.malformed(&of_each(name), &what, &CpuSet::from([cpu]));
        return None;
    };
    Some((level, cache_type))
}

fn describe<F: SystemFiles>(
    source: &mut Source<'_, F>,
    cpu: u32,
    index: u32,
    level: u32,
    cache_type: CacheType,
    cpus: CpuSet,
) -> Cache {
    let folder = format!("cache/index{index}");
    let size = source.cpu_text(cpu, format_args!("{folder}/size")).map(str::to_owned);
    let size_bytes = size.and_then(|text| {
        let size = bytes(&text);
        if size.is_none() {
            let what = format!("expected a size such as 32K, found `{text}`");
            source.malformed(&of_each(format_args!("{folder}/size")), &what, &CpuSet::from([cpu]));
        }
        size
    });
    Cache {
        level,
        cache_type,
        size_bytes,
        line_bytes: source.cpu_number(cpu, format_args!("{folder}/coherency_line_size")),
        ways: source.cpu_number(cpu, format_args!("{folder}/ways_of_associativity")),
        cpus,
    }
}

fn report_contradictions(caches: &[Cache], findings: &mut Findings) {
    let mut serves: HashMap<(u32, CacheType, u32), &CpuSet> = HashMap::new();
    for cache in caches {
        for cpu in cache.cpus.iter() {
            if let Some(other) = serves.insert((cache.level, cache.cache_type, cpu), &cache.cpus) {
                let (level, cpus) = (cache.level, &cache.cpus);
                let what = format!(
                    "the L{level} cache of CPUs {other} and that of CPUs {cpus} have CPUs in \
                     common; both are kept"
                );
                report(findings, what, &CpuSet::from([cpu]));
            }
        }
    }
}

fn report(findings: &mut Findings, what: String, cpus: &CpuSet) {
    let file = of_each("cache/index*/shared_cpu_list");
    findings.add(FindingKind::ContradictoryCaches, file, what, cpus);
}

fn cache_type(text: &str) -> Option<CacheType> {
    match text {
        "Data" => Some(CacheType::Data),
        "Instruction" => Some(CacheType::Instruction),
        "Unified" => Some(CacheType::Unified),
        _ => None,
    }
}

/// `32K`, where K means 1024.
fn bytes(text: &str) -> Option<u64> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        b'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_bytes() {
        assert_eq!(bytes("32K"), Some(32_768));
        assert_eq!(bytes("4M"), Some(4_194_304));
        assert_eq!(bytes("512"), Some(512));
        for wrong in ["", "K", "-1K", "32k", "18446744073709551615K"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }
}
