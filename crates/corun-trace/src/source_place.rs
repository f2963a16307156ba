//! Source lines and functions of a trace's instructions: by the files that the process had them from, and the
//! symbols and line tables (DWARF) in these.
//!
//! A file may be another one by now, and code may be made at run time: an instruction is a file's only if its block's bytes are
//! there.

use std::fs::File;
use std::path::Path;

use addr2line::gimli::{Dwarf, EndianSlice, RunTimeEndian, SectionId};
use addr2line::{Context, demangle_auto};
use object::read::{Object, ObjectSection, ObjectSegment, ObjectSymbol, ReadCache, SymbolKind};
use object::{CompressionFormat, ReadRef};

use crate::format::Trace;
use crate::{BlockId, Code, Module};

type Slice<'d> = EndianSlice<'d, RunTimeEndian>;
type ObjectFile<'d> = object::File<'d, &'d ReadCache<File>>;

/// The place of an instruction in its program, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourcePlace {
    /// The file that the process had it from, without its folder; none for code that was made at run time, and of a process
    /// that had ended before that was read.
    pub module: Option<String>,
    /// Address as the file numbers them, as objdump(1) shows it; none if that file is not there any more.
    pub address: Option<u64>,
    /// The function, or the one that was inlined there.
    pub function: Option<String>,
    /// The source file, without its folder, and the line.
    pub line: Option<(String, u32)>,
    /// True if the file has more debug information or symbols than are read.
    pub is_too_large: bool,
}

impl SourcePlace {
    /// Bytes of debug information, and of symbols, that are read of a file at most.
    pub const MOST_BYTES: u64 = 256 << 20;
}

/// The places of instructions of a trace, each by its block and its number there.
pub fn source_places(trace: &Trace, wanted: &[(BlockId, u32)]) -> Vec<SourcePlace> {
    let modules = trace.closing().map_or(&[][..], |it| &it.modules);
    let mut places = vec![SourcePlace::default(); wanted.len()];
    let module_of = |(block, _): &(BlockId, u32)| {
        modules.iter().position(|it| it.holds(trace.block(*block).address))
    };
    let of: Vec<Option<usize>> = wanted.iter().map(module_of).collect();
    for (number, module) in modules.iter().enumerate() {
        let own = (0..wanted.len()).filter(|at| of[*at] == Some(number));
        let own: Vec<usize> = own.collect();
        if own.is_empty() {
            continue;
        }
        let name = Path::new(&module.path).file_name().unwrap_or(module.path.as_ref());
        let name = Some(name.to_string_lossy().into_owned());
        own.iter().for_each(|at| places[*at].module.clone_from(&name));
        let Ok(file) = corun_files::random(Path::new(&module.path)) else { continue };
        let instructions: Vec<_> = own.iter().map(|at| wanted[*at]).collect();
        let found = in_file(file, trace, module, &instructions).unwrap_or_default();
        for (at, found) in own.into_iter().zip(found) {
            places[at] = SourcePlace { module: name.clone(), ..found };
        }
    }
    places
}

/// The places of a module's instructions in its file; none if it is no object file.
fn in_file(
    file: File,
    trace: &Trace,
    module: &Module,
    wanted: &[(BlockId, u32)],
) -> Option<Vec<SourcePlace>> {
    let data = &ReadCache::new(file);
    let object = object::File::parse(data).ok()?;
    let context = lines(&object);
    let find = |&(id, instruction): &(BlockId, u32)| {
        let block = trace.block(id);
        let place = (block.address - module.address).checked_add(module.offset)?;
        let Code::Bytes(code) = &block.code else { return None };
        if data.read_bytes_at(place, code.len() as u64) != Ok(&code[..]) {
            return None;
        }
        let segments = object.segments().map(|it| (it.address(), it.file_range()));
        let begin = segments.into_iter().find_map(|(address, (offset, size))| {
            let within = place.checked_sub(offset).filter(|within| *within < size)?;
            Some(address.wrapping_add(within))
        })?;
        let within = block.addresses().nth(instruction as usize)?.wrapping_sub(block.address);
        Some(begin.wrapping_add(within))
    };
    let place = |wanted| {
        let Some(address) = find(wanted) else { return SourcePlace::default() };
        let (function, line) = context
            .as_ref()
            .ok()
            .and_then(Option::as_ref)
            .map(|it| frame(it, address))
            .unwrap_or_default();
        let is_small = symbol_bytes(&object) <= SourcePlace::MOST_BYTES;
        let function = function.or_else(|| symbol(&object, address).filter(|_| is_small));
        let is_too_large = context.is_err() || !is_small;
        SourcePlace { module: None, address: Some(address), function, line, is_too_large }
    };
    Some(wanted.iter().map(place).collect())
}

