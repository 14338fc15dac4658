//! Parses one word of a command line: quotes, escapes, and everything that a shell would expand.
//!
//! The parser starts at a word. It returns the word, and records the commands that its substitutions run.

use super::{Reader, Why, Word, is_name};

impl Word {
    fn becomes_several(&mut self) {
        self.dynamic = true;
        self.splits = true;
    }
}

impl Reader<'_> {
    pub(super) fn word(&mut self) -> Result<Word, Why> {
        let mut word = Word::default();
        let mut braces = false;
        let start = self.at;
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | ')' => break,
                '(' => return Err("defines a function, an array, or an extended pattern"),
                '<' | '>' => {
                    if !self.looking_at("<(") && !self.looking_at(">(") {
                        if !word.quoted && word.text.starts_with('{') && word.text.ends_with('}') {
                            return Err("has a redirection that shells read differently");
                        }
                        break;
                    }
                    self.at += 1;
                    self.substitution(&mut word)?;
                }
                '\\' => {
                    self.joins()?;
                    self.at += 1;
                    match self.next() {
                        None => return Err("ends with a backslash"),
                        Some('\n') => {}
                        Some(escaped) => {
                            word.quoted = true;
                            word.text.push(escaped);
                        }
                    }
                }
                '\'' => {
                    self.at += 1;
                    word.quoted = true;
                    let rest = &self.text[self.at..];
                    let end = rest.find('\'').ok_or("has a quote without an end")?;
                    word.text.push_str(&rest[..end]);
                    self.at += end + 1;
                }
                '"' => {
                    self.at += 1;
                    word.quoted = true;
                    self.expanding(Some('"'), &mut word)?;
                }
                '$' => self.dollar(false, &mut word)?,
                '`' => self.backticks(false, &mut word)?,
                _ => {
                    self.at += next.len_utf8();
                    match next {
                        '*' | '?' => word.becomes_several(),
                        // As a separate word it is the `test` command.
                        '[' if self.at - start > 1 || !self.at_word_end() => word.becomes_several(),
                        '{' => braces = true,
                        ',' if braces => word.becomes_several(),
                        '.' if braces && self.looking_at(".") => word.becomes_several(),
                        '=' if word.assigns.is_none() && !word.quoted && !word.dynamic => {
                            let name = word.text.strip_suffix('+').unwrap_or(&word.text);
                            if is_name(name) {
                                word.assigns = Some(word.text.len() + 1);
                            }
                        }
                        '=' if word.assigns.is_none() && word.text.contains('[') => {
                            return Err("sets an element of an array");
                        }
                        _ => {}
                    }
                    word.text.push(next);
                }
            }
        }
        if self.at == start {
            return Err("has an operator where a word is expected");
        }
        Ok(word)
    }

    /// At a backslash: returns an error if it joins two lines where that could form an operator.
    fn joins(&self) -> Result<(), Why> {
        if self.looking_at("\\\n") && !self.is_continued() {
            return Err("goes on in another line in the middle of a word");
        }
        Ok(())
    }

    fn at_word_end(&self) -> bool {
        matches!(self.peek(), None | Some(' ' | '\t' | '\n' | ';' | '&' | '|'))
    }

    /// Parses text in which `$`, backtick and backslash are special: in double quotes, or in a here-document.
    pub(super) fn expanding(&mut self, end: Option<char>, word: &mut Word) -> Result<(), Why> {
        while let Some(next) = self.peek() {
            if Some(next) == end {
                self.at += 1;
                return Ok(());
            }
            match next {
                '$' => self.dollar(true, word)?,
                '`' => self.backticks(end.is_some(), word)?,
                '\\' => {
                    self.joins()?;
                    self.at += 1;
                    match self.next() {
                        None if end.is_some() => return Err("has a quote without an end"),
                        None | Some('\n') => {}
                        Some(escaped) => {
                            if !matches!(escaped, '$' | '`' | '"' | '\\') {
                                word.text.push('\\');
                            }
                            word.text.push(escaped);
                        }
                    }
                }
                _ => {
                    self.at += next.len_utf8();
                    word.text.push(next);
                }
            }
        }
        match end {
            Some(_) => Err("has a quote without an end"),
            None => Ok(()),
        }
    }

    /// At `(`: parses the commands of `$(…)`, `<(…)` or `>(…)`.
    fn substitution(&mut self, word: &mut Word) -> Result<(), Why> {
        let start = self.at - 1;
        self.enter()?;
        self.at += 1;
        self.list(true)?;
        self.depth -= 1;
        word.dynamic = true;
        word.text.push_str(&self.text[start..self.at]);
        Ok(())
    }

    fn dollar(&mut self, in_quotes: bool, word: &mut Word) -> Result<(), Why> {
        let start = self.at;
        self.at += 1;
        word.splits |= !in_quotes || self.looking_at("@");
        match self.peek() {
            Some('(') if self.looking_at("((") => {
                self.at += 2;
                self.arithmetic()?;
            }
            Some('(') => return self.substitution(word),
            Some('[') => return Err("uses shell arithmetic"),
            Some('{') => self.parameter()?,
            Some('\'') if !in_quotes => {
                let rest = &self.text[self.at + 1..];
                let end = rest.find('\'').ok_or("has a quote without an end")?;
                // Shells differ in whether this quote ends here.
                if rest[..end].ends_with('\\') {
                    return Err("has a `$'…'` that shells read differently");
                }
                word.quoted = true;
                self.at += end + 2;
            }
            // In some shells this is a translation, in others a dollar sign before a quote.
            Some('"') if !in_quotes => {
                self.at += 1;
                word.quoted = true;
                word.dynamic = true;
                return self.expanding(Some('"'), word);
            }
            Some(next) if next.is_ascii_alphabetic() || next == '_' => {
                let name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
                self.at += self.text[self.at..].bytes().take_while(name).count();
            }
            Some(next) if next.is_ascii_digit() || "?!$#@*-".contains(next) => self.at += 1,
            _ => {
                word.text.push('$');
                return Ok(());
            }
        }
        word.dynamic = true;
        word.text.push_str(&self.text[start..self.at]);
        Ok(())
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
        let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let behind = inside.trim_start_matches('#');
        let behind = match behind.strip_prefix(|c| "?!$*-".contains(c)) {
            Some(special) => special,
            None => behind.trim_start_matches(name),
        };
        // After a colon alone there are numbers, which may be arithmetic.
        let slice = behind
            .strip_prefix(':')
            .filter(|rest| !rest.starts_with(['-', '+', '?']));
        if slice.is_some_and(|slice| slice.contains(|c: char| !c.is_ascii_digit() && !" :-".contains(c))) {
            return Err("uses shell arithmetic that is not looked into");
        }
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
                ' ' | '+' | '-' | '*' | '/' | '%' | '<' | '>' | '=' | '!' | '&' | '|' | '^' | '~' | '?'
                | ':' | ',' => {}
                _ if next.is_ascii_digit() => {
                    let digit = |byte: &u8| byte.is_ascii_alphanumeric();
                    self.at += self.text[self.at..].bytes().take_while(digit).count();
                }
                _ => break,
            }
        }
        Err("uses shell arithmetic that is not looked into")
    }

    fn backticks(&mut self, in_quotes: bool, word: &mut Word) -> Result<(), Why> {
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
                        let plain = matches!(escaped, '`' | '\\' | '$') || (in_quotes && escaped == '"');
                        if !plain {
                            inner.push('\\');
                        }
                        inner.push(escaped);
                    }
                },
                Some(other) => inner.push(other),
            }
        }
        word.dynamic = true;
        word.splits |= !in_quotes;
        word.text.push_str(&self.text[start..self.at]);
        self.nested(&inner, |reader| reader.list(false))
    }
}
