//! The position in a command line, and what was found before it.

use acpd_model::limits::{COMMAND_DEPTH, COMMAND_PARTS};

use super::parts::{DIFFERS, Found, HereDoc, Inside, TOO_MANY_PARTS, Why};

pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) depth: usize,
    pub(super) found: Vec<Found>,
    pub(super) here_docs: Vec<HereDoc>,
    pub(super) inside: Inside,
    /// Why the line is not readable, although it can be parsed.
    pub(super) doubt: Option<Why>,
}

impl Reader<'_> {
    pub(super) fn peek(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    pub(super) fn looking_at(&self, what: &str) -> bool {
        self.text
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(what))
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    pub(super) fn take(&mut self, what: &str) -> bool {
        let here = self.looking_at(what);
        if here {
            self.at += what.len();
        }
        here
    }

    pub(super) fn blanks(&mut self) {
        loop {
            if self.take(" ") || self.take("\t") {
                continue;
            }
            if !(self.looking_at("\\\n") && self.is_continued()) {
                break;
            }
            self.at += 2;
            self.accept(self.here_docs.is_empty(), DIFFERS);
        }
    }

    /// At a backslash before a newline: returns whether a blank is on either side. Otherwise the line break may be in
    /// the middle of an operator, whose halves shells join.
    pub(super) fn is_continued(&self) -> bool {
        let before = self.text[..self.at].chars().next_back();
        let behind = self.text.get(self.at + 2..).and_then(|rest| rest.chars().next());
        [before, behind]
            .iter()
            .any(|next| matches!(next, None | Some(' ' | '\t')))
    }

    pub(super) fn enter(&mut self) -> Result<(), Why> {
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

    pub(super) fn push(&mut self, found: Found) -> Result<(), Why> {
        if self.found.len() >= COMMAND_PARTS {
            return Err(TOO_MANY_PARTS);
        }
        self.found.push(found);
        Ok(())
    }

    /// Makes the line unreadable unless the part that was just parsed is `understood`.
    pub(super) fn accept(&mut self, understood: bool, why: Why) {
        if !understood {
            self.doubt.get_or_insert(why);
        }
    }

    /// Parses another text as part of this command line.
    pub(super) fn nested(
        &mut self,
        text: &str,
        inside: Inside,
        read: impl FnOnce(&mut Reader<'_>) -> Result<(), Why>,
    ) -> Result<(), Why> {
        self.enter()?;
        let mut reader = Reader {
            text,
            at: 0,
            depth: self.depth,
            found: std::mem::take(&mut self.found),
            here_docs: Vec::new(),
            inside,
            doubt: self.doubt,
        };
        let result = read(&mut reader);
        self.found = reader.found;
        self.doubt = reader.doubt;
        self.depth -= 1;
        result
    }
}
