//! An instruction is found in its file and on its line, however the file was linked, and nowhere else.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use corun_record::Unwatched;
use corun_trace::format::Trace;
use corun_trace::{
    BlockId, SourcePlace, Target, TracePlan, all, choose, disassemble, source_places, trace_quietly,
};
use tempfile::TempDir;

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/source_place");

fn compile(folder: &Path, options: &[&str]) {
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-I", SOURCES]).args(options).current_dir(folder);
    assert!(compiler.status().unwrap().success(), "{options:?}");
}

/// The trace of a program, by this tracer.
fn traced(program: &Path, tracer: &str) -> Trace {
    // With a library more than a channel holds, so that the process lives while it is read.
    let is_long = tracer != "ptrace" && program.ends_with("linked");
    let arguments = if is_long { vec!["long".into()] } else { vec![] };
    let target = Target { program: program.into(), arguments, ..Target::default() };
    let (stop, plan) = (AtomicBool::new(false), (TracePlan::Whole, None));
    let tracer = choose(Some(tracer)).unwrap();
    let done = trace_quietly(&target, plan, &tracer, Vec::new(), &Unwatched, &stop);
    Trace::from_bytes(done.unwrap().1).unwrap()
}

/// Places of the divisions of 32 bits in `update`: the only ones there that are executed so often.
fn divisions(trace: &Trace) -> Vec<(BlockId, u32)> {
    let blocks = (0..trace.blocks().len() as u32).map(BlockId);
    let instructions = blocks.flat_map(|block| {
        let texts = disassemble(trace.block(block)).into_iter().zip(0..);
        texts.map(move |((_, text), number)| ((block, number), text))
    });
    instructions.filter(|(_, text)| text.starts_with("idiv e")).map(|(place, _)| place).collect()
}

/// The place of the division, as found in the trace of this program.
fn place(program: &Path, tracer: &str) -> SourcePlace {
    let trace = traced(program, tracer);
    let divisions = divisions(&trace);
    let mut places = source_places(&trace, &divisions);
    places.dedup();
    let [place] = &places[..] else { panic!("{places:?}") };
    place.clone()
}

#[test]
fn an_instruction_is_on_its_line_however_its_file_was_linked() {
    let folder = TempDir::new().unwrap();
    let sources = ["main.c", "update.c"].map(|it| format!("{SOURCES}/{it}"));
    let [main, update] = sources.each_ref().map(String::as_str);
    let at = |it: &str| folder.path().join(it);
    compile(folder.path(), &["-g", "-no-pie", "-o", "fixed", main, update]);
    compile(folder.path(), &["-g", "-static", "-o", "static", main, update]);
    compile(folder.path(), &["-g", "-fpie", "-pie", "-o", "movable", main, update]);
    compile(
        folder.path(),
        &["-g", "-fpic", "-shared", "-Wl,-soname,libupdate.so", "-o", "libupdate.so", update],
    );
    compile(folder.path(), &["-o", "linked", main, "./libupdate.so", "-Wl,-rpath,$ORIGIN"]);
    for tracer in all() {
        if let Err(why) = tracer.ready() {
            corun_testing::skip(&format!("places by {}", tracer.name()), &why.found);
            continue;
        }
        let cases = [
            ("fixed", "fixed"),
            ("static", "static"),
            ("movable", "movable"),
            ("linked", "libupdate.so"),
        ];
        for (program, module) in cases {
            let place = place(&at(program), tracer.name());
            let line = Some(("update.c".to_owned(), 3));
            let expected = (Some(module), Some("update"), line);
            let found = (place.module.as_deref(), place.function.as_deref(), place.line);
            assert_eq!(found, expected, "{program} by {}", tracer.name());
            let listing = Command::new("objdump").arg("-d").arg(at(module)).output().unwrap();
            let listing = String::from_utf8_lossy(&listing.stdout).into_owned();
            let line = format!("{:x}:", place.address.unwrap());
            let own = listing.lines().find(|it| it.trim_start().starts_with(&line)).unwrap();
            assert!(own.contains("idiv"), "{own}");
        }
    }
}

#[test]
fn what_a_file_does_not_tell_is_left_out() {
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("program");
    let sources = ["main.c", "update.c"].map(|it| format!("{SOURCES}/{it}"));
    let [main, update] = sources.each_ref().map(String::as_str);
    let built = |options: &[&str]| {
        compile(folder.path(), &[&["-o", "program", main, update], options].concat());
    };
    built(&[]);
    let without_lines = place(&program, "ptrace");
    assert_eq!((without_lines.function.as_deref(), &without_lines.line), (Some("update"), &None));
    // Line tables that are packed are not read.
    built(&["-g", "-gz"]);
    let packed = place(&program, "ptrace");
    assert_eq!((packed.function.as_deref(), packed.line), (Some("update"), None));
    built(&["-s"]);
    let stripped = place(&program, "ptrace");
    assert_eq!((stripped.function, stripped.line), (None, None));
    assert_eq!(
        (stripped.module.as_deref(), stripped.address),
        (Some("program"), without_lines.address)
    );

    let trace = traced(&program, "ptrace");
    let places = || source_places(&trace, &divisions(&trace));
    assert_eq!(places()[0].address, without_lines.address);
    // Other code has come to lie there.
    built(&["-g", "-O0"]);
    let named = SourcePlace { module: Some("program".to_owned()), ..SourcePlace::default() };
    assert!(places().iter().all(|it| *it == named), "{:?}", places());
    std::fs::remove_file(&program).unwrap();
    assert!(places().iter().all(|it| *it == named), "{:?}", places());
}
