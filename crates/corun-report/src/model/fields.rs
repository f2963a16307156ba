//! A core model as a tree of named texts, in the order in which its types tell the fields: what is shown
//! and compared of a model needs no list of its fields.

use std::fmt;

use corun_model::CoreModel;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A field's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// A number, a name, yes or no.
    Text(String),
    /// Several of one kind.
    List(Vec<Node>),
    /// Fields with names; those without content are left out.
    Table(Vec<(String, Node)>),
}

impl Node {
    /// All of a model.
    pub(super) fn of(model: &CoreModel) -> Self {
        let json = serde_json::to_string(model).expect("a model is JSON");
        serde_json::from_str(&json).expect("JSON is a tree")
    }

    /// The field of this name.
    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        match self {
            Self::Table(fields) => fields.iter().find(|(it, _)| it == name).map(|(_, node)| node),
            _ => None,
        }
    }

    /// What a text says.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Every text below, by its path; a list of texts is one.
    pub(super) fn leaves(&self) -> Vec<(String, String)> {
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
            Self::Text(text) => leaves.push((path.to_owned(), text.clone())),
            Self::Table(fields) => {
                for (name, node) in fields {
                    node.add_leaves(&below(name), leaves);
                }
            }
            Self::List(nodes) if nodes.iter().all(|it| it.text().is_some()) => {
                let texts: Vec<&str> = nodes.iter().filter_map(Node::text).collect();
                leaves.push((path.to_owned(), texts.join(" ")));
            }
            Self::List(nodes) => {
                for (index, node) in nodes.iter().enumerate() {
                    node.add_leaves(&below(&index.to_string()), leaves);
                }
            }
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Tree).map(|node| node.unwrap_or(Node::Table(Vec::new())))
    }
}

struct Tree;

impl<'de> Visitor<'de> for Tree {
    type Value = Option<Node>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a model's field")
    }

    fn visit_bool<E>(self, is_so: bool) -> Result<Self::Value, E> {
        Ok(Some(Node::Text(if is_so { "yes" } else { "no" }.to_owned())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(Node::Text(number.to_string())))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(Node::Text(number.to_string())))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Some(Node::Text(number.to_string())))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Node::Text(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = seq.next_element()? {
            nodes.push(node);
        }
        Ok(Some(Node::List(nodes)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some((name, node)) = map.next_entry::<String, Optional>()? {
            fields.extend(node.0.map(|node| (name, node)));
        }
        Ok(Some(Node::Table(fields)))
    }
}

/// A field that may have no content.
struct Optional(Option<Node>);

impl<'de> Deserialize<'de> for Optional {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Tree).map(Optional)
    }
}
