//! Defines words: consecutive letters and digits, without case and accents. So `src/auth.ts` is three words and
//! `snake_case` is two, and a query in the same spelling looks for these words one after the other. In scripts without
//! spaces between words, each character is a word of its own, and a longer word is matched like a phrase.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Characters of one word that a search compares.
const SEARCH_WORD_CHARS: usize = 64;

/// A word and its position in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// The normalized form for comparison: only letters, digits and marks, at least one.
    pub text: String,
    /// Position in the text, in bytes.
    pub at: Range<usize>,
}

/// Returns the words of a text, in order.
pub(crate) fn words(text: &str) -> Vec<Word> {
    let mut reading = Reading::default();
    for (at, c) in text.char_indices() {
        reading.take(c, at..at + c.len_utf8());
    }
    reading.close();
    reading.words
}

/// Returns the words of a text, separated by spaces, for a database to index.
pub(crate) fn joined(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    for word in words(text) {
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(&word.text);
    }
    joined
}

#[derive(Default)]
struct Reading {
    words: Vec<Word>,
    open: Option<Word>,
    /// Number of characters of the current word.
    chars: usize,
}

impl Reading {
    fn take(&mut self, c: char, at: Range<usize>) {
        if c.is_ascii_alphanumeric() {
            self.open(&at);
            self.push(c.to_ascii_lowercase());
        } else if c.is_ascii() {
            self.close();
        } else if is_accent(c) || (has_no_spaces(c) && !c.is_alphanumeric() && is_combining_mark(c)) {
            if let Some(open) = &mut self.open {
                open.at.end = at.end;
            }
        } else if has_no_spaces(c) && c.is_alphanumeric() {
            self.close();
            self.open(&at);
            self.push(c);
            self.close();
        } else if belongs_to_words(c) {
            self.open(&at);
            for part in std::iter::once(c).nfkd().flat_map(char::to_lowercase) {
                if belongs_to_words(part) && !is_accent(part) {
                    self.push(part);
                }
            }
        } else {
            self.close();
        }
    }

    fn open(&mut self, at: &Range<usize>) {
        let start = || Word {
            text: String::new(),
            at: at.clone(),
        };
        self.open.get_or_insert_with(start).at.end = at.end;
    }

    fn push(&mut self, c: char) {
        if let Some(open) = self.open.as_mut().filter(|_| self.chars < SEARCH_WORD_CHARS) {
            open.text.push(c);
            self.chars += 1;
        }
    }

    fn close(&mut self) {
        self.chars = 0;
        self.words
            .extend(self.open.take().filter(|word| !word.text.is_empty()));
    }
}

fn belongs_to_words(c: char) -> bool {
    c.is_alphanumeric() || is_combining_mark(c)
}

/// Returns whether `c` is a mark that users omit when they type: accents, and the points of Hebrew and Arabic.
fn is_accent(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5bd}' | '\u{5bf}'..='\u{5c7}' | '\u{64b}'..='\u{65f}'
        | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// Returns whether the script of `c` has no spaces between words, or, as in Korean, between a word and its particles.
fn has_no_spaces(c: char) -> bool {
    matches!(c,
        // Thai, Lao, Myanmar, Khmer
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        // Hangul, kana, ideographs
        | '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{2fdf}' | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}'
        | '\u{3040}'..='\u{318f}' | '\u{31a0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ffdc}'
        | '\u{1b000}'..='\u{1b16f}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_falls_into_words() {
        for (text, expected) in [
            ("", ""),
            ("Fix the bug!", "fix the bug"),
            ("src/auth.ts", "src auth ts"),
            ("snake_case camelCase v1.2", "snake case camelcase v1 2"),
            (
                "Ärger, ÉTÉ, e\u{301}te\u{301}, İstanbul",
                "arger ete ete istanbul",
            ),
            ("ＡＢ①⑴ ﬁn", "ab11 fin"),
            ("修复登录 bug错误", "修 复 登 录 bug 错 误"),
            ("ログを見る", "ロ グ を 見 る"),
            ("한국어", "한 국 어"),
            ("ภาษา", "ภ า ษ า"),
            ("हिन्दी", "हिन्दी"),
            ("-- \"*\" () ½", "12"),
            ("\u{301}", ""),
        ] {
            assert_eq!(joined(text), expected, "{text}");
        }
        assert_eq!(joined(&"x".repeat(100)), "x".repeat(SEARCH_WORD_CHARS));
    }

    #[test]
    fn a_word_knows_its_place() {
        let text = "Ein Ärger: e\u{301}te\u{301}!";
        let places: Vec<_> = words(text)
            .into_iter()
            .map(|word| text[word.at].to_owned())
            .collect();
        assert_eq!(places, ["Ein", "Ärger", "e\u{301}te\u{301}"]);
    }

    proptest! {
        /// A database that splits words at every ASCII character other than letters and digits finds the same words.
        #[test]
        fn words_survive_being_joined(text: String) {
            let direct: Vec<String> = words(&text).into_iter().map(|word| word.text).collect();
            let joined = joined(&text);
            let parted: Vec<&str> = joined
                .split(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric())
                .filter(|word| !word.is_empty())
                .collect();
            prop_assert_eq!(&direct, &parted);
            prop_assert!(!joined.contains(|c: char| c.is_ascii_uppercase()));
            for word in words(&text) {
                prop_assert!(text.get(word.at).is_some_and(|place| !place.is_empty()));
            }
        }
    }
}
