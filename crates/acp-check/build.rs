//! Embeds the schemas of ACP without their descriptions, compressed.
//!
//! `fixtures/acp` has the files as the protocol publishes them, with the unstable parts. A keyword that `src/schema/evaluate.rs` does not know
//! ends the build.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::{Value, json};

/// Keywords that decide nothing about a value.
const SILENT: [&str; 13] = [
    "$schema",
    "contentEncoding",
    "default",
    "description",
    "discriminator",
    "format",
    "title",
    "x-deserialize-default-on-error",
    "x-deserialize-default-on-null",
    "x-deserialize-skip-invalid-items",
    "x-docs-ignore",
    "x-scope",
    "x-state",
];

/// Keywords whose values are not schemas.
const PLAIN: [&str; 11] = [
    "$ref",
    "const",
    "enum",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "required",
    "type",
    "x-method",
];

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo::rerun-if-changed=build.rs");
    for version in ["v1", "v2"] {
        let file = format!("../../fixtures/acp/{version}.unstable.json");
        println!("cargo::rerun-if-changed={file}");
        let text = fs::read(&file).unwrap_or_else(|error| panic!("cannot read {file}: {error}"));
        let mut schema: Value =
            serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{file} is not JSON: {error}"));
        // The rest names all messages in one schema, which cannot say whose message failed.
        let mut short = json!({ "$defs": schema["$defs"].take() });
        strip(&mut short, &file);
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder
            .write_all(short["$defs"].to_string().as_bytes())
            .expect("a Vec can be written");
        let compressed = encoder.finish().expect("a Vec can be written");
        fs::write(out.join(version), compressed).expect("OUT_DIR can be written");
    }
}

/// Removes what decides nothing from a schema and those in it.
fn strip(schema: &mut Value, file: &str) {
    let Some(members) = schema.as_object_mut() else {
        return;
    };
    let is_open = members.get("unevaluatedProperties") == Some(&Value::Bool(true));
    members.retain(|keyword, _| {
        !(SILENT.contains(&keyword.as_str()) || is_open && keyword == "unevaluatedProperties")
    });
    if members.get("additionalProperties") == Some(&Value::Bool(true)) {
        members.remove("additionalProperties");
    }
    for (keyword, value) in members {
        match (keyword.as_str(), value) {
            ("$defs" | "properties", Value::Object(named)) => {
                for schema in named.values_mut() {
                    strip(schema, file);
                }
            }
            ("anyOf" | "oneOf", Value::Array(branches)) => {
                for schema in branches.iter_mut() {
                    strip(schema, file);
                }
            }
            ("additionalProperties" | "items" | "not" | "propertyNames", schema) => strip(schema, file),
            ("x-side", _) => {}
            (keyword, _) if PLAIN.contains(&keyword) => {}
            (keyword, _) => panic!(
                "{file} has the keyword {keyword:?}: teach it to src/schema/evaluate.rs, then list it in build.rs"
            ),
        }
    }
}
