//! The arguments of a step of a script.

/// The arguments of a step.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Args {
    /// The words that are not `key=value`; for a [`Words::Text`](super::script::Words::Text) scenario, the whole text as one word.
    pub words: Vec<String>,
    pub(super) values: Vec<(String, String)>,
}

impl Args {
    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.values
            .iter()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }

    /// Returns the value of a key, or the default `or`.
    pub fn text<'a>(&'a self, key: &str, or: &'a str) -> &'a str {
        self.get(key).unwrap_or(or)
    }

    /// Returns the first word; empty if there is none.
    pub fn word(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// Returns the number under a key, or the default `or`. [`parse`](super::script::parse) has rejected values that are not numbers.
    pub fn number<T: std::str::FromStr>(&self, key: &str, or: T) -> T {
        self.get(key).and_then(|text| text.parse().ok()).unwrap_or(or)
    }
}
