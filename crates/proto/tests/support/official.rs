//! The files of the official ACP schema, version 1.

use jsonschema::Validator;
use serde_json::{Value, json};

const FOLDER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/node/node_modules/@agentclientprotocol/sdk/schema/v1"
);

/// Reads a file of the schema.
pub fn read(file: &str) -> Value {
    let text = std::fs::read_to_string(format!("{FOLDER}/{file}")).unwrap_or_else(|error| {
        panic!("the official ACP schema is not there: run `make deps` ({FOLDER}/{file}: {error})")
    });
    serde_json::from_str(&text).unwrap()
}

/// Compiles a definition of the schema.
pub fn part(whole: &Value, name: &str) -> Validator {
    let schema = json!({ "$ref": format!("#/$defs/{name}"), "$defs": whole["$defs"] });
    jsonschema::draft202012::new(&schema).unwrap()
}
