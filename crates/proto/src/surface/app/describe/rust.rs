//! The protocol as Rust types, and the methods of the client for Rust.
//!
//! Structs that a client sends have public members and, if every member has an obvious value, a `Default`. The others are
//! `non_exhaustive`, because the daemon may add members. Enums keep what this version does not know.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::Value;

use super::schema::{members, referred, requires, target, with_required_thread};
use super::type_name;

const HEAD: &str =
    "// Generated from the table of the app protocol's methods: run `make generate`. Do not edit.\n\n";

/// Variants of what this version of the client does not know.
const UNRECOGNIZED: &str = "Unrecognized";

/// Returns a module with every type, and with an enum of all notifications.
pub fn types(document: &Value) -> String {
    let mut out = format!(
        "{HEAD}//! The types of the app protocol.\n//!\n//! What this version of the client does not know causes no error: unknown members are skipped, and unknown words, \
         objects and\n//! notifications are kept as they are. Nor does what an older daemon does not send: numbers, booleans and lists of responses and \
         questions\n//! are then 0, `false` and empty.\n\nuse std::collections::BTreeMap;\n\nuse serde::{{Deserialize, Serialize}};\n\
         use serde_json::value::RawValue;\nuse serde_json::{{Map, Value}};\n\nuse crate::JsonText;\nuse crate::json::read;\nuse crate::objects::objects;\nuse crate::words::words;\n"
    );
    let version = &document["protocolVersion"];
    let _ = writeln!(
        out,
        "\n/// Increases when something is renamed or removed.\npub const PROTOCOL_VERSION: u64 = {version};"
    );
    let writer = Writer::new(document);
    for (name, schema) in members(&document["$defs"]) {
        if writer.params.contains(name.as_str()) {
            writer.definition(&mut out, name, &with_required_thread(schema));
        } else {
            writer.definition(&mut out, name, schema);
        }
    }
    notifications(&mut out, document);
    out
}

/// Returns a module with a method of the client for each method of the protocol.
pub fn methods(document: &Value) -> String {
    let mut out = format!(
        "{HEAD}//! The methods of the app protocol, as methods of the client.\n\n#[allow(clippy::wildcard_imports, reason = \
         \"each method names two types\")]\nuse crate::protocol::*;\nuse crate::{{Client, Error}};\n\nimpl Client {{"
    );
    let all = members(&document["methods"]).filter(|(method, _)| *method != "initialize");
    for (at, (method, entry)) in all.enumerate() {
        if at > 0 {
            out.push('\n');
        }
        out.push('\n');
        about(&mut out, entry, "    ", || format!("Calls `{method}`."));
        let role = entry["role"].as_str().unwrap_or_default();
        let _ = writeln!(out, "    ///\n    /// Method `{method}`, for the role {role}.");
        let function = snake(&method.replace('/', "_"));
        let result = type_of(&entry["result"]);
        if target(document, &entry["params"]) == "NoParams" {
            let _ = write!(
                out,
                "    pub async fn {function}(&self) -> Result<{result}, Error> {{\n        self.call(\"{method}\", &NoParams {{}}).await\n    }}"
            );
        } else {
            let params = type_of(&entry["params"]);
            let _ = write!(
                out,
                "    pub async fn {function}(&self, params: &{params}) -> Result<{result}, Error> {{\n        self.call(\"{method}\", params).await\n    }}"
            );
        }
    }
    out + "\n}\n"
}

/// What the schema as a whole says about its types.
struct Writer<'a> {
    document: &'a Value,
    /// Types of the params of methods.
    params: BTreeSet<&'a str>,
    /// Types that are sent by clients.
    sent: BTreeSet<&'a str>,
    /// Types of responses and questions of the daemon.
    received: BTreeSet<&'a str>,
    /// Structs that can be made without any value.
    default: BTreeSet<&'a str>,
}

impl<'a> Writer<'a> {
    fn new(document: &'a Value) -> Self {
        let methods = members(&document["methods"]).map(|(_, entry)| target(document, &entry["params"]));
        let params: BTreeSet<&str> = methods.collect();
        let answers =
            members(&document["serverRequests"]).map(|(_, entry)| target(document, &entry["result"]));
        let results = members(&document["methods"]).map(|(_, entry)| target(document, &entry["result"]));
        let questions =
            members(&document["serverRequests"]).map(|(_, entry)| target(document, &entry["params"]));
        let sent = with_references(document, params.iter().copied().chain(answers).collect());
        let received = with_references(document, results.chain(questions).collect());
        let mut writer = Self {
            document,
            params,
            sent,
            received,
            default: BTreeSet::new(),
        };
        // A struct may contain another one.
        loop {
            let found: BTreeSet<&str> = writer
                .sent
                .iter()
                .copied()
                .filter(|name| writer.has_default(name))
                .collect();
            if found == writer.default {
                return writer;
            }
            writer.default = found;
        }
    }

