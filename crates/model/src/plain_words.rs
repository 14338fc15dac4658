//! Errors of deserializers, in the words of the author of the text.

/// Words of deserializers for types and values, and what people call them.
const WORDS: [(&str, &str); 18] = [
    ("invalid type: ", "found "),
    ("invalid value: ", "found "),
    ("integer `", "the number `"),
    ("floating point `", "the number `"),
    ("string \"", "the text \""),
    ("boolean `", "`"),
    ("found sequence", "found a list"),
    ("found map", "found a table"),
    ("expected a sequence", "expected a list, such as [\"a\"]"),
    ("expected a map", "expected a table"),
    ("expected a string", "expected text in quotes"),
    ("expected path string", "expected a path in quotes"),
    ("expected a boolean", "expected true or false"),
    ("expected struct ", "expected a table "),
    ("expected a borrowed raw value", "expected a value"),
    ("expected any valid JSON value", "expected a value"),
    ("missing field ", "missing member "),
    ("`", ""),
];

/// Types of numbers in the words of deserializers.
const NUMBERS: [&str; 6] = [
    "expected usize",
    "expected u16",
    "expected u32",
    "expected u64",
    "expected i32",
    "expected i64",
];

/// Returns a message of a deserializer in plain words: what was expected, then what was found. Leaves out the position,
/// which is useless in a text that a program wrote.
pub fn in_plain_words(message: &str) -> String {
    let message = message
        .rsplit_once(" at line ")
        .map_or(message, |(before, _)| before);
    let message = message.replace('\n', "; ");
    let mut text = match message.split_once(", expected ") {
        Some((found, expected)) => format!("expected {expected}, {found}"),
        None => message,
    };
    for word in NUMBERS {
        text = text.replace(word, "expected a whole number");
    }
    for (word, plainer) in WORDS {
        text = text.replace(word, plainer);
    }
    text
}

/// Describes an error of JSON that was stored, without any of the text, which may be a user's or an agent's.
pub fn without_content(error: &serde_json::Error) -> String {
    let what = match error.classify() {
        serde_json::error::Category::Data => "an unexpected value",
        serde_json::error::Category::Eof => "the end of the text",
        serde_json::error::Category::Syntax | serde_json::error::Category::Io => "no JSON",
    };
    format!("found {what} at line {} column {}", error.line(), error.column())
}

/// Returns the rest of a message about a word that a deserializer does not know: the word, and the known ones.
/// `start` is the beginning of the message, up to the word.
pub fn unknown_word<'a>(message: &'a str, start: &str) -> Option<(&'a str, Vec<&'a str>)> {
    let mut words = message.strip_prefix(start)?.split('`');
    let unknown = words.next()?;
    Some((unknown, words.skip(1).step_by(2).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expected_words_come_first() {
        for (message, plain) in [
            (
                "invalid type: integer `5`, expected a string at line 1 column 30",
                "expected text in quotes, found the number 5",
            ),
            (
                "invalid type: string \"10m\", expected u64",
                "expected a whole number, found the text \"10m\"",
            ),
            (
                "invalid type: sequence, expected a string",
                "expected text in quotes, found a list",
            ),
            ("missing field `name` at line 1 column 2", "missing member name"),
        ] {
            assert_eq!(in_plain_words(message), plain);
        }
    }

    #[test]
    fn an_error_can_be_described_without_the_text() {
        for text in [r#"{"n":"planted"}"#, r#"{"n":5,"planted"}"#, r#"{"n":"planted"#] {
            let error = serde_json::from_str::<std::collections::BTreeMap<String, u8>>(text).unwrap_err();
            let described = without_content(&error);
            assert!(
                described.starts_with("found ") && !described.contains("planted"),
                "{described}"
            );
            assert!(described.contains(" at line 1 column "), "{described}");
        }
    }

    #[test]
    fn an_unknown_word_comes_with_the_known_ones() {
        let message = "unknown field `liste`, expected one of `listen`, `server`";
        let found = unknown_word(message, "unknown field `");
        assert_eq!(found, Some(("liste", vec!["listen", "server"])));
        assert_eq!(unknown_word(message, "unknown variant `"), None);
    }
}
