//! Parses one word of a command line: quotes, escapes, and everything that a shell would expand.
//!
//! The parser starts at a word. It returns the word, and records the commands that its substitutions run. What a
//! character means is understood only if it is named here for its place; every other one makes the line unreadable.

use super::parts::{DIFFERS, Inside, Quoting, Why, Word, is_control, is_name};
use super::reader::Reader;

/// Signs that are text outside of quotes, wherever they are in a word.
const TEXT: &str = "_-./,:@%+";
/// Characters that a backslash makes text. With a letter or digit, it has further meanings in some shells.
const ESCAPED: &str = " !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
const UNCLOSED: Why = "has a quote without an end";

impl Word {
    pub(super) fn becomes_several(&mut self) {
        self.dynamic = true;
        self.splits = true;
    }
}

/// Returns whether a character is text outside of quotes: a listed sign, or a letter or digit of any script. On some
/// systems, shells take single bytes of other characters for blanks.
pub(super) fn is_text(c: char) -> bool {
    let mut bytes = [0; 4];
    let has_blank = |text: &str| text.bytes().any(|byte| matches!(byte, 0x85 | 0xa0));
    TEXT.contains(c) || (c.is_alphanumeric() && !has_blank(c.encode_utf8(&mut bytes)))
}

impl Reader<'_> {
    pub(super) fn word(&mut self) -> Result<Word, Why> {
        let mut word = Word::default();
        let start = self.at;
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | ')' => break,
                '(' => return Err("defines a function, an array, or an extended pattern"),
                '<' | '>' if self.looking_at("<(") || self.looking_at(">(") => {
                    self.process(start, &mut word)?
                }
                '<' | '>' => {
                    self.ends_at_redirection(&word)?;
                    break;
                }
                '\\' => self.escape(&mut word)?,
                '\'' => self.single_quotes(&mut word)?,
                '"' => {
                    self.at += 1;
                    word.quoted = true;
                    self.expanding(Quoting::Quoted, &mut word)?;
                }
                '$' => self.dollar(Quoting::Bare, &mut word)?,
                '`' => self.backticks(Quoting::Bare, &mut word)?,
                _ => {
                    self.at += next.len_utf8();
                    self.sign(next, start, &mut word)?;
                }
            }
        }
        if self.at == start {
            return Err("has an operator where a word is expected");
        }
        // Shells agree on the beginning of the body only if the line ends at a line break outside of quotes.
        let has_line_break = self.text[start..self.at].contains('\n');
        self.accept(self.here_docs.is_empty() || !has_line_break, DIFFERS);
        Ok(word)
    }

    /// Takes an unquoted character, which has been passed.
    fn sign(&mut self, next: char, start: usize, word: &mut Word) -> Result<(), Why> {
        let is_first = self.at - next.len_utf8() == start;
        let is_alone = is_first && self.at_word_end();
        let before = self.text[start..self.at - next.len_utf8()].chars().next_back();
        match next {
            _ if is_text(next) => {}
            '*' | '?' => word.becomes_several(),
            // As separate words, a bracket is the `test` command, and a brace is for the reader of commands.
            '[' | ']' | '!' | '{' | '}' if is_alone => {}
            '[' => {
                self.brackets(word);
                return Ok(());
            }
            '{' => {
                self.braces(before, word);
                return Ok(());
            }
            '!' if is_first && self.looking_at("=") && self.at_word_end_behind(1) => {}
            '=' => return self.equals(is_first, word),
            '~' => {
                let is_home = is_first && (self.at_word_end() || self.looking_at("/"));
                let is_behind = before.is_some_and(|c| c.is_alphanumeric() || "^~}".contains(c));
                self.accept(is_home || is_behind, DIFFERS);
            }
            '^' | '#' => self.accept(!is_first, DIFFERS),
            _ => self.accept(false, DIFFERS),
        }
        word.text.push(next);
        Ok(())
    }

    /// Behind `=`: one shell replaces a word that begins with it by a path.
    fn equals(&mut self, is_first: bool, word: &mut Word) -> Result<(), Why> {
        let is_operator = self.at_word_end() || (self.looking_at("=") && self.at_word_end_behind(1));
        word.dynamic |= is_first && !is_operator;
        if word.assigns.is_none() && !word.quoted && !word.dynamic {
            let name = word.text.strip_suffix('+').unwrap_or(&word.text);
            if is_name(name) {
                word.assigns = Some(word.text.len() + 1);
            }
        } else if word.assigns.is_none() && word.text.contains('[') {
            return Err("sets an element of an array");
        }
        word.text.push('=');
        Ok(())
    }

    /// Behind `[`: takes a pattern of letters and digits.
    fn brackets(&mut self, word: &mut Word) {
        let rest = &self.text[self.at..];
        let inside = rest.split(']').next().unwrap_or_default();
        let is_plain = !inside.is_empty()
            && inside
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
        self.accept(is_plain && inside.len() < rest.len(), DIFFERS);
        word.becomes_several();
        word.text.push('[');
        if is_plain && inside.len() < rest.len() {
            word.text.push_str(inside);
            word.text.push(']');
            self.at += inside.len() + 1;
        }
    }

    /// Behind `{`: takes text in braces, which shells keep (`{}`, `@{1}`) or replace (`{a,b}`, `{1..3}`).
    fn braces(&mut self, before: Option<char>, word: &mut Word) {
        let rest = &self.text[self.at..];
        let inside: &str = rest.split('}').next().unwrap_or_default();
        let is_several = inside.contains(',') || inside.contains("..");
        let is_pattern = |c: char| is_several && (c == '*' || c == '?');
        let is_closed = inside.len() < rest.len() && inside.chars().all(|c| is_text(c) || is_pattern(c));
        self.accept(is_closed && before != Some('$'), DIFFERS);
        word.text.push('{');
        if is_closed {
            word.text.push_str(inside);
            word.text.push('}');
            self.at += inside.len() + 1;
        }
        // Whatever is not understood may be several words.
        if is_several || !is_closed {
            word.becomes_several();
        }
    }

    /// At a backslash outside of quotes.
    fn escape(&mut self, word: &mut Word) -> Result<(), Why> {
        self.joins()?;
        self.at += 1;
        match self.next() {
            None => return Err("ends with a backslash"),
            Some('\n') => {}
            Some(escaped) => {
                self.accept(ESCAPED.contains(escaped), DIFFERS);
                word.quoted = true;
                word.text.push(escaped);
            }
        }
        Ok(())
    }

    fn single_quotes(&mut self, word: &mut Word) -> Result<(), Why> {
        self.at += 1;
        word.quoted = true;
        let rest = &self.text[self.at..];
        let text = &rest[..rest.find('\'').ok_or(UNCLOSED)?];
        // In one shell, a backslash keeps the quote from ending here.
        let backslashes = text.len() - text.trim_end_matches('\\').len();
        self.accept(
            backslashes.is_multiple_of(2) && !text.contains(is_control),
            DIFFERS,
        );
        word.text.push_str(text);
        self.at += text.len() + 1;
        Ok(())
    }

    /// At `<(` or `>(`, in the word that began at `start`.
    fn process(&mut self, start: usize, word: &mut Word) -> Result<(), Why> {
        let is_understood = self.at == start && self.looking_at("<(");
        self.at += 1;
        self.substitution(word)?;
        // In one shell this is a redirection, so the command has one word less.
        word.becomes_several();
        self.accept(is_understood && self.at_word_end(), DIFFERS);
        Ok(())
    }

    /// At a redirection behind `word`, without a blank between them.
    fn ends_at_redirection(&mut self, word: &Word) -> Result<(), Why> {
        if !word.quoted && word.text.starts_with('{') && word.text.ends_with('}') {
            return Err("has a redirection that shells read differently");
        }
        let is_letter = word.text.ends_with(|c: char| c.is_ascii_alphabetic());
        self.accept(is_letter && !word.quoted && !word.dynamic, DIFFERS);
        Ok(())
    }

    /// At a backslash: returns an error if it joins two lines where that could form an operator.
    fn joins(&self) -> Result<(), Why> {
        if self.looking_at("\\\n") && !self.is_continued() {
            return Err("continues in another line in the middle of a word");
        }
        Ok(())
    }

    pub(super) fn at_word_end(&self) -> bool {
        self.at_word_end_behind(0)
    }

    fn at_word_end_behind(&self, bytes: usize) -> bool {
        let next = self
            .text
            .get(self.at + bytes..)
            .and_then(|rest| rest.chars().next());
        matches!(next, None | Some(' ' | '\t' | '\n' | ';' | '&' | '|' | ')'))
    }

    /// Parses text in which `$`, backtick and backslash are special: in double quotes, or in a here-document.
    pub(super) fn expanding(&mut self, quoting: Quoting, word: &mut Word) -> Result<(), Why> {
        while let Some(next) = self.peek() {
            match next {
                '"' if quoting == Quoting::Quoted => {
                    self.at += 1;
                    return Ok(());
                }
                '$' => self.dollar(quoting, word)?,
                '`' => self.backticks(quoting, word)?,
                '\\' => {
                    self.joins()?;
                    self.at += 1;
                    match self.next() {
                        None if quoting == Quoting::Quoted => return Err(UNCLOSED),
                        None | Some('\n') => {}
                        Some(escaped) => {
                            self.accept(!is_control(escaped), DIFFERS);
                            if !matches!(escaped, '$' | '`' | '"' | '\\') {
                                word.text.push('\\');
                            }
                            word.text.push(escaped);
                        }
                    }
                }
                _ => {
                    self.accept(!is_control(next), DIFFERS);
                    self.at += next.len_utf8();
                    word.text.push(next);
                }
            }
        }
        if quoting == Quoting::Quoted {
            Err(UNCLOSED)
        } else {
            Ok(())
        }
    }

    /// At `(`: parses the commands of `$(…)`, `<(…)` or `>(…)`.
    pub(super) fn substitution(&mut self, word: &mut Word) -> Result<(), Why> {
        let start = self.at - 1;
        self.enter()?;
        self.at += 1;
        let outer = std::mem::replace(&mut self.inside, Inside::Substitution);
        self.list(true)?;
        self.inside = outer;
        self.depth -= 1;
        word.dynamic = true;
        word.text.push_str(&self.text[start..self.at]);
        Ok(())
    }

    /// At a backtick: parses the commands up to the next one. What a backslash or a quote means between them depends on
    /// the shell.
    pub(super) fn backticks(&mut self, quoting: Quoting, word: &mut Word) -> Result<(), Why> {
        let is_quoted = quoting != Quoting::Bare;
        let start = self.at;
        self.at += 1;
        let mut inner = String::new();
        loop {
            match self.next() {
                None => return Err("has a backtick without an end"),
                Some('`') => break,
                Some('\\') => match self.next() {
                    None => return Err("has a backtick without an end"),
                    Some(escaped) => {
                        self.accept(false, DIFFERS);
                        let plain = matches!(escaped, '`' | '\\' | '$') || (is_quoted && escaped == '"');
                        if !plain {
                            inner.push('\\');
                        }
                        inner.push(escaped);
                    }
                },
                Some(other) => {
                    self.accept(!(is_quoted && other == '"'), DIFFERS);
                    inner.push(other);
                }
            }
        }
        word.dynamic = true;
        word.splits |= !is_quoted;
        word.text.push_str(&self.text[start..self.at]);
        self.nested(&inner, Inside::Backticks, |reader| reader.list(false))
    }
}
