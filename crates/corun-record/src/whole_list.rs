//! Lists of many large items, read into exactly the room that they take: serde grows a vector beyond a mebibyte by doubling
//! it, so that one item more may take twice the memory.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};

struct List<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for List<T> {
    type Value = Vec<T>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
        // The reader of documents has counted them.
        let mut all = Vec::with_capacity(items.size_hint().unwrap_or_default());
        while let Some(item) = items.next_element()? {
            all.push(item);
        }
        Ok(all)
    }
}

/// Reads a list. `#[serde(deserialize_with)]` of a field.
///
/// # Errors
/// The first item's that is no `T`.
pub(crate) fn read<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(List(PhantomData))
}
