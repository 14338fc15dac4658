//! Parses a shell command line, as far as necessary to know which programs it would run.
//!
//! In: a command line. Out: its simple commands and redirections, wherever they are: after operators and reserved
//! words, in subshells, substitutions, here-documents. Nothing is expanded or run.
//!
//! A line is readable only if every part of it is on a list: the characters of a word, what may be quoted and how, what
//! a dollar sign begins, the operators, the order of commands and reserved words. What is on none makes the line
//! unreadable ([`Reader::accept`]), because some shell may read it as a command. The parser still continues, so that deny
//! rules see as many commands as possible. It finds too many rather than too few. It never panics, and its depth and the
//! length of its input are bounded.
//!
//! This file parses commands with the `reader`, `structure` knows their order, `redirect` parses redirections, `word` words and
//! `expansion` what a dollar sign begins. `quote` converts words to a line.

mod expansion;
mod parts;
mod quote;
mod reader;
mod redirect;
mod structure;
mod word;

use acpd_model::limits::COMMAND_LINE_BYTES;

use parts::{DIFFERS, Inside, is_control};
use reader::Reader;
use structure::Structure;

pub use parts::{Assignment, Found, Simple, TOO_LONG, TOO_MANY_PARTS, Why, Word, is_name};
pub use quote::{quoted, shell_line};

const STRUCTURE: Why = "has commands and reserved words in an order that shells read differently";

/// Parses `line`. If it is not readable, returns what was found, with the reason: what ended the reading, or else the first doubt.
pub fn read(line: &str, depth: usize) -> (Vec<Found>, Result<(), Why>) {
    let mut reader = Reader {
        text: line,
        at: 0,
        depth,
        found: Vec::new(),
        here_docs: Vec::new(),
        inside: Inside::Line,
        doubt: None,
    };
    let result = if line.len() > COMMAND_LINE_BYTES {
        Err(TOO_LONG)
    } else if line.contains('\0') {
        Err("contains a NUL character")
    } else {
        reader.list(false)
    };
    (reader.found, result.and(reader.doubt.map_or(Ok(()), Err)))
}

/// Reserved words before or after commands, which run nothing themselves.
const RESERVED: [&str; 13] = [
    "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "{", "}", "!", "time",
];
/// Words of any shell that change what the words behind them mean.
const UNREAD: [&str; 21] = [
    "case",
    "esac",
    "select",
    "function",
    "coproc",
    "[[",
    "]]",
    "foreach",
    "end",
    "repeat",
    "nocorrect",
    "noglob",
    "always",
    "namespace",
    "in",
    "begin",
    "switch",
    "and",
    "or",
    "not",
    "-",
];

