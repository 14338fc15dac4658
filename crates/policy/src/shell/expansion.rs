//! Parses what begins with a dollar sign, other than commands.
//!
//! Understood are `$NAME`, `$1`, `${NAME}`, the forms of `${…}` that [`is_understood`] names, arithmetic of numbers, and
//! `$'…'`. Behind a variable may only be what no shell takes for a part of the expansion, such as a subscript.

use super::parts::{DIFFERS, Quoting, Why, Word, is_control, is_name};
use super::reader::Reader;

impl Reader<'_> {
    pub(super) fn dollar(&mut self, quoting: Quoting, word: &mut Word) -> Result<(), Why> {
        let in_quotes = quoting != Quoting::Bare;
        let start = self.at;
        self.at += 1;
        let splits = !in_quotes || self.looking_at("@");
        match self.peek() {
            Some('(') if self.looking_at("((") => {
                self.at += 2;
                self.arithmetic()?;
            }
            Some('(') => {
                word.splits |= splits;
                return self.substitution(word);
            }
            Some('[') => return Err("uses shell arithmetic"),
            Some('{') => {
                self.parameter()?;
                self.accept(!self.looking_at("["), DIFFERS);
            }
            Some('\'') if !in_quotes => self.escapes(word)?,
            // In some shells this is a translation, in others a dollar sign before a quote.
            Some('"') if !in_quotes => {
                self.accept(false, DIFFERS);
                self.at += 1;
                word.quoted = true;
                word.becomes_several();
                return self.expanding(Quoting::Quoted, word);
            }
            Some(next) if next.is_ascii_alphabetic() || next == '_' => {
                let name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
                self.at += self.text[self.at..].bytes().take_while(name).count();
                self.behind_name(quoting);
            }
            Some(next) if next.is_ascii_digit() || "?!$#@*-".contains(next) => {
                self.at += 1;
                self.behind_special(next, quoting);
            }
            next => {
                let is_end = matches!(next, None | Some(' ' | '\t' | '\n'))
                    || (quoting == Quoting::Quoted && next == Some('"'));
                self.accept(is_end, DIFFERS);
                word.splits |= splits;
                word.text.push('$');
                return Ok(());
            }
        }
        word.splits |= splits;
        word.dynamic = true;
        word.text.push_str(&self.text[start..self.at]);
        Ok(())
    }

    /// Behind `$NAME`: a bracket would be a subscript, and a colon may begin a modifier.
    fn behind_name(&mut self, quoting: Quoting) {
        let Some(next) = self.peek() else { return };
        let behind = self.text[self.at + next.len_utf8()..].chars().next();
        let is_understood = match next {
            '[' => false,
            ':' => behind.is_none_or(|behind| behind.is_ascii_digit() || " \t\n\"/$".contains(behind)),
            _ if quoting == Quoting::Bare => self.at_word_end() || "/.,-=%@\"".contains(next),
            _ => true,
        };
        self.accept(is_understood, DIFFERS);
    }

    /// Behind `$1`, `$?` and the like, which some shells take for the beginning of a longer expansion.
    fn behind_special(&mut self, special: char, quoting: Quoting) {
        let is_understood = match self.peek() {
            _ if self.at_word_end() => true,
            Some('"') => quoting == Quoting::Quoted,
            Some('/' | '.' | ',') => special != '#',
            _ => false,
        };
        self.accept(is_understood, DIFFERS);
    }

    /// At the `{` of `${…}`: parses a variable, and its replacement if that needs no evaluation.
    fn parameter(&mut self) -> Result<(), Why> {
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_:#%/.,*?+!- ".contains(byte);
        let length = self.text[self.at + 1..].bytes().take_while(plain).count();
        let inside = &self.text[self.at + 1..][..length];
        self.at += 1 + length;
        if !self.take("}") {
            return Err("has a variable expansion that is not looked into");
        }
        if inside.len() > 1 && inside.starts_with('!') {
            return Err("uses a variable that is named by another one");
        }
        self.accept(
            is_understood(inside),
            "has a variable expansion that is not looked into",
        );
        Ok(())
    }

    /// At the quote of `$'…'`. Shells agree where it ends only without most of the escapes.
    fn escapes(&mut self, word: &mut Word) -> Result<(), Why> {
        let rest = &self.text[self.at + 1..];
        let inside = &rest[..rest.find('\'').ok_or("has a quote without an end")?];
        if inside.ends_with('\\') {
            return Err("has a `$'…'` that shells read differently");
        }
        let known = inside.replace("\\n", "").replace("\\t", "");
        self.accept(!known.contains('\\') && !known.contains(is_control), DIFFERS);
        word.quoted = true;
        self.at += inside.len() + 2;
        Ok(())
    }

    /// After `$((`: parses arithmetic of numbers. A variable's value would be evaluated, and may run commands.
    fn arithmetic(&mut self) -> Result<(), Why> {
        let mut open = 0usize;
        while let Some(next) = self.next() {
            match next {
                '(' => open += 1,
                ')' if open > 0 => open -= 1,
                ')' if self.take(")") => return Ok(()),
                ' ' | '+' | '-' | '*' | '/' | '%' => {}
                _ if next.is_ascii_digit() => {}
                _ => break,
            }
        }
        Err("uses shell arithmetic that is not looked into")
    }
}

/// Returns whether all shells read `${inside}` alike and evaluate nothing in it: a variable, its length, a replacement
/// for it, its value without a beginning or an end, or a part of it from one number to another.
fn is_understood(inside: &str) -> bool {
    let name_end = |text: &str| text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let is_variable =
        |text: &str| is_name(text) || (text.len() == 1 && text.bytes().all(|byte| byte.is_ascii_digit()));
    if let Some(name) = inside.strip_prefix('#') {
        return is_name(name);
    }
    let (name, behind) = inside.split_at(name_end(inside).unwrap_or(inside.len()));
    let is_plain = |text: &str| {
        text.chars()
            .all(|c| c.is_ascii_alphanumeric() || "_./,-".contains(c))
    };
    let is_pattern = |text: &str| {
        text.chars()
            .all(|c| c.is_ascii_alphanumeric() || "_./,-*?".contains(c))
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_variable(name)
        && match behind.chars().next() {
            None => true,
            Some('-' | '+' | '?') => is_plain(&behind[1..]),
            Some('%' | '#') => is_pattern(behind[1..].strip_prefix(&behind[..1]).unwrap_or(&behind[1..])),
            Some(':') => match behind[1..].strip_prefix(['-', '+', '?']) {
                Some(replacement) => is_plain(replacement),
                None => behind[1..].split(':').count() <= 2 && behind[1..].split(':').all(is_number),
            },
            Some(_) => false,
        }
}
