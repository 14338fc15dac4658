//! Changes of JSON with comments, which keep everything else as it is: comments, order and indentation.
//!
//! In: text, and an entry. Out: the text with the entry. Never: returns a text that has another change than that.

use serde_json::{Map, Value};

use super::{JsoncError, Node, error_at, parse};

/// An entry of settings: its members in order.
pub type Entry = Vec<(&'static str, Value)>;

/// Sets the members of the entry at a path of keys. Members of the entry that are not named stay.
pub fn set(text: &str, path: &[&str], entry: &Entry) -> Result<String, JsoncError> {
    let style = Style::of(text);
    let Some(root) = parse(text)? else {
        return Ok(with_first_object(text, path, entry, &style));
    };
    let (at, depth) = follow(&root, path, text)?;
    if let Some(key) = path.get(depth) {
        let changed = insert(text, at, key, &Tree::wrap(&path[depth + 1..], entry), &style);
        return verified(text, changed, path, entry);
    }
    if !at.is_object() {
        return Err(no_object(text, at, path));
    }
    let mut changed = text.to_owned();
    for (key, value) in entry {
        changed = set_member(&changed, path, key, value, &style)?;
    }
    verified(text, changed, path, entry)
}

/// Returns the value at a path of keys.
pub fn get(text: &str, path: &[&str]) -> Result<Option<Value>, JsoncError> {
    let Some(root) = parse(text)? else {
        return Ok(None);
    };
    let (at, depth) = follow(&root, path, text)?;
    Ok((depth == path.len()).then(|| at.clone().into_value()))
}

/// Follows keys as far as they are there. Returns the value to which they lead, and their number.
fn follow<'a>(root: &'a Node, path: &[&str], text: &str) -> Result<(&'a Node, usize), JsoncError> {
    let mut at = root;
    for (depth, key) in path.iter().enumerate() {
        if !at.is_object() {
            return Err(no_object(text, at, &path[..depth]));
        }
        match at.member(key, text)? {
            Some(member) => at = &member.node,
            None => return Ok((at, depth)),
        }
    }
    Ok((at, path.len()))
}

/// Returns a whole text with the entry alone.
pub fn alone(path: &[&str], entry: &Entry) -> String {
    with_first_object("", path, entry, &Style::of(""))
}

fn no_object(text: &str, node: &Node, path: &[&str]) -> JsoncError {
    let what = if path.is_empty() {
        "the file".to_owned()
    } else {
        format!("{:?}", path.join("."))
    };
    error_at(text, node.span.start, format!("{what} is not an object"))
}

/// Sets one member of the entry, which exists.
fn set_member(
    text: &str,
    path: &[&str],
    key: &str,
    value: &Value,
    style: &Style,
) -> Result<String, JsoncError> {
    let root = parse(text)?;
    let root = root
        .as_ref()
        .ok_or_else(|| error_at(text, 0, "the file is empty"))?;
    let (at, depth) = follow(root, path, text)?;
    if let Some(key) = path.get(depth) {
        return Err(error_at(text, at.span.start, format!("{key:?} is missing")));
    }
    let Some(member) = at.member(key, text)? else {
        return Ok(insert(text, at, key, &Tree::Inline(value.clone()), style));
    };
    if member.node.clone().into_value() == *value {
        return Ok(text.to_owned());
    }
    let mut changed = text.to_owned();
    changed.replace_range(member.node.span.clone(), &one_line(value));
    Ok(changed)
}

/// Returns the changed text if it has the entry and is otherwise equal.
fn verified(text: &str, changed: String, path: &[&str], entry: &Entry) -> Result<String, JsoncError> {
    let wrong = || {
        error_at(
            text,
            0,
            "acpd cannot change this file without another change; please add the entry by hand",
        )
    };
    let mut expected = parse(text)?.map_or_else(|| Value::Object(Map::new()), Node::into_value);
    let mut at = &mut expected;
    for key in path {
        let object = at.as_object_mut().ok_or_else(wrong)?;
        at = object.entry(*key).or_insert_with(|| Value::Object(Map::new()));
    }
    let object = at.as_object_mut().ok_or_else(wrong)?;
    object.extend(
        entry
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.clone())),
    );
    let now = parse(&changed).ok().flatten();
    if now.is_some_and(|node| node.into_value() == expected) {
        Ok(changed)
    } else {
        Err(wrong())
    }
}

/// What is inserted.
enum Tree {
    Inline(Value),
    Object(Vec<(String, Self)>),
}

impl Tree {
    /// Puts an entry into objects with these keys.
    fn wrap(keys: &[&str], entry: &Entry) -> Self {
        let members = entry
            .iter()
            .map(|(key, value)| ((*key).to_owned(), Self::Inline(value.clone())));
        let mut tree = Self::Object(members.collect());
        for key in keys.iter().rev() {
            tree = Self::Object(vec![((*key).to_owned(), tree)]);
        }
        tree
    }

