//! The one deserializer of documents: types are read from a [`Source`], a text or a tree, and from nothing else, so that
//! the code that reads a type is in the binary once.
//!
//! A value that does not fit its type is named by the path of its field, such as `samples.3.makespan_s`.

use std::borrow::Cow;
use std::fmt;
use std::vec::IntoIter;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use crate::checked_json::{CheckedJson, NamedValues, Values};
use crate::tree::Tree;

/// A value that does not fit its type, and where it stands.
#[derive(Debug)]
pub struct FieldError(Box<Fault>);

#[derive(Debug)]
struct Fault {
    /// The fields around the value, the innermost first.
    path: Vec<String>,
    sentence: String,
}

impl FieldError {
    /// The path of the value.
    pub fn path(&self) -> String {
        let path: Vec<&str> = self.0.path.iter().rev().map(String::as_str).collect();
        path.join(".")
    }

    /// The fault of the value, without its path.
    pub fn sentence(&self) -> &str {
        &self.0.sentence
    }

    /// The error, with the field that it is inside of.
    #[cold]
    pub(crate) fn within(mut self, field: impl fmt::Display) -> Self {
        self.0.path.push(field.to_string());
        self
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.path.is_empty() {
            true => f.write_str(self.sentence()),
            false => write!(f, "`{}`: {}", self.path(), self.sentence()),
        }
    }
}

impl std::error::Error for FieldError {}

impl serde::de::Error for FieldError {
    #[cold]
    fn custom<T: fmt::Display>(sentence: T) -> Self {
        Self(Box::new(Fault { path: Vec::new(), sentence: sentence.to_string() }))
    }
}

impl Tree {
    /// The tree of a text of JSON.
    ///
    /// # Errors
    /// If the text is no JSON.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The value of a type that the tree holds.
    ///
    /// # Errors
    /// With the path of the first value that does not fit.
    pub fn read<T: DeserializeOwned>(self) -> Result<T, FieldError> {
        T::deserialize(Source::Tree(self))
    }

    fn unexpected(&self) -> Unexpected<'_> {
        match self {
            Self::Absent => Unexpected::Unit,
            Self::Flag(is_so) => Unexpected::Bool(*is_so),
            Self::Count(number) => Unexpected::Unsigned(*number),
            Self::Negative(number) => Unexpected::Signed(*number),
            Self::Number(number) => Unexpected::Float(*number),
            Self::Text(text) => Unexpected::Str(text),
            Self::List(_) => Unexpected::Seq,
            Self::Table(_) => Unexpected::Map,
        }
    }

    /// Says that another value was expected.
    #[cold]
    pub(crate) fn unfit(&self, expected: &dyn Expected) -> FieldError {
        FieldError::invalid_type(self.unexpected(), expected)
    }

    fn number<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self {
            Self::Count(number) => visitor.visit_u64(number),
            Self::Negative(number) => visitor.visit_i64(number),
            Self::Number(number) => visitor.visit_f64(number),
            other => Err(other.unfit(&visitor)),
        }
    }
}

/// A value that a type is read from.
pub(crate) enum Source<'t> {
    /// In memory.
    Tree(Tree),
    /// Position in a text.
    Text(CheckedJson<'t>),
}

/// A value whose kind is known.
enum Opened<'t> {
    Single(Tree),
    List(Items<'t>),
    Table(Fields<'t>),
}

impl<'t> Source<'t> {
    fn opened(self) -> Result<Opened<'t>, FieldError> {
        let text = match self {
            Self::Tree(Tree::List(trees)) => return Ok(Opened::List(Items::of(trees))),
            Self::Tree(Tree::Table(fields)) => return Ok(Opened::Table(Fields::of(fields))),
            Self::Tree(single) => return Ok(Opened::Single(single)),
            Self::Text(text) => text,
        };
        if let Some(rest) = text.values() {
            return Ok(Opened::List(Items { rest: ItemSource::Text(rest), read: 0 }));
        }
        if let Some(rest) = text.fields() {
            return Ok(Opened::Table(Fields { rest: FieldSource::Text(rest), current: None }));
        }
        text.single().map(Opened::Single).map_err(FieldError::custom)
    }

    /// The value of what is expected to be neither list nor table.
    fn single(self, expected: &dyn Expected) -> Result<Tree, FieldError> {
        match self.opened()? {
            Opened::Single(tree) => Ok(tree),
            other => Err(other.unfit(expected)),
        }
    }
}

