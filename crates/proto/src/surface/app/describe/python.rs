//! The protocol as Python types.
//!
//! Optional members are in a class of their own, which extends the class of the required ones: Python 3.10 has no `NotRequired`.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::schema::{members, referred, requires, target, with_required_thread};
use super::type_name;

/// Returns a module with every type, and with the methods of a client that depend on them.
pub fn write(document: &Value) -> String {
    let version = &document["protocolVersion"];
    let mut out =
        format!("{HEAD}\n#: Increases when something is renamed or removed.\nPROTOCOL_VERSION = {version}\n");
    connection_notifications(&mut out, document);
    approvals(&mut out, document);
    let params: Vec<&str> = members(&document["methods"])
        .map(|(_, method)| target(document, &method["params"]))
        .collect();
    for (name, schema) in members(&document["$defs"]) {
        if params.contains(&name.as_str()) {
            definition(&mut out, document, name, &with_required_thread(schema));
        } else {
            definition(&mut out, document, name, schema);
        }
    }
    events(&mut out, document);
    client(&mut out, document);
    out
}

const HEAD: &str = r#"# Generated from the table of the app protocol's methods: run `make generate`. Do not edit.
"""The types of the app protocol.

A client that reconnects has no "thread of this connection", so ``threadId`` is required where the protocol defaults to that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias, TypedDict, overload
"#;

fn definition(out: &mut String, document: &Value, name: &str, schema: &Value) {
    let choices = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
    if let Some(choices) = choices.filter(|choices| choices.iter().all(is_record(document))) {
        let names = choices
            .iter()
            .map(|choice| choice_class(out, document, name, schema, choice));
        let union = names.collect::<Vec<_>>().join(" | ");
        alias(out, name, &union, schema);
    } else if schema["properties"].is_object() {
        class(out, name, &[schema], description(schema));
    } else {
        alias(out, name, &of(schema), schema);
    }
}

/// Returns whether a choice is an object with known members, or refers to one.
fn is_record(document: &Value) -> impl Fn(&Value) -> bool + '_ {
    |choice| {
        choice["properties"].is_object()
            || document["$defs"][target(document, choice)]["properties"].is_object()
    }
}

/// Writes a class for one choice of a union, with the members that all choices share; returns its name.
fn choice_class(out: &mut String, document: &Value, name: &str, union: &Value, choice: &Value) -> String {
    if let Some(referred) = referred(choice) {
        if !union["properties"].is_object() {
            return referred.to_owned();
        }
        let class_name = format!("{referred}{name}");
        let own = &document["$defs"][referred];
        class(out, &class_name, &[union, own], description(own));
        return class_name;
    }
    // The constant that tells choices apart, or the only member of the choice.
    let constant = members(&choice["properties"]).find_map(|(_, member)| member["const"].as_str());
    let only = members(&choice["properties"])
        .next()
        .map(|(member, _)| member.as_str());
    let class_name = type_name(constant.or(only).unwrap_or_default(), "");
    let class_name = format!("{name}{class_name}");
    class(out, &class_name, &[union, choice], description(choice));
    class_name
}

fn alias(out: &mut String, name: &str, text: &str, schema: &Value) {
    // In quotes, because what it names may follow.
    let quoted = if text.contains('"') {
        text.to_owned()
    } else {
        format!("\"{text}\"")
    };
    let _ = write!(out, "\n\n{name}: TypeAlias = {quoted}\n");
    docstring(out, description(schema), "");
}

/// Writes a class with the members of all schemas.
fn class(out: &mut String, name: &str, schemas: &[&Value], about: &str) {
    let all: Vec<_> = schemas
        .iter()
        .flat_map(|schema| {
            members(&schema["properties"]).map(|(name, of)| (name, of, requires(schema, name)))
        })
        .collect();
    let is_empty = all.is_empty();
    let (required, optional): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(_, _, is_required)| *is_required);
    let base = if required.is_empty() || optional.is_empty() {
        "TypedDict".to_owned()
    } else {
        let _ = write!(out, "\n\nclass _{name}(TypedDict):\n");
        fields(out, &required);
        format!("_{name}")
    };
    let total = if optional.is_empty() { "" } else { ", total=False" };
    let _ = write!(out, "\n\nclass {name}({base}{total}):\n");
    docstring(out, about, "    ");
    match (about.is_empty(), is_empty) {
        (true, true) => out.push_str("    pass\n"),
        (false, false) => out.push('\n'),
        _ => {}
    }
    fields(out, if optional.is_empty() { &required } else { &optional });
}

/// Words that cannot be the name of a member in the syntax of classes.
const KEYWORDS: [&str; 12] = [
    "as", "class", "for", "from", "global", "if", "import", "in", "is", "not", "pass", "with",
];

fn fields(out: &mut String, fields: &[(&String, &Value, bool)]) {
    for (name, schema, _) in fields {
        assert!(
            !KEYWORDS.contains(&name.as_str()),
            "{name} is a keyword of Python: name the member in another way"
        );
        let _ = writeln!(out, "    {name}: {}", of(schema));
        docstring(out, description(schema), "    ");
    }
}

fn description(schema: &Value) -> &str {
    schema["description"].as_str().unwrap_or_default()
}

fn docstring(out: &mut String, text: &str, indent: &str) {
    if !text.is_empty() {
        // A quote at the end would be read as part of the closing ones.
        let space = if text.ends_with('"') { " " } else { "" };
        let _ = writeln!(out, "{indent}\"\"\"{}{space}\"\"\"", text.replace('\\', "\\\\"));
    }
}

/// Returns the type that a schema describes, without members of its own.
fn of(schema: &Value) -> String {
    let Some(object) = schema.as_object() else {
        return "Any".into();
    };
    if let Some(name) = referred(schema) {
        return name.to_owned();
    }
    if let Some(choices) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        return union(choices.iter().map(of));
    }
    if let Some(value) = object.get("const") {
        return format!("Literal[{value}]");
    }
    if let Some(values) = schema["enum"].as_array() {
        return union(values.iter().map(|value| format!("Literal[{value}]")));
    }
    match &schema["type"] {
        Value::String(one) => plain(one, object),
        Value::Array(several) => union(
            several
                .iter()
                .filter_map(Value::as_str)
                .map(|one| plain(one, object)),
        ),
        _ => "Any".into(),
    }
}

fn union(choices: impl Iterator<Item = String>) -> String {
    let mut literals: Vec<String> = Vec::new();
    let mut others: Vec<String> = Vec::new();
    for choice in choices {
        let literal = choice
            .strip_prefix("Literal[")
            .and_then(|rest| rest.strip_suffix(']'));
        match literal {
            Some(value) => literals.push(value.to_owned()),
            None if others.contains(&choice) => {}
            None => others.push(choice),
        }
    }
    if others.iter().any(|choice| choice == "Any") {
        return "Any".into();
    }
    if !literals.is_empty() {
        others.insert(0, format!("Literal[{}]", literals.join(", ")));
    }
    others.join(" | ")
}

fn plain(name: &str, schema: &Map<String, Value>) -> String {
    match name {
        "string" => "str".into(),
        "integer" => "int".into(),
        "number" => "float".into(),
        "boolean" => "bool".into(),
        "null" => "None".into(),
        "array" => format!("list[{}]", schema.get("items").map_or("Any".into(), of)),
        _ => match schema.get("additionalProperties") {
            Some(values) if values.is_object() => format!("dict[str, {}]", of(values)),
            _ => "dict[str, Any]".into(),
        },
    }
}

/// Writes the names of notifications of a connection. Those of a thread's events have a number.
fn connection_notifications(out: &mut String, document: &Value) {
    let has_number = |entry: &Value| {
        let params = &document["$defs"][target(document, &entry["params"])];
        params["properties"]["seq"].is_object()
    };
    let _ = writeln!(
        out,
        "\n#: Notifications of a connection, which belong to no thread.\nCONNECTION_NOTIFICATIONS = frozenset(("
    );
    for (method, entry) in members(&document["notifications"]) {
        if !has_number(entry) {
            let _ = writeln!(out, "    \"{method}\",");
        }
    }
    out.push_str("))\n");
}

/// Writes the names of permission requests, which have one handler in most programs.
fn approvals(out: &mut String, document: &Value) {
    let methods = super::approvals(document).map(|method| format!("    \"{method}\",\n"));
    let methods = methods.collect::<String>();
    let _ = write!(
        out,
        "\nApprovalMethod: TypeAlias = Literal[\n{methods}]\n\n#: The methods of permission requests.\nAPPROVALS: tuple[ApprovalMethod, ...] = (\n{methods})\n"
    );
}

/// Writes a class for each event of a thread: a notification with a number, or a question as all clients receive it.
fn events(out: &mut String, document: &Value) {
    let mut names = Vec::new();
    for key in ["notifications", "serverRequests"] {
        for (method, entry) in members(&document[key]) {
            let params = target(document, &entry["params"]);
            if document["$defs"][params]["properties"]["seq"].is_object() {
                let name = type_name(method, "Event");
                let _ = write!(out, "\n\nclass {name}(TypedDict):\n");
                docstring(out, description(entry), "    ");
                let _ = writeln!(out, "\n    method: Literal[\"{method}\"]\n    params: {params}");
                names.push(name);
            }
        }
    }
    let _ = write!(out, "\n\nThreadEvent: TypeAlias = (\n    \"{}", names[0]);
    for name in &names[1..] {
        let _ = write!(out, " \"\n    \"| {name}");
    }
    out.push_str("\"\n)\n");
    docstring(
        out,
        "One event of a thread: a notification, or a question as all clients receive it.",
        "",
    );
}

/// Writes the class with the client's methods whose types depend on a name of the protocol.
fn client(out: &mut String, document: &Value) {
    out.push_str(CLIENT);
    for (method, entry) in members(&document["methods"]).filter(|(method, _)| *method != "initialize") {
        let name = of(&entry["params"]);
        let params = with_required_thread(&document["$defs"][target(document, &entry["params"])]);
        let is_empty = params["required"].as_array().is_none_or(Vec::is_empty);
        let default = if is_empty { " | None = None" } else { "" };
        let result = of(&entry["result"]);
        let _ = write!(
            out,
            "\n    @overload\n    async def call(\n        self, method: Literal[\"{method}\"], params: {name}{default}, *, timeout: float | None = None\n    ) -> {result}:\n"
        );
        docstring(out, description(entry), "        ");
    }
    out.push_str(CALL);
    for key in ["notifications", "serverRequests"] {
        for (method, entry) in members(&document[key]) {
            let params = of(&entry["params"]);
            let _ = write!(
                out,
                "\n    @overload\n    def on(\n        self, method: Literal[\"{method}\"], handler: Callable[[{params}], object]\n    ) -> Callable[[], None]:\n"
            );
            docstring(out, description(entry), "        ");
        }
    }
    out.push_str(ON);
    let mut handlers = vec![("ApprovalMethod".to_owned(), "Approval".to_owned())];
    for (method, entry) in members(&document["serverRequests"]) {
        let params = of(&entry["params"]);
        if params != "Approval" {
            handlers.push((format!("Literal[\"{method}\"]"), params));
        }
    }
    for (method, params) in handlers {
        let _ = write!(
            out,
            "\n    @overload\n    def answer(\n        self, method: {method}, handler: Callable[[{params}], Answer]\n    ) -> Callable[[], None]: ...\n"
        );
    }
    out.push_str(ANSWER);
}

const CLIENT: &str = r#"

Answer: TypeAlias = "QuestionAnswered | Awaitable[QuestionAnswered | None] | None"
"""What the handler of a question returns. ``None`` leaves the question open."""


class TypedClient(ABC):
    """The methods of a client whose types depend on a name of the protocol."""

    @abstractmethod
    async def _call(self, method: str, params: Any, timeout: float | None) -> Any: ...

    @abstractmethod
    def _on(self, method: str, handler: Callable[[Any], object]) -> Callable[[], None]: ...

    @abstractmethod
    def _answer(self, method: str, handler: Callable[[Any], Answer]) -> Callable[[], None]: ...
"#;

const CALL: &str = r#"
    async def call(self, method: str, params: Any = None, *, timeout: float | None = None) -> Any:
        """Sends a request at most once, and returns its result.

        Without a connection, or if it breaks before the response, the request fails with ``ConnectionLost``. Then only
        the caller knows whether a retry is safe. It is for ``turn/start`` with the same ``clientTurnId``, and for
        requests that only read. After ``timeout`` seconds, the request fails with ``RequestTimeout``.
        """
        return await self._call(method, params, timeout)
"#;

const ON: &str = r#"
    def on(self, method: str, handler: Callable[[Any], object]) -> Callable[[], None]:
        """Calls ``handler`` for each notification of a method, and for each question event that all clients receive.

        Each event of a followed thread arrives once; events of others arrive as the daemon sends them. Returns a
        function that unsubscribes.
        """
        return self._on(method, handler)
"#;

const ANSWER: &str = r#"
    def answer(self, method: str, handler: Callable[[Any], Answer]) -> Callable[[], None]:
        """Sets the handler, a function or a coroutine function, that answers questions of a method.

        It receives each question once, however often the connection breaks. The client sends its result. If it returns
        ``None`` or raises, the question stays open. A coroutine is cancelled once the question needs no answer any
        more. Requires the capability ``approvals``. Returns a function that removes the handler.
        """
        return self._answer(method, handler)
"#;
