//! Forms that agents request. Codex shows fields for text, choices and yes or no. Other fields are shown as text, whose
//! value is read in the answer.

use std::collections::BTreeMap;

use acpd_model::RawJson;
use acpd_model::limits::FORM_SCHEMA_BYTES;
use serde_json::{Map, Value, json};

/// The type of a field that Codex has no input for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldType {
    Integer,
    Number,
    /// Several values.
    List,
}

impl FieldType {
    fn of(field: &Value) -> Option<Self> {
        match field["type"].as_str()? {
            "integer" => Some(Self::Integer),
            "number" => Some(Self::Number),
            "array" => Some(Self::List),
            _ => None,
        }
    }

    fn describe(self, field: &Value) -> String {
        let items = &field["items"];
        let choices = items["enum"].as_array().or(items["anyOf"].as_array());
        match (self, choices) {
            (Self::Integer, _) => "An integer.".to_owned(),
            (Self::Number, _) => "A number.".to_owned(),
            (Self::List, None) => "Values, separated by commas.".to_owned(),
            (Self::List, Some(choices)) => {
                let name = |choice: &Value| choice.as_str().or(choice["const"].as_str()).map(str::to_owned);
                let names: Vec<String> = choices.iter().filter_map(name).collect();
                format!("Any of {}, separated by commas.", names.join(", "))
            }
        }
    }

    /// Reads the text of a field; `None` if it is not such a value.
    fn read(self, text: &str) -> Option<Value> {
        match self {
            Self::Integer => text.trim().parse::<i64>().ok().map(Value::from),
            Self::Number => text.trim().parse::<f64>().ok().map(Value::from),
            Self::List => {
                let values = text.split(',').map(str::trim).filter(|value| !value.is_empty());
                Some(values.collect())
            }
        }
    }
}

/// The fields of a form that are shown as text.
pub(super) type TextFields = BTreeMap<String, FieldType>;

/// Returns the schema to show, and the fields that it shows as text. A schema without such fields stays unchanged, and so does one above
/// [`FORM_SCHEMA_BYTES`].
pub(super) fn shown_schema(schema: &RawJson) -> (RawJson, TextFields) {
    let mut fields = TextFields::new();
    let small = Some(schema).filter(|schema| schema.get().len() <= FORM_SCHEMA_BYTES);
    let Some(Ok(mut shown)) = small.map(RawJson::read::<Value>) else {
        return (schema.clone(), fields);
    };
    let properties = shown["properties"].as_object_mut();
    for (name, field) in properties.into_iter().flatten() {
        let Some(field_type) = FieldType::of(field) else {
            continue;
        };
        fields.insert(name.clone(), field_type);
        let hint = field_type.describe(field);
        let description = match field["description"].as_str() {
            Some(words) => format!("{words} {hint}"),
            None => hint,
        };
        let title = field["title"].as_str().unwrap_or(name);
        *field = json!({ "type": "string", "title": title, "description": description });
    }
    if fields.is_empty() {
        return (schema.clone(), fields);
    }
    (shown.into(), fields)
}

/// Returns the content of an answer with the values of its text fields; the name of a field whose text is not such a value
/// otherwise.
pub(super) fn read_fields(content: &RawJson, fields: &TextFields) -> Result<RawJson, String> {
    if fields.is_empty() {
        return Ok(content.clone());
    }
    let mut values: Map<String, Value> = content.read().unwrap_or_default();
    for (name, field_type) in fields {
        let Some(text) = values.get(name).and_then(Value::as_str).map(str::to_owned) else {
            continue;
        };
        if text.trim().is_empty() {
            values.remove(name);
            continue;
        }
        let value = field_type.read(&text).ok_or_else(|| name.clone())?;
        values.insert(name.clone(), value);
    }
    Ok(Value::from(values).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_as_large_as_a_line_passes_through_unread() {
        let schema = |title: &str| {
            let count = json!({ "type": "integer", "title": title });
            RawJson::from(json!({ "type": "object", "properties": { "count": count } }))
        };
        let (shown, fields) = shown_schema(&schema("Count"));
        assert!(
            shown.get().contains("string") && fields.contains_key("count"),
            "{shown:?}"
        );
        let large = schema(&"x".repeat(FORM_SCHEMA_BYTES));
        let (shown, fields) = shown_schema(&large);
        assert!(shown.get() == large.get() && fields.is_empty());
    }
}
