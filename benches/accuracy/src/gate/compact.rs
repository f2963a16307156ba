//! Small traces: of all blocks that a program ran through, a trace keeps those that its windows execute.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use corun_trace::format::{Options, Trace, Writer};
use corun_trace::{BlockId, Event, Sink};

/// Writes a trace again without the blocks that nothing in it executes, packed as small as possible.
///
/// # Errors
/// If it cannot be read or written.
pub(super) fn compact(path: &Path) -> Result<(), String> {
    let failed = |error: Box<dyn Error>| format!("{}: {error}", path.display());
    let bytes = Trace::open(path).map_err(Into::into).and_then(|trace| rewritten(&trace));
    std::fs::write(path, bytes.map_err(failed)?).map_err(|error| failed(error.into()))
}

fn rewritten(trace: &Trace) -> Result<Vec<u8>, Box<dyn Error>> {
    let options = Options { level: 19, ..Options::default() };
    let mut writer = Writer::new(Vec::new(), trace.opening(), options)?;
    let mut kept: BTreeMap<BlockId, BlockId> = BTreeMap::new();
    for thread in trace.threads() {
        let own = writer.thread(thread.tid)?;
        for number in 0..trace.touched_at(thread.id).count() {
            writer.touched(own, trace.touched(thread.id, number)?)?;
        }
        let mut events = trace.events(thread.id)?;
        while let Some(event) = events.next_event()? {
            match event {
                Event::Block { block, executed, values } => {
                    let known = kept.get(&block).copied();
                    let define = || writer.define(trace.block(block).clone());
                    let block_kept = known.map_or_else(define, Ok)?;
                    kept.insert(block, block_kept);
                    writer.execute(own, block_kept, executed, values)?;
                }
                Event::Marker(marker) => writer.mark(own, marker)?,
            }
        }
    }
    Ok(writer.finish(trace.closing().cloned().unwrap_or_default())?)
}

#[cfg(test)]
mod tests {
    use corun_trace::decode;
    use corun_trace::format::Opening;

    use super::*;

    #[test]
    fn what_is_executed_stays_and_other_blocks_go() {
        let mut writer = Writer::new(Vec::new(), &Opening::default(), Options::default()).unwrap();
        for address in [0x1000, 0x2000, 0x3000] {
            // inc rax; jmp to it
            let block = decode(address, &[0x48, 0xff, 0xc0, 0xeb, 0xfb]).unwrap();
            writer.define(block).unwrap();
        }
        let thread = writer.thread(7).unwrap();
        for block in [2, 0, 2] {
            writer.execute(thread, BlockId(block), 2, &[]).unwrap();
        }
        let trace = Trace::from_bytes(writer.finish(Default::default()).unwrap()).unwrap();
        let small = Trace::from_bytes(rewritten(&trace).unwrap()).unwrap();
        let executed = |trace: &Trace| {
            let mut events = trace.events(trace.threads()[0].id).unwrap();
            let mut all = Vec::new();
            while let Some(Event::Block { block, .. }) = events.next_event().unwrap() {
                all.push(trace.block(block).address);
            }
            all
        };
        assert_eq!((trace.blocks().len(), small.blocks().len()), (3, 2));
        assert_eq!(executed(&small), [0x3000, 0x1000, 0x3000]);
        assert_eq!(executed(&small), executed(&trace));
    }
}
