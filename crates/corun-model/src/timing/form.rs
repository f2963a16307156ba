//! The name of an instruction's form: mnemonic, then kind and width of each operand.
//!
//! Instructions of one form take the same time on a core, so that a table needs one row for them.

use iced_x86::{Instruction, Mnemonic, OpKind, Register};

/// The form of an instruction: `add r64 m64`, `vpaddd y y y`, `lock xadd m32 r32`, `rep movsb`.
///
/// `docs/timing-tables.md` lists the kinds of operands.
pub fn form(instruction: &Instruction) -> String {
    let mut name = String::with_capacity(32);
    if instruction.has_lock_prefix() {
        name.push_str("lock ");
    }
    let string = instruction.is_string_instruction();
    if string && instruction.has_repne_prefix() {
        name.push_str("repne ");
    } else if string && instruction.has_rep_prefix() {
        name.push_str("rep ");
    }
    name.push_str(&mnemonic(instruction));
    if string {
        return name;
    }
    for operand in 0..instruction.op_count() {
        name.push(' ');
        name.push_str(&kind(instruction, operand));
    }
    if instruction.has_op_mask() {
        name.push_str(" {k}");
    }
    name
}

/// The mnemonic in lower case.
pub(super) fn mnemonic(instruction: &Instruction) -> String {
    format!("{:?}", instruction.mnemonic()).to_lowercase()
}

/// Kind and width of one operand.
fn kind(instruction: &Instruction, operand: u32) -> String {
    match instruction.op_kind(operand) {
        OpKind::Register => register(instruction, operand).to_owned(),
        OpKind::NearBranch16
        | OpKind::NearBranch32
        | OpKind::NearBranch64
        | OpKind::FarBranch16
        | OpKind::FarBranch32 => "rel".to_owned(),
        OpKind::Immediate8
        | OpKind::Immediate8_2nd
        | OpKind::Immediate8to16
        | OpKind::Immediate8to32
        | OpKind::Immediate8to64 => immediate8(instruction).to_owned(),
        OpKind::Immediate16 => "i16".to_owned(),
        OpKind::Immediate32 | OpKind::Immediate32to64 => "i32".to_owned(),
        OpKind::Immediate64 => "i64".to_owned(),
        _ if instruction.mnemonic() == Mnemonic::Lea => address(instruction),
        _ => memory(instruction),
    }
}

fn register(instruction: &Instruction, operand: u32) -> &'static str {
    let register = instruction.op_register(operand);
    if register == Register::CL && operand > 0 && shifts(instruction.mnemonic()) {
        return "cl";
    }
    match register {
        _ if register.is_gpr8() => "r8",
        _ if register.is_gpr16() => "r16",
        _ if register.is_gpr32() => "r32",
        _ if register.is_gpr64() => "r64",
        _ if register.is_xmm() => "x",
        _ if register.is_ymm() => "y",
        _ if register.is_zmm() => "z",
        _ if register.is_mm() => "mm",
        _ if register.is_k() => "k",
        _ if register.is_st() => "st",
        _ if register.is_segment_register() => "sreg",
        _ if register.is_cr() => "cr",
        _ if register.is_dr() => "dr",
        _ if register.is_bnd() => "bnd",
        _ if register.is_tmm() => "tmm",
        _ => "reg",
    }
}

/// Shifting by one has an encoding of its own, which some cores treat apart.
fn immediate8(instruction: &Instruction) -> &'static str {
    // Opcode and address, no byte for the count.
    let by_one = shifts(instruction.mnemonic())
        && instruction.op_count() == 2
        && instruction.op_kind(1) == OpKind::Immediate8
        && format!("{:?}", instruction.code()).ends_with("_1");
    if by_one { "1" } else { "i8" }
}

/// True for shifts that take their count from CL.
fn shifts(mnemonic: Mnemonic) -> bool {
    use Mnemonic::{Rcl, Rcr, Rol, Ror, Sal, Sar, Shl, Shld, Shr, Shrd};
    matches!(mnemonic, Rcl | Rcr | Rol | Ror | Sal | Sar | Shl | Shld | Shr | Shrd)
}

