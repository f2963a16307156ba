//! Named values that keep the order in which they were written: the fields of a core model, which a reader
//! shows and compares without a list of them.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

/// A value of JSON; a table keeps the order of its fields.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree {
    /// Nothing.
    Absent,
    /// Yes or no.
    Flag(bool),
    /// A whole number from 0 on.
    Count(u64),
    /// A whole number below 0.
    Negative(i64),
    /// Another number.
    Number(f64),
    /// A name or a sentence.
    Text(String),
    /// Several of one kind.
    List(Vec<Tree>),
    /// Fields with names.
    Table(Vec<(String, Tree)>),
}

impl Tree {
    /// These fields, and those of `base` that are missing here; tables are joined field by field, lists are not.
    #[must_use]
    pub fn over(self, base: Self) -> Self {
        match (self, base) {
            (Self::Table(own), Self::Table(mut fields)) => {
                for (name, value) in own {
                    match fields.iter_mut().find(|(known, _)| *known == name) {
                        Some((_, below)) => {
                            *below = value.over(std::mem::replace(below, Self::Absent));
                        }
                        None => fields.push((name, value)),
                    }
                }
                Self::Table(fields)
            }
            (own, _) => own,
        }
    }

    /// The fields of any value that can be written as JSON.
    ///
    /// # Panics
    /// If the value cannot be written as JSON.
    pub fn of(value: &impl Serialize) -> Self {
        let json = crate::json_text(value);
        serde_json::from_str(&json).expect("JSON is a tree")
    }

    /// Nothing.
    pub(crate) fn absent() -> Self {
        Self::Absent
    }

    /// The field of this name.
    pub fn get(&self, name: &str) -> Option<&Tree> {
        match self {
            Self::Table(fields) => fields.iter().find(|(it, _)| it == name).map(|(_, tree)| tree),
            _ => None,
        }
    }

    /// Text of a single value; none of lists and tables, and of nothing.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Flag(is_so) => Some(if *is_so { "yes" } else { "no" }.to_owned()),
            Self::Count(number) => Some(number.to_string()),
            Self::Negative(number) => Some(number.to_string()),
            Self::Number(number) => Some(number.to_string()),
            Self::Text(text) => Some(text.clone()),
            Self::Absent | Self::List(_) | Self::Table(_) => None,
        }
    }

    /// Every text below, by its path (`rob.entries`); a list of single values is one text.
    pub fn leaves(&self) -> Vec<(String, String)> {
        let mut leaves = Vec::new();
        self.add_leaves("", &mut leaves);
        leaves
    }

    fn add_leaves(&self, path: &str, leaves: &mut Vec<(String, String)>) {
        let below = |name: &str| match path {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        match self {
            Self::Absent => {}
            Self::Table(fields) => {
                for (name, tree) in fields {
                    tree.add_leaves(&below(name), leaves);
                }
            }
            Self::List(trees) if trees.iter().all(|it| it.text().is_some()) => {
                let texts: Vec<String> = trees.iter().filter_map(Tree::text).collect();
                leaves.push((path.to_owned(), texts.join(" ")));
            }
            Self::List(trees) => {
                for (index, tree) in trees.iter().enumerate() {
                    tree.add_leaves(&below(&index.to_string()), leaves);
                }
            }
            single => leaves.extend(single.text().map(|text| (path.to_owned(), text))),
        }
    }
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Absent => serializer.serialize_unit(),
            Self::Flag(is_so) => serializer.serialize_bool(*is_so),
            Self::Count(number) => serializer.serialize_u64(*number),
            Self::Negative(number) => serializer.serialize_i64(*number),
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(trees) => trees.serialize(serializer),
            Self::Table(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (name, tree) in fields {
                    map.serialize_entry(name, tree)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

impl JsonSchema for Tree {
    fn schema_name() -> Cow<'static, str> {
        "Tree".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let below = generator.subschema_for::<Self>();
        json_schema!({
            "description": "A value, or named values below each other.",
            "type": ["null", "boolean", "number", "string", "array", "object"],
            "items": below,
            "additionalProperties": below,
        })
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value of JSON")
    }

    fn visit_bool<E>(self, is_so: bool) -> Result<Tree, E> {
        Ok(Tree::Flag(is_so))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Tree, E> {
        Ok(Tree::Count(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Tree, E> {
        Ok(u64::try_from(number).map_or(Tree::Negative(number), Tree::Count))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Tree, E> {
        Ok(Tree::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Tree, E> {
        Ok(Tree::Text(text))
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Absent)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Tree, A::Error> {
        let mut trees = Vec::new();
        while let Some(tree) = seq.next_element()? {
            trees.push(tree);
        }
        Ok(Tree::List(trees))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Tree::Table(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"z":{"b":[1,2],"a":null},"y":[{"on":true},{"on":false}],"x":-1.5,"w":[-3,18446744073709551615]}"#;

    #[test]
    fn order_and_values_stay_as_they_are() {
        let tree: Tree = serde_json::from_str(TEXT).unwrap();
        assert_eq!(serde_json::to_string(&tree).unwrap(), TEXT);
        assert_eq!(Tree::of(&tree), tree);
    }

    #[test]
    fn what_is_below_is_named_by_its_path() {
        let tree: Tree = serde_json::from_str(TEXT).unwrap();
        let leaves = tree.leaves();
        let leaves: Vec<(&str, &str)> =
            leaves.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        assert_eq!(
            leaves,
            [
                ("z.b", "1 2"),
                ("y.0.on", "yes"),
                ("y.1.on", "no"),
                ("x", "-1.5"),
                ("w", "-3 18446744073709551615")
            ]
        );
        assert_eq!(tree.get("x").and_then(Tree::text).as_deref(), Some("-1.5"));
    }
}