impl CheckedJson<'_> {
    /// Says that another value was expected.
    #[cold]
    pub(crate) fn unfit(self, expected: &dyn Expected) -> FieldError {
        match Source::Text(self).opened() {
            Ok(found) => found.unfit(expected),
            Err(error) => error,
        }
    }
}

impl Opened<'_> {
    #[cold]
    fn unfit(&self, expected: &dyn Expected) -> FieldError {
        let found = match self {
            Self::Single(tree) => tree.unexpected(),
            Self::List(_) => Unexpected::Seq,
            Self::Table(_) => Unexpected::Map,
        };
        FieldError::invalid_type(found, expected)
    }
}

/// Methods for the types of numbers, which the visitor distinguishes.
macro_rules! numbers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
            self.single(&visitor)?.number(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Source<'_> {
    type Error = FieldError;

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8
        deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.opened()? {
            Opened::List(items) => visitor.visit_seq(items),
            Opened::Table(fields) => visitor.visit_map(fields),
            Opened::Single(Tree::Absent) => visitor.visit_unit(),
            Opened::Single(Tree::Flag(is_so)) => visitor.visit_bool(is_so),
            Opened::Single(Tree::Text(text)) => visitor.visit_string(text),
            Opened::Single(number) => number.number(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.single(&visitor)? {
            Tree::Flag(is_so) => visitor.visit_bool(is_so),
            other => Err(other.unfit(&visitor)),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        self.deserialize_string(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.single(&visitor)? {
            Tree::Text(text) => visitor.visit_string(text),
            other => Err(other.unfit(&visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.is_absent() {
            true => visitor.visit_none(),
            false => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.opened()? {
            Opened::List(items) => visitor.visit_seq(items),
            other => Err(other.unfit(&visitor)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        // What is left over would be lost.
        match self.length() {
            Some(found) if found > length => Err(FieldError::invalid_length(found, &visitor)),
            _ => self.deserialize_seq(visitor),
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.opened()? {
            Opened::Table(fields) => visitor.visit_map(fields),
            other => Err(other.unfit(&visitor)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        let expected: &dyn Expected = &"the name of a variant, or one field of that name";
        let variant = match self.opened()? {
            Opened::Single(Tree::Text(name)) => Variant { name: name.into(), content: None },
            Opened::Table(mut fields) => match (fields.rest.next(), fields.rest.next()) {
                (Some((name, content)), None) => Variant { name, content: Some(content) },
                _ => return Err(FieldError::invalid_type(Unexpected::Map, expected)),
            },
            other => return Err(other.unfit(expected)),
        };
        visitor.visit_enum(variant)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        self.deserialize_string(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! { char bytes byte_buf unit unit_struct }
}

impl Source<'_> {
    fn is_absent(&self) -> bool {
        match self {
            Self::Tree(tree) => *tree == Tree::Absent,
            Self::Text(text) => text.is_null(),
        }
    }

    /// Number of values of a list.
    fn length(&self) -> Option<usize> {
        match self {
            Self::Tree(Tree::List(trees)) => Some(trees.len()),
            Self::Tree(_) => None,
            Self::Text(text) => text.values().map(Iterator::count),
        }
    }
}

/// The values of a list.
struct Items<'t> {
    rest: ItemSource<'t>,
    read: usize,
}

enum ItemSource<'t> {
    Trees(IntoIter<Tree>),
    Text(Values<'t>),
}

impl Items<'_> {
    fn of(trees: Vec<Tree>) -> Self {
        Self { rest: ItemSource::Trees(trees.into_iter()), read: 0 }
    }
}

impl<'t> Iterator for ItemSource<'t> {
    type Item = Source<'t>;

    fn next(&mut self) -> Option<Source<'t>> {
        match self {
            Self::Trees(rest) => rest.next().map(Source::Tree),
            Self::Text(rest) => rest.next().map(Source::Text),
        }
    }
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = FieldError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, FieldError> {
        let Some(value) = self.rest.next() else { return Ok(None) };
        self.read += 1;
        seed.deserialize(value).map(Some).map_err(|error| error.within(self.read - 1))
    }

    fn size_hint(&self) -> Option<usize> {
        match &self.rest {
            ItemSource::Trees(rest) => Some(rest.len()),
            // Of many short lists none is given room that it does not use.
            ItemSource::Text(rest) => Some(rest.clone().count()),
        }
    }
}

/// The fields of a table.
struct Fields<'t> {
    rest: FieldSource<'t>,
    /// The field whose name was read and whose value was not.
    current: Option<(Cow<'t, str>, Source<'t>)>,
}

enum FieldSource<'t> {
    Trees(IntoIter<(String, Tree)>),
    Text(NamedValues<'t>),
}

impl Fields<'_> {
    fn of(fields: Vec<(String, Tree)>) -> Self {
        Self { rest: FieldSource::Trees(fields.into_iter()), current: None }
    }
}

impl<'t> Iterator for FieldSource<'t> {
    type Item = (Cow<'t, str>, Source<'t>);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Trees(rest) => rest.next().map(|(name, it)| (name.into(), Source::Tree(it))),
            Self::Text(rest) => rest.next().map(|(name, it)| (name, Source::Text(it))),
        }
    }
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = FieldError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, FieldError> {
        self.current = self.rest.next();
        let Some((name, _)) = &self.current else { return Ok(None) };
        seed.deserialize(Key(name)).map(Some).map_err(|error| error.within(name))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, FieldError> {
        let (name, value) = self.current.take().expect("a name was read");
        seed.deserialize(value).map_err(|error| error.within(name))
    }
}

/// The name of a field. In a map of numbers it is a number as text.
struct Key<'a>(&'a str);

/// Kinds of numbers as text.
macro_rules! numbers_as_text {
    ($($method:ident $visit:ident $number:ty,)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
            match self.0.parse::<$number>() {
                Ok(number) => visitor.$visit(number),
                Err(_) => Err(FieldError::invalid_type(Unexpected::Str(self.0), &visitor)),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Key<'_> {
    type Error = FieldError;

    numbers_as_text! {
        deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64,
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        visitor.visit_str(self.0)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        visitor.visit_enum(StrDeserializer::new(self.0))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// A variant of an enumeration.
struct Variant<'t> {
    name: Cow<'t, str>,
    content: Option<Source<'t>>,
}

/// The content of a variant beside its name.
struct Content<'t> {
    name: Cow<'t, str>,
    content: Option<Source<'t>>,
}

impl<'de, 't> EnumAccess<'de> for Variant<'t> {
    type Error = FieldError;
    type Variant = Content<'t>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Content<'t>), FieldError> {
        let variant = seed.deserialize(Key(&self.name))?;
        Ok((variant, Content { name: self.name, content: self.content }))
    }
}

impl<'t> Content<'t> {
    fn some(self, expected: &dyn Expected) -> Result<(Cow<'t, str>, Source<'t>), FieldError> {
        let Self { name, content } = self;
        match content {
            Some(content) => Ok((name, content)),
            None => Err(FieldError::invalid_type(Unexpected::UnitVariant, expected)),
        }
    }
}

impl<'de> VariantAccess<'de> for Content<'_> {
    type Error = FieldError;

    fn unit_variant(self) -> Result<(), FieldError> {
        match self.content {
            Some(content) if !content.is_absent() => {
                let found = content.opened()?;
                Err(found.unfit(&"nothing").within(self.name))
            }
            _ => Ok(()),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, FieldError> {
        let (name, content) = self.some(&"a value")?;
        seed.deserialize(content).map_err(|error| error.within(name))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        let (name, content) = self.some(&visitor)?;
        content.deserialize_tuple(length, visitor).map_err(|error| error.within(name))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        let (name, content) = self.some(&visitor)?;
        content.deserialize_map(visitor).map_err(|error| error.within(name))
    }
}
