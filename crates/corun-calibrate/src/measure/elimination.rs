//! Elimination by renaming: copies, zeroes, moves of the stack pointer.

use corun_model::CoreModel;
use iced_x86::Code::{
    Imul_r64_rm64, Movaps_xmm_xmmm128, Mulps_xmm_xmmm128, Pop_r64, Push_r64, Pxor_xmm_xmmm128,
    Xor_r32_rm32,
};
use iced_x86::Register::{EAX, EBX, ECX, EDX, ESI, R8, RAX, RBP, RBX, RCX, RDX, RSI, XMM0, XMM1};
use iced_x86::{Instruction, Register};

use crate::assembly::encode_all;
use crate::code::{copy, one, two};
use crate::figure::Figure;
use crate::{CalibrateError, Routine, RoutineTimer, Spread};

const COPIES: usize = 40;

/// Which copies and zeroes take no time, and how many a cycle.
pub(crate) fn elimination(
    bench: &mut dyn RoutineTimer,
    base: &CoreModel,
) -> Result<Vec<Figure>, CalibrateError> {
    let mut chain = |name: &str, link: &[Instruction]| {
        bench.time(&Routine::new(name, encode_all(link).repeat(COPIES), COPIES))
    };
    // Beside a multiplication, so that what is eliminated adds nothing and is no chain of nothing.
    let multiply = two(Imul_r64_rm64, RAX, RAX);
    let alone = chain("multiplications", &[multiply])?;
    let copies = chain("multiplications and copies", &[multiply, copy(RCX, RAX), copy(RAX, RCX)])?;
    let float = two(Mulps_xmm_xmmm128, XMM0, XMM0);
    let float_alone = chain("vector multiplications", &[float])?;
    let vector_copy = |to, from| two(Movaps_xmm_xmmm128, to, from);
    let both = [float, vector_copy(XMM1, XMM0), vector_copy(XMM0, XMM1)];
    let vectors = chain("vector multiplications and copies", &both)?;
    let zeroed = chain("multiplications of zeroes", &[multiply, two(Xor_r32_rm32, EAX, EAX)])?;
    let pairs = [one(Push_r64, R8), one(Pop_r64, RDX)];
    let stack = chain("pushes and pops", &pairs)?;

    let is_less =
        |spread: Spread, than: f64| Spread::exact(f64::from(u8::from(spread.median < than)));
    let is_eliminated = is_less(copies, alone.median + 1.0);
    let mut figures = vec![
        Figure::field("back.elimination.integer_moves", "", is_eliminated),
        Figure::field(
            "back.elimination.vector_moves",
            "",
            is_less(vectors, float_alone.median + 1.0),
        ),
        // Two dependent moves of the stack pointer would take two cycles.
        Figure::field("back.elimination.stack_engine", "", is_less(stack, 1.6)),
        Figure::beside("a multiplication whose result is set to zero", "cycles", zeroed),
    ];
    let targets = [RBX, RDX, RBP, RSI];
    let mut stream = |name: &str, all: Vec<Instruction>| {
        let count = all.len();
        let spread = bench.time(&Routine::new(name, encode_all(&all), count))?;
        Ok::<_, CalibrateError>(spread.map(|cycles| 1.0 / cycles))
    };
    let turn = |index: usize| targets[index % targets.len()];
    let moves = stream("copies", (0..240).map(|it| copy(turn(it), R8)).collect())?;
    if is_eliminated.median > 0.5 && base.back.elimination.moves_a_cycle.is_some() {
        figures.push(Figure::field("back.elimination.moves_a_cycle", "a cycle", moves));
    }
    let halves: [Register; 4] = [EBX, ECX, EDX, ESI];
    let zero = |index: usize| two(Xor_r32_rm32, halves[index % 4], halves[index % 4]);
    let zeroes = stream("zeroes", (0..240).map(zero).collect())?;
    figures.push(Figure::beside("zeroed general-purpose registers", "a cycle", zeroes));
    let zero =
        |index: usize| two(Pxor_xmm_xmmm128, XMM0 + index as u32 % 8, XMM0 + index as u32 % 8);
    let zeroes = stream("zeroes, vector", (0..240).map(zero).collect())?;
    figures.push(Figure::beside("zeroed vector registers", "a cycle", zeroes));
    Ok(figures)
}
