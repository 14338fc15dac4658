//! Parses a POSIX shell command line, as far as necessary to know which programs it would run.
//!
//! In: a command line. Out: its simple commands and redirections, wherever they are: after operators and reserved
//! words, in subshells, substitutions, here-documents. Nothing is expanded or run. The parser is not a shell. If shells
//! differ, or if a construct would need a real shell (`case`, functions, arrays, arithmetic commands), it returns an
//! error instead of guessing. It finds too many commands rather than too few. It never panics, and its depth and the
//! length of its input are bounded. This file parses commands and redirections, `word` parses words, and `quote`
//! converts words to a line.

mod quote;
mod word;

use acpd_model::limits::{COMMAND_DEPTH, COMMAND_LINE_BYTES, COMMAND_PARTS};

pub use quote::{quoted, shell_line};

/// One word after quotes are removed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word {
    /// The text of the word; an expansion is kept as written.
    pub text: String,
    /// Whether the shell would replace the word: a variable, a substitution, file names.
    pub dynamic: bool,
    /// Whether any part was quoted, so that the word is not a reserved word.
    pub quoted: bool,
    /// Whether an expansion may yield several words or none.
    pub splits: bool,
    /// Start of the value, if the word has the form of an assignment.
    assigns: Option<usize>,
}

impl Word {
    /// Returns whether the word has only letters, digits and signs that every shell and program treats as text.
    pub fn is_plain(&self) -> bool {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.,:=+@%/-".contains(&byte);
        !self.dynamic && self.text.bytes().all(plain)
    }

    /// Returns a word that is just `text`.
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

/// A variable set for one command, or for the commands after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Name of the variable.
    pub name: String,
    /// Value of the variable.
    pub value: Word,
}

/// A command that contains no other command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Simple {
    /// Variables set before the command.
    pub assignments: Vec<Assignment>,
    /// The program and its arguments; empty if there are only assignments.
    pub words: Vec<Word>,
    /// Files that the command reads by redirection.
    pub reads: Vec<Word>,
    /// Whether the command reads text of the command line as input.
    pub fed: bool,
}

/// One effect of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Runs a command.
    Command(Simple),
    /// Writes a file by redirection.
    Write(Word),
}

/// Why a command line cannot be analyzed. It continues the sentence "the command …".
pub type Why = &'static str;

/// For a line, or a program with its arguments, that is longer than [`COMMAND_LINE_BYTES`].
pub const TOO_LONG: Why = "is too long to be looked into";
/// For a line with more than [`COMMAND_PARTS`] commands and redirections.
pub const TOO_MANY_PARTS: Why = "has too many parts to be looked into";

/// Parses `line`. If it cannot be parsed to its end, returns what was found so far, with the reason.
pub fn read(line: &str, depth: usize) -> (Vec<Found>, Result<(), Why>) {
    let mut reader = Reader {
        text: line,
        at: 0,
        depth,
        found: Vec::new(),
        here_docs: Vec::new(),
    };
    let result = if line.len() > COMMAND_LINE_BYTES {
        Err(TOO_LONG)
    } else if line.contains('\0') {
        Err("contains a NUL character")
    } else {
        reader.list(false)
    };
    (reader.found, result)
}

struct HereDoc {
    end: String,
    expands: bool,
    strips_tabs: bool,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    found: Vec<Found>,
    here_docs: Vec<HereDoc>,
}

