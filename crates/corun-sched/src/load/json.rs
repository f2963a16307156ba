//! JSON as rt-app's examples have it: with comments, a comma before a closing bracket, single quotes, anything
//! after the value, and a name without a value (`"suspend",`). Nothing merges fields of one name, and 32 levels are the
//! most, as in json-c, which rt-app reads its files with.

use std::fmt;

use jsonc_parser::tokens::Token;
use jsonc_parser::{Scanner, ScannerOptions};

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
    let options = ScannerOptions {
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_extended_string_escapes: false,
        ..ScannerOptions::default()
    };
    let mut reader = Reader { scanner: Scanner::new(text, &options), token: None };
    reader.advance().and_then(|()| reader.value(1)).map_err(|why| {
        let line = 1 + text[..reader.scanner.token_start()].matches('\n').count();
        (line, why)
    })
}

/// Stands on a token; each value is read up to its own last one.
struct Reader<'a> {
    scanner: Scanner<'a>,
    token: Option<Token<'a>>,
}

impl Reader<'_> {
    /// To the next token that is no comment.
    fn advance(&mut self) -> Result<(), String> {
        loop {
            self.token = self.scanner.scan().map_err(|error| error.kind().to_string())?;
            if !matches!(self.token, Some(Token::CommentLine(_) | Token::CommentBlock(_))) {
                return Ok(());
            }
        }
    }

    fn expected<T>(&self, what: &str) -> Result<T, String> {
        let found = match &self.token {
            Some(found) => format!("{:?}", found.as_str()),
            None => "the end of the file".to_owned(),
        };
        Err(format!("expected {what}, found {found}"))
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > DEPTH {
            return Err(format!("expected at most {DEPTH} levels, as json-c takes, found more"));
        }
        match &self.token {
            Some(Token::OpenBrace) => self.object(depth),
            Some(Token::OpenBracket) => self.list(depth),
            Some(Token::String(text)) => Ok(Json::Text(text.to_string())),
            Some(Token::Boolean(value)) => Ok(Json::Bool(*value)),
            Some(Token::Null) => Ok(Json::Null),
            Some(Token::Number(digits)) => {
                digits.parse().map_or_else(|_| self.expected("a number"), |it| Ok(Json::Number(it)))
            }
            _ => self.expected("a value"),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, String> {
        let mut fields = Vec::new();
        loop {
            self.advance()?;
            let name = match &self.token {
                Some(Token::CloseBrace) => return Ok(Json::Object(fields)),
                Some(Token::String(name)) => name.to_string(),
                _ => return self.expected("a name in quotes, or }"),
            };
            self.advance()?;
            let mut value = Json::Missing;
            if self.token == Some(Token::Colon) {
                self.advance()?;
                value = self.value(depth + 1)?;
                self.advance()?;
            }
            let is_missing = value == Json::Missing;
            fields.push((name, value));
            match self.token {
                Some(Token::Comma) => {}
                Some(Token::CloseBrace) => return Ok(Json::Object(fields)),
                _ if is_missing => return self.expected("a colon after a name"),
                _ => return self.expected("a comma or } after a field"),
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Json, String> {
        let mut items = Vec::new();
        loop {
            self.advance()?;
            if self.token == Some(Token::CloseBracket) {
                return Ok(Json::List(items));
            }
            items.push(self.value(depth + 1)?);
            self.advance()?;
            match self.token {
                Some(Token::Comma) => {}
                Some(Token::CloseBracket) => return Ok(Json::List(items)),
                _ => return self.expected("a comma or ] after an item"),
            }
        }
    }
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
    fn what_rt_app_has_beyond_json_is_read() {
        let (one, two) = (Json::Number(1.0), Json::Number(2.0));
        for (text, expected) in [
            ("{ \"a\" : 1, }", object(&[("a", one.clone())])),
            ("{\"a\":1,\"a\":2}", object(&[("a", one.clone()), ("a", two.clone())])),
            ("[1., -Infinity]", Json::List(vec![one.clone(), Json::Number(f64::NEG_INFINITY)])),
            ("[1, 2 , ]", Json::List(vec![one.clone(), two.clone()])),
            ("[1,/* x * / */2// y\n]", Json::List(vec![one.clone(), two])),
            (
                "{'a' : 'it is \"so\"', \"b\" : \"it's\"}",
                object(&[
                    ("a", Json::Text("it is \"so\"".to_owned())),
                    ("b", Json::Text("it's".to_owned())),
                ]),
            ),
            ("\"\\u0041\\ud83d\\ude00\\n\t\n\"", Json::Text("A\u{1f600}\n\t\n".to_owned())),
            ("\n{} and more }", object(&[])),
            ("{\"suspend\", \"run\":1}", object(&[("suspend", Json::Missing), ("run", one)])),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_line() {
        for (text, line, expected) in [
            ("", 1, "a value, found the end"),
            ("{", 1, "a name in quotes, or }, found the end"),
            ("\n# text\n{}", 2, "token"),
            ("{a:1}", 1, "a name in quotes"),
            ("{,}", 1, "a name in quotes"),
            ("[,]", 1, "a value, found \",\""),
            ("{\"a\":1 \"b\":2}", 1, "a comma or }"),
            ("{\"a\"\n 1}", 2, "a colon"),
            ("[1 2]", 1, "a comma or ]"),
            ("{\"a\":\n1,\n/* ", 3, "comment"),
            ("\"\\x\"", 1, "escape"),
            ("[+1]", 1, "plus"),
            ("[0x10]", 1, "Hexadecimal"),
            ("[1-2]", 1, "a comma or ]"),
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
        fn all_json_is_read_alike(
            fields in proptest::collection::btree_map(any::<String>(), any::<i32>(), 0..5),
            texts in proptest::collection::vec(any::<String>(), 0..5),
            flag in any::<bool>(),
        ) {
            let value = serde_json::json!([fields, [texts, [], {}], { "a": flag, "b": null }]);
            prop_assert_eq!(&same(&parse(&value.to_string()).unwrap()), &value);
            prop_assert_eq!(same(&parse(&format!("{value:#}")).unwrap()), value);
        }
    }

    fn same(json: &Json) -> serde_json::Value {
        match json {
            Json::Number(number) => (*number as i64).into(),
            Json::Text(text) => text.as_str().into(),
            Json::Bool(value) => (*value).into(),
            Json::Null | Json::Missing => serde_json::Value::Null,
            Json::List(list) => list.iter().map(same).collect(),
            Json::Object(fields) => {
                fields.iter().map(|(name, value)| (name.clone(), same(value))).collect()
            }
        }
    }
}
