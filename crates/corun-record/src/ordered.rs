//! Figures by name as an object of JSON whose fields keep the order of the list: that of tables.
//!
//! Used as `#[serde(with = "crate::ordered")]`.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::Serializer;

pub(crate) fn serialize<S: Serializer>(
    figures: &[(String, f64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(figures.iter().map(|(name, figure)| (name, figure)))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<(String, f64)>, D::Error> {
    struct Figures;

    impl<'de> Visitor<'de> for Figures {
        type Value = Vec<(String, f64)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of numbers")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut figures = Vec::new();
            while let Some(figure) = map.next_entry()? {
                figures.push(figure);
            }
            Ok(figures)
        }
    }

    deserializer.deserialize_map(Figures)
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Stack(#[serde(with = "crate::ordered")] Vec<(String, f64)>);

    #[test]
    fn figures_are_an_object_and_keep_their_order() {
        let stack = Stack(vec![("retiring".to_owned(), 2.5), ("L1D".to_owned(), 0.1)]);
        let json = serde_json::to_string(&stack).unwrap();
        assert_eq!(json, r#"{"retiring":2.5,"L1D":0.1}"#);
        assert_eq!(serde_json::from_str::<Stack>(&json).unwrap(), stack);
        assert!(serde_json::from_str::<Stack>(r#"{"retiring":"much"}"#).is_err());
    }
}
