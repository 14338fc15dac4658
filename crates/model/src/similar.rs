//! Names that look like a mistyped one.

/// Least similarity of a suggestion, from 0 to 1.
const SIMILAR: f64 = 0.75;

/// Returns the most similar of some names, if one is similar enough to suggest it. Ignores case.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_lowercase();
    names
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&given, &name.to_lowercase()), name))
        .filter(|(similarity, _)| *similarity >= SIMILAR)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_has_a_suggestion_and_another_word_has_none() {
        let names = ["claude-code", "codex", "gemini", "goose"];
        for (given, suggested) in [
            ("gemni", Some("gemini")),
            ("Claude", Some("claude-code")),
            ("codx", Some("codex")),
            ("nope", None),
            ("", None),
        ] {
            assert_eq!(nearest(given, names), suggested, "{given}");
        }
        assert_eq!(nearest("x", []), None);
    }
}