/// Debug information that is too large.
struct TooLarge;

/// The line tables of a file; none if it has none, or packed ones.
fn lines<'d>(object: &ObjectFile<'d>) -> Result<Option<Context<Slice<'d>>>, TooLarge> {
    let needed = [
        SectionId::DebugAbbrev,
        SectionId::DebugAddr,
        SectionId::DebugAranges,
        SectionId::DebugInfo,
        SectionId::DebugLine,
        SectionId::DebugLineStr,
        SectionId::DebugRanges,
        SectionId::DebugRngLists,
        SectionId::DebugStr,
        SectionId::DebugStrOffsets,
    ];
    let section = |id: SectionId| object.section_by_name(id.name());
    if needed.into_iter().filter_map(section).map(|it| it.size()).sum::<u64>()
        > SourcePlace::MOST_BYTES
    {
        return Err(TooLarge);
    }
    let is_plain = |id| {
        section(id).is_none_or(|it| {
            it.compressed_file_range().is_ok_and(|it| it.format == CompressionFormat::None)
        })
    };
    if section(SectionId::DebugLine).is_none() || !needed.into_iter().all(is_plain) {
        return Ok(None);
    }
    let endian = if object.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let load = |id: SectionId| -> Result<Slice<'d>, addr2line::gimli::Error> {
        let found = section(id).filter(|_| needed.contains(&id));
        let data = found.and_then(|it| it.data().ok()).unwrap_or_default();
        Ok(EndianSlice::new(data, endian))
    };
    Ok(Dwarf::load(load).and_then(Context::from_dwarf).ok())
}

/// The innermost function at an address, and its line.
fn frame(context: &Context<Slice<'_>>, address: u64) -> (Option<String>, Option<(String, u32)>) {
    let Ok(mut frames) = context.find_frames(address).skip_all_loads() else { return (None, None) };
    let Ok(Some(frame)) = frames.next() else { return (None, None) };
    let name = frame.function.and_then(|it| Some(it.demangle().ok()?.into_owned()));
    let line = frame.location.and_then(|it| {
        let file = Path::new(it.file?).file_name()?.to_string_lossy().into_owned();
        // Line 0 is code of no line.
        Some((file, it.line.filter(|line| *line > 0)?))
    });
    (name, line)
}

fn symbol_bytes(object: &ObjectFile<'_>) -> u64 {
    let named = |name| object.section_by_name(name).map_or(0, |it| it.size());
    [".symtab", ".strtab", ".dynsym", ".dynstr"].map(named).into_iter().sum()
}

/// The function whose symbol covers an address.
fn symbol<'d>(object: &ObjectFile<'d>, address: u64) -> Option<String> {
    let covers = |it: &object::Symbol<'d, '_, &'d ReadCache<File>>| {
        let within = address.checked_sub(it.address()).is_some_and(|within| within < it.size());
        it.kind() == SymbolKind::Text && within
    };
    let found = object.symbols().chain(object.dynamic_symbols()).find(covers)?;
    Some(demangle_auto(found.name().ok()?.into(), None).into_owned())
}
