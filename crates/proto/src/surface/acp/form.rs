//! A request for information in words, for editors that have no forms.
//!
//! In: the params of the agent's request. Out: what it asks, as text of the conversation. Never: an answer. The agent's words are
//! quotations of one line each.

use std::collections::HashSet;

use acpd_model::limits::FORM_SCHEMA_BYTES;
use acpd_model::text::{clip, plain_line, shorten};
use acpd_model::{RawJson, json};
use serde::Deserialize;
use serde_json::Value;

use crate::wire::{decoded, member, members};

/// Maximum length of the message, in characters.
const MESSAGE_CHARS: usize = 1000;
/// Maximum length of a text of the agent before it is made a quotation, in bytes.
const TEXT_BYTES: usize = 16 << 10;
/// Maximum length of a title or a description, in characters.
const WORDS_CHARS: usize = 200;
/// Maximum length of a choice, in characters.
const CHOICE_CHARS: usize = 100;
/// Maximum number of fields, and of choices of a field.
const PARTS: usize = 12;

/// A request for information in words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FormInWords {
    /// The agent's message.
    pub message: String,
    /// A list of the fields with their choices; empty if the message says it all.
    pub fields: String,
}

/// One field of the schema. If the choices of a field are not a list, only its name is known.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Field {
    title: Value,
    description: Value,
    #[serde(rename = "enum")]
    values: Vec<Value>,
    one_of: Vec<Choice>,
    any_of: Vec<Choice>,
    items: Option<Box<Field>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Choice {
    title: Value,
    #[serde(rename = "const")]
    value: Value,
}

/// Returns what the agent asks. Optional fields without choices are left out if others have some: agents add them for free text.
pub(super) fn in_words(params: &RawJson) -> FormInWords {
    let message = member(params, "message").and_then(|text| json::read::<String>(text).ok());
    let schema = member(params, "requestedSchema").filter(|schema| schema.len() <= FORM_SCHEMA_BYTES);
    let schema = schema.map(RawJson::trusted);
    let fields = schema.map(|schema| fields_of(&schema)).unwrap_or_default();
    let has_choices = fields.iter().any(|(field, _)| !choices(field).is_empty());
    let told = fields
        .iter()
        .filter(|(field, required)| *required || !has_choices || !choices(field).is_empty());
    FormInWords {
        message: quoted(&message.unwrap_or_default(), MESSAGE_CHARS),
        fields: told.take(PARTS).map(|(field, _)| line(field)).collect(),
    }
}

/// Returns the fields in the agent's order, each with its name as title if it has none, and whether it is required.
fn fields_of(schema: &RawJson) -> Vec<(Field, bool)> {
    let required: HashSet<String> = member(schema, "required")
        .and_then(|text| json::read(text).ok())
        .unwrap_or_default();
    let properties = member(schema, "properties").map(RawJson::trusted);
    let mut fields = Vec::new();
    if let Some(properties) = &properties {
        members(properties, |name, field| {
            let name = decoded(name);
            let is_required = required.contains(&*name);
            let mut field: Field = json::read(field).unwrap_or_default();
            if !field.title.is_string() {
                field.title = name.into_owned().into();
            }
            fields.push((field, is_required));
        });
    }
    fields
}

