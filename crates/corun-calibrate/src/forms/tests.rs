//! Streams and chains consist of their form, and leave the loop's registers alone.

use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory, Register};

use super::operands::{decoded, writes};
use super::*;

/// Every seventh form, and some that are made in ways of their own.
fn some() -> impl Iterator<Item = Form> {
    let special =
        ["add r64 r64", "lea r64 bisd", "mul r64", "vpgatherdd y vm32y y", "fld m32", "fsin"];
    let chosen = move |(index, form): &(usize, Form)| {
        index.is_multiple_of(7) || special.contains(&form.name)
    };
    all().enumerate().filter(chosen).map(|(_, form)| form)
}

#[test]
fn all_kinds_of_forms_are_there_and_none_that_asks_the_system() {
    let names: Vec<&str> = all().map(|form| form.name).collect();
    assert!(names.len() > 5000, "{}", names.len());
    for name in [
        "bt m64 r64",
        "cmpxchg m64 r64",
        "mfence",
        "rdtsc",
        "vtestps y y",
        "fld m32",
        "fsin",
        "xchg r64 r64",
        "vpaddd z z z {k}",
        "vpgatherdd y vm32y y",
        "haddps x m128",
        "movsb",
        "lock add m64 r64",
    ] {
        assert!(names.contains(&name), "{name}");
    }
    for name in [
        "syscall",
        "cpuid",
        "hlt",
        "wrmsr",
        "vmmcall",
        "push r64",
        "std",
        "xgetbv",
        "jmp rel",
        "rep movsb",
    ] {
        assert!(!names.contains(&name), "{name}");
    }
}

#[test]
fn streams_and_links_are_of_their_form_and_leave_what_the_loop_needs() {
    let mut factory = InstructionInfoFactory::new();
    for form in some() {
        if let Some(link) = form.link() {
            let decoded = decoded(&link).unwrap();
            assert_eq!(corun_model::timing::form(&decoded), form.name);
        }
        let Some(pieces) = form.pieces(12) else { continue };
        let code = pieces.concat();
        let mut found = 0;
        for one in Decoder::with_ip(64, &code, 0, DecoderOptions::NONE) {
            assert!(!one.is_invalid(), "{}", form.name);
            found += usize::from(corun_model::timing::form(&one) == form.name);
            let info = factory.info(&one);
            let written = info.used_registers().iter().filter(|it| writes(it.access()));
            for register in written.map(|it| it.register().full_register()) {
                let is_kept = matches!(register, Register::RSP | Register::R14 | Register::R15);
                assert!(!is_kept, "{}: {register:?}", form.name);
            }
        }
        assert!(found >= 12, "{}: {found}", form.name);
    }
}

#[test]
fn many_instructions_wait_for_none() {
    let form = all().find(|form| form.name == "vpaddd y y y").unwrap();
    let mut written = Vec::new();
    for piece in form.pieces(9).unwrap() {
        let one = Decoder::with_ip(64, &piece, 0, DecoderOptions::NONE).decode();
        assert!(!written.contains(&one.op1_register()) && !written.contains(&one.op2_register()));
        written.push(one.op0_register());
    }
    assert!(all().find(|form| form.name == "adc r64 r64").unwrap().is_chained());
}
