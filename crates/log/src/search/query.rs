//! Parses search queries. No input is an error.

use std::ops::Range;

use acpd_model::limits::SEARCH_QUERY_BYTES;

use super::words::{Word, words};

/// Words of a search query that are used. Further words are ignored.
const SEARCH_QUERY_WORDS: usize = 64;
/// Length at which the last word of a query also matches longer words that start with it, in characters.
const SEARCH_PREFIX_CHARS: usize = 2;

/// Terms that must all occur.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Query {
    terms: Vec<Term>,
}

/// Consecutive words.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    words: Vec<String>,
    /// Whether the last word also matches longer words that start with it.
    prefix: bool,
}

impl Query {
    /// Parses a query. Returns `None` if it contains no word.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let text = &text[..text.floor_char_boundary(SEARCH_QUERY_BYTES)];
        let mut room = SEARCH_QUERY_WORDS;
        let mut terms: Vec<Term> = Vec::new();
        let mut add = |text: &str| {
            let mut words: Vec<String> = words(text).into_iter().map(|word| word.text).collect();
            words.truncate(room);
            room -= words.len();
            if !words.is_empty() {
                terms.push(Term { words, prefix: false });
            }
        };
        let mut last_is_quoted = false;
        for (number, part) in text.split('"').enumerate() {
            let quoted = number % 2 == 1;
            if quoted {
                add(part);
            } else {
                part.split_whitespace().for_each(&mut add);
            }
            if !part.trim().is_empty() {
                last_is_quoted = quoted;
            }
        }
        // An open quote means that the user is still typing.
        let still_open = text.matches('"').count() % 2 == 1;
        let last = terms.last_mut()?;
        let whole = last_is_quoted && !still_open;
        let ending = last.words.last().map_or(0, |word| word.chars().count());
        last.prefix = !whole && ending >= SEARCH_PREFIX_CHARS;
        Some(Self { terms })
    }

    /// Returns the query in FTS5's syntax. Words contain neither quotes nor other special characters.
    pub(crate) fn expression(&self) -> String {
        let terms = self.terms.iter().map(|term| {
            let star = if term.prefix { " *" } else { "" };
            format!("\"{}\"{star}", term.words.join(" "))
        });
        terms.collect::<Vec<_>>().join(" AND ")
    }

    /// Returns where the terms occur in a text, in order and without overlap. Returns `None` if a term does not occur.
    pub(crate) fn find(&self, words: &[Word]) -> Option<Vec<Range<usize>>> {
        let mut found = Vec::new();
        for term in &self.terms {
            let before = found.len();
            found.extend(term.find(words));
            if found.len() == before {
                return None;
            }
        }
        found.sort_by_key(|place| (place.start, place.end));
        let mut apart: Vec<Range<usize>> = Vec::new();
        for place in found {
            match apart.last_mut() {
                Some(last) if place.start <= last.end => last.end = last.end.max(place.end),
                _ => apart.push(place),
            }
        }
        Some(apart)
    }
}

impl Term {
    fn find<'a>(&'a self, words: &'a [Word]) -> impl Iterator<Item = Range<usize>> + 'a {
        words
            .windows(self.words.len())
            .filter(|window| self.fits(window))
            .filter_map(|window| Some(window.first()?.at.start..window.last()?.at.end))
    }

    fn fits(&self, window: &[Word]) -> bool {
        let last = self.words.len() - 1;
        self.words
            .iter()
            .zip(window)
            .enumerate()
            .all(|(number, (wanted, word))| {
                if self.prefix && number == last {
                    word.text.starts_with(wanted.as_str())
                } else {
                    word.text == *wanted
                }
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(text: &str) -> String {
        Query::read(text).map_or_else(String::new, |query| query.expression())
    }

    #[test]
    fn any_text_is_a_query() {
        for (typed, expected) in [
            ("", ""),
            ("  \"\" * ( ", ""),
            ("fix bug", r#""fix" AND "bug" *"#),
            ("src/auth.ts", r#""src auth ts" *"#),
            ("\"fix the\" bug", r#""fix the" AND "bug" *"#),
            ("bug \"fix the\"", r#""bug" AND "fix the""#),
            ("bug \"fix the\" ", r#""bug" AND "fix the""#),
            ("\"fix th", r#""fix th" *"#),
            ("a OR b NOT c*", r#""a" AND "or" AND "b" AND "not" AND "c""#),
            ("NEAR(x y) text:z^", r#""near x" AND "y" AND "text z""#),
            ("登录", "\"登 录\""),
            ("don't", "\"don t\""),
            ("'); DROP", r#""drop" *"#),
        ] {
            assert_eq!(expression(typed), expected, "{typed}");
        }
        assert_eq!(
            expression(&"ab ".repeat(500)).matches("ab").count(),
            SEARCH_QUERY_WORDS
        );
    }

    #[test]
    fn hits_are_marked() {
        let found = |query: &str, text: &'static str| {
            let places = Query::read(query).unwrap().find(&words(text))?;
            Some(places.into_iter().map(|at| &text[at]).collect::<Vec<_>>())
        };
        assert_eq!(
            found("aut", "src/auth.ts and author"),
            Some(vec!["auth", "author"])
        );
        assert_eq!(found("auth.ts", "src/auth.ts"), Some(vec!["auth.ts"]));
        assert_eq!(found("the bug", "Bug? The"), Some(vec!["Bug", "The"]));
        assert_eq!(found("\"the bug\"", "Bug? The"), None);
        assert_eq!(found("bug fix", "bug"), None);
        assert_eq!(found("录 登录", "修复登录"), Some(vec!["登录"]));
        assert_eq!(found("ete", "Été!"), Some(vec!["Été"]));
    }
}
