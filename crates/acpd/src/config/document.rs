//! The texts in which a setting of a TOML text is changed.
//!
//! In: a text, a path of keys, a value. Out: texts in the order in which they are preferred. Never: promises that they mean what they
//! should, which the caller checks.

use std::iter::repeat_n;

use toml_edit::{DocumentMut, InlineTable, Item, Key, RawString, Table, Value};

/// A text, and how its lines end. `toml_edit` writes `\n` alone, and ends the last line.
pub struct Document<'a> {
    mark: &'a str,
    original: &'a str,
    text: String,
    line_end: &'static str,
}

impl<'a> Document<'a> {
    pub fn new(text: &'a str) -> Self {
        let original = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut plain = original.replace("\r\n", "\n");
        if !plain.is_empty() && !plain.ends_with('\n') {
            plain.push('\n');
        }
        Self {
            mark: text.strip_suffix(original).unwrap_or_default(),
            original,
            text: plain,
            line_end: if text.contains("\r\n") { "\r\n" } else { "\n" },
        }
    }

    /// Returns texts in which the key at `path` has this value.
    pub fn set(&self, path: &[String], value: &toml::Value) -> Vec<String> {
        let Some((last, parents)) = path.split_last() else {
            return Vec::new();
        };
        let line = format!("{} = {value}", key(last));
        let mut is_new = true;
        let edited = self.edited(|root| {
            is_new = root.get(last).is_none();
            put(root, path, parsed(value)?)
        });
        let ways = if !parents.is_empty() {
            [edited, Some(self.with_section(parents, &line)), None]
        } else if is_new {
            let (header, set_off) = (format!("{line}\n["), format!("{line}\n\n["));
            let edited = edited.map(|text| text.replacen(&header, &set_off, 1));
            [
                self.below_comment(last, &line),
                edited,
                Some(self.below_intro(&line)),
            ]
        } else {
            [edited, None, None]
        };
        ways.into_iter().flatten().collect()
    }

    /// Returns texts in which the list at `path` has one more entry.
    pub fn push(&self, path: &[String], entry: &toml::Value) -> Vec<String> {
        let edited = self.edited(|root| {
            let list = path
                .iter()
                .try_fold(root, |item, key| item.as_table_like_mut()?.get_mut(key))?;
            append(list.as_array_mut()?, parsed(entry)?)
        });
        edited.into_iter().collect()
    }

    /// Returns texts without the line of a key. The comment above it stays, which `toml_edit` would remove with the key.
    pub fn remove(&self, path: &[String]) -> Vec<String> {
        self.without_line(path).into_iter().collect()
    }

    fn without_line(&self, path: &[String]) -> Option<String> {
        let document = toml_edit::Document::parse(self.text.as_str()).ok()?;
        let (last, parents) = path.split_last()?;
        let table = parents
            .iter()
            .try_fold(document.as_item(), |item, key| item.get(key))?;
        let (key, value) = table.as_table_like()?.get_key_value(last)?;
        let before = self.text.get(..key.span()?.start)?;
        let (_, after) = self.text.split_at_checked(value.span()?.end)?;
        let before = before.rfind('\n').map_or("", |at| &before[..=at]);
        let after = after.split_once('\n').map_or("", |(_, lines)| lines);
        Some(format!("{before}{after}"))
    }

    /// Returns a changed text with the mark and the line ends of this one. New lines end as the others.
    pub fn restored(&self, changed: &str) -> String {
        let (old, new): (Vec<_>, Vec<_>) = (self.original.lines().collect(), changed.lines().collect());
        let ends = self.original.split_inclusive('\n').map(|line| {
            if line.ends_with('\n') && !line.ends_with("\r\n") {
                "\n"
            } else {
                self.line_end
            }
        });
        let is_same = |(old, new): &(&&str, &&str)| old == new;
        let head = old.iter().zip(&new).take_while(is_same).count();
        let (old_rest, new_rest) = (old.iter().skip(head).rev(), new.iter().skip(head).rev());
        let tail = old_rest.zip(new_rest).take_while(is_same).count();
        let between = repeat_n(self.line_end, new.len() - head - tail);
        let tail_ends = ends.clone().skip(old.len() - tail);
        let ends = ends.take(head).chain(between).chain(tail_ends);
        let lines = new.into_iter().zip(ends).flat_map(|(line, end)| [line, end]);
        [self.mark].into_iter().chain(lines).collect()
    }

    /// Returns the text after a change by `toml_edit`. `None` for texts that it would also change elsewhere: it moves dotted keys of one
    /// table together.
    fn edited(&self, change: impl FnOnce(&mut Item) -> Option<()>) -> Option<String> {
        let mut document: DocumentMut = self.text.parse().ok()?;
        if document.to_string() != self.text {
            return None;
        }
        change(document.as_item_mut())?;
        Some(document.to_string())
    }

    /// Returns the text with a line behind the comment that shows this setting.
    fn below_comment(&self, key: &str, line: &str) -> Option<String> {
        let mut at = 0;
        for shown in self.text.split_inclusive('\n') {
            at += shown.len();
            let rest = shown.strip_prefix('#').and_then(|shown| shown.strip_prefix(key));
            if rest.is_some_and(|rest| rest.trim_start().starts_with('=')) {
                return Some(self.with_line(at, line));
            }
        }
        None
    }