impl Reader<'_> {
    /// Parses commands up to the end of the text, or up to the closing parenthesis.
    fn list(&mut self, in_parentheses: bool) -> Result<(), Why> {
        let mut structure = Structure::new();
        loop {
            self.blanks();
            let Some(next) = self.peek() else {
                if in_parentheses || !self.here_docs.is_empty() {
                    return Err("ends too early");
                }
                // A line of comments and line breaks runs nothing.
                self.accept(structure.end() || self.found.is_empty(), STRUCTURE);
                return Ok(());
            };
            match next {
                ')' if in_parentheses && self.here_docs.is_empty() => {
                    self.at += 1;
                    self.accept(structure.end(), STRUCTURE);
                    return Ok(());
                }
                ')' => return Err("has a parenthesis too many"),
                '(' => {
                    if self.looking_at("((") {
                        return Err("uses shell arithmetic");
                    }
                    self.accept(structure.command(false), STRUCTURE);
                    self.enter()?;
                    self.at += 1;
                    self.list(true)?;
                    self.depth -= 1;
                }
                ';' | '&' | '|' => self.operator(&mut structure)?,
                '\n' => {
                    self.accept(structure.line_break(), STRUCTURE);
                    self.at += 1;
                    self.here_doc_bodies()?;
                }
                '#' => self.comment(),
                _ => self.command(&mut structure)?,
            }
        }
    }

    fn operator(&mut self, structure: &mut Structure) -> Result<(), Why> {
        if self.looking_at(";;") {
            return Err("uses `case`");
        }
        // In some shells the command ends before it.
        if self.looking_at("&>") {
            return Err("has a redirection that shells read differently");
        }
        let is_in_place = if self.take("&&") || self.take("||") {
            structure.operator(false)
        } else if self.take("|& ") || self.take("|") {
            // In some shells the commands of `|&` run side by side, without a pipe.
            structure.operator(true)
        } else {
            self.next();
            structure.separator()
        };
        // Shells have more operators, such as `&!` and `&|`.
        let is_whole = !matches!(self.peek(), Some(';' | '&' | '|' | '!'));
        self.accept(is_in_place && is_whole, STRUCTURE);
        Ok(())
    }

    /// At `#`: skips a comment. In substitutions, some shells take a parenthesis in it for the end.
    fn comment(&mut self) {
        let before = self.text[..self.at].chars().next_back();
        let rest = &self.text[self.at..];
        let comment = rest.split('\n').next().unwrap_or_default();
        let is_understood = matches!(before, None | Some(' ' | '\t' | '\n'))
            && self.inside == Inside::Line
            && self.here_docs.is_empty()
            && !comment.ends_with('\\')
            && !comment.contains(is_control);
        self.accept(is_understood, DIFFERS);
        self.at += comment.len();
    }

    /// Parses one simple command with its redirections, or one reserved word.
    fn command(&mut self, structure: &mut Structure) -> Result<(), Why> {
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
                let assignment = self.assignment(&word, value);
                simple.assignments.push(assignment);
                continue;
            }
            let first = simple.words.is_empty() && simple.assignments.is_empty() && !redirected;
            if first && !word.quoted && !word.dynamic && self.reserved(&word.text, structure)? {
                return Ok(());
            }
            let fits = if simple.words.is_empty() {
                is_program(&word)
            } else {
                // One shell ends a group at any `}`.
                word.quoted || !matches!(word.text.as_str(), "{" | "}")
            };
            self.accept(fits, DIFFERS);
            simple.words.push(word);
        }
        let fits = if simple.words.is_empty() && redirected {
            // Without a command, one shell runs one of its own.
            simple.assignments.is_empty() && structure.redirections()
        } else {
            structure.command(true)
        };
        self.accept(fits, STRUCTURE);
        self.push_writes(writes)?;
        if !simple.words.is_empty() || !simple.assignments.is_empty() || !simple.reads.is_empty() {
            self.push(Found::Command(simple))?;
        }
        Ok(())
    }

    /// Takes a word whose value begins at `value`.
    fn assignment(&mut self, word: &Word, value: usize) -> Assignment {
        let name = word.text[..value - 1].to_owned();
        let value = word.text[value..].to_owned();
        // One shell replaces `=x` by a path, also behind a colon.
        let is_text = !value.starts_with('=') && !value.contains(":=");
        self.accept(is_text && !name.ends_with('+'), DIFFERS);
        Assignment {
            name: name.trim_end_matches('+').to_owned(),
            value: Word {
                text: value,
                assigns: None,
                ..*word
            },
        }
    }

    /// Parses what follows a reserved word at the beginning of a command. Returns whether `word` is one.
    fn reserved(&mut self, word: &str, structure: &mut Structure) -> Result<bool, Why> {
        if UNREAD.contains(&word) {
            return Err("uses a construct of the shell that is not looked into");
        }
        if word != "for" && !RESERVED.contains(&word) {
            return Ok(false);
        }
        self.accept(structure.reserved(word), STRUCTURE);
        self.blanks();
        match word {
            "for" => self.for_words()?,
            "time" => {
                while self.take("-p ") || self.take("-- ") {
                    self.accept(!self.text[..self.at].ends_with("-- "), DIFFERS);
                    self.blanks();
                }
                // If it is not a reserved word, it is a program with options of its own.
                if self.looking_at("-") {
                    return Err("gives `time` options that shells read differently");
                }
            }
            _ => {}
        }
        Ok(true)
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
                value: Word::plain("word"),
            }],
            ..Simple::default()
        }))?;
        self.blanks();
        let has_words = !matches!(self.peek(), Some(';' | '\n'));
        self.accept(has_words, DIFFERS);
        if has_words && self.word()? != Word::plain("in") {
            return Err("has a `for` that cannot be read");
        }
        loop {
            self.blanks();
            match self.peek() {
                None => return Ok(()),
                Some(';' | '\n') => {
                    // A separator that belongs to the words. Behind it is `do`.
                    self.at += 1;
                    return self.here_doc_bodies();
                }
                Some('&' | '|' | '(' | ')' | '<' | '>' | '#') => {
                    return Err("has a `for` that cannot be read");
                }
                _ if self.word()?.is_plain() => {}
                _ => return Err("loops over words that a shell may put something else for"),
            }
        }
    }
}

/// Returns whether a word can only be the name of a program: no expansion, no word of a shell's grammar.
fn is_program(word: &Word) -> bool {
    let begins = |c: char| c.is_alphanumeric() || "_./~".contains(c);
    let has = |c: char| word::is_text(c) || c == '~' || (word.quoted && c == ' ');
    let is_name = word.text.starts_with(begins) && word.text.chars().all(has);
    let is_reserved = RESERVED.contains(&&*word.text) || UNREAD.contains(&&*word.text) || word.text == "for";
    !word.dynamic && !is_reserved && (is_name || matches!(word.text.as_str(), "[" | ":"))
}
