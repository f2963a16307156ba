//! Prints one sample of each form of instruction that 64-bit code can have.
//!
//!     cargo run -p corun-model --example forms >samples.csv
//!
//! Columns: form, machine code in hex, loads, stores, and the CPUID features that it needs. The first encoding of a form
//! is its sample.

use std::collections::BTreeMap;
use std::io::{self, Write};

use corun_model::encodings::{Effort, TAIL, decode_sample, each_encoding};
use corun_model::timing::form;
use iced_x86::{InstructionInfoFactory, OpAccess};

fn main() -> io::Result<()> {
    let mut samples = BTreeMap::new();
    each_encoding(Effort::Exhaustive, |encoding| {
        if let Some((instruction, code)) = decode_sample(encoding, &[5; TAIL]) {
            samples.entry(form(&instruction)).or_insert((code, instruction));
        }
    });
    let mut out = io::stdout().lock();
    let mut factory = InstructionInfoFactory::new();
    for (form, (code, instruction)) in &samples {
        let (mut loads, mut stores) = (0, 0);
        for memory in factory.info(instruction).used_memory() {
            use OpAccess::{CondRead, CondWrite, Read, ReadCondWrite, ReadWrite, Write};
            let access = memory.access();
            loads += u32::from(matches!(access, Read | CondRead | ReadWrite | ReadCondWrite));
            stores += u32::from(matches!(access, Write | CondWrite | ReadWrite | ReadCondWrite));
        }
        let hex: String = code.iter().map(|byte| format!("{byte:02x}")).collect();
        let features: Vec<String> =
            instruction.cpuid_features().iter().map(|feature| format!("{feature:?}")).collect();
        writeln!(out, "{form},{hex},{loads},{stores},{}", features.join(" "))?;
    }
    Ok(())
}
