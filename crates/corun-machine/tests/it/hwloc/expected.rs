//! hwloc's output, in either of its forms, as facts.
//!
//! Both forms are trees in which an object has the CPUs of the processing units (PU) below it, and
//! a NUMA node those of the object it hangs on.

use corun_machine::{CacheType, CpuSet};

use crate::hwloc::facts::{CacheFacts, Facts};

/// Reads XML or indented text.
pub(crate) fn facts(text: &str, name: &str) -> Facts {
    let root = if is_xml(text) { from_xml(text) } else { from_console(text) };
    let mut facts = Facts { cpus: root.cpus(), ..Facts::default() };
    collect(&root, &root.cpus(), &mut facts);
    assert!(!facts.cpus.is_empty(), "no PU in the expected output of {name}");
    facts
}

/// True if the output is XML, which gives exact sizes.
pub(crate) fn is_xml(text: &str) -> bool {
    text.starts_with("<?xml")
}

/// An object of hwloc's tree.
#[derive(Debug, Default)]
struct Object {
    kind: String,
    number: Option<u32>,
    size_bytes: u64,
    line_bytes: u32,
    ways: u32,
    children: Vec<Object>,
}

impl Object {
    fn cpus(&self) -> CpuSet {
        let own = self.number.filter(|_| self.kind == "PU");
        own.into_iter()
            .chain(self.children.iter().flat_map(|child| child.cpus().as_slice().to_vec()))
            .collect()
    }

    /// Level and type, of the caches that are compared.
    fn cache(&self) -> Option<(u32, CacheType)> {
        let level = self.kind.strip_prefix('L')?.get(..1)?.parse().ok()?;
        match self.kind.get(2..)? {
            "dCache" => Some((level, CacheType::Data)),
            "Cache" => Some((level, CacheType::Unified)),
            _ => None,
        }
    }
}

/// Adds `object` and all below it; `around` are the CPUs of what it hangs on.
fn collect(object: &Object, around: &CpuSet, facts: &mut Facts) {
    let cpus = object.cpus();
    match object.kind.as_str() {
        // What has memory only is shown without CPUs.
        "Package" if !cpus.is_empty() => facts.packages.push(cpus.clone()),
        "NUMANode" => facts.numa_nodes.push((object.number.unwrap(), around.clone())),
        "Core" => {
            facts.cores.push(cpus.clone());
            facts.siblings.extend(cpus.iter().map(|cpu| (cpu, cpus.clone())));
        }
        _ => {}
    }
    if let Some((level, cache_type)) = object.cache().filter(|_| !cpus.is_empty()) {
        let Object { size_bytes, line_bytes, ways, .. } = *object;
        let cpus = cpus.clone();
        facts.caches.push(CacheFacts { level, cache_type, size_bytes, line_bytes, ways, cpus });
    }
    // A memory-side cache stands between a node and what it hangs on.
    let around = if object.kind == "MemCache" { around } else { &cpus };
    for child in &object.children {
        collect(child, around, facts);
    }
}

fn from_xml(text: &str) -> Object {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(text, options).unwrap();
    let machine = document.descendants().find(|node| node.has_tag_name("object")).unwrap();
    xml_object(machine)
}

fn xml_object(node: roxmltree::Node<'_, '_>) -> Object {
    let number = |name: &str| node.attribute(name).and_then(|value| value.parse::<u64>().ok());
    let kind = node.attribute("type").unwrap_or_default();
    // The XML names L1 data caches `L1Cache`, and says what they hold elsewhere.
    let data = node.attribute("cache_type") == Some("1");
    Object {
        kind: if data { kind.replace("Cache", "dCache") } else { kind.to_owned() },
        number: number("os_index").map(|number| number as u32),
        size_bytes: number("cache_size").unwrap_or(0),
        line_bytes: number("cache_linesize").unwrap_or(0) as u32,
        ways: number("cache_associativity").unwrap_or(0) as u32,
        children: node
            .children()
            .filter(|child| child.has_tag_name("object"))
            .map(xml_object)
            .collect(),
    }
}

fn from_console(text: &str) -> Object {
    // The summary by depth follows the tree.
    let mut lines =
        text.lines().take_while(|line| !line.trim_start().starts_with("depth ")).peekable();
    let first = lines.next().unwrap();
    console_object(first, 0, &mut lines)
}

/// The object on `line`, with what the following, deeper lines hang on it.
fn console_object<'a>(
    line: &str,
    depth: usize,
    lines: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
) -> Object {
    let words: Vec<&str> = line.split([' ', '(', ')']).filter(|word| !word.is_empty()).collect();
    let value = |key: &str| words.iter().find_map(|word| word.strip_prefix(key));
    let mut object = Object {
        kind: words.first().copied().unwrap_or_default().to_owned(),
        number: value("P#").and_then(|number| number.parse().ok()),
        size_bytes: value("size=").map_or(0, bytes),
        line_bytes: value("linesize=").and_then(|value| value.parse().ok()).unwrap_or(0),
        ways: value("ways=").and_then(|value| value.parse().ok()).unwrap_or(0),
        children: Vec::new(),
    };
    while let Some(next) = lines.next_if(|next| indentation(next) > depth) {
        object.children.push(console_object(next, indentation(next), lines));
    }
    object
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// `4096KiB`
fn bytes(text: &str) -> u64 {
    let unit = text.trim_start_matches(|character: char| character.is_ascii_digit());
    let number: u64 = text[..text.len() - unit.len()].parse().unwrap_or(0);
    match unit {
        "KiB" => number << 10,
        "MiB" => number << 20,
        "GiB" => number << 30,
        _ => number,
    }
}
