//! Selection of the agent's tool that runs a command or writes a file, and its arguments.

use serde_json::{Map, Value, json};

use crate::ask::Tool;
use crate::limits::SCHEMA_DEPTH;
use crate::reply::{Input, Reply};

/// Names of agents' shell tools, most specific first.
const SHELLS: &[&str] = &[
    "Bash",
    "bash",
    "run_shell_command",
    "exec_command",
    "shell_command",
    "shell",
    "terminal",
    "execute",
    "run_commands",
    "launch-process",
];
/// Names of agents' tools to write a file, most specific first.
const WRITERS: &[&str] = &[
    "Write",
    "write",
    "write_file",
    "write_text_file",
    "create_file",
    "create",
    "save-file",
    "apply_patch",
];
/// Names of agents' tools to start a subagent.
const DELEGATES: &[&str] = &["Agent", "Task", "agent", "task", "spawn_agent"];

/// Returns a call of the agent's shell tool; `None` if it offers none. With `leaves`, the call asks to leave the agent's own
/// sandbox.
pub fn run(tools: &[Tool], command: &str, leaves: bool) -> Option<Reply> {
    let shell = find(tools, SHELLS, |tool| has(tool, &["command", "cmd"]))?;
    Some(call(shell, |name, schema| match name {
        "command" | "cmd" if is_list(schema) => Some(json!(["bash", "-lc", command])),
        "command" | "cmd" => Some(command.into()),
        "commands" if is_list(schema) => Some(json!([command])),
        // Makes the agent ask the user for permission.
        "sandboxpermissions" if leaves => Some("require_escalated".into()),
        // The result is complete only if the tool waits for the end.
        "wait" => Some(true.into()),
        "maxwaitseconds" => Some(30.into()),
        "cwd" if requires(shell, "cwd") => Some(".".into()),
        "justification" if leaves => Some("The script asks for it.".into()),
        _ => None,
    }))
}

/// Returns a call of the agent's tool to write a file; `None` if it offers none.
pub fn write(tools: &[Tool], path: &str, text: &str) -> Option<Reply> {
    let writer = find(tools, WRITERS, |tool| {
        has(tool, &["filepath", "path"]) && has(tool, &["content", "contents"])
    })?;
    let patch = patch(path, text);
    if writer.schema.is_none() {
        return Some(Reply::Call {
            name: writer.name.clone(),
            input: Input::Free(patch),
        });
    }
    Some(call(writer, |name, _| match name {
        "filepath" | "path" | "absolutepath" | "file" | "filename" => Some(path.into()),
        "content" | "contents" | "text" | "filetext" | "filecontent" => Some(text.into()),
        "patch" | "patchtext" | "input" => Some(patch.as_str().into()),
        _ => None,
    }))
}

/// Returns a call of the agent's tool to start a subagent with this prompt; `None` if it offers none.
pub fn delegate(tools: &[Tool], prompt: &str) -> Option<Reply> {
    let starter = find(tools, DELEGATES, |_| false)?;
    Some(call(starter, |name, _| match name {
        "prompt" | "message" => Some(prompt.into()),
        "description" => Some("A script".into()),
        "subagenttype" => Some("general-purpose".into()),
        _ => None,
    }))
}

/// Returns a patch that adds a file, in the format of `apply_patch`.
fn patch(path: &str, text: &str) -> String {
    let lines: String = text.lines().map(|line| format!("+{line}\n")).collect();
    format!("*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n")
}

fn find<'t>(tools: &'t [Tool], names: &[&str], looks_right: impl Fn(&Tool) -> bool) -> Option<&'t Tool> {
    let named = names
        .iter()
        .find_map(|name| tools.iter().find(|tool| tool.name == *name));
    named.or_else(|| tools.iter().find(|tool| looks_right(tool)))
}

fn requires(tool: &Tool, name: &str) -> bool {
    let schema = tool.schema.as_ref().unwrap_or(&Value::Null);
    crate::ask::list(&schema["required"])
        .iter()
        .any(|required| required == name)
}

fn has(tool: &Tool, names: &[&str]) -> bool {
    let properties = tool
        .schema
        .as_ref()
        .and_then(|schema| schema["properties"].as_object());
    properties.is_some_and(|properties| properties.keys().any(|key| names.contains(&plain(key).as_str())))
}

/// Normalizes a name that agents spell differently: `file_path`, `filePath`.
fn plain(name: &str) -> String {
    name.replace('_', "").to_lowercase()
}

fn is_list(schema: &Value) -> bool {
    schema["type"] == "array"
}

/// Builds a call with the known arguments, and examples for the other required ones.
fn call(tool: &Tool, known: impl Fn(&str, &Value) -> Option<Value>) -> Reply {
    let schema = tool.schema.as_ref().unwrap_or(&Value::Null);
    let required = crate::ask::list(&schema["required"]);
    let mut arguments = Map::new();
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let value = known(&plain(name), schema).or_else(|| {
            required
                .iter()
                .any(|required| required == name)
                .then(|| example(schema))
        });
        if let Some(value) = value {
            arguments.insert(name.clone(), value);
        }
    }
    Reply::Call {
        name: tool.name.clone(),
        input: Input::Arguments(Value::Object(arguments)),
    }
}

/// Returns an example value of a JSON schema, as far as its types determine it.
pub fn example(schema: &Value) -> Value {
    example_at(schema, SCHEMA_DEPTH)
}

