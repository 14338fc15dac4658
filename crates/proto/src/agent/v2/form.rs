//! Requests for information. The fields of a form in version 2 may have types and formats that version 1 does not have.

use acpd_model::{RawJson, json};

use super::parts::{noted, object_in, text_in};
use crate::wire::{decoded, member, members, object, others, spliced};

/// The types of fields in version 1.
const TYPES: [&str; 5] = ["string", "number", "integer", "boolean", "array"];
/// The formats of texts in version 1.
const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];

/// Returns the params of `elicitation/create` with a form that version 1 has; `None` if they are that. An unknown format is only an
/// annotation. A field of an unknown type that may be left out is left out; another one stays, because no answer would be whole without it.
pub(super) fn form(params: &RawJson) -> Option<RawJson> {
    let schema = object_in(params, "requestedSchema")?;
    let properties = object_in(&schema, "properties")?;
    let required: Vec<String> = member(&schema, "required")
        .and_then(|names| json::read(names).ok())
        .unwrap_or_default();
    let mut is_changed = false;
    let known = object(|out| {
        members(&properties, |key, value| {
            let field = RawJson::trusted(value);
            let kind = text_in(&field, "type").unwrap_or_default();
            let format = text_in(&field, "format");
            if !TYPES.contains(&&*kind) && !required.iter().any(|name| *name == decoded(key)) {
                is_changed = true;
            } else if kind == "string" && format.is_some_and(|format| !FORMATS.contains(&&*format)) {
                is_changed = true;
                out.json(key, others(&field, &["format"]).as_ref());
            } else {
                out.raw(key, value);
            }
        });
    });
    if !is_changed {
        return None;
    }
    let known = spliced(&schema, &[("properties", known.get())]);
    let params = spliced(params, &[("requestedSchema", known.get())]);
    Some(noted(
        &params,
        &format!(r#"{{"requestedSchema":{}}}"#, schema.get()),
    ))
}
