//! JSON as json-c's tokener takes it in its default mode, which rt-app reads its files with.
//!
//! Beyond JSON it takes comments (`/* */` and `//`), a comma before a closing bracket, single quotes around
//! texts and names, control characters within them, words in any case (`TRUE`), `NaN` and `Infinity`, numbers
//! such as `01`, `1.` and `2e`, and anything after the value. It nests 32 levels at most.
//! One thing more is taken, as rt-app's own examples have it: a name without a value (`"suspend",`).

use std::fmt;

/// A value; objects keep the order of their fields, and all of one name.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Number(f64),
    Text(String),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
    Bool(bool),
    Null,
    /// A name that no value follows.
    Missing,
}

/// `JSON_TOKENER_DEFAULT_DEPTH`.
const DEPTH: usize = 32;

/// Reads the first value of a text.
///
/// # Errors
/// The line, from 1, with what was expected and found there.
pub(super) fn parse(text: &str) -> Result<Json, (usize, String)> {
    let mut reader = Reader { text, at: 0 };
    reader.skip_space().and_then(|()| reader.value(1)).map_err(|why| {
        let line = 1 + text[..reader.at].matches('\n').count();
        (line, why)
    })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn next(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn takes(&mut self, wanted: char) -> bool {
        let is_there = self.next() == Some(wanted);
        if is_there {
            self.at += wanted.len_utf8();
        }
        is_there
    }

    fn expected<T>(&self, what: &str) -> Result<T, String> {
        let found = match self.next() {
            Some(found) => format!("{found:?}"),
            None => "the end of the file".to_owned(),
        };
        Err(format!("expected {what}, found {found}"))
    }

    /// Spaces and comments.
    fn skip_space(&mut self) -> Result<(), String> {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
            let rest = self.rest();
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(inside) = rest.strip_prefix("/*") {
                match inside.find("*/") {
                    Some(end) => self.at += end + 4,
                    None => {
                        return Err(
                            "expected */ after a comment, found the end of the file".to_owned()
                        );
                    }
                }
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > DEPTH {
            return Err(format!("expected at most {DEPTH} levels, as json-c takes, found more"));
        }
        match self.next() {
            Some('{') => self.object(depth),
            Some('[') => self.list(depth),
            Some(quote @ ('"' | '\'')) => self.quoted(quote).map(Json::Text),
            Some('0'..='9' | '-') => self.number(),
            Some(_) => self.word(),
            None => self.expected("a value"),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, String> {
        self.takes('{');
        let mut fields = Vec::new();
        loop {
            self.skip_space()?;
            if self.takes('}') {
                return Ok(Json::Object(fields));
            }
            let Some(quote @ ('"' | '\'')) = self.next() else {
                return self.expected("a name in quotes, or }");
            };
            let name = self.quoted(quote)?;
            self.skip_space()?;
            let value = match self.next() {
                Some(':') => {
                    self.takes(':');
                    self.skip_space()?;
                    self.value(depth + 1)?
                }
                Some(',' | '}') => Json::Missing,
                _ => return self.expected(&format!("a colon after \"{name}\"")),
            };
            fields.push((name, value));
            self.skip_space()?;
            if !self.takes(',') && self.next() != Some('}') {
                return self.expected("a comma or } after a field");
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Json, String> {
        self.takes('[');
        let mut items = Vec::new();
        loop {
            self.skip_space()?;
            if self.takes(']') {
                return Ok(Json::List(items));
            }
            items.push(self.value(depth + 1)?);
            self.skip_space()?;
            if !self.takes(',') && self.next() != Some(']') {
                return self.expected("a comma or ] after an item");
            }
        }
    }

    fn quoted(&mut self, quote: char) -> Result<String, String> {
        self.takes(quote);
        let mut text = String::new();
        loop {
            let Some(next) = self.next() else {
                return self.expected(&format!("a closing {quote}"));
            };
            self.at += next.len_utf8();
            match next {
                '\\' => text.push(self.escaped()?),
                next if next == quote => return Ok(text),
                next => text.push(next),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, String> {
        let known = match self.next() {
            Some(same @ ('"' | '\\' | '/')) => same,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => return self.unicode(),
            _ => return self.expected("one of \" \\ / b f n r t u after \\"),
        };
        self.at += 1;
        Ok(known)
    }

    /// `u0041`, or both halves of a surrogate pair; a half alone becomes the replacement character.
    fn unicode(&mut self) -> Result<char, String> {
        let high = self.hexadecimal()?;
        if (0xd800..0xdc00).contains(&high) && self.rest().starts_with("\\u") {
            let before = self.at;
            self.at += 1;
            let low = self.hexadecimal()?;
            if (0xdc00..0xe000).contains(&low) {
                let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hexadecimal(&mut self) -> Result<u32, String> {
        self.takes('u');
        let digits = self.rest().get(..4).filter(|it| it.bytes().all(|it| it.is_ascii_hexdigit()));
        match digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
            Some(code) => {
                self.at += 4;
                Ok(code)
            }
            None => self.expected("four hexadecimal digits after \\u"),
        }
    }

    fn number(&mut self) -> Result<Json, String> {
        let rest = self.rest();
        if rest.get(1..9).is_some_and(|word| rest.starts_with('-') && is_word(word, "infinity")) {
            self.at += 9;
            return Ok(Json::Number(f64::NEG_INFINITY));
        }
        let end = rest.find(|it: char| !it.is_ascii_digit() && !"+-.eE".contains(it));
        let digits = &rest[..end.unwrap_or(rest.len())];
        // An exponent or a sign that nothing follows is left out; only where it is no whole number.
        let is_whole = !digits.contains(['.', 'e', 'E']);
        let trimmed = if is_whole { digits } else { digits.trim_end_matches(['e', 'E', '+', '-']) };
        let length = digits.len();
        match trimmed.parse::<f64>().ok().filter(|value| value.is_finite()) {
            Some(value) => {
                self.at += length;
                Ok(Json::Number(value))
            }
            None => Err(format!("expected a number, found \"{digits}\"")),
        }
    }

    fn word(&mut self) -> Result<Json, String> {
        let rest = self.rest();
        let end = rest.find(|it: char| !it.is_ascii_alphabetic()).unwrap_or(rest.len());
        let word = &rest[..end];
        let known = [
            ("true", Json::Bool(true)),
            ("false", Json::Bool(false)),
            ("null", Json::Null),
            ("nan", Json::Number(f64::NAN)),
            ("infinity", Json::Number(f64::INFINITY)),
        ];
        match known.into_iter().find(|(name, _)| is_word(word, name)) {
            Some((_, value)) => {
                self.at += end;
                Ok(value)
            }
            None => self.expected("a value"),
        }
    }
}

/// A word in any case.
fn is_word(text: &str, word: &str) -> bool {
    text.eq_ignore_ascii_case(word)
}

impl Json {
    pub(super) fn object(&self) -> Option<&[(String, Self)]> {
        if let Self::Object(fields) = self { Some(fields) } else { None }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        self.object()?.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    pub(super) fn whole(&self) -> Option<i64> {
        match *self {
            Self::Number(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
                Some(number as i64)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(formatter, "{number}"),
            Self::Text(text) => write!(formatter, "{text:?}"),
            Self::List(list) => {
                let list: Vec<String> = list.iter().map(Self::to_string).collect();
                write!(formatter, "[{}]", list.join(", "))
            }
            Self::Object(_) => formatter.write_str("an object"),
            Self::Bool(value) => write!(formatter, "{value}"),
            Self::Null => formatter.write_str("null"),
            Self::Missing => formatter.write_str("no value"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn object(fields: &[(&str, Json)]) -> Json {
        Json::Object(
            fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        )
    }

    #[test]
    fn what_json_c_takes_beyond_json_is_read() {
        let (one, two) = (Json::Number(1.0), Json::Number(2.0));
        for (text, expected) in [
            ("{ \"a\" : 1, }", object(&[("a", one.clone())])),
            ("[1, 2 , ]", Json::List(vec![one.clone(), two.clone()])),
            ("[1,/* x * / */2// y\n]", Json::List(vec![one.clone(), two.clone()])),
            (
                "{'a' : 'it is \"so\"', \"b\" : \"it's\"}",
                object(&[
                    ("a", Json::Text("it is \"so\"".to_owned())),
                    ("b", Json::Text("it's".to_owned())),
                ]),
            ),
            (
                "[TRUE, False, NULL, -01, 1., 2e, 2.5E+, iNfInItY, -Infinity]",
                Json::List(vec![
                    Json::Bool(true),
                    Json::Bool(false),
                    Json::Null,
                    Json::Number(-1.0),
                    one.clone(),
                    two,
                    Json::Number(2.5),
                    Json::Number(f64::INFINITY),
                    Json::Number(f64::NEG_INFINITY),
                ]),
            ),
            (
                "\"\\u0041\\ud83d\\ude00\\ud83dx\\n\t\n\"",
                Json::Text("A\u{1f600}\u{fffd}x\n\t\n".to_owned()),
            ),
            ("\n{} and more", object(&[])),
            ("{\"suspend\", \"run\":1}", object(&[("suspend", Json::Missing), ("run", one)])),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
        assert!(matches!(parse("NaN"), Ok(Json::Number(value)) if value.is_nan()));
    }

    #[test]
    fn what_json_c_refuses_is_refused_with_its_line() {
        for (text, line, expected) in [
            ("", 1, "a value, found the end"),
            ("{", 1, "a name in quotes, or }, found the end"),
            ("\n# text\n{}", 2, "a value, found '#'"),
            ("{a:1}", 1, "a name in quotes"),
            ("{,}", 1, "a name in quotes"),
            ("[,]", 1, "a value, found ','"),
            ("{\"a\":1 \"b\":2}", 1, "a comma or }"),
            ("{\"a\"\n 1}", 2, "a colon after \"a\""),
            ("[1 2]", 1, "a comma or ]"),
            ("{\"a\":\n1,\n/* ", 3, "expected */"),
            ("\"\\x\"", 1, "after \\"),
            ("'\\''", 1, "after \\"),
            ("\"\\u12g4\"", 1, "four hexadecimal"),
            ("[+1]", 1, "a value"),
            ("[.5]", 1, "a value"),
            ("[0x10]", 1, "a comma or ]"),
            ("[1-2]", 1, "a number"),
            ("[tru]", 1, "a value"),
        ] {
            let (found_line, why) = parse(text).unwrap_err();
            assert!(why.contains(expected) && found_line == line, "{text}: {found_line}: {why}");
        }
        assert!(parse(&"[".repeat(100_000)).unwrap_err().1.contains("32 levels"));
        let deepest = format!("{}{}", "[".repeat(32), "]".repeat(32));
        assert!(parse(&deepest).is_ok());
    }

    proptest! {
        #[test]
        fn nothing_makes_it_fail_otherwise(text in r#"[\[\]{}'":,/*\\ \nuntrefalsinpy0-9eE.+-]{0,60}"#) {
            let _ = parse(&text);
        }

        #[test]
        fn all_json_is_read_alike(text in json()) {
            let strict: serde_json::Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(same(&parse(&text).unwrap()), strict);
        }
    }

    fn json() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            any::<bool>().prop_map(|it| it.to_string()),
            any::<i32>().prop_map(|it| it.to_string()),
            any::<String>().prop_map(|it| serde_json::to_string(&it).unwrap()),
        ];
        leaf.prop_recursive(5, 40, 5, |inner| {
            let named = (any::<u16>(), inner.clone());
            prop_oneof![
                proptest::collection::vec(inner, 0..5)
                    .prop_map(|it| format!("[{}]", it.join(" , "))),
                proptest::collection::vec(named, 0..5).prop_map(|fields| {
                    let fields = fields.into_iter().enumerate();
                    let fields: Vec<String> = fields
                        .map(|(place, (name, value))| format!("\"{place} {name}\": {value}"))
                        .collect();
                    format!("{{{}}}", fields.join(",\n"))
                }),
            ]
        })
    }

    fn same(json: &Json) -> serde_json::Value {
        match json {
            Json::Number(number) => serde_json::Value::from(*number as i64),
            Json::Text(text) => serde_json::Value::from(text.as_str()),
            Json::Bool(value) => serde_json::Value::from(*value),
            Json::Null | Json::Missing => serde_json::Value::Null,
            Json::List(list) => list.iter().map(same).collect(),
            Json::Object(fields) => {
                fields.iter().map(|(name, value)| (name.clone(), same(value))).collect()
            }
        }
    }
}