fn example_at(schema: &Value, depth: usize) -> Value {
    if depth == 0 {
        return Value::Null;
    }
    let choices = crate::ask::list(&schema["enum"]);
    // The recipient of an agent's question whether to continue; with the other choice the turn would never end.
    if let Some(choice) = choices
        .iter()
        .find(|choice| **choice == "user")
        .or(choices.first())
    {
        return choice.clone();
    }
    for any in ["anyOf", "oneOf"] {
        if let Some(first) = crate::ask::list(&schema[any]).first() {
            return example_at(first, depth - 1);
        }
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.first().and_then(Value::as_str),
        kind => kind.as_str(),
    };
    match kind.unwrap_or("object").to_lowercase().as_str() {
        "string" => "scripted".into(),
        "boolean" => false.into(),
        "integer" | "number" => 1.into(),
        "array" => json!([]),
        "null" => Value::Null,
        _ => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            let members = properties.map(|(name, schema)| (name.clone(), example_at(schema, depth - 1)));
            Value::Object(members.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, schema: Value) -> Tool {
        Tool {
            name: name.into(),
            schema: Some(schema),
        }
    }

    fn arguments(reply: Option<Reply>) -> (String, Value) {
        match reply {
            Some(Reply::Call {
                name,
                input: Input::Arguments(arguments),
            }) => (name, arguments),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_shell_is_known_by_its_name_before_its_schema() {
        let tools = [
            tool(
                "Monitor",
                json!({ "properties": { "command": { "type": "string" } } }),
            ),
            tool(
                "Bash",
                json!({ "properties": { "command": { "type": "string" }, "timeout": { "type": "number" } } }),
            ),
        ];
        assert_eq!(
            arguments(run(&tools, "ls", true)),
            ("Bash".into(), json!({ "command": "ls" }))
        );
        assert_eq!(arguments(run(&tools[..1], "ls", true)).0, "Monitor");
        assert_eq!(run(&[], "ls", true), None);
    }

    #[test]
    fn a_subagent_gets_its_prompt() {
        let any = json!({ "type": "string" });
        let starter = tool(
            "Agent",
            json!({
                "properties": { "description": any, "prompt": any, "subagent_type": any, "model": any },
                "required": ["description", "prompt"],
            }),
        );
        assert_eq!(
            arguments(delegate(&[starter], "run ls")),
            (
                "Agent".into(),
                json!({ "description": "A script", "prompt": "run ls", "subagent_type": "general-purpose" })
            )
        );
        let other = tool("TaskStop", json!({ "properties": { "prompt": any } }));
        assert_eq!(delegate(&[other], "run ls"), None);
    }

    #[test]
    fn a_shell_gets_what_it_requires() {
        let shell = tool(
            "exec_command",
            json!({
                "properties": {
                    "cmd": { "type": "string" },
                    "sandbox_permissions": { "type": "string" },
                    "justification": { "type": "string" },
                    "is_background": { "type": "boolean" },
                    "description": { "type": "string" },
                },
                "required": ["cmd", "is_background"],
            }),
        );
        let shell = [shell];
        assert_eq!(
            arguments(run(&shell, "ls", true)).1,
            json!({
                "cmd": "ls", "is_background": false,
                "sandbox_permissions": "require_escalated", "justification": "The script asks for it.",
            })
        );
        assert_eq!(
            arguments(run(&shell, "ls", false)).1,
            json!({ "cmd": "ls", "is_background": false })
        );
        let waiting = |required: Value| {
            let any = json!({ "type": "string" });
            let properties = json!({ "command": any, "wait": any, "max_wait_seconds": any, "cwd": any });
            tool(
                "launch-process",
                json!({ "properties": properties, "required": required }),
            )
        };
        assert_eq!(
            arguments(run(&[waiting(json!(["command", "cwd"]))], "ls", true)).1,
            json!({ "command": "ls", "wait": true, "max_wait_seconds": 30, "cwd": "." })
        );
        assert_eq!(
            arguments(run(&[waiting(json!(["command"]))], "ls", true)).1,
            json!({ "command": "ls", "wait": true, "max_wait_seconds": 30 })
        );
        let several = tool(
            "run_commands",
            json!({ "properties": { "commands": { "type": "array" } }, "required": ["commands"] }),
        );
        assert_eq!(
            arguments(run(&[several], "ls", true)).1,
            json!({ "commands": ["ls"] })
        );
        let list = tool(
            "shell",
            json!({ "properties": { "command": { "type": "array" } } }),
        );
        assert_eq!(
            arguments(run(&[list], "ls", true)).1,
            json!({ "command": ["bash", "-lc", "ls"] })
        );
    }

    #[test]
    fn a_file_is_written_by_path_or_by_patch() {
        let by_path = tool(
            "write_file",
            json!({ "properties": { "file_path": { "type": "string" }, "content": { "type": "string" } } }),
        );
        assert_eq!(
            arguments(write(&[by_path], "/a/b", "one")).1,
            json!({ "file_path": "/a/b", "content": "one" })
        );
        let by_patch = Tool {
            name: "apply_patch".into(),
            schema: None,
        };
        let Some(Reply::Call {
            input: Input::Free(patch),
            ..
        }) = write(&[by_patch], "/a/b", "one\ntwo")
        else {
            panic!("a patch is free text");
        };
        assert_eq!(
            patch,
            "*** Begin Patch\n*** Add File: /a/b\n+one\n+two\n*** End Patch\n"
        );
    }

    #[test]
    fn an_example_fits_its_schema() {
        let schema = json!({
            "type": "OBJECT",
            "properties": {
                "reasoning": { "type": "STRING" },
                "next_speaker": { "enum": ["model", "user"] },
                "score": { "type": ["number", "null"] },
            },
        });
        assert_eq!(
            example(&schema),
            json!({ "reasoning": "scripted", "next_speaker": "user", "score": 1 })
        );
    }

    #[test]
    fn a_schema_without_end_ends() {
        let mut deep = json!({});
        for _ in 0..100 {
            deep = json!({ "anyOf": [deep] });
        }
        assert_eq!(example(&deep), Value::Null);
    }
}
