//! The official ACP schema, version 1, as `fixtures/acp` keeps it.

use jsonschema::Validator;
use serde_json::{Value, json};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/acp");

/// Reads a schema: `v1`, `v1.unstable`, and the same of version 2.
pub fn read(name: &str) -> Value {
    let file = format!("{FOLDER}/{name}.json");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
    serde_json::from_str(&text).unwrap()
}

/// Compiles a definition of the schema.
pub fn part(whole: &Value, name: &str) -> Validator {
    let schema = json!({ "$ref": format!("#/$defs/{name}"), "$defs": whole["$defs"] });
    jsonschema::draft202012::new(&schema).unwrap()
}

/// Compiles JSON-RPC's own rules for a message. The schema has only what messages contain.
pub fn envelope() -> Validator {
    let id = json!({ "type": ["string", "integer", "null"] });
    let with = |properties: Value, required: &[&str]| {
        let mut message = json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        });
        message["properties"]["jsonrpc"] = json!({ "const": "2.0" });
        message
    };
    let method = json!({ "type": "string", "minLength": 1 });
    let schema = json!({ "oneOf": [
        with(json!({ "id": id, "method": method, "params": true }), &["jsonrpc", "method"]),
        with(json!({ "id": id, "result": true }), &["jsonrpc", "id", "result"]),
        with(json!({ "id": id, "error": { "type": "object" } }), &["jsonrpc", "id", "error"]),
    ] });
    jsonschema::draft202012::new(&schema).unwrap()
}
