//! What happens in a scene, and the lines of an agent for it in each version.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::told::{Piece, Role};
use crate::support::SESSION;

/// A version of ACP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    One,
    Two,
}

/// Something that happens. Without a name of an actor, the agent does it.
#[derive(Debug, Clone)]
pub enum Act {
    EditorPrompts(String),
    EditorCancels,
    /// The editor picks the option of this kind in its open question, or dismisses it.
    EditorPicks(Option<&'static str>),
    /// The editor fills the open form, or declines.
    EditorFills(Option<Value>),
    EditorSets(&'static str, &'static str),
    Says {
        lane: &'static str,
        role: Role,
        id: Option<String>,
        piece: Piece,
    },
    /// The message has this text instead. Version 1 has no word for it.
    Revises(&'static str, &'static str),
    /// The tool call has these members, and this content if there is one. `null` clears a member in version 2, and leaves it in version 1.
    Calls {
        lane: &'static str,
        id: String,
        members: Value,
        pieces: Option<Vec<Piece>>,
    },
    /// Adds a piece of content to a tool call. Version 1 has no word for it.
    Adds(&'static str, Piece),
    /// Asks for permission: for a tool call, or in version 2 for a command or for nothing.
    Asks(Asked),
    AsksForm(&'static str),
    /// Begins a command in a terminal, which a tool call shows.
    Runs(&'static str, &'static str),
    Prints(&'static str, Vec<u8>),
    Exits(&'static str, i64),
    Plans(Option<&'static str>, Vec<(&'static str, &'static str)>),
    Drops(&'static str),
    Changes(&'static str, &'static str),
    /// Adds an option of a kind that version 1 does not have.
    OffersOdd,
    HasCommands(Vec<&'static str>, Vec<&'static str>),
    HasTitle(&'static str),
    Uses(u64),
    Warns(&'static str),
    Compacts(&'static str, &'static str),
    Delegates(&'static str, &'static str, &'static str),
    /// Reports work in the background. Version 1 has no word for it.
    WorksBeside,
    Ends(&'static str),
    Fails(&'static str),
    /// The process of the agent is killed.
    Dies,
}

/// What a question is about.
#[derive(Debug, Clone, Copy)]
pub enum Asked {
    Call(&'static str),
    Command(&'static str),
    Nothing,
}

/// The kinds of the options of questions.
pub const KINDS: [&str; 3] = ["allow_once", "reject_once", "allow_always"];

/// The options of a session and their values.
pub type Options = Vec<(&'static str, &'static str)>;

/// Returns the options as an agent writes them.
pub fn options(options: &[(&str, &str)], version: Version) -> Value {
    let option = |(id, value): &(&str, &str)| {
        let values = ["low", "high", "ask", "code"].map(|value| json!({ "value": value, "name": value }));
        let mut option = json!({ "name": id, "type": "select", "currentValue": value, "options": values });
        option[match version {
            Version::One => "id",
            Version::Two => "configId",
        }] = json!(id);
        if *id == "mode" {
            option["category"] = json!("mode");
        }
        option
    };
    options.iter().map(option).collect()
}

fn block(piece: &Piece) -> Value {
    match piece {
        Piece::Text(text) => json!({ "type": "text", "text": text }),
        Piece::Block(block) => block.clone(),
        other => panic!("a message has no {other:?}"),
    }
}

fn hunks(path: &str, lines: &[(String, String)]) -> String {
    let hunk = |(at, (old, new)): (usize, &(String, String))| {
        let line = at * 10 + 1;
        format!("@@ -{line} +{line} @@\n-{old}+{new}")
    };
    let hunks: String = lines.iter().enumerate().map(hunk).collect();
    format!("diff --git a{path} b{path}\n--- a{path}\n+++ b{path}\n{hunks}")
}

fn patch(change: &Value, patch: Option<String>) -> Vec<Value> {
    let mut diff = json!({ "type": "diff", "changes": [change] });
    if let Some(text) = patch {
        diff["patch"] = json!({ "format": "git_patch", "text": text });
    }
    vec![diff]
}

/// Returns the content of a tool call for a piece.
fn content(piece: &Piece, version: Version) -> Vec<Value> {
    let diff = |path: &str, old: Value, new: &str| json!({ "type": "diff", "path": path, "oldText": old, "newText": new });
    match (piece, version) {
        (Piece::Text(_) | Piece::Block(_), _) => vec![json!({ "type": "content", "content": block(piece) })],
        (Piece::Linked(session), _) => vec![json!({ "type": "session", "sessionId": session })],
        (Piece::Terminal(id), _) => vec![json!({ "type": "terminal", "terminalId": id })],
        (Piece::Added(path, text), Version::One) => vec![diff(path, Value::Null, text)],
        (Piece::Deleted(path, text), Version::One) => vec![diff(path, json!(text), "")],
        (Piece::Modified(path, lines), Version::One) => {
            let lines = lines.iter().map(|(old, new)| diff(path, json!(old), new));
            lines.collect()
        }
        (Piece::Moved(from, to), Version::One) => {
            vec![diff(from, json!("x\n"), ""), diff(to, Value::Null, "x\n")]
        }
        (Piece::Added(path, text), Version::Two) => patch(
            &json!({ "operation": "add", "path": path }),
            Some(format!(
                "diff --git a{path} b{path}\nnew file mode 100644\n--- /dev/null\n+++ b{path}\n@@ -0,0 +1 @@\n+{text}"
            )),
        ),
        (Piece::Deleted(path, text), Version::Two) => patch(
            &json!({ "operation": "delete", "path": path }),
            Some(format!(
                "diff --git a{path} b{path}\ndeleted file mode 100644\n--- a{path}\n+++ /dev/null\n@@ -1 +0,0 @@\n-{text}"
            )),
        ),
        (Piece::Modified(path, lines), Version::Two) => patch(
            &json!({ "operation": "modify", "path": path }),
            Some(hunks(path, lines)),
        ),
        (Piece::Moved(from, to), Version::Two) => {
            patch(&json!({ "operation": "move", "oldPath": from, "path": to }), None)
        }
        (Piece::Changed(_) | Piece::Lines | Piece::Ran(..), _) => panic!("no agent sends {piece:?}"),
    }
}

fn contents(pieces: &[Piece], version: Version) -> Value {
    pieces.iter().flat_map(|piece| content(piece, version)).collect()
}

impl Act {
    /// Returns whether an agent of version 1 has words for it.
    pub fn is_of_one(&self) -> bool {
        !matches!(
            self,
            Self::Revises(..)
                | Self::Adds(..)
                | Self::Asks(Asked::Command(_) | Asked::Nothing)
                | Self::OffersOdd
                | Self::WorksBeside
        )
    }

    /// Returns whether the agent does it.
    pub fn is_of_agent(&self) -> bool {
        !matches!(
            self,
            Self::EditorPrompts(_)
                | Self::EditorCancels
                | Self::EditorPicks(_)
                | Self::EditorFills(_)
                | Self::EditorSets(..)
                | Self::Dies
        )
    }

    /// Returns the update that the agent sends, and its session; `None` if it is none. `now` are the options after it.
    pub fn update(&self, version: Version, now: &[(&str, &str)]) -> Option<(String, Value)> {
        let two = version == Version::Two;
        let mut session = SESSION;
        let update = match self {
            Self::Says {
                lane,
                role,
                id,
                piece,
            } => {
                session = session_of(lane);
                let word = match role {
                    Role::User => "user_message_chunk",
                    Role::Agent => "agent_message_chunk",
                    Role::Thought => "agent_thought_chunk",
                };
                let mut chunk = json!({ "sessionUpdate": word, "content": block(piece) });
                if let Some(id) = id {
                    chunk["messageId"] = json!(id);
                }
                chunk
            }
            Self::Revises(id, text) => {
                let content = json!([{ "type": "text", "text": text }]);
                json!({ "sessionUpdate": "agent_message", "messageId": id, "content": content })
            }
            Self::Calls {
                lane,
                id,
                members,
                pieces,
            } => {
                session = session_of(lane);
                let mut call = members.clone();
                // In version 1, a call begins with its title.
                let begins = !two && call["title"].is_string();
                call["sessionUpdate"] = json!(if begins { "tool_call" } else { "tool_call_update" });
                call["toolCallId"] = json!(id);
                if let Some(pieces) = pieces {
                    call["content"] = contents(pieces, version);
                }
                call
            }
            Self::Adds(id, piece) => {
                let piece = content(piece, version).remove(0);
                json!({ "sessionUpdate": "tool_call_content_chunk", "toolCallId": id, "content": piece })
            }
            Self::Runs(id, command) if two => {
                json!({ "sessionUpdate": "terminal_update", "terminalId": id, "command": command, "cwd": "/workspace" })
            }
            Self::Prints(id, bytes) if two => {
                json!({ "sessionUpdate": "terminal_output_chunk", "terminalId": id, "data": STANDARD.encode(bytes) })
            }
            Self::Exits(id, code) if two => {
                json!({ "sessionUpdate": "terminal_update", "terminalId": id, "exitStatus": { "exitCode": code } })
            }
            Self::Plans(id, steps) => {
                let step = |(text, status): &(&str, &str)| json!({ "content": text, "priority": "medium", "status": status });
                let entries: Value = steps.iter().map(step).collect();
                match id {
                    None if !two => json!({ "sessionUpdate": "plan", "entries": entries }),
                    id => {
                        let plan =
                            json!({ "type": "items", "planId": id.unwrap_or("plan"), "entries": entries });
                        json!({ "sessionUpdate": "plan_update", "plan": plan })
                    }
                }
            }
            Self::Drops(id) => json!({ "sessionUpdate": "plan_removed", "planId": id }),
            Self::Changes(..) => {
                json!({ "sessionUpdate": "config_option_update", "configOptions": options(now, version) })
            }
            Self::OffersOdd => {
                let mut all = options(now, version);
                let odd = json!({ "configId": "odd", "name": "Odd", "type": "_slider", "currentValue": 7 });
                all.as_array_mut()?.push(odd);
                json!({ "sessionUpdate": "config_option_update", "configOptions": all })
            }
            Self::HasCommands(commands, skills) => {
                let typed = |kind: &str, name: &str| {
                    let mut command = json!({ "name": name, "description": "It works" });
                    if two {
                        command["type"] = json!(kind);
                    }
                    command
                };
                let commands = commands.iter().map(|name| typed("command", name));
                let skills = skills.iter().map(|name| typed("skill", name));
                let all: Value = commands.chain(skills).collect();
                json!({ "sessionUpdate": "available_commands_update", "availableCommands": all })
            }
            Self::HasTitle(title) => json!({ "sessionUpdate": "session_info_update", "title": title }),
            Self::Uses(used) => json!({ "sessionUpdate": "usage_update", "used": used, "size": 1000 }),
            Self::Warns(title) => json!({ "sessionUpdate": "notice", "severity": "warning", "title": title }),
            Self::Compacts(id, status) => {
                json!({ "sessionUpdate": "compaction_update", "compactionId": id, "status": status })
            }
            Self::Delegates(child, title, state) => {
                let mut state = json!({ "state": state });
                if state["state"] == "idle" {
                    state["stopReason"] = json!("end_turn");
                }
                json!({ "sessionUpdate": "subagent_update", "sessionId": child, "title": title, "state": state })
            }
            Self::WorksBeside => {
                let work = json!([{ "type": "tool_call", "toolCallId": "t" }]);
                json!({ "sessionUpdate": "state_update", "state": "running", "background": work })
            }
            Self::Ends(reason) if two => {
                json!({ "sessionUpdate": "state_update", "state": "idle", "stopReason": reason })
            }
            Self::Fails(message) if two => {
                let error = json!({ "code": -32603, "message": message });
                json!({ "sessionUpdate": "state_update", "state": "idle", "stopReason": "error", "error": error })
            }
            _ => return None,
        };
        Some((session.to_owned(), update))
    }
}

/// Returns the agent's session of a lane.
fn session_of(lane: &str) -> &str {
    if lane.is_empty() { SESSION } else { "child" }
}

/// Returns the params of a question.
pub fn question(asked: Asked, version: Version) -> Value {
    let options = KINDS.map(|kind| json!({ "optionId": kind, "name": kind, "kind": kind }));
    let mut params = json!({ "sessionId": SESSION, "options": options });
    match (asked, version) {
        (Asked::Call(id), Version::One) => params["toolCall"] = json!({ "toolCallId": id }),
        (Asked::Call(id), Version::Two) => {
            params["subject"] = json!({ "type": "tool_call", "toolCall": { "toolCallId": id } });
        }
        (Asked::Command(line), _) => {
            params["subject"] = json!({ "type": "command", "command": line, "cwd": "/workspace" });
        }
        (Asked::Nothing, _) => {}
    }
    if version == Version::Two {
        params["title"] = json!("May it?");
    }
    params
}