/// Parts that an address is computed of: base, index, scale above one, displacement.
fn address(instruction: &Instruction) -> String {
    if instruction.is_ip_rel_memory_operand() {
        return "rip".to_owned();
    }
    let mut parts = String::with_capacity(4);
    if instruction.memory_base() != Register::None {
        parts.push('b');
    }
    if instruction.memory_index() != Register::None {
        parts.push('i');
        if instruction.memory_index_scale() > 1 {
            parts.push('s');
        }
    }
    // One that is encoded counts, even if it is zero.
    if instruction.memory_displ_size() > 0 {
        parts.push('d');
    }
    parts
}

fn memory(instruction: &Instruction) -> String {
    let size = instruction.memory_size();
    if instruction.is_broadcast() {
        return format!("m{}b", size.element_size() * 8);
    }
    let index = instruction.memory_index();
    let vectors = match index {
        _ if index.is_xmm() => "x",
        _ if index.is_ymm() => "y",
        _ if index.is_zmm() => "z",
        _ => "",
    };
    match (size.size() * 8, vectors) {
        (0, _) => "m".to_owned(),
        (bits, "") => format!("m{bits}"),
        (bits, vectors) => format!("vm{bits}{vectors}"),
    }
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions};

    use super::*;

    fn of(bytes: &[u8]) -> String {
        form(&Decoder::with_ip(64, bytes, 0x1000, DecoderOptions::NONE).decode())
    }

    #[test]
    fn names_operands_by_kind_and_width() {
        let cases: [(&[u8], &str); 24] = [
            (&[0x48, 0x01, 0xc8], "add r64 r64"),
            (&[0x48, 0x03, 0x03], "add r64 m64"),
            (&[0x83, 0x03, 0x01], "add m32 i8"),
            (&[0x05, 0, 0, 0, 0], "add r32 i32"),
            (&[0xf0, 0x48, 0x01, 0x0b], "lock add m64 r64"),
            (&[0xf3, 0xa4], "rep movsb"),
            (&[0xf2, 0xae], "repne scasb"),
            (&[0xab], "stosd"),
            (&[0xd3, 0xe0], "shl r32 cl"),
            (&[0xd1, 0xe0], "shl r32 1"),
            (&[0xc1, 0xe0, 0x01], "shl r32 i8"),
            (&[0x88, 0xd1], "mov r8 r8"),
            (&[0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8], "mov r64 i64"),
            (&[0x75, 0x10], "jne rel"),
            (&[0xff, 0xd0], "call r64"),
            (&[0xc3], "ret"),
            (&[0x66, 0x0f, 0xfe, 0xc1], "paddd x x"),
            (&[0xc5, 0xf5, 0xfe, 0x00], "vpaddd y y m256"),
            (&[0xf2, 0x0f, 0x58, 0x00], "addsd x m64"),
            (&[0xd8, 0xc1], "fadd st st"),
            (&[0x62, 0xf1, 0x75, 0x49, 0xfe, 0xc2], "vpaddd z z z {k}"),
            (&[0x62, 0xf1, 0x75, 0x58, 0xfe, 0x00], "vpaddd z z m32b"),
            (&[0xc4, 0xe2, 0x75, 0x92, 0x04, 0x90], "vgatherdps y vm32y y"),
            (&[0x0f, 0x1f, 0x40, 0x00], "nop m32"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(of(bytes), expected);
        }
    }

    #[test]
    fn the_parts_of_an_address_are_known() {
        let cases: [(&[u8], &str); 6] = [
            (&[0x48, 0x8d, 0x03], "lea r64 b"),
            (&[0x48, 0x8d, 0x43, 0x08], "lea r64 bd"),
            (&[0x48, 0x8d, 0x04, 0x0b], "lea r64 bi"),
            (&[0x48, 0x8d, 0x44, 0x8b, 0x08], "lea r64 bisd"),
            (&[0x8d, 0x04, 0xcd, 0, 0, 0, 0], "lea r32 isd"),
            (&[0x48, 0x8d, 0x05, 0, 0, 0, 0], "lea r64 rip"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(of(bytes), expected);
        }
    }
}
