//! Every figure of a model names its source: what names what, and which tables name one.

use std::collections::BTreeSet;

use super::CoreModel;
use super::sharing::Sharing;

/// The names of sources that a reference begins its parts with: of `sog 2.10.3; chips: 64` they are
/// `sog` and `chips`.
pub(super) fn named(reference: &str) -> impl Iterator<Item = &str> {
    let is_end = |it: char| !(it.is_alphanumeric() || it == '-' || it == '_');
    reference.split(';').map(move |part| part.trim().split(is_end).next().unwrap_or_default())
}

/// The two sources of a figure that was fitted, as its estimate names them: `fitted to NAME ...; second source: NAME ...`. None of
/// one that was not fitted.
pub(super) fn of_fit(estimate: &str) -> Option<[Option<&str>; 2]> {
    let after = |words: &str| {
        let (_, rest) = estimate.split_once(words)?;
        named(rest).next().filter(|name| !name.is_empty())
    };
    estimate.contains("fitted").then(|| [after("fitted to "), after("second source: ")])
}

/// The names of sources in a reference or an estimate.
pub fn named_sources(text: &str) -> impl Iterator<Item = &str> {
    named(text).chain(of_fit(text).into_iter().flatten().flatten())
}

impl CoreModel {
    /// Sharing policy of each resource of the core, by the path of its table.
    pub fn sharings(&self) -> Vec<(String, &Sharing)> {
        let Self { front, back, memory, hierarchy, .. } = self;
        let mut all = vec![
            ("front.fetch".to_owned(), &front.fetch.sharing),
            ("front.l1i".to_owned(), &front.l1i.sharing),
            ("front.itlb".to_owned(), &front.itlb.sharing),
            ("front.prediction".to_owned(), &front.prediction.sharing),
            ("front.decoder".to_owned(), &front.decoder.sharing),
        ];
        if let Some(predecoder) = &front.predecoder {
            all.push(("front.predecoder".to_owned(), &predecoder.sharing));
        }
        if let Some(cache) = &front.op_cache {
            all.push(("front.op_cache".to_owned(), &cache.sharing));
        }
        if let Some(buffer) = &front.loop_buffer {
            all.push(("front.loop_buffer".to_owned(), &buffer.sharing));
        }
        all.extend([
            ("front.microcode".to_owned(), &front.microcode.sharing),
            ("front.queue".to_owned(), &front.queue.sharing),
            ("back.dispatch".to_owned(), &back.dispatch.sharing),
            ("back.rob".to_owned(), &back.rob.sharing),
            ("back.retire".to_owned(), &back.retire.sharing),
            ("back.registers".to_owned(), &back.registers.sharing),
        ]);
        for (index, scheduler) in back.schedulers.iter().enumerate() {
            all.push((format!("back.schedulers.{index}"), &scheduler.sharing));
        }
        for (index, queue) in back.non_scheduling_queues.iter().enumerate() {
            all.push((format!("back.non_scheduling_queues.{index}"), &queue.sharing));
        }
        all.extend([
            ("memory.loads".to_owned(), &memory.loads.sharing),
            ("memory.stores".to_owned(), &memory.stores.sharing),
            ("memory.l1d".to_owned(), &memory.l1d.sharing),
            ("memory.dtlb".to_owned(), &memory.dtlb.sharing),
            ("hierarchy.fills".to_owned(), &hierarchy.fills.sharing),
            ("hierarchy.l2".to_owned(), &hierarchy.l2.sharing),
            ("hierarchy.walk".to_owned(), &hierarchy.walk.sharing),
            ("hierarchy.prefetch".to_owned(), &hierarchy.prefetch.sharing),
        ]);
        let second = [("stlb", &hierarchy.stlb), ("code_stlb", &hierarchy.code_stlb)];
        for (name, tlb) in second {
            all.extend(tlb.iter().map(|tlb| (format!("hierarchy.{name}"), &tlb.sharing)));
        }
        all
    }

    /// The sources that no table and no estimate names.
    pub(super) fn unnamed_sources(&self) -> Vec<String> {
        let references = self.references();
        let of_tables = references.iter().flat_map(|(_, it)| named(it));
        let of_estimates = self.estimates.values().flat_map(|it| named_sources(it));
        let named: BTreeSet<&str> = of_tables.chain(of_estimates).collect();
        self.sources.keys().filter(|it| !named.contains(it.as_str())).cloned().collect()
    }

    /// The references to sources, by the path of the field that holds them.
    pub(super) fn references(&self) -> Vec<(String, &str)> {
        let sharings = self.sharings().into_iter();
        sharings
            .map(|(path, sharing)| (format!("{path}.sharing.source"), sharing.source.as_str()))
            .chain([
                ("front.fusion.source".to_owned(), self.front.fusion.source.as_str()),
                ("back.elimination.source".to_owned(), self.back.elimination.source.as_str()),
                ("memory.forwarding.source".to_owned(), self.memory.forwarding.source.as_str()),
                ("hierarchy.main.source".to_owned(), self.hierarchy.main.source.as_str()),
                ("hierarchy.coherence.source".to_owned(), self.hierarchy.coherence.source.as_str()),
            ])
            .chain(self.back.divisions.iter().enumerate().map(|(index, one)| {
                (format!("back.divisions.{index}.source"), one.source.as_str())
            }))
            .chain(self.back.repetitions.iter().enumerate().map(|(index, one)| {
                (format!("back.repetitions.{index}.source"), one.source.as_str())
            }))
            .chain(self.clock.iter().map(|it| ("clock.source".to_owned(), it.source.as_str())))
            .chain(
                self.hierarchy
                    .l3
                    .iter()
                    .map(|l3| ("hierarchy.l3.source".to_owned(), l3.source.as_str())),
            )
            .chain(
                self.memory
                    .microtags
                    .iter()
                    .map(|tags| ("memory.microtags.source".to_owned(), tags.source.as_str())),
            )
            .chain(
                self.memory
                    .line_alias
                    .iter()
                    .map(|alias| ("memory.line_alias.source".to_owned(), alias.source.as_str())),
            )
            .collect()
    }
}
