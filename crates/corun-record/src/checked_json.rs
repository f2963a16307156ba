//! A text of JSON whose values are read where they stand, so that of a long document nothing is in memory but its text and
//! what is made of it.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de::DeserializeOwned};

use crate::reader::{FieldError, Source};
use crate::tree::Tree;

/// The text of one value, known to be JSON, without white space around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckedJson<'t>(&'t str);

impl<'t> CheckedJson<'t> {
    /// The value that a text holds, which may begin with a byte-order mark.
    ///
    /// # Errors
    /// If the text is no JSON.
    pub fn new(text: &'t str) -> Result<Self, serde_json::Error> {
        let text = text.trim_start_matches('\u{feff}');
        serde_json::from_str::<WellFormed>(text)?;
        Ok(Self(text.trim_matches(is_space)))
    }

    /// The value of a type that stands here.
    ///
    /// # Errors
    /// With the path of the first value that does not fit.
    pub fn read<T: DeserializeOwned>(self) -> Result<T, FieldError> {
        T::deserialize(Source::Text(self))
    }

    /// The value of the field of this name.
    pub fn get(self, name: &str) -> Option<Self> {
        self.fields()?.find(|(it, _)| it == name).map(|(_, value)| value)
    }

    /// True if it is a list.
    pub fn is_list(self) -> bool {
        self.0.starts_with('[')
    }

    /// True if it is null.
    pub fn is_null(self) -> bool {
        self.0 == "null"
    }

    /// True if it is an object.
    pub(crate) fn is_table(self) -> bool {
        self.0.starts_with('{')
    }

    /// Writes it without white space, the fields of tables in the order of their names: the same for equal values, however
    /// they were written.
    ///
    /// # Errors
    /// As `out`.
    pub fn write_sorted(self, out: &mut impl Write) -> io::Result<()> {
        if let Some(fields) = self.fields() {
            let mut fields: Vec<_> = fields.collect();
            fields.sort_by(|one, other| one.0.cmp(&other.0));
            out.write_all(b"{")?;
            // Of fields of one name the last counts.
            let mut rest = fields.iter().peekable();
            let mut between: &[u8] = b"";
            while let Some((name, value)) = rest.next() {
                if rest.peek().is_some_and(|next| next.0 == *name) {
                    continue;
                }
                out.write_all(between)?;
                serde_json::to_writer(&mut *out, name)?;
                out.write_all(b":")?;
                value.write_sorted(out)?;
                between = b",";
            }
            return out.write_all(b"}");
        }
        if let Some(values) = self.values() {
            out.write_all(b"[")?;
            for (index, value) in values.enumerate() {
                out.write_all(if index > 0 { b"," } else { b"" })?;
                value.write_sorted(out)?;
            }
            return out.write_all(b"]");
        }
        Ok(serde_json::to_writer(out, &self.single()?)?)
    }

    /// The value of what is no list and no table.
    ///
    /// # Errors
    /// If it is a number that no type holds.
    pub(crate) fn single(self) -> Result<Tree, serde_json::Error> {
        match self.plain_string() {
            Some(text) => Ok(Tree::Text(text.to_owned())),
            None => serde_json::from_str(self.0),
        }
    }

    /// The values of a list.
    pub(crate) fn values(self) -> Option<Values<'t>> {
        self.inside('[', ']').map(|rest| Values { rest })
    }

    /// The fields of a table.
    pub(crate) fn fields(self) -> Option<NamedValues<'t>> {
        self.inside('{', '}').map(|rest| NamedValues { rest })
    }

    fn inside(self, first: char, last: char) -> Option<&'t str> {
        self.0.strip_prefix(first)?.strip_suffix(last)
    }

    /// A text without escapes.
    fn plain_string(self) -> Option<&'t str> {
        self.inside('"', '"').filter(|text| !text.contains('\\'))
    }

    /// The name of a field.
    fn name(self) -> Cow<'t, str> {
        match self.plain_string() {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(serde_json::from_str(self.0).unwrap_or_default()),
        }
    }

    /// Takes the first value off a text, with what separates it from the next one.
    fn take_first(rest: &mut &'t str) -> Option<Self> {
        let text = rest.trim_start_matches(is_space);
        let (value, after) = text.split_at_checked(length(text.as_bytes()))?;
        let after = after.trim_start_matches(is_space);
        *rest = after.strip_prefix([',', ':']).unwrap_or(after);
        (!value.is_empty()).then_some(Self(value))
    }
}

