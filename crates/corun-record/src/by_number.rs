//! A map by numbers, within a field that serde flattens: JSON has names only as text, and flattening loses
//! what would read them as numbers.
//!
//! Used as `#[serde(with = "crate::by_number")]`.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

pub(crate) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
    map: &BTreeMap<K, V>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(map)
}

pub(crate) fn deserialize<'de, K: FromStr + Ord, V: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<K, V>, D::Error> {
    let named = BTreeMap::<String, V>::deserialize(deserializer)?;
    let numbered = |(name, value): (String, V)| {
        name.parse().map(|number| (number, value)).map_err(|_| {
            D::Error::custom(format!("expected a number as the name of a field, found {name:?}"))
        })
    };
    named.into_iter().map(numbered).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Serialize};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Inner {
        #[serde(with = "crate::by_number")]
        map: BTreeMap<u32, u32>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Outer {
        #[serde(flatten)]
        inner: Inner,
    }

    #[test]
    fn numbers_read_back_from_a_flattened_field() {
        let outer = Outer { inner: Inner { map: BTreeMap::from([(32, 22), (64, 16)]) } };
        let text = serde_json::to_string(&outer).unwrap();
        assert_eq!(text, r#"{"map":{"32":22,"64":16}}"#);
        assert_eq!(serde_json::from_str::<Outer>(&text).unwrap(), outer);
        let wrong = serde_json::from_str::<Outer>(r#"{"map":{"x":1}}"#).unwrap_err();
        assert!(wrong.to_string().contains("found \"x\""), "{wrong}");
    }
}
