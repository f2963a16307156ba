//! Additions, multiplications and divisions of every type: three variables in twelve dependent steps
//! that return them to where they began, so that nothing grows however often they are taken.
//!
//! The published table was made by a build that keeps the variables in registers: its additions of
//! double precision take five cycles a step of the longest chain, which is the adder's own latency
//! on that core. The sources that are public today are built with `-ffloat-store`, which keeps
//! floating-point variables in memory; `variant=memory` is that.

mod chain;
mod number;
mod operation;

use std::num::NonZeroUsize;

pub(super) use self::number::Number;

use self::chain::{Chain, Place};
use self::operation::{Add, Divide, Multiply, Operation};
use super::descriptor;
use crate::in_memory::VARIANT;
use crate::workload::{Workload, anywhere};
use crate::{Descriptor, Job, Parameter, Parameters, Tag, WorkloadError};

/// Place of floating-point variables.
const FLOAT_VARIANT: Parameter =
    Parameter { summary: "where the three variables are kept", default: "register", ..VARIANT };

/// A row of the table: its name, what the numbers are, and the type.
macro_rules! row {
    ($row:ident, $name:literal, $words:expr, $numbers:literal, integer $operation:ty) => {
        pub(in super::super) static $row: Workload = Workload {
            descriptor: &describe(
                concat!("aim9/", $name),
                concat!("dependent ", $numbers, ", in registers"),
                $words,
                Tag::IntegerLatency,
            ),
            unavailable: anywhere,
            prepare: in_registers::<$operation>,
        };
    };
    ($row:ident, $name:literal, $words:expr, $numbers:literal, float $operation:ty) => {
        pub(in super::super) static $row: Workload = Workload {
            descriptor: &Descriptor {
                parameters: &[FLOAT_VARIANT],
                ..describe(
                    concat!("aim9/", $name),
                    concat!("dependent ", $numbers),
                    $words,
                    Tag::FloatLatency,
                )
            },
            unavailable: anywhere,
            prepare: as_expected::<$operation>,
        };
    };
}

/// Words for one operation and its count, and the unit of the figure.
type Words = [&'static str; 3];

const ADDITION: Words = ["an addition", "additions", "1000 additions/s"];
const MULTIPLICATION: Words = ["a multiplication", "multiplications", "1000 multiplies/s"];
const DIVISION: Words = ["a division", "divisions", "1000 divides/s"];

row!(ADD_DOUBLE, "add_double", ADDITION, "additions of 64-bit floats", float Add<f64>);
row!(ADD_FLOAT, "add_float", ADDITION, "additions of 32-bit floats", float Add<f32>);
row!(ADD_LONG, "add_long", ADDITION, "additions of 64-bit integers", integer Add<i64>);
row!(ADD_INT, "add_int", ADDITION, "additions of 32-bit integers", integer Add<i32>);
row!(ADD_SHORT, "add_short", ADDITION, "additions of 16-bit integers", integer Add<i16>);
row!(DIV_DOUBLE, "div_double", DIVISION, "divisions of 64-bit floats", float Divide<f64>);
row!(DIV_FLOAT, "div_float", DIVISION, "divisions of 32-bit floats", float Divide<f32>);
row!(DIV_LONG, "div_long", DIVISION, "divisions of 64-bit integers", integer Divide<i64>);
row!(DIV_INT, "div_int", DIVISION, "divisions of 32-bit integers", integer Divide<i32>);
row!(DIV_SHORT, "div_short", DIVISION, "divisions of 16-bit integers", integer Divide<i16>);
row!(MUL_DOUBLE, "mul_double", MULTIPLICATION, "multiplications of 64-bit floats", float Multiply<f64>);
row!(MUL_FLOAT, "mul_float", MULTIPLICATION, "multiplications of 32-bit floats", float Multiply<f32>);
row!(MUL_LONG, "mul_long", MULTIPLICATION, "multiplications of 64-bit integers", integer Multiply<i64>);
row!(MUL_INT, "mul_int", MULTIPLICATION, "multiplications of 32-bit integers", integer Multiply<i32>);
row!(MUL_SHORT, "mul_short", MULTIPLICATION, "multiplications of 16-bit integers", integer Multiply<i16>);

const fn describe(
    name: &'static str,
    summary: &'static str,
    [operation, counted, unit]: Words,
    tag: Tag,
) -> Descriptor {
    let tags: &[Tag] = match tag {
        Tag::FloatLatency => &[Tag::FloatLatency],
        _ => &[Tag::IntegerLatency],
    };
    descriptor(name, summary, tags, [operation, counted], 1000.0, unit)
}

fn in_registers<O: Operation>(_: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    Ok(Job::of((0..workers.get()).map(|_| Chain::<O>::new(Place::Registers))))
}

fn as_expected<O: Operation>(
    parameters: &Parameters,
    workers: NonZeroUsize,
) -> Result<Job, WorkloadError> {
    let place = match parameters.choice(&FLOAT_VARIANT)? {
        "memory" => Place::Memory,
        _ => Place::Registers,
    };
    Ok(Job::of((0..workers.get()).map(|_| Chain::<O>::new(place))))
}