    fn has_default(&self, name: &str) -> bool {
        let schema = &self.document["$defs"][name];
        let is_struct = schema["anyOf"].is_null() && schema["oneOf"].is_null() && schema["type"] == "object";
        is_struct
            && members(&schema["properties"]).all(|(member, of)| {
                !requires(schema, member)
                    || referred(of).is_none_or(|name| {
                        matches!(name, "AcpObject" | "Json")
                            || self.default.contains(target(self.document, of))
                    })
            })
    }

    fn definition(&self, out: &mut String, name: &str, schema: &Value) {
        out.push('\n');
        match name {
            "AcpObject" => {
                about(out, schema, "", String::new);
                out.push_str("pub type AcpObject = Map<String, Value>;\n");
                return;
            }
            "Json" => {
                about(out, schema, "", String::new);
                out.push_str("pub type Json = Value;\n");
                return;
            }
            _ => {}
        }
        let choices = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
        if let Some(target) = referred(schema) {
            let _ = writeln!(out, "/// The same as [`{target}`].\npub type {name} = {target};");
        } else if let Some(words) = words_of(schema) {
            words_enum(out, name, schema, &words);
        } else if let Some(choices) = choices {
            self.union(out, name, schema, choices);
        } else {
            self.structure(out, name, schema, "");
        }
    }

    /// Writes a struct. `more` are further members.
    fn structure(&self, out: &mut String, name: &str, schema: &Value, more: &str) {
        about(out, schema, "", || format!("The object `{name}`."));
        let default = if self.default.contains(name) {
            ", Default"
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "#[derive(Clone, Debug{default}, PartialEq, Deserialize, Serialize)]"
        );
        if !self.sent.contains(name) {
            out.push_str("#[non_exhaustive]\n");
        }
        if schema["properties"].is_null() {
            let _ = writeln!(out, "pub struct {name} {{}}");
            return;
        }
        let _ = writeln!(out, "#[serde(rename_all = \"camelCase\")]\npub struct {name} {{");
        if name.ends_with("Capabilities") {
            // An older daemon does not have what it does not name.
            let mut optional = schema.clone();
            optional["required"] = Value::Null;
            fields(out, &optional, Absent::IsError, "    ", "pub ");
        } else if self.received.contains(name) && name != "LimitsInForce" {
            fields(out, schema, Absent::IsDefault, "    ", "pub ");
        } else {
            fields(out, schema, Absent::IsError, "    ", "pub ");
        }
        let _ = writeln!(out, "{more}}}");
    }

    fn union(&self, out: &mut String, name: &str, schema: &Value, choices: &[Value]) {
        if choices.iter().all(|choice| referred(choice).is_some()) {
            // An object with members of its own, and with those of one of several objects.
            let object = format!("{name}Object");
            let more = format!(
                "    /// What it is, with its own members.\n    #[serde(flatten)]\n    pub object: {object},\n"
            );
            self.structure(out, name, schema, &more);
            let _ = writeln!(
                out,
                "\nobjects! {{\n    /// The kinds of [`{name}`].\n    {object} by \"type\" {{"
            );
            for choice in choices {
                let variant = referred(choice).unwrap_or_default();
                let definition = &self.document["$defs"][variant];
                about(out, definition, "        ", String::new);
                let kind = target(self.document, &definition["properties"]["type"]);
                let words = words_of(&self.document["$defs"][kind]).unwrap_or_default();
                let words: Vec<String> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
                let _ = writeln!(out, "        {variant}({variant}) = {},", words.join(" | "));
            }
            out.push_str("    }\n}\n");
            return;
        }
        about(out, schema, "", || format!("One of several: `{name}`."));
        out.push_str("#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]\n");
        let tag = tag_of(choices);
        let is_object = choices.iter().all(|choice| choice["properties"].is_object());
        match tag {
            Some(tag) => {
                let _ = writeln!(
                    out,
                    "#[serde(tag = \"{tag}\", rename_all_fields = \"camelCase\")]"
                );
            }
            None if !is_object => out.push_str("#[serde(untagged)]\n"),
            None => {}
        }
        let _ = writeln!(out, "#[non_exhaustive]\npub enum {name} {{");
        for choice in choices {
            match tag {
                Some(tag) => tagged_variant(out, choice, tag),
                None if is_object => member_variant(out, choice),
                None => {
                    let of = type_of(choice);
                    about(out, choice, "    ", || format!("A `{of}`."));
                    let variant = match of.as_str() {
                        "bool" => "Bool",
                        "String" => "Text",
                        of if of.starts_with("Vec<") => "List",
                        of => panic!("{name} can be {of}, which has no name as a variant"),
                    };
                    let _ = writeln!(out, "    {variant}({of}),");
                }
            }
        }
        let _ = writeln!(
            out,
            "    /// What this version of the client does not know.\n    #[serde(untagged)]\n    {UNRECOGNIZED}(Value),\n}}"
        );
    }
}

