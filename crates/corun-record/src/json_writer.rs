//! Indented JSON without a negative zero: a sum of nothing has one, which says no more than 0.

use std::io::{self, Write};

use serde_json::ser::{Formatter, PrettyFormatter};

/// The form of documents.
#[derive(Default)]
pub(crate) struct Indented(PrettyFormatter<'static>);

/// Methods that are as with indentation alone.
macro_rules! indented {
    ($($method:ident($($argument:ident: $kind:ty)?))*) => {$(
        fn $method<W: ?Sized + Write>(&mut self, out: &mut W $(, $argument: $kind)?) -> io::Result<()> {
            self.0.$method(out $(, $argument)?)
        }
    )*};
}

impl Formatter for Indented {
    fn write_f32<W: ?Sized + Write>(&mut self, out: &mut W, value: f32) -> io::Result<()> {
        self.0.write_f32(out, value + 0.0)
    }

    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        self.0.write_f64(out, value + 0.0)
    }

    indented! {
        begin_array()
        end_array()
        begin_array_value(first: bool)
        end_array_value()
        begin_object()
        end_object()
        begin_object_key(first: bool)
        begin_object_value()
        end_object_value()
    }
}