/// The values of a list that are left.
#[derive(Clone)]
pub(crate) struct Values<'t> {
    rest: &'t str,
}

impl<'t> Iterator for Values<'t> {
    type Item = CheckedJson<'t>;

    fn next(&mut self) -> Option<CheckedJson<'t>> {
        CheckedJson::take_first(&mut self.rest)
    }
}

/// The fields of a table that are left.
pub(crate) struct NamedValues<'t> {
    rest: &'t str,
}

impl<'t> Iterator for NamedValues<'t> {
    type Item = (Cow<'t, str>, CheckedJson<'t>);

    fn next(&mut self) -> Option<Self::Item> {
        let name = CheckedJson::take_first(&mut self.rest)?.name();
        Some((name, CheckedJson::take_first(&mut self.rest)?))
    }
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\n' | '\r' | '\t')
}

/// The bytes of the value at the beginning of a text that is JSON.
fn length(text: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => at += string_length(&text[at..]) - 1,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
        if depth == 0 && matches!(byte, b'"' | b'}' | b']') {
            return at;
        }
    }
    at
}

/// The bytes of a string with its marks.
fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        at += match byte {
            b'"' => return at + 1,
            b'\\' => 2,
            _ => 1,
        };
    }
    text.len()
}

/// Any value, of which nothing is kept.
struct WellFormed;

impl<'de> Deserialize<'de> for WellFormed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for WellFormed {
    type Value = Self;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value of JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self, A::Error> {
        while seq.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        // A name is a string with the escapes of one.
        while map.next_key::<Self>()?.is_some() {
            map.next_value::<Self>()?;
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn sorted(text: &str) -> String {
        let mut out = Vec::new();
        CheckedJson::new(text).unwrap().write_sorted(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_are_found_where_they_stand() {
        let text = "\u{feff} {\"a\\n\\\"\" : [ 1 , -2.5e3,\"],}\\\\\" ,{} , [] ], \"b\":null}\n";
        let json = CheckedJson::new(text).unwrap();
        let (name, list) = json.fields().unwrap().next().unwrap();
        assert_eq!(name, "a\n\"");
        let values: Vec<&str> = list.values().unwrap().map(|it| it.0).collect();
        assert_eq!(values, ["1", "-2.5e3", "\"],}\\\\\"", "{}", "[]"]);
        assert_eq!(json.get("b").unwrap().single().unwrap(), Tree::Absent);
        assert_eq!(json.get("c"), None);
        let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap();
        assert_eq!(sorted(text), value.to_string());
    }

    #[test]
    fn what_is_no_json_is_refused_and_deep_nesting_too() {
        for text in ["", "{", "[1 2]", "{\"a\"}", "\"\\x\"", "[1e999]", "1 2", "nul"] {
            assert!(CheckedJson::new(text).is_err(), "{text}");
        }
        assert!(CheckedJson::new(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn of_fields_of_one_name_the_last_counts() {
        assert_eq!(
            sorted(r#"{"b":1,"a":2,"b":{"d":3,"c":-0}}"#),
            r#"{"a":2,"b":{"c":-0.0,"d":3}}"#
        );
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let single = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
        ];
        single.prop_recursive(4, 40, 5, |below| {
            prop_oneof![
                proptest::collection::vec(below.clone(), 0..5).prop_map(Value::from),
                proptest::collection::btree_map(".{0,4}", below, 0..5)
                    .prop_map(|it| Value::Object(it.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn trees_and_sorted_texts_are_those_of_the_whole_text(value in any_json()) {
            for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
                prop_assert_eq!(sorted(&text), value.to_string());
                let read: Tree = CheckedJson::new(&text).unwrap().read().unwrap();
                prop_assert_eq!(read, serde_json::from_str::<Tree>(&text).unwrap());
            }
        }
    }
}
