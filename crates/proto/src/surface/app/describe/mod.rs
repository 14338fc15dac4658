//! The description of the app protocol: the documents that are generated from the tables of methods and notifications.
//!
//! In: the tables, with the types that describe what is sent and received. Out: the JSON Schema, the types of the
//! TypeScript, Python and Rust clients and the reference, which are in the repository. Owns: the form of these documents. Never: describes an object that
//! the daemon sends; its definition does. Only built for tests, which check that the documents are up to date.

#![allow(dead_code, reason = "of some types only the schema is wanted")]

mod initialize;
mod python;
mod reference;
mod rust;
mod schema;
mod typescript;

use std::path::{Path, PathBuf};

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use initialize::InitializeParams;

use super::notifications::{self, NOTIFICATIONS, REQUESTS};
use super::table::METHODS;
use super::wire;

/// Description and types of a method.
pub struct Described {
    pub about: &'static str,
    pub params: fn(&mut SchemaGenerator) -> Schema,
    pub result: fn(&mut SchemaGenerator) -> Schema,
}

/// The type that describes a type of the daemon.
type SchemaOf<T> = <T as wire::Described>::Schema;

/// An object of ACP, as in ACP's schema.
pub struct Acp;

/// Any JSON value.
pub struct Json;

impl JsonSchema for Acp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AcpObject".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "description": "An object of the Agent Client Protocol, unchanged." })
    }
}

impl JsonSchema for Json {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Json".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "Any JSON value." })
    }
}

/// A required text that may be `null`.
pub struct Nullable;

impl JsonSchema for Nullable {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Nullable".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "null"] })
    }
}

/// Returns the schema of the params `P` with their `threadId`.
pub fn with_thread<P: JsonSchema>(generator: &mut SchemaGenerator, required: bool) -> Schema {
    let mut schema = P::json_schema(generator);
    let object = schema.ensure_object();
    object.insert("type".into(), json!("object"));
    let about = if required {
        "Id of the thread."
    } else {
        "Id of the thread; by default, the one that this connection last started, resumed or forked."
    };
    let members = object.entry("properties").or_insert_with(|| json!({}));
    let mut properties = Map::new();
    properties.insert(
        "threadId".into(),
        json!({ "type": "string", "description": about }),
    );
    properties.append(members.as_object_mut().unwrap());
    *members = properties.into();
    if required {
        let list = object.entry("required").or_insert_with(|| json!([]));
        list.as_array_mut().unwrap().insert(0, json!("threadId"));
    }
    schema
}

/// Returns the type name for a method: `thread/tokenUsage/updated` becomes `ThreadTokenUsageUpdated`.
fn type_name(method: &str, end: &str) -> String {
    let words = method.split('/').map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    });
    words.collect::<String>() + end
}

/// Returns the whole protocol: types under `$defs`, and the tables that refer to them.
fn document() -> Value {
    let settings = SchemaSettings::draft2020_12();
    let mut generator = settings.into_generator();
    let mut params = Map::new();
    let mut methods = Map::new();
    for method in METHODS {
        let described = &method.described;
        let name = type_name(method.name, "Params");
        params.insert(name.clone(), (described.params)(&mut generator).into());
        let entry = json!({
            "description": described.about.trim(),
            "params": { "$ref": format!("#/$defs/{name}") },
            "result": (described.result)(&mut generator),
            "role": method.role().name(),
            "order": method.kind.order().word(),
        });
        methods.insert(method.name.into(), entry);
    }
    let described = |list: &[notifications::Described],
                     generator: &mut SchemaGenerator|
     -> Map<String, Value> {
        let entry = |entry: &notifications::Described, generator: &mut SchemaGenerator| json!({ "description": entry.about.trim(), "params": (entry.params)(generator) });
        list.iter()
            .map(|described| (described.method.to_owned(), entry(described, generator)))
            .collect()
    };
    let notifications = described(NOTIFICATIONS, &mut generator);
    let mut requests = described(REQUESTS, &mut generator);
    for entry in requests.values_mut() {
        entry["result"] = generator.subschema_for::<super::params::Response>().into();
    }
    let initialize = json!({
        "description": "The first request of a connection; the notification `initialized` follows its result.",
        "params": generator.subschema_for::<InitializeParams>(),
        "result": generator.subschema_for::<SchemaOf<wire::welcome::Initialized<'_>>>(),
        "role": "observer",
        "order": "thread",
    });
    let error = generator.subschema_for::<SchemaOf<wire::error::Error<'_>>>();
    let mut defs: Map<String, Value> = generator.take_definitions(true);
    defs.append(&mut params);
    // Methods follow the order of the table, except that the first method of a connection comes first.
    let mut all = Map::new();
    all.insert("initialize".into(), initialize);
    all.append(&mut methods);
    defs.sort_keys();
    let mut document = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "acpd app protocol",
        "protocolVersion": super::PROTOCOL_VERSION,
        "methods": all,
        "notifications": notifications,
        "serverRequests": requests,
        "error": error,
        "$defs": defs,
    });
    one_line(&mut document);
    document
}

/// Returns the methods of permission requests.
fn approvals(document: &Value) -> impl Iterator<Item = &str> {
    let requests = document["serverRequests"].as_object().into_iter().flatten();
    let is_approval = |entry: &Value| entry["params"]["$ref"] == "#/$defs/Approval";
    requests
        .filter(move |(_, entry)| is_approval(entry))
        .map(|(method, _)| method.as_str())
}

/// Joins the lines of descriptions, which doc comments in the source wrap.
fn one_line(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                match member {
                    Value::String(text) if name == "description" => {
                        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                    }
                    _ => one_line(member),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(one_line),
        _ => {}
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares `path` of the repository with `text`, or writes the file if `ACPD_GENERATE` is set.
fn up_to_date(path: &str, text: &str) {
    let place = repository().join(path);
    let is = std::fs::read_to_string(&place).unwrap_or_default();
    if is == text {
        return;
    }
    assert!(
        std::env::var_os("ACPD_GENERATE").is_some(),
        "{path} is not up to date: run make generate"
    );
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    std::fs::write(place, text).unwrap();
}

#[test]
fn the_schema_is_up_to_date() {
    let text = serde_json::to_string_pretty(&document()).unwrap() + "\n";
    up_to_date("docs/app-protocol.schema.json", &text);
}

#[test]
fn the_typescript_types_are_up_to_date() {
    up_to_date("web/client/src/protocol.ts", &typescript::write(&document()));
}

#[test]
fn the_python_types_are_up_to_date() {
    up_to_date(
        "clients/python/src/acpd_client/protocol.py",
        &python::write(&document()),
    );
}

#[test]
fn the_rust_types_are_up_to_date() {
    up_to_date("crates/client/src/protocol.rs", &rust::types(&document()));
    up_to_date("crates/client/src/methods.rs", &rust::methods(&document()));
}

#[test]
fn the_reference_is_up_to_date() {
    let path = "docs/app-protocol.md";
    let page = std::fs::read_to_string(repository().join(path)).unwrap();
    up_to_date(path, &reference::put_into(&page, &document()));
}

#[test]
fn the_reference_of_types_is_up_to_date() {
    let path = "docs/app-protocol-types.md";
    let page = std::fs::read_to_string(repository().join(path)).unwrap();
    up_to_date(path, &reference::put_types_into(&page, &document()));
}

#[test]
fn every_method_is_there_once() {
    let mut names: Vec<_> = METHODS.iter().map(|method| method.name).collect();
    names.extend(NOTIFICATIONS.iter().map(|entry| entry.method));
    names.extend(REQUESTS.iter().map(|entry| entry.method));
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}
