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

/// Returns the command that was meant by a word: the first one that begins with it, else the one that is fewest changes away.
pub fn nearest_command<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_lowercase();
    let names: Vec<&str> = names.into_iter().filter(|_| !given.is_empty()).collect();
    if let Some(begun) = names.iter().find(|name| name.starts_with(&given)) {
        return Some(begun);
    }
    // Commands are short: one letter is much of them.
    let most = (given.chars().count() / 3).max(1);
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&given, name), name))
        .filter(|(changes, _)| *changes <= most)
        .min_by_key(|(changes, _)| *changes)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_recognized_by_its_beginning_or_by_one_letter() {
        let names = ["run", "attach", "threads", "show", "rename", "restart", "list"];
        for (given, suggested) in [
            ("rn", Some("run")),
            ("r", Some("run")),
            ("ren", Some("rename")),
            ("thraeds", Some("threads")),
            ("lst", Some("list")),
            ("Show", Some("show")),
            ("juggle", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest_command(given, names), suggested, "{given}");
        }
    }

    #[test]
    fn typing_errors_have_suggestions_and_other_words_do_not() {
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
