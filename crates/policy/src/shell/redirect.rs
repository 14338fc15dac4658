//! Parses redirections and here-documents.
//!
//! Understood are `<`, `>` and `>>` with an optional digit, `>&` and `<&` with a digit or a hyphen, `<<<`, and one
//! here-document in a line, whose end is a plain word.

use super::parts::{DIFFERS, Found, HereDoc, Inside, Quoting, Simple, Why, Word};
use super::reader::Reader;

const OPERATORS: [&str; 10] = ["<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">"];
const DIFFERENT: Why = "has a redirection that shells read differently";

impl Reader<'_> {
    /// Parses a redirection, if one is next.
    pub(super) fn redirection(&mut self, simple: &mut Simple, writes: &mut Vec<Word>) -> Result<bool, Why> {
        let rest = &self.text[self.at..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let found = OPERATORS
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
        let attached = self.at;
        self.blanks();
        let is_process = self.looking_at("<(") || self.looking_at(">(");
        match self.peek() {
            None | Some(';' | '&' | '|' | '\n' | '(' | ')' | '#') => {
                return Err("has a redirection without a target");
            }
            Some('<' | '>') if !is_process => return Err("has a redirection without a target"),
            // In some shells `<1-5>` is a pattern, `<~x` or `>!x` another operator.
            Some(next) if self.at == attached && matches!(operator, "<" | ">" | ">>") => {
                self.accept(next.is_ascii_alphabetic() || "_./\"'$".contains(next), DIFFERENT);
            }
            Some(_) => {}
        }
        let start = self.at;
        let target = self.word()?;
        let written = &self.text[start..self.at];
        if target.text.starts_with("/dev/tcp/") || target.text.starts_with("/dev/udp/") {
            return Err("opens a network connection by redirection");
        }
        self.accept(!is_process, DIFFERENT);
        match operator {
            "<" => simple.reads.push(target),
            "<<<" => simple.fed = true,
            "<<" | "<<-" => {
                simple.fed = true;
                return self.here_doc(operator, written, target).map(|()| true);
            }
            "<&" | ">&" => {
                let number = written.strip_suffix('-').unwrap_or(written);
                let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
                let is_one = written == "-" || (written.len() == 1 && digits(written));
                self.accept(is_one && start == attached, DIFFERENT);
                match operator {
                    _ if is_one || digits(number) => {}
                    "<&" => return Err("has a redirection that cannot be read"),
                    _ if !target.dynamic && !target.is_plain() => return Err(DIFFERENT),
                    _ => writes.push(target),
                }
            }
            _ => {
                self.accept(matches!(operator, ">" | ">>"), DIFFERENT);
                let nowhere = ["/dev/null", "/dev/stdout", "/dev/stderr"];
                if target.dynamic || !nowhere.contains(&target.text.as_str()) {
                    writes.push(target);
                }
            }
        }
        Ok(true)
    }

    /// Opens a here-document that ends at the word `end`, which the line has as `written`.
    fn here_doc(&mut self, operator: &str, written: &str, end: Word) -> Result<(), Why> {
        if end.dynamic {
            return Err("has a here-document whose end is unknown");
        }
        let unquoted = ["'", "\""].iter().find_map(|quote| {
            let inside = written.strip_prefix(quote)?;
            inside.strip_suffix(quote)
        });
        let name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_plain = !end.text.is_empty() && end.text.bytes().all(name);
        self.accept(
            is_plain && unquoted.unwrap_or(written) == end.text,
            "has a here-document whose end shells read differently",
        );
        self.accept(
            self.here_docs.is_empty() && self.inside != Inside::Backticks,
            "has a here-document that shells read differently",
        );
        self.here_docs.push(HereDoc {
            expands: !end.quoted,
            end: end.text,
            strips_tabs: operator == "<<-",
        });
        Ok(())
    }

    /// After a newline: parses the bodies of the here-documents that were opened before it.
    pub(super) fn here_doc_bodies(&mut self) -> Result<(), Why> {
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
                // In a substitution, bash also ends the body at such a line.
                self.accept(
                    !line.trim_start_matches('\t').starts_with(&here_doc.end),
                    "has a here-document that shells end differently",
                );
            };
            let body = &self.text[start..end];
            self.accept(
                self.inside != Inside::Substitution || is_closed(body),
                "has a here-document in a substitution that shells end differently",
            );
            self.accept(!body.contains(super::is_control), DIFFERS);
            if here_doc.expands {
                self.nested(body, self.inside, |reader| {
                    reader.expanding(Quoting::Body, &mut Word::default())
                })?;
            }
        }
        Ok(())
    }

    /// Records what the redirections of a command write.
    pub(super) fn push_writes(&mut self, writes: Vec<Word>) -> Result<(), Why> {
        for write in writes {
            self.push(Found::Write(write))?;
        }
        Ok(())
    }
}

/// Returns whether `body` is text in which quotes and parentheses are paired. Older shells find the end of a
/// substitution by counting these, also in here-documents.
fn is_closed(body: &str) -> bool {
    let mut open = 0usize;
    let mut quote = None;
    let mut before = ' ';
    for (at, next) in body.char_indices() {
        match (quote, next) {
            (_, '\\' | '`' | '$') => return false,
            (Some(end), _) => quote = quote.filter(|_| end != next),
            (None, '\'' | '"') => quote = Some(next),
            (None, '(') => open += 1,
            (None, ')') if open == 0 => return false,
            (None, ')') => open -= 1,
            // In a comment, they are not counted.
            (None, '#') if !before.is_alphanumeric() => {
                let comment = body[at..].split('\n').next().unwrap_or_default();
                if comment.contains(['\'', '"', '(', ')']) {
                    return false;
                }
            }
            (None, _) => {}
        }
        before = next;
    }
    open == 0 && quote.is_none()
}