    /// Writes the value in a line whose members are indented by `indent`.
    fn lines(&self, indent: &str, style: &Style) -> String {
        let members = match self {
            Self::Inline(value) => return one_line(value),
            Self::Object(members) if members.is_empty() => return "{}".to_owned(),
            Self::Object(members) => members,
        };
        let below = format!("{indent}{}", style.unit);
        let lines: Vec<String> = members
            .iter()
            .map(|(key, tree)| format!("{below}{}: {}", quoted(key), tree.lines(&below, style)))
            .collect();
        let newline = style.newline;
        let lines = lines.join(&format!(",{newline}"));
        format!("{{{newline}{lines}{newline}{indent}}}")
    }

    /// Writes the value in one line.
    fn inline(&self) -> String {
        match self {
            Self::Inline(value) => one_line(value),
            Self::Object(members) => {
                let members: Vec<String> = members
                    .iter()
                    .map(|(key, tree)| format!("{}: {}", quoted(key), tree.inline()))
                    .collect();
                format!("{{ {} }}", members.join(", "))
            }
        }
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Writes a value in one line, with spaces between the elements of a list.
fn one_line(value: &Value) -> String {
    match value {
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(one_line).collect();
            format!("[{}]", values.join(", "))
        }
        value => value.to_string(),
    }
}

/// The style of a text.
struct Style {
    /// One step of indentation.
    unit: String,
    newline: &'static str,
}

impl Style {
    fn of(text: &str) -> Self {
        let mut indents = text.lines().skip(1).filter_map(|line| {
            let rest = line.trim_start_matches([' ', '\t']);
            (rest.len() < line.len() && rest.starts_with('"')).then(|| &line[..line.len() - rest.len()])
        });
        Self {
            unit: indents.next().unwrap_or("  ").to_owned(),
            newline: if text.contains("\r\n") { "\r\n" } else { "\n" },
        }
    }
}

/// Returns the indentation of the line in which a place is.
fn indent_at(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = &text[start..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Returns the text with a new last member of an object.
fn insert(text: &str, object: &Node, key: &str, tree: &Tree, style: &Style) -> String {
    let newline = style.newline;
    let own = indent_at(text, object.span.start).to_owned();
    let Some(last) = object.members().last() else {
        let below = format!("{own}{}", style.unit);
        let member = format!("{newline}{below}{}: {}", quoted(key), tree.lines(&below, style));
        // What is between the last comment and the brace is whitespace.
        let closing = object.span.end - 1;
        let (before, after) = (&text[..object.content_end], &text[closing..]);
        return format!("{before}{member}{newline}{own}{after}");
    };
    let is_one_line = !text[object.span.clone()].contains('\n');
    let mut changed = text.to_owned();
    if is_one_line {
        let comma = if object.has_trailing_comma { " " } else { ", " };
        let end = if object.has_trailing_comma { "," } else { "" };
        let member = format!("{comma}{}: {}{end}", quoted(key), tree.inline());
        changed.insert_str(object.content_end, &member);
        return changed;
    }
    let first = &object.members()[0];
    let starts_line = text[..first.start]
        .rsplit('\n')
        .next()
        .is_some_and(|line| line.trim().is_empty());
    let below = if starts_line {
        indent_at(text, first.start).to_owned()
    } else {
        format!("{own}{}", style.unit)
    };
    let end = if object.has_trailing_comma { "," } else { "" };
    let member = format!(
        "{newline}{below}{}: {}{end}",
        quoted(key),
        tree.lines(&below, style)
    );
    // Behind a comment that belongs to the last member; the comma is before it.
    changed.insert_str(object.content_end, &member);
    if !object.has_trailing_comma {
        changed.insert(last.node.span.end, ',');
    }
    changed
}

/// Returns a text without a value with one.
fn with_first_object(text: &str, path: &[&str], entry: &Entry, style: &Style) -> String {
    let newline = style.newline;
    let object = Tree::wrap(path, entry).lines("", style);
    let is_blank = text.trim_matches(['\u{feff}', ' ', '\t', '\r', '\n']).is_empty();
    let before = if is_blank || text.ends_with('\n') {
        if is_blank { "" } else { text }.to_owned()
    } else {
        format!("{text}{newline}")
    };
    format!("{before}{object}{newline}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PATH: [&str; 2] = ["servers", "acpd"];

    fn entry() -> Entry {
        vec![("command", json!("acpd")), ("args", json!(["acp", "-a"]))]
    }

    fn changed(text: &str) -> String {
        set(text, &PATH, &entry()).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    const ALONE: &str = "{\n  \"servers\": {\n    \"acpd\": {\n      \"command\": \"acpd\",\n      \"args\": [\"acp\", \"-a\"]\n    }\n  }\n}\n";

    #[test]
    fn an_empty_file_gets_the_entry() {
        for empty in ["", "\n", "  \r\n"] {
            assert_eq!(changed(empty).replace("\r\n", "\n"), ALONE);
        }
        assert_eq!(changed("// mine"), format!("// mine\n{ALONE}"));
        assert_eq!(changed("{}"), ALONE.trim_end());
        assert_eq!(changed("{\n}\n"), ALONE);
        assert_eq!(alone(&PATH, &entry()), ALONE);
        let inside = changed("{\n\t// first\n\t\"servers\": {\n\t\t// none yet\n\t},\n}\n");
        assert_eq!(
            inside,
            "{\n\t// first\n\t\"servers\": {\n\t\t// none yet\n\t\t\"acpd\": {\n\t\t\t\"command\": \"acpd\",\n\t\t\t\"args\": [\"acp\", \
             \"-a\"]\n\t\t}\n\t},\n}\n"
        );
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        let text = "// Zed\n{\n    \"a\": 1, // one\n    /* two */ \"b\": [1,2],\n    \"c\": 3 // three\n}\n";
        assert_eq!(
            changed(text),
            "// Zed\n{\n    \"a\": 1, // one\n    /* two */ \"b\": [1,2],\n    \"c\": 3, // three\n    \"servers\": {\n        \
             \"acpd\": {\n            \"command\": \"acpd\",\n            \"args\": [\"acp\", \"-a\"]\n        }\n    }\n}\n"
        );
        let trailing = "{\r\n  \"a\": 1,\r\n}\r\n";
        let with = changed(trailing);
        assert!(
            with.starts_with("{\r\n  \"a\": 1,\r\n  \"servers\": {\r\n"),
            "{with:?}"
        );
        assert!(with.ends_with("  },\r\n}\r\n"), "{with:?}");
        assert!(!with.replace("\r\n", "").contains('\n'), "{with:?}");
        assert_eq!(
            changed("{ \"servers\": { \"x\": {} } }"),
            "{ \"servers\": { \"x\": {}, \"acpd\": { \"command\": \"acpd\", \"args\": [\"acp\", \"-a\"] } } }"
        );
        assert_eq!(
            changed("{\"servers\":{\"x\":{},}}"),
            "{\"servers\":{\"x\":{}, \"acpd\": { \"command\": \"acpd\", \"args\": [\"acp\", \"-a\"] },}}"
        );
    }

    #[test]
    fn an_entry_is_changed_in_place_and_keeps_other_members() {
        let text = "{ \"servers\": {\n  \"acpd\": {\n    // mine\n    \"command\": \"/old/acpd\", // where\n    \"env\": { \"A\": \"1\" }\n  }\n} }";
        let with = changed(text);
        assert_eq!(
            with,
            "{ \"servers\": {\n  \"acpd\": {\n    // mine\n    \"command\": \"acpd\", // where\n    \"env\": { \"A\": \"1\" },\n    \
             \"args\": [\"acp\", \"-a\"]\n  }\n} }"
        );
        // A second time changes nothing.
        assert_eq!(changed(&with), with);
        assert_eq!(changed(ALONE), ALONE);
    }

    #[test]
    fn unsafe_changes_are_refused() {
        for (text, expected) in [
            ("[]", "line 1: the file is not an object"),
            ("{\n\"servers\": []}", "line 2: \"servers\" is not an object"),
            (
                "{\"servers\": {\"acpd\": 1}}",
                "line 1: \"servers.acpd\" is not an object",
            ),
            (
                "{\"servers\": {}, \"servers\": {}}",
                "line 1: \"servers\" is there twice",
            ),
            ("{\"servers\": ", "line 1: a value is missing"),
        ] {
            assert_eq!(set(text, &PATH, &entry()).unwrap_err().to_string(), expected);
        }
    }

    /// Texts of every shape: the entry comes in, and everything else stays.
    #[test]
    fn every_shape_of_settings_keeps_its_other_values() {
        let comments = ["", " ", "\n", "// c\n", "/* c */", "\r\n\t"];
        let inner = [
            "",
            "\"x\": 1",
            "\"x\": 1,",
            "\"servers\": {}",
            "\"servers\": {\"y\": [{}]}",
            "\"x\": {\"acpd\": 2}, \"servers\": {\"acpd\": {}}",
        ];
        for before in comments {
            for inside in inner {
                for after in comments {
                    let text = format!("{before}{{{after}{inside}{before}}}{after}");
                    let with = changed(&text);
                    let value = parse(&with).unwrap().unwrap().into_value();
                    assert_eq!(value["servers"]["acpd"]["command"], "acpd", "{text:?} {with:?}");
                    // Each comment is still there.
                    assert_eq!(
                        with.matches("// c").count(),
                        text.matches("// c").count(),
                        "{with:?}"
                    );
                    assert_eq!(
                        with.matches("/* c */").count(),
                        text.matches("/* c */").count(),
                        "{with:?}"
                    );
                    assert_eq!(get(&with, &PATH).unwrap().unwrap()["args"], json!(["acp", "-a"]));
                }
            }
        }
    }
}