/// Returns the names of a field's choices.
fn choices(field: &Field) -> Vec<String> {
    let titled = field.one_of.iter().chain(&field.any_of);
    let titled = titled.map(|choice| {
        if choice.title.is_string() {
            &choice.title
        } else {
            &choice.value
        }
    });
    let own: Vec<String> = field.values.iter().chain(titled).map(text_of).collect();
    match &field.items {
        Some(items) if own.is_empty() => choices(items),
        _ => own,
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn line(field: &Field) -> String {
    let mut line = format!("- {}", quoted(&text_of(&field.title), WORDS_CHARS));
    if let Some(description) = field.description.as_str().filter(|text| !text.trim().is_empty()) {
        line.push_str(&format!(": {}", quoted(description, WORDS_CHARS)));
    }
    let choices = choices(field);
    if !choices.is_empty() {
        let named = choices.iter().take(PARTS);
        let named: Vec<_> = named.map(|choice| quoted(choice, CHOICE_CHARS)).collect();
        let more = if choices.len() > PARTS { ", …" } else { "" };
        line.push_str(&format!(" ({}{more})", named.join(", ")));
    }
    line.push('\n');
    line
}

fn quoted(text: &str, chars: usize) -> String {
    format!("“{}”", shorten(plain_line(&clip(text, TEXT_BYTES)).trim(), chars))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(params: &str) -> FormInWords {
        in_words(&RawJson::parse(params).unwrap())
    }

    #[test]
    fn each_question_is_written_with_its_choices() {
        let form = told(
            r#"{"message":"Please answer.","requestedSchema":{"type":"object","properties":{
                "question_1":{"type":"string","title":"Database","description":"Which one?","oneOf":[{"const":"pg","title":"Postgres"},{"const":"SQLite"}]},
                "question_1_custom":{"type":"string","title":"Other","description":"Type your own answer."},
                "question_0":{"type":"array","items":{"anyOf":[{"const":"a"},{"const":"b"}]}},
                "size":{"type":"string","enum":["S",2]},
                "name":{"type":"string","title":"Name"}
            },"required":["name"]}}"#,
        );
        assert_eq!(form.message, "“Please answer.”");
        assert_eq!(
            form.fields,
            "- “Database”: “Which one?” (“Postgres”, “SQLite”)\n\
             - “question_0” (“a”, “b”)\n\
             - “size” (“S”, “2”)\n\
             - “Name”\n"
        );
        let plain =
            told(r#"{"message":"m","requestedSchema":{"properties":{"n":{"type":"integer","title":"N"}}}}"#);
        assert_eq!(plain.fields, "- “N”\n");
    }

    #[test]
    fn names_are_read_as_they_are_meant() {
        let form = told(
            r#"{"requestedSchema":{"properties":{
                "gr\u00f6\u00dfe":{"type":"string"},"a\"b":{"type":"string"},"kind":{"enum":["S"]}
            },"required":["gr\u00f6ße"]}}"#,
        );
        assert_eq!(form.fields, "- “größe”\n- “kind” (“S”)\n");
    }

    /// Reading it in full would take a hundred times its memory, and each name would be looked for among as many.
    #[test]
    fn a_form_as_large_as_a_line_has_its_message_only() {
        let names = |count: usize| (0..count).map(|at| format!("f{at}"));
        let form = |count: usize, message: &str| {
            let properties: serde_json::Map<String, Value> =
                names(count).map(|name| (name, serde_json::json!({}))).collect();
            let required: Vec<_> = names(count).collect();
            let schema = serde_json::json!({ "properties": properties, "required": required });
            serde_json::json!({ "message": message, "requestedSchema": schema }).to_string()
        };
        assert_eq!(told(&form(3_000, "m")).fields.lines().count(), PARTS);
        let large = form(100_000, &"m".repeat(1 << 20));
        let large = told(&large);
        assert_eq!(large.fields, "");
        assert_eq!(large.message.chars().count(), MESSAGE_CHARS + 2);
    }

    #[test]
    fn odd_and_absurd_forms_stay_short_quotations() {
        for params in [
            r#"{"message":5}"#,
            r#"{"message":"","requestedSchema":null}"#,
            r#"{"requestedSchema":{"properties":[]}}"#,
        ] {
            let expected = FormInWords {
                message: "“”".into(),
                fields: String::new(),
            };
            assert_eq!(told(params), expected, "{params}");
        }
        let odd = told(r#"{"requestedSchema":{"properties":{"a\nb":5,"c":{"enum":"x","title":["t"]}}}}"#);
        assert_eq!(odd.fields.lines().count(), 2, "{odd:?}");
        // More than is told of each, in a schema that is read.
        let long = "x".repeat(WORDS_CHARS + 1);
        let choice = serde_json::json!({ "const": 1, "title": format!("{long}\n# Allow") });
        let field =
            serde_json::json!({ "title": long, "description": long, "oneOf": vec![choice; PARTS + 1] });
        let properties: serde_json::Map<String, Value> =
            (0..=PARTS).map(|at| (format!("f{at}"), field.clone())).collect();
        let message = long.repeat(10);
        let form = serde_json::json!({ "message": message, "requestedSchema": { "properties": properties } });
        let form = told(&form.to_string());
        assert_eq!(form.message.chars().count(), MESSAGE_CHARS + 2);
        assert_eq!(form.fields.lines().count(), PARTS);
        for line in form.fields.lines() {
            assert!(line.starts_with("- “x") && line.ends_with("…”, …)"), "{line}");
            assert!(line.chars().count() < 2 * WORDS_CHARS + PARTS * (CHOICE_CHARS + 4) + 20);
        }
    }
}
