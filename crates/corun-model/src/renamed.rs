//! Fields of a model that had other names in files of version 1: a file, the keys of its `[estimates]` and settings
//! (`--set`) may still use them.

use std::borrow::Cow;

use toml::de::{DeTable, DeValue};

/// Former path and present path of each renamed field; what lies in a table comes before the table.
const RENAMED: &[(&str, &str)] = &[
    ("front.prediction.taken_beside", "front.prediction.round_beside"),
    ("front.decoder.operations", "front.decoder.uops"),
    ("front.loop_buffer.operations", "front.loop_buffer.uops"),
    ("front.op_cache.traces", "front.op_cache.trace_cache"),
    ("back.waiting", "back.non_scheduling_queues"),
    ("back.binding", "back.port_assignment"),
    ("back.elimination.copy_slots.until_all", "back.elimination.move_slots.until_all"),
    ("back.elimination.copy_slots", "back.elimination.move_slots"),
    ("memory.loads.wide_as", "memory.loads.wide_issue_slots"),
    ("memory.loads.chased", "memory.loads.pointer_chasing"),
    ("memory.forwarding.pairs", "memory.forwarding.predictive_forwarding"),
    ("memory.linear_tags.again", "memory.microtags.conflict_accesses"),
    ("memory.linear_tags.moved", "memory.microtags.retag_accesses"),
    ("memory.linear_tags", "memory.microtags"),
    ("hierarchy.fills.settling", "hierarchy.fills.conflict_window"),
    ("hierarchy.fills.again", "hierarchy.fills.retry_delay"),
    ("hierarchy.l3.others", "hierarchy.l3.background_fills"),
    ("hierarchy.stlb.by_chance", "hierarchy.stlb.random_replacement"),
    ("hierarchy.code_stlb.by_chance", "hierarchy.code_stlb.random_replacement"),
    ("hierarchy.walk.begins", "hierarchy.walk.first_cache"),
    ("hierarchy.prefetch.stride_ahead", "hierarchy.prefetch.stride_distance"),
    ("hierarchy.prefetch.stream_ahead", "hierarchy.prefetch.stream_distance"),
    ("hierarchy.prefetch.lines.ahead", "hierarchy.prefetch.lines.distance"),
    ("hierarchy.prefetch.lines.long_ahead", "hierarchy.prefetch.lines.long_distance"),
    ("hierarchy.coherence.heard", "hierarchy.coherence.snoop_delay"),
    ("hierarchy.coherence.clear", "hierarchy.coherence.machine_clear"),
    ("hierarchy.coherence.exposed", "hierarchy.coherence.retire_hold"),
];

/// Gives the fields of a parsed file, and the fields that its estimates name, their present names. A field that is
/// there by both names keeps the former one, which is then refused as unknown.
pub(super) fn rename(file: &mut DeTable<'_>) {
    // Models once said by hand that they were validated; that is counted now (validation.rs).
    file.remove("validated");
    for (former, present) in RENAMED {
        let (Some((table, key)), Some((_, new))) =
            (former.rsplit_once('.'), present.rsplit_once('.'))
        else {
            continue;
        };
        let Some(table) = table_at(file, table) else { continue };
        let place = table.keys().find(|it| it.get_ref() == key).map(toml::Spanned::span);
        if let Some(span) = place
            && !table.contains_key(new)
            && let Some(value) = table.remove(key)
        {
            table.insert(toml::Spanned::new(span, Cow::Borrowed(new)), value);
        }
    }
    if let Some(estimates) = table_at(file, "estimates") {
        let own: Vec<_> = estimates.keys().cloned().collect();
        for key in own {
            let new = present(key.get_ref()).map(Cow::into_owned);
            if let Some(new) = new
                && !estimates.contains_key(new.as_str())
                && let Some(value) = estimates.remove(key.get_ref().as_ref())
            {
                estimates.insert(toml::Spanned::new(key.span(), Cow::Owned(new)), value);
            }
        }
    }
}

/// The table of this path, if the file has one.
fn table_at<'t, 'f>(file: &'t mut DeTable<'f>, path: &str) -> Option<&'t mut DeTable<'f>> {
    path.split('.').try_fold(file, |table, name| match table.get_mut(name)?.get_mut() {
        DeValue::Table(inner) => Some(inner),
        _ => None,
    })
}

/// The present path of a field that has a former one.
fn present(former: &str) -> Option<Cow<'static, str>> {
    replaced(former, RENAMED.iter().copied())
}

/// The former path of a field that had one.
pub(super) fn former(present: &str) -> Option<Cow<'static, str>> {
    replaced(present, RENAMED.iter().map(|&(former, present)| (present, former)))
}

/// The path with its first match among the left ones replaced, be it all of the path or tables at its begin.
fn replaced(
    path: &str,
    pairs: impl Iterator<Item = (&'static str, &'static str)>,
) -> Option<Cow<'static, str>> {
    pairs.filter_map(|(from, to)| Some((path.strip_prefix(from)?, to))).find_map(|(rest, to)| {
        match rest {
            "" => Some(Cow::Borrowed(to)),
            _ if rest.starts_with('.') => Some(Cow::Owned(format!("{to}{rest}"))),
            _ => None,
        }
    })
}
