//! The places of settings in a TOML text, and the texts in which a setting is changed.
//!
//! In: a text, a path of keys, a value. Out: texts in the order in which they are preferred. Never: promises that they mean what they
//! should, which the caller checks.

use std::ops::Range;

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Value};

/// A parsed text.
pub struct Document<'a> {
    text: &'a str,
    root: DeTable<'a>,
    /// Where lines such as `[agents.a]` start, in order.
    headers: Vec<usize>,
    /// Where the values of lines are.
    values: Vec<Range<usize>>,
    line_end: &'static str,
}

/// How a table is written.
enum Place<'d, 'a> {
    /// The file itself.
    Root,
    /// By a header, which is here.
    Header(Range<usize>),
    /// In braces, which are here.
    Inline(Range<usize>, &'d DeTable<'a>),
    /// By dotted keys, or by the headers of tables below it.
    Implied(&'d DeTable<'a>),
}

impl<'a> Document<'a> {
    /// Parses a text; `None` if it is not TOML.
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut document = Self {
            text,
            root: DeTable::parse(text).ok()?.into_inner(),
            headers: Vec::new(),
            values: Vec::new(),
            line_end: if text.contains("\r\n") { "\r\n" } else { "\n" },
        };
        let (mut headers, mut values) = (Vec::new(), Vec::new());
        document.collect(&document.root, &mut headers, &mut values);
        headers.sort_unstable();
        (document.headers, document.values) = (headers, values);
        Some(document)
    }

    /// Finds all headers and values.
    fn collect(&self, table: &DeTable<'a>, headers: &mut Vec<usize>, values: &mut Vec<Range<usize>>) {
        for value in table.values() {
            match value.get_ref() {
                DeValue::Table(below) => self.collect_table(value.span(), below, headers, values),
                DeValue::Array(entries) => {
                    let mut has_headers = false;
                    for entry in entries {
                        if let DeValue::Table(below) = entry.get_ref()
                            && self.starts_with(&entry.span(), '[')
                        {
                            has_headers = true;
                            self.collect_table(entry.span(), below, headers, values);
                        }
                    }
                    if !has_headers {
                        values.push(value.span());
                    }
                }
                _ => values.push(value.span()),
            }
        }
    }

    fn collect_table(
        &self,
        span: Range<usize>,
        table: &DeTable<'a>,
        headers: &mut Vec<usize>,
        values: &mut Vec<Range<usize>>,
    ) {
        if self.starts_with(&span, '{') {
            values.push(span);
            return;
        }
        if self.starts_with(&span, '[') {
            headers.push(span.start);
        }
        self.collect(table, headers, values);
    }

    fn starts_with(&self, span: &Range<usize>, sign: char) -> bool {
        self.text
            .get(span.clone())
            .is_some_and(|text| text.starts_with(sign))
    }

    /// Returns texts in which the key at `path` has this value.
    pub fn set(&self, path: &[String], value: &Value) -> Vec<String> {
        if let Some(now) = self.value(path) {
            return vec![self.replaced(now.span(), &literal(value))];
        }
        let Some((place, depth)) = self.place(path) else {
            return Vec::new();
        };
        let (Some((last, parents)), Some(rest)) = (path.split_last(), path.get(depth..)) else {
            return Vec::new();
        };
        let line = |keys: &[String]| format!("{} = {}", dotted(keys), literal(value));
        let section = format!(
            "[{}]{}{}",
            dotted(parents),
            self.line_end,
            line(std::slice::from_ref(last))
        );
        match place {
            Place::Root if rest.len() == 1 => {
                let beside = self.behind_comment(last).into_iter();
                let places = beside.chain([self.end_of_root()]);
                places.map(|at| self.with_line(at, &line(rest), true)).collect()
            }
            Place::Root => vec![self.with_section(self.text.len(), &section)],
            Place::Header(header) => {
                let body = self.body(&header);
                let last_value = self.last_value(&body);
                let end = self.end_of_line(last_value.unwrap_or(header.end));
                let in_body = self.with_line(end, &line(rest), false);
                if rest.len() == 1 {
                    return vec![in_body];
                }
                let at = last_value.map_or(self.text.len(), |_| end);
                vec![self.with_section(at, &section), in_body]
            }
            Place::Inline(span, table) => vec![self.with_member(&span, table, &line(rest))],
            Place::Implied(table) => {
                let mut ways = Vec::new();
                // Beside its other keys, whichever of their parts are in the header above.
                if let Some(end) = self.ends(table).into_iter().max() {
                    let end = self.end_of_line(end);
                    ways.extend((0..=depth).map(|from| self.with_line(end, &line(&path[from..]), false)));
                }
                ways.push(self.with_section(self.text.len(), &section));
                ways
            }
        }
    }

    /// Returns texts in which the list at `path` has one more entry.
    pub fn push(&self, path: &[String], entry: &Value) -> Vec<String> {
        let Some((span, entries)) = self.value(path).and_then(|value| match value.get_ref() {
            DeValue::Array(entries) => Some((value.span(), entries)),
            _ => None,
        }) else {
            return Vec::new();
        };
        let entry = literal(entry);
        let Some(last) = entries.iter().map(Spanned::span).max_by_key(|span| span.end) else {
            let inside = span.start + 1..span.end.saturating_sub(1);
            let is_blank = self
                .text
                .get(inside.clone())
                .is_some_and(|text| text.trim().is_empty());
            let inside = if is_blank {
                inside
            } else {
                inside.start..inside.start
            };
            return vec![self.replaced(inside, &entry)];
        };
        let mut ways = Vec::new();
        let before = self.text.get(..last.start).unwrap_or_default();
        let indent = before.rsplit('\n').next().unwrap_or_default();
        let end = self.end_of_line(last.end);
        let behind = self.text.get(last.end..end).unwrap_or_default();
        if before.contains('\n') && indent.trim().is_empty() && end <= span.end {
            let comma = if behind.trim_start().starts_with(',') {
                ","
            } else {
                ""
            };
            let line = format!("{indent}{entry}{comma}{}", self.line_end);
            let mut way = self.replaced(end..end, &line);
            if comma.is_empty() {
                way.insert(last.end, ',');
            }
            ways.push(way);
        }
        ways.push(self.replaced(last.end..last.end, &format!(", {entry}")));
        ways
    }

    /// Returns texts without the line of a key.
    pub fn remove(&self, path: &[String]) -> Vec<String> {
        let Some((last, parents)) = path.split_last() else {
            return Vec::new();
        };
        let Some((key, value)) = self
            .table(parents)
            .and_then(|table| table.get_key_value(last.as_str()))
        else {
            return Vec::new();
        };
        let before = self.text.get(..key.span().start).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        vec![self.replaced(start..self.end_of_line(value.span().end), "")]
    }

    /// Returns the value at a path of keys.
    fn value(&self, path: &[String]) -> Option<&Spanned<DeValue<'a>>> {
        let (last, parents) = path.split_last()?;
        self.table(parents)?.get(last.as_str())
    }

    fn table(&self, path: &[String]) -> Option<&DeTable<'a>> {
        path.iter().try_fold(&self.root, |table, key| {
            match table.get(key.as_str())?.get_ref() {
                DeValue::Table(below) => Some(below),
                _ => None,
            }
        })
    }

    /// Returns the innermost table on the way to a key, and the number of keys that lead there. `None` if another value is in the way.
    fn place(&self, path: &[String]) -> Option<(Place<'_, 'a>, usize)> {
        let (mut table, mut place) = (&self.root, Place::Root);
        for (depth, key) in path.iter().enumerate() {
            let Some(value) = table.get(key.as_str()) else {
                return Some((place, depth));
            };
            let DeValue::Table(below) = value.get_ref() else {
                return None;
            };
            let span = value.span();
            place = if self.starts_with(&span, '{') {
                Place::Inline(span, below)
            } else if self.starts_with(&span, '[') {
                Place::Header(span)
            } else {
                Place::Implied(below)
            };
            table = below;
        }
        None
    }

    /// Returns the part of the text that belongs to a header.
    fn body(&self, header: &Range<usize>) -> Range<usize> {
        let mut later = self.headers.iter().filter(|start| **start >= header.end);
        header.end..later.next().copied().unwrap_or(self.text.len())
    }

    /// Returns the end of the last value that starts in this part of the text.
    fn last_value(&self, part: &Range<usize>) -> Option<usize> {
        let within = self.values.iter().filter(|value| part.contains(&value.start));
        within.map(|value| value.end).max()
    }

    /// Returns the ends of a table's values, without those below another header.
    fn ends(&self, table: &DeTable<'a>) -> Vec<usize> {
        let mut ends = Vec::new();
        for value in table.values() {
            let span = value.span();
            match value.get_ref() {
                DeValue::Table(below) if !self.starts_with(&span, '{') => {
                    if !self.starts_with(&span, '[') {
                        ends.extend(self.ends(below));
                    }
                }
                _ => ends.push(span.end),
            }
        }
        ends
    }

    /// Returns the place behind a comment that shows this setting, above all headers.
    fn behind_comment(&self, key: &str) -> Option<usize> {
        let root = self.text.get(..self.root_end())?;
        let mut at = 0;
        for line in root.split_inclusive('\n') {
            at += line.len();
            let shown = line.strip_prefix('#').and_then(|line| line.strip_prefix(key));
            if shown.is_some_and(|rest| rest.trim_start().starts_with('=')) {
                return Some(at);
            }
        }
        None
    }

    fn root_end(&self) -> usize {
        self.headers.first().copied().unwrap_or(self.text.len())
    }

    /// Returns the place for a line above all headers: behind the others there, else behind what introduces the file.
    fn end_of_root(&self) -> usize {
        let root = 0..self.root_end();
        if let Some(end) = self.last_value(&root) {
            return self.end_of_line(end);
        }
        let start = if self.text.starts_with('\u{feff}') { 3 } else { 0 };
        let mut at = start;
        for line in self
            .text
            .get(start..root.end)
            .unwrap_or_default()
            .split_inclusive('\n')
        {
            at += line.len();
            if line.trim().is_empty() {
                return at;
            }
            if !line.starts_with('#') {
                break;
            }
        }
        // What is directly above a header is about it.
        if self.headers.is_empty() { at } else { start }
    }

    /// Returns the start of the line behind this place.
    fn end_of_line(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        rest.find('\n').map_or(self.text.len(), |end| at + end + 1)
    }

    fn replaced(&self, span: Range<usize>, new: &str) -> String {
        let before = self.text.get(..span.start).unwrap_or_default();
        let after = self.text.get(span.end..).unwrap_or_default();
        format!("{before}{new}{after}")
    }

    /// Returns the text with a line before this place. `is_of_root` sets it off from a header.
    fn with_line(&self, at: usize, line: &str, is_of_root: bool) -> String {
        let (before, after) = (
            self.text.get(..at).unwrap_or_default(),
            self.text.get(at..).unwrap_or_default(),
        );
        let end = self.line_end;
        let open = if before.is_empty() || before.ends_with(['\n', '\u{feff}']) {
            ""
        } else {
            end
        };
        let next_is_header = self.headers.contains(&at) || at == 0 && !after.is_empty();
        let gap = if is_of_root
            && (next_is_header || self.last_value(&(0..at)).is_none())
            && !after.is_empty()
            && !after.starts_with(['\r', '\n'])
        {
            end
        } else {
            ""
        };
        format!("{before}{open}{line}{end}{gap}{after}")
    }

    /// Returns the text with a table at this place, between blank lines.
    fn with_section(&self, at: usize, section: &str) -> String {
        let (before, after) = (
            self.text.get(..at).unwrap_or_default(),
            self.text.get(at..).unwrap_or_default(),
        );
        let end = self.line_end;
        let open = if before.is_empty() || before.ends_with('\n') {
            ""
        } else {
            end
        };
        let gap = if before.is_empty() { "" } else { end };
        let close = if after.is_empty() || after.starts_with(['\r', '\n']) {
            ""
        } else {
            end
        };
        format!("{before}{open}{gap}{section}{end}{close}{after}")
    }

    /// Returns the text with a member in a table in braces.
    fn with_member(&self, span: &Range<usize>, table: &DeTable<'a>, member: &str) -> String {
        if let Some(end) = self.ends(table).into_iter().max() {
            return self.replaced(end..end, &format!(", {member}"));
        }
        let inside = span.start + 1..span.end.saturating_sub(1);
        self.replaced(inside, &format!(" {member} "))
    }
}

/// Writes keys with dots between them.
pub fn dotted(keys: &[String]) -> String {
    let is_bare = |key: &str| {
        !key.is_empty()
            && key
                .bytes()
                .all(|c| c.is_ascii_alphanumeric() || b"_-".contains(&c))
    };
    let keys = keys
        .iter()
        .map(|key| if is_bare(key) { key.clone() } else { quoted(key) });
    keys.collect::<Vec<_>>().join(".")
}

/// Writes a value in one line.
pub fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(entries) => {
            let entries: Vec<_> = entries.iter().map(literal).collect();
            format!("[{}]", entries.join(", "))
        }
        Value::Table(members) => {
            let members = members
                .iter()
                .map(|(key, value)| format!("{} = {}", dotted(std::slice::from_ref(key)), literal(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Writes a string. Those of JSON are strings of TOML.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
