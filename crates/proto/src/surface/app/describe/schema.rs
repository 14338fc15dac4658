//! What the generators of types read in the schema.

use serde_json::Value;

/// Returns the members of an object.
pub fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// Returns the name of the type that a schema refers to, through any number of aliases.
pub fn target<'a>(document: &'a Value, schema: &'a Value) -> &'a str {
    let name = referred(schema).unwrap_or_default();
    match &document["$defs"][name] {
        alias if alias["$ref"].is_string() => target(document, alias),
        _ => name,
    }
}

/// Returns the name that a reference ends with.
pub fn referred(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

/// Makes a `threadId` required that may be absent, unless `null` has a meaning of its own.
pub fn with_required_thread(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let is_required = requires(&schema, "threadId");
    if !is_required && schema["properties"]["threadId"]["type"] == "string" {
        schema["properties"]["threadId"]["description"] = "Id of the thread.".into();
        match schema["required"].as_array_mut() {
            Some(required) => required.push("threadId".into()),
            None => schema["required"] = vec!["threadId"].into(),
        }
    }
    schema
}

/// Returns whether an object always has the member.
pub fn requires(schema: &Value, member: &str) -> bool {
    let required = schema["required"].as_array();
    required.is_some_and(|list| list.iter().any(|name| name == member))
}