/// Reserved words before or after commands, which run nothing themselves.
const SKIPPED: [&str; 13] = [
    "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "{", "}", "!", "time",
];
/// Reserved words whose constructs are not supported.
const UNREAD: [&str; 9] = [
    "case", "esac", "select", "function", "coproc", "[[", "]]", "foreach", "end",
];

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    fn looking_at(&self, what: &str) -> bool {
        self.text
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(what))
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn take(&mut self, what: &str) -> bool {
        let here = self.looking_at(what);
        if here {
            self.at += what.len();
        }
        here
    }

    fn blanks(&mut self) {
        while self.take(" ") || self.take("\t") || (self.is_continued() && self.take("\\\n")) {}
    }

    /// At a backslash before a newline: returns whether a blank is on either side. Otherwise the line break may be in
    /// the middle of an operator, whose halves shells join.
    fn is_continued(&self) -> bool {
        let before = self.text[..self.at].chars().next_back();
        let behind = self.text.get(self.at + 2..).and_then(|rest| rest.chars().next());
        [before, behind]
            .iter()
            .any(|next| matches!(next, None | Some(' ' | '\t')))
    }

    fn enter(&mut self) -> Result<(), Why> {
        self.depth += 1;
        if self.depth > COMMAND_DEPTH {
            return Err("is nested too deeply to be looked into");
        }
        // Only a real shell knows where the body of a here-document begins.
        if !self.here_docs.is_empty() {
            return Err("opens a here-document in front of a nested command");
        }
        Ok(())
    }

    fn push(&mut self, found: Found) -> Result<(), Why> {
        if self.found.len() >= COMMAND_PARTS {
            return Err(TOO_MANY_PARTS);
        }
        self.found.push(found);
        Ok(())
    }

    /// Parses commands up to the end of the text, or up to the closing parenthesis.
    fn list(&mut self, in_parentheses: bool) -> Result<(), Why> {
        loop {
            self.blanks();
            let Some(next) = self.peek() else {
                return if in_parentheses || !self.here_docs.is_empty() {
                    Err("ends too early")
                } else {
                    Ok(())
                };
            };
            match next {
                ')' if in_parentheses && self.here_docs.is_empty() => {
                    self.at += 1;
                    return Ok(());
                }
                ')' => return Err("has a parenthesis too many"),
                '(' => {
                    if self.looking_at("((") {
                        return Err("uses shell arithmetic");
                    }
                    self.enter()?;
                    self.at += 1;
                    self.list(true)?;
                    self.depth -= 1;
                }
                ';' if self.looking_at(";;") => return Err("uses `case`"),
                // In some shells the command ends before it.
                '&' if self.looking_at("&>") => return Err("has a redirection that shells read differently"),
                ';' | '&' | '|' => self.at += 1,
                '\n' => {
                    self.at += 1;
                    self.here_doc_bodies()?;
                }
                '#' => {
                    let rest = &self.text[self.at..];
                    self.at += rest.find('\n').unwrap_or(rest.len());
                }
                _ => self.command()?,
            }
        }
    }

    /// Parses one simple command with its redirections, or one reserved word.
    fn command(&mut self) -> Result<(), Why> {
        let mut simple = Simple::default();
        let mut writes = Vec::new();
        let mut redirected = false;
        loop {
            self.blanks();
            match self.peek() {
                None | Some(';' | '&' | '|' | '\n' | ')' | '#') => break,
                Some('(') => return Err("defines a function, an array, or an extended pattern"),
                _ => {}
            }
            if self.redirection(&mut simple, &mut writes)? {
                redirected = true;
                continue;
            }
            let word = self.word()?;
            if let (Some(value), true) = (word.assigns, simple.words.is_empty()) {
                let name = word.text[..value].trim_end_matches(['=', '+']).to_owned();
                let value = Word {
                    text: word.text[value..].to_owned(),
                    assigns: None,
                    ..word
                };
                simple.assignments.push(Assignment { name, value });
                continue;
            }
            let first = simple.words.is_empty() && simple.assignments.is_empty() && !redirected;
            if first && !word.quoted && !word.dynamic {
                if SKIPPED.contains(&word.text.as_str()) {
                    self.blanks();
                    if word.text == "time" {
                        while self.take("-p ") || self.take("-- ") {
                            self.blanks();
                        }
                        // If it is not a reserved word, it is a program with options of its own.
                        if self.looking_at("-") {
                            return Err("gives `time` options that shells read differently");
                        }
                    }
                    return Ok(());
                }
                if UNREAD.contains(&word.text.as_str()) {
                    return Err("uses a construct of the shell that is not looked into");
                }
                if word.text == "for" {
                    return self.for_words();
                }
            }
            simple.words.push(word);
        }
        for write in writes {
            self.push(Found::Write(write))?;
        }
        if !simple.words.is_empty() || !simple.assignments.is_empty() || !simple.reads.is_empty() {
            self.push(Found::Command(simple))?;
        }
        Ok(())
    }

    /// After `for`: parses the variable and its words, up to `;` or the end of the line.
    fn for_words(&mut self) -> Result<(), Why> {
        self.blanks();
        if self.looking_at("(") {
            return Err("uses shell arithmetic");
        }
        let variable = self.word()?;
        if variable.dynamic || variable.quoted || !is_name(&variable.text) {
            return Err("has a `for` without a variable");
        }
        // Recorded as an assignment of an unknown value.
        self.push(Found::Command(Simple {
            assignments: vec![Assignment {
                name: variable.text,
                value: Word::plain("1"),
            }],
            ..Simple::default()
        }))?;
        self.blanks();
        if !matches!(self.peek(), Some(';' | '\n')) && self.word()? != Word::plain("in") {
            return Err("has a `for` that cannot be read");
        }
        loop {
            self.blanks();
            match self.peek() {
                None | Some(';' | '\n') => return Ok(()),
                Some('&' | '|' | '(' | ')' | '<' | '>' | '#') => {
                    return Err("has a `for` that cannot be read");
                }
                _ if self.word()?.is_plain() => {}
                _ => return Err("loops over words that a shell may put something else for"),
            }
        }
    }

    /// Parses a redirection, if one is next.
    fn redirection(&mut self, simple: &mut Simple, writes: &mut Vec<Word>) -> Result<bool, Why> {
        let rest = &self.text[self.at..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let operators = ["<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">"];
        let found = operators
            .into_iter()
            .find(|operator| rest[digits..].starts_with(operator));
        let Some(operator) = found else { return Ok(false) };
        let behind = &rest[digits + operator.len()..];
        if matches!(operator, "<" | ">") && behind.starts_with('(') {
            return Ok(false);
        }
        if digits > 1 {
            return Err("redirects a file descriptor that shells read differently");
        }
        self.at += digits + operator.len();
        self.blanks();
        if matches!(self.peek(), None | Some(';' | '&' | '|' | '\n' | '(' | ')' | '#')) {
            return Err("has a redirection without a target");
        }
        if matches!(self.peek(), Some('<' | '>')) && !self.looking_at("<(") && !self.looking_at(">(") {
            return Err("has a redirection without a target");
        }
        let target = self.word()?;
        if target.text.starts_with("/dev/tcp/") || target.text.starts_with("/dev/udp/") {
            return Err("opens a network connection by redirection");
        }
        let number = target.text.strip_suffix('-').unwrap_or(&target.text);
        let is_descriptor = !target.dynamic
            && (target.text == "-"
                || (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())));
        match operator {
            "<" => simple.reads.push(target),
            "<<<" => simple.fed = true,
            "<<" | "<<-" => {
                simple.fed = true;
                if target.dynamic {
                    return Err("has a here-document whose end is unknown");
                }
                self.here_docs.push(HereDoc {
                    expands: !target.quoted,
                    end: target.text,
                    strips_tabs: operator == "<<-",
                });
            }
            "<&" | ">&" if is_descriptor => {}
            ">&" if !target.dynamic && !target.is_plain() => {
                return Err("has a redirection that shells read differently");
            }
            "<&" => return Err("has a redirection that cannot be read"),
            _ if !target.dynamic
                && matches!(target.text.as_str(), "/dev/null" | "/dev/stdout" | "/dev/stderr") => {}
            _ => writes.push(target),
        }
        Ok(true)
    }

    /// After a newline: parses the bodies of the here-documents that were opened before it.
    fn here_doc_bodies(&mut self) -> Result<(), Why> {
        for here_doc in std::mem::take(&mut self.here_docs) {
            let start = self.at;
            let end = loop {
                let line_start = self.at;
                let rest = &self.text[self.at..];
                if rest.is_empty() {
                    return Err("has a here-document without an end");
                }
                let line = rest.split('\n').next().unwrap_or_default();
                self.at = (self.at + line.len() + 1).min(self.text.len());
                let bare = if here_doc.strips_tabs {
                    line.trim_start_matches('\t')
                } else {
                    line
                };
                if bare == here_doc.end {
                    break line_start;
                }
                if here_doc.expands && line.ends_with('\\') {
                    return Err("has a here-document with continued lines");
                }
            };
            if here_doc.expands {
                self.nested(&self.text[start..end], |reader| {
                    reader.expanding(None, &mut Word::default())
                })?;
            }
        }
        Ok(())
    }

    /// Parses another text as part of this command line.
    fn nested(
        &mut self,
        text: &str,
        read: impl FnOnce(&mut Reader<'_>) -> Result<(), Why>,
    ) -> Result<(), Why> {
        self.enter()?;
        let mut reader = Reader {
            text,
            at: 0,
            depth: self.depth,
            found: std::mem::take(&mut self.found),
            here_docs: Vec::new(),
        };
        let result = read(&mut reader);
        self.found = reader.found;
        self.depth -= 1;
        result
    }
}

/// Returns whether `text` can be the name of a variable.
pub fn is_name(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && text.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}