    /// Returns the text with a line behind the comment that introduces the file.
    fn below_intro(&self, line: &str) -> String {
        let comments = self
            .text
            .split_inclusive('\n')
            .take_while(|line| line.starts_with('#'));
        let end = comments.map(str::len).sum();
        match self.text.get(end..) {
            Some("") => self.with_line(end, line),
            Some(rest) if rest.starts_with('\n') => self.with_line(end + 1, line),
            // What is directly above a header is about it.
            _ => self.with_line(0, line),
        }
    }

    /// Returns the text with a line at this start of a line, set off from what follows.
    fn with_line(&self, at: usize, line: &str) -> String {
        let (before, after) = self.text.split_at(at);
        let gap = if after.is_empty() || after.starts_with('\n') {
            ""
        } else {
            "\n"
        };
        format!("{before}{line}\n{gap}{after}")
    }

    /// Returns the text with a table at its end.
    fn with_section(&self, table: &[String], line: &str) -> String {
        let text = &self.text;
        let gap = if text.is_empty() || text.ends_with("\n\n") {
            ""
        } else {
            "\n"
        };
        format!("{text}{gap}[{}]\n{line}\n", dotted(table))
    }
}

/// Sets the value at a path of keys below a table. `None` if no table there has a good place for it.
fn put(item: &mut Item, path: &[String], value: Value) -> Option<()> {
    let (first, rest) = path.split_first()?;
    if let Some(below) = item.as_table_like_mut()?.get_mut(first) {
        if !rest.is_empty() {
            return put(below, rest, value);
        }
        let now = below.as_value_mut()?;
        let decor = now.decor().clone();
        *now = value;
        *now.decor_mut() = decor;
        return Some(());
    }
    match item {
        Item::Value(Value::InlineTable(table)) => add_member(table, first, inline(rest, value)),
        Item::Table(table) => {
            let has_header = table.position().is_some();
            let has_values = !table.get_values().is_empty();
            let below = if table.is_dotted() || rest.is_empty() && (has_header || has_values) {
                Item::Value(inline(rest, value))
            } else if has_header && has_values && !rest.is_empty() {
                section(rest, value)
            } else {
                return None;
            };
            table.insert(first, below);
        }
        _ => return None,
    }
    Some(())
}

/// Returns tables in braces around a value.
fn inline(path: &[String], value: Value) -> Value {
    path.iter().rev().fold(value, |value, key| {
        let mut table = InlineTable::new();
        table.insert(key, value);
        Value::InlineTable(table)
    })
}

/// Returns tables with headers around a value.
fn section(path: &[String], value: Value) -> Item {
    path.iter().rev().fold(Item::Value(value), |item, key| {
        let mut table = Table::new();
        // Only the innermost one has a header.
        table.set_implicit(item.is_table());
        table.insert(key, item);
        Item::Table(table)
    })
}

/// Adds a member to a table in braces, behind the others.
fn add_member(table: &mut InlineTable, key: &str, mut value: Value) {
    let last = table.iter_mut().last().map(|(_, last)| take_suffix(last));
    match last {
        Some(suffix) => value = value.decorated(" ", suffix),
        None if is_blank(table.trailing()) => table.set_trailing(""),
        None => {}
    }
    table.insert(key, value);
}

/// Adds an entry to a list: on a line of its own if the last one is.
fn append(list: &mut toml_edit::Array, entry: Value) -> Option<()> {
    if list.is_empty() {
        if is_blank(list.trailing()) {
            list.set_trailing("");
        }
        list.push_formatted(entry);
        return Some(());
    }
    let trailing = list.trailing_comma().then(|| raw(list.trailing()).to_owned());
    let last = list.iter_mut().last()?;
    let indent = last.decor().prefix().map_or("", raw).rsplit_once('\n');
    let indent = indent.map(|(_, indent)| indent.to_owned());
    let has_comma = trailing.is_some();
    let after = trailing.unwrap_or_else(|| take_suffix(last));
    let (prefix, after) = match (indent, after.rsplit_once('\n')) {
        (Some(indent), Some((comment, end))) => (format!("{comment}\n{indent}"), format!("\n{end}")),
        _ => (" ".to_owned(), after),
    };
    if has_comma {
        list.set_trailing(after);
        list.push_formatted(entry.decorated(prefix, ""));
    } else {
        list.push_formatted(entry.decorated(prefix, after));
    }
    Some(())
}

/// Removes what is between a value and the comma or bracket behind it, and returns it.
fn take_suffix(value: &mut Value) -> String {
    let suffix = value.decor().suffix().map_or("", raw).to_owned();
    value.decor_mut().set_suffix("");
    suffix
}

fn raw(text: &RawString) -> &str {
    text.as_str().unwrap_or_default()
}

fn is_blank(text: &RawString) -> bool {
    raw(text).trim().is_empty()
}

fn parsed(value: &toml::Value) -> Option<Value> {
    value.to_string().parse().ok()
}

/// Writes keys with dots between them.
pub fn dotted(keys: &[String]) -> String {
    keys.iter().map(|part| key(part)).collect::<Vec<_>>().join(".")
}

/// Writes a key, in quotes if it needs them.
pub fn key(name: &str) -> String {
    Key::new(name).display_repr().into_owned()
}