/// What a required member is that is absent.
#[derive(Clone, Copy, PartialEq)]
enum Absent {
    /// An error, as for the daemon's limits: one of 0 would let nothing pass.
    IsError,
    /// The default of its type, if it is a number, a boolean, a list or a map: a daemon that is older than the member does not send it.
    IsDefault,
}

/// Returns types with all those that they refer to.
fn with_references<'a>(document: &'a Value, mut open: Vec<&'a str>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    while let Some(name) = open.pop() {
        if found.insert(name) {
            references(&document["$defs"][name], &mut open);
        }
    }
    found
}

/// Collects the types that a schema refers to.
fn references<'a>(schema: &'a Value, found: &mut Vec<&'a str>) {
    match schema {
        Value::Object(object) => {
            found.extend(referred(schema));
            object.values().for_each(|value| references(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

/// Returns the words of an enum of words, with their descriptions.
fn words_of(schema: &Value) -> Option<Vec<(&str, &str)>> {
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(|word| Some((word.as_str()?, ""))).collect();
    }
    let choices = schema["oneOf"].as_array()?;
    let word = |choice: &Value| choice["const"].is_string();
    if !choices.iter().all(word) {
        return None;
    }
    choices
        .iter()
        .map(|choice| {
            Some((
                choice["const"].as_str()?,
                choice["description"].as_str().unwrap_or_default(),
            ))
        })
        .collect()
}

fn words_enum(out: &mut String, name: &str, schema: &Value, words: &[(&str, &str)]) {
    out.push_str("words! {\n");
    about(out, schema, "    ", || format!("The words of `{name}`."));
    let _ = writeln!(out, "    {name} {{");
    for (word, text) in words {
        let text = if text.is_empty() {
            format!("`{word}`")
        } else {
            escaped(text)
        };
        let _ = writeln!(out, "        /// {text}\n        {} = \"{word}\",", upper(word));
    }
    out.push_str("    }\n}\n");
}

/// Returns the member that tells the choices apart.
fn tag_of(choices: &[Value]) -> Option<&str> {
    let first = members(&choices.first()?["properties"]).find(|(_, member)| member["const"].is_string())?;
    let tag = first.0.as_str();
    choices
        .iter()
        .all(|choice| choice["properties"][tag]["const"].is_string())
        .then_some(tag)
}

fn tagged_variant(out: &mut String, choice: &Value, tag: &str) {
    let word = choice["properties"][tag]["const"].as_str().unwrap_or_default();
    about(out, choice, "    ", || format!("`{word}`"));
    let _ = write!(out, "    #[serde(rename = \"{word}\")]\n    {}", upper(word));
    let mut own = choice.clone();
    if let Some(properties) = own["properties"].as_object_mut() {
        properties.remove(tag);
    }
    if members(&own["properties"]).next().is_some() {
        out.push_str(" {\n");
        fields(out, &own, Absent::IsError, "        ", "");
        out.push_str("    }");
    }
    out.push_str(",\n");
}

/// Writes the variant of an object whose only member names it.
fn member_variant(out: &mut String, choice: &Value) {
    for (member, of) in members(&choice["properties"]) {
        about(out, choice, "    ", || format!("`{member}`"));
        let _ = writeln!(
            out,
            "    #[serde(rename = \"{member}\")]\n    {}({}),",
            upper(member),
            type_of(of)
        );
    }
}

fn fields(out: &mut String, schema: &Value, absent: Absent, indent: &str, visible: &str) {
    for (member, of) in members(&schema["properties"]) {
        about(out, of, indent, || format!("The member `{member}`."));
        let is_required = requires(schema, member);
        let mut name = snake(member);
        let mut attributes = Vec::new();
        if member.starts_with('_') {
            attributes.push(format!("rename = \"{member}\""));
            name = name.trim_start_matches('_').to_owned();
        }
        let mut kind = type_of(of);
        let text = of["description"].as_str().unwrap_or_default();
        if text.starts_with("JSON Schema") && matches!(kind.as_str(), "Json" | "Option<Json>") {
            // The fields of a form have an order, which a map would lose.
            kind = kind.replace("Json", "JsonText");
        }
        if !is_required && text.contains("`null` if it was removed") {
            // Absent, `null` and a value are three things here.
            attributes.push("default, deserialize_with = \"crate::objects::present\"".into());
            attributes.push("skip_serializing_if = \"Option::is_none\"".into());
            kind = format!("Option<{kind}>");
        } else if !is_required {
            attributes.push("default".into());
            // What has a default of its own is sent like any other value.
            if kind.starts_with("Option<") {
                attributes.push("skip_serializing_if = \"Option::is_none\"".into());
            } else if referred(of).is_some() {
                kind = format!("Option<{kind}>");
                attributes.push("skip_serializing_if = \"Option::is_none\"".into());
            } else if kind.starts_with("Vec<") {
                attributes.push("skip_serializing_if = \"Vec::is_empty\"".into());
            } else if kind.starts_with("BTreeMap<") {
                attributes.push("skip_serializing_if = \"BTreeMap::is_empty\"".into());
            }
        } else if absent == Absent::IsDefault && has_plain_default(&kind) {
            attributes.push("default".into());
        }
        if matches!(
            kind.as_str(),
            "Vec<AcpObject>" | "Option<AcpObject>" | "Option<Vec<AcpObject>>"
        ) {
            attributes.push("deserialize_with = \"crate::objects::of_agent\"".into());
        }
        if !attributes.is_empty() {
            let _ = writeln!(out, "{indent}#[serde({})]", attributes.join(", "));
        }
        let raw = if KEYWORDS.contains(&name.as_str()) {
            "r#"
        } else {
            ""
        };
        let _ = writeln!(out, "{indent}{visible}{raw}{name}: {kind},");
    }
}

/// Returns whether a type of Rust has a default that says as much as the absence of its value.
fn has_plain_default(kind: &str) -> bool {
    matches!(kind, "bool" | "u64" | "i64" | "f64")
        || kind.starts_with("Vec<")
        || kind.starts_with("BTreeMap<")
}

/// Words of Rust that members are named like.
const KEYWORDS: [&str; 9] = ["as", "for", "in", "match", "move", "ref", "type", "use", "where"];

/// Returns the type that a schema describes.
fn type_of(schema: &Value) -> String {
    if let Some(name) = referred(schema) {
        return name.to_owned();
    }
    let is_null = |schema: &&Value| schema["type"] == "null";
    if let Some(choices) = schema["anyOf"].as_array() {
        let others: Vec<&Value> = choices.iter().filter(|choice| !is_null(choice)).collect();
        return match others[..] {
            [one] if others.len() < choices.len() => format!("Option<{}>", type_of(one)),
            _ => "Value".into(),
        };
    }
    let plain = |name: &str| match name {
        "string" => "String".to_owned(),
        "boolean" => "bool".into(),
        "number" => "f64".into(),
        "integer" if schema["format"] == "int64" => "i64".into(),
        "integer" => "u64".into(),
        "array" => format!("Vec<{}>", schema.get("items").map_or("Value".into(), type_of)),
        "object" => match schema.get("additionalProperties") {
            Some(of) if of.is_object() => format!("BTreeMap<String, {}>", type_of(of)),
            _ => "Map<String, Value>".into(),
        },
        _ => "Value".into(),
    };
    match &schema["type"] {
        Value::String(name) => plain(name),
        Value::Array(names) => {
            let mut names = names
                .iter()
                .filter_map(Value::as_str)
                .filter(|name| *name != "null");
            match (names.next(), names.next()) {
                (Some(name), None) => format!("Option<{}>", plain(name)),
                _ => "Value".into(),
            }
        }
        _ => "Value".into(),
    }
}

/// Writes the enum of what the daemon sends unrequested. Questions are among it: a client that does not declare `approvals`
/// receives them as notifications.
fn notifications(out: &mut String, document: &Value) {
    let entries: Vec<(&String, &Value)> = ["notifications", "serverRequests"]
        .into_iter()
        .flat_map(|key| members(&document[key]))
        .collect();
    out.push_str(
        "\n/// A notification of the daemon: an event of a thread, or news of the daemon.\n#[derive(Clone, Debug, PartialEq)]\n\
         #[non_exhaustive]\n#[allow(clippy::large_enum_variant, reason = \"most notifications are read at once, and dropped\")]\n\
         pub enum Notification {\n",
    );
    for (method, entry) in &entries {
        about(out, entry, "    ", || format!("`{method}`"));
        let _ = writeln!(
            out,
            "    ///\n    /// Method `{method}`.\n    {}({}),",
            type_name(method, ""),
            type_of(&entry["params"])
        );
    }
    let _ = write!(
        out,
        "    /// A notification that this version of the client does not know, or whose params it cannot read.\n    {UNRECOGNIZED} {{\n        \
         /// Name of the method.\n        method: String,\n        /// The params, unchanged.\n        params: Value,\n    }},\n}}\n\n\
         impl Notification {{\n    /// Reads the params of a notification.\n    pub(crate) fn read(method: &str, params: &RawValue) -> Self {{\n        \
         let known = match method {{\n"
    );
    for (method, _) in &entries {
        let variant = type_name(method, "");
        let _ = writeln!(
            out,
            "            \"{method}\" => read(params).map(Self::{variant}).ok(),"
        );
    }
    let _ = write!(
        out,
        "            _ => None,\n        }};\n        known.unwrap_or_else(|| Self::{UNRECOGNIZED} {{\n            method: method.to_owned(),\n            \
         params: read(params).unwrap_or_default(),\n        }})\n    }}\n\n    /// Returns the name of its method.\n    \
         pub fn method(&self) -> &str {{\n        match self {{\n"
    );
    for (method, _) in &entries {
        let _ = writeln!(
            out,
            "            Self::{}(_) => \"{method}\",",
            type_name(method, "")
        );
    }
    let _ = write!(
        out,
        "            Self::{UNRECOGNIZED} {{ method, .. }} => method,\n        }}\n    }}\n\n    /// Returns the id of the thread that it is about.\n    \
         pub fn thread_id(&self) -> Option<&str> {{\n        match self {{\n"
    );
    let member = |entry: &Value, member: &str| {
        let params = &document["$defs"][target(document, &entry["params"])];
        params["properties"][member]
            .is_object()
            .then(|| requires(params, member))
    };
    for (method, entry) in &entries {
        let variant = type_name(method, "");
        let _ = match member(entry, "threadId") {
            Some(true) => writeln!(
                out,
                "            Self::{variant}(params) => Some(&params.thread_id),"
            ),
            Some(false) => writeln!(
                out,
                "            Self::{variant}(params) => params.thread_id.as_deref(),"
            ),
            None => writeln!(out, "            Self::{variant}(_) => None,"),
        };
    }
    let _ = write!(
        out,
        "            Self::{UNRECOGNIZED} {{ params, .. }} => params[\"threadId\"].as_str(),\n        }}\n    }}\n\n    \
         /// Returns its number in the thread, if it is an event of one that the log has.\n    \
         pub fn seq(&self) -> Option<u64> {{\n        match self {{\n"
    );
    for (method, entry) in &entries {
        let variant = type_name(method, "");
        let _ = match member(entry, "seq") {
            Some(true) => writeln!(out, "            Self::{variant}(params) => Some(params.seq),"),
            Some(false) => writeln!(out, "            Self::{variant}(params) => params.seq,"),
            None => writeln!(out, "            Self::{variant}(_) => None,"),
        };
    }
    let _ = write!(
        out,
        "            Self::{UNRECOGNIZED} {{ params, .. }} => params[\"seq\"].as_u64(),\n        }}\n    }}\n}}\n"
    );
}

fn about(out: &mut String, schema: &Value, indent: &str, otherwise: impl Fn() -> String) {
    let text = match schema["description"].as_str() {
        Some(text) => escaped(text),
        None => otherwise(),
    };
    if !text.is_empty() {
        let _ = writeln!(out, "{indent}/// {text}");
    }
}

/// Escapes what rustdoc would read as a link or as HTML, outside of backquotes.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for (at, part) in text.split('`').enumerate() {
        if at > 0 {
            out.push('`');
        }
        for char in part.chars() {
            if at % 2 == 0 && matches!(char, '[' | ']' | '<' | '>') {
                out.push('\\');
            }
            out.push(char);
        }
    }
    out
}

/// Returns a name of the protocol as the name of a variant: `in_progress` becomes `InProgress`.
fn upper(name: &str) -> String {
    let words = name.split('_').filter(|word| !word.is_empty()).map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    });
    words.collect()
}

/// Returns a name of the protocol as the name of a member: `threadId` becomes `thread_id`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    for char in name.chars() {
        if char.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(char.to_ascii_lowercase());
    }
    out
}
