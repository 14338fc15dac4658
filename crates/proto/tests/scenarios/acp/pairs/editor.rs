//! An editor of either version: it folds what it receives into what it shows.

use std::collections::{BTreeMap, VecDeque};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::act::Version;
use super::told::{Call, Entry, Piece, Question, Role, Told, UNNAMED};

/// A request to the editor that has no answer.
#[derive(Debug)]
pub struct Open {
    pub id: Value,
    pub params: Value,
    /// Its place among all questions.
    at: usize,
}

/// The screen of an editor.
pub struct Screen {
    version: Version,
    thread: String,
    told: Told,
    /// Sentences of acpd, which are the same for all.
    words: Vec<String>,
    terminals: BTreeMap<String, (Vec<u8>, Option<i64>)>,
    /// The prompts without an end: an editor of version 1 shows one when it has the answers to the earlier ones.
    prompts: VecDeque<(Value, String)>,
    open: Vec<Open>,
}

impl Screen {
    pub fn new(version: Version, thread: &str) -> Self {
        Self {
            version,
            thread: thread.to_owned(),
            told: Told::default(),
            words: Vec::new(),
            terminals: BTreeMap::new(),
            prompts: VecDeque::new(),
            open: Vec::new(),
        }
    }

    /// The user sends a prompt, with this id of the request.
    pub fn prompts(&mut self, id: Value, text: &str) {
        self.prompts.push_back((id, text.to_owned()));
        if self.prompts.len() == 1 && self.version == Version::One {
            self.told.add_prompt(text);
        }
    }

    /// Returns the question that the user answers now.
    pub fn answers(&mut self, outcome: &str) -> Open {
        let open = self.open.remove(0);
        outcome.clone_into(&mut self.told.questions[open.at].outcome);
        open
    }

    /// Returns what is shown now, and acpd's sentences.
    pub fn shown(&self) -> (Told, Vec<String>) {
        let mut told = self.told.clone();
        told.change_pieces(&mut |piece| match piece {
            Piece::Terminal(id) => {
                let (output, exit) = self.terminals.get(&id).cloned().unwrap_or_default();
                Some(Piece::Ran(String::from_utf8_lossy(&output).into_owned(), exit))
            }
            piece => Some(piece),
        });
        for entry in told.lanes.values_mut().flatten() {
            if let Entry::Message { role, id, .. } = entry {
                let is_acpds = id.as_deref().is_some_and(|id| id.starts_with("item_"));
                *id = match (role, is_acpds) {
                    (Role::User, _) => None,
                    (_, true) => Some(UNNAMED.to_owned()),
                    (_, false) => id.take(),
                };
            }
        }
        (told, self.words.clone())
    }

    /// Reads a message of acpd.
    pub fn reads(&mut self, message: &Value) {
        let params = &message["params"];
        match message["method"].as_str() {
            Some("session/update") => {
                let session = params["sessionId"].as_str().unwrap_or_default();
                let lane = session
                    .strip_prefix(&self.thread)
                    .expect("a session of the thread");
                self.update(lane.trim_start_matches('/'), &params["update"]);
            }
            Some("session/request_permission" | "elicitation/create") => self.question(message),
            Some("$/cancel_request") => {
                let id = &params["requestId"];
                if let Some(at) = self.open.iter().position(|open| open.id == *id) {
                    let open = self.open.remove(at);
                    "withdrawn".clone_into(&mut self.told.questions[open.at].outcome);
                }
            }
            Some(other) => panic!("no editor has {other}"),
            None => self.answer(message),
        }
    }

    fn question(&mut self, message: &Value) {
        let params = &message["params"];
        let call = match self.version {
            Version::One => &params["toolCall"],
            Version::Two => &params["subject"]["toolCall"],
        };
        let about = call["toolCallId"].as_str().or(params["message"].as_str());
        let title = params["title"].as_str().or(call["title"].as_str());
        self.words.extend(title.map(str::to_owned));
        let kinds = params["options"].as_array().into_iter().flatten();
        self.told.questions.push(Question {
            about: about.unwrap_or_default().to_owned(),
            options: kinds.map(|option| text(&option["kind"])).collect(),
            outcome: "open".to_owned(),
        });
        self.open.push(Open {
            id: message["id"].clone(),
            params: params.clone(),
            at: self.told.questions.len() - 1,
        });
    }

    fn answer(&mut self, message: &Value) {
        let result = &message["result"];
        self.options(&result["configOptions"]);
        let Some(at) = self.prompts.iter().position(|(id, _)| *id == message["id"]) else {
            return;
        };
        if self.version == Version::Two {
            self.prompts.remove(at);
            if message["error"].is_object() {
                assert_eq!(message["error"]["code"], -32800, "{message}");
                self.told.dropped += 1;
            }
            return;
        }
        self.prompts.remove(at);
        if at > 0 {
            self.told.dropped += 1;
            return;
        }
        self.ends(&message["result"]["stopReason"], &message["error"]);
        if let Some((_, text)) = self.prompts.front() {
            self.told.add_prompt(text);
        }
    }

    fn ends(&mut self, reason: &Value, error: &Value) {
        self.told
            .stops
            .push(reason.as_str().unwrap_or("error").to_owned());
        self.words.extend(error["message"].as_str().map(str::to_owned));
    }

    fn update(&mut self, lane: &str, update: &Value) {
        let word = text(&update["sessionUpdate"]);
        let id = update["messageId"].as_str();
        match word.as_str() {
            "user_message_chunk" => self.told.add(lane, Role::User, id, block(&update["content"])),
            "agent_message_chunk" => self.told.add(lane, Role::Agent, id, block(&update["content"])),
            "agent_thought_chunk" => self.told.add(lane, Role::Thought, id, block(&update["content"])),
            "user_message" => self.replaces(lane, Role::User, id, &update["content"]),
            "agent_message" => self.replaces(lane, Role::Agent, id, &update["content"]),
            "agent_thought" => self.replaces(lane, Role::Thought, id, &update["content"]),
            "tool_call" | "tool_call_update" => self.call(lane, update),
            "terminal_update" => self.terminal(update),
            "terminal_output_chunk" => {
                let terminal = self.terminals.entry(text(&update["terminalId"])).or_default();
                terminal.0.extend(bytes(&update["data"]));
            }
            "plan" => self.plan("plan", &update["entries"]),
            "plan_update" => {
                // The plan of an agent of version 1 has no id.
                let id = update["plan"]["planId"].as_str().filter(|id| !id.is_empty());
                self.plan(id.unwrap_or("plan"), &update["plan"]["entries"]);
            }
            "plan_removed" => drop(self.told.plans.remove(&text(&update["planId"]))),
            "current_mode_update" => {
                let mode = text(&update["currentModeId"]);
                self.told.options.insert("mode".to_owned(), mode);
            }
            "config_option_update" => self.options(&update["configOptions"]),
            "available_commands_update" => {
                let commands = update["availableCommands"].as_array().unwrap().iter();
                self.told.commands = commands.map(|command| text(&command["name"])).collect();
            }
            "session_info_update" => {
                if let Some(title) = update["title"].as_str() {
                    self.told.title = Some(title.to_owned());
                }
            }
            "usage_update" => self.told.used = update["used"].as_u64(),
            "notice" => self.told.notices.push(text(&update["title"])),
            "compaction_update" => {
                let id = text(&update["compactionId"]);
                self.told.compactions.insert(id, text(&update["status"]));
            }
            "subagent_update" => {
                let session = text(&update["sessionId"]);
                let lane = session.rsplit('/').next().unwrap_or_default().to_owned();
                let (title, state) = self.told.subagents.entry(lane).or_default();
                if let Some(new) = update["title"].as_str() {
                    new.clone_into(title);
                }
                if let Some(new) = update["state"]["state"].as_str() {
                    new.clone_into(state);
                }
            }
            "state_update" => {
                self.told.states.push(text(&update["state"]));
                if update["state"] == "idle" && !update["stopReason"].is_null() {
                    let reason = &update["stopReason"];
                    let is_error = reason == "error";
                    self.ends(if is_error { &Value::Null } else { reason }, &update["error"]);
                }
            }
            "cursor_update" | "prompt_suggestions_update" | "replay_complete" => {}
            other => panic!("no editor has the update {other}"),
        }
    }

    fn replaces(&mut self, lane: &str, role: Role, id: Option<&str>, content: &Value) {
        let pieces = content.as_array().into_iter().flatten().map(block).collect();
        self.told.replace(lane, role, id, pieces);
    }

    fn call(&mut self, lane: &str, update: &Value) {
        let two = self.version == Version::Two;
        let call = self.told.call(lane, &text(&update["toolCallId"]));
        let cleared = Call::new(&call.id);
        for (name, value) in update.as_object().unwrap() {
            let is_null = value.is_null();
            if is_null && !two {
                continue;
            }
            match name.as_str() {
                "title" => call.title = text(value),
                "kind" => {
                    call.kind = if is_null {
                        cleared.kind.clone()
                    } else {
                        text(value)
                    }
                }
                "status" => {
                    call.status = if is_null {
                        cleared.status.clone()
                    } else {
                        text(value)
                    }
                }
                "rawInput" => call.input = value.clone(),
                "rawOutput" => call.output = value.clone(),
                "content" => {
                    let blocks = value.as_array().into_iter().flatten();
                    call.pieces = blocks.flat_map(piece).collect();
                    let is_after = |at: usize, pieces: &[Piece]| {
                        at > 0
                            && matches!(pieces[at - 1], Piece::Changed(_))
                            && matches!(&pieces[at], Piece::Text(text) if text.starts_with("```diff"))
                    };
                    for at in 0..call.pieces.len() {
                        if is_after(at, &call.pieces) {
                            call.pieces[at] = Piece::Lines;
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn terminal(&mut self, update: &Value) {
        let terminal = self.terminals.entry(text(&update["terminalId"])).or_default();
        match update.get("output") {
            None => {}
            Some(Value::Null) => terminal.0.clear(),
            Some(output) => terminal.0 = bytes(&output["data"]),
        }
        if let Some(exit) = update.get("exitStatus") {
            terminal.1 = exit["exitCode"].as_i64();
        }
    }

    fn plan(&mut self, id: &str, entries: &Value) {
        let steps = entries.as_array().into_iter().flatten();
        let steps = steps.map(|step| (text(&step["content"]), text(&step["status"])));
        self.told.plans.insert(id.to_owned(), steps.collect());
    }

    fn options(&mut self, options: &Value) {
        let id = match self.version {
            Version::One => "id",
            Version::Two => "configId",
        };
        let Some(options) = options.as_array() else { return };
        let options = options.iter().map(|option| {
            let id = text(&option[id]);
            (
                id.trim_start_matches("acpd.").to_owned(),
                text(&option["currentValue"]),
            )
        });
        self.told.options = options.collect();
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn bytes(data: &Value) -> Vec<u8> {
    STANDARD.decode(text(data)).unwrap()
}

fn block(block: &Value) -> Piece {
    match (block["type"].as_str(), block["text"].as_str()) {
        (Some("text"), Some(text)) => Piece::Text(text.to_owned()),
        _ => Piece::Block(block.clone()),
    }
}

/// Returns the pieces of a tool call for a block of its content.
fn piece(content: &Value) -> Vec<Piece> {
    let path = text(&content["path"]);
    match (content["type"].as_str(), &content["changes"]) {
        (Some("content"), _) => vec![block(&content["content"])],
        (Some("terminal"), _) => vec![Piece::Terminal(text(&content["terminalId"]))],
        (Some("session"), _) => vec![Piece::Linked(text(&content["sessionId"]))],
        (Some("diff"), Value::Array(changes)) => changes
            .iter()
            .map(|change| {
                let path = text(&change["path"]);
                let hunks = hunks(content["patch"]["text"].as_str().unwrap_or_default());
                match (change["operation"].as_str(), hunks.first()) {
                    (Some("add"), Some((_, new))) => Piece::Added(path, new.clone()),
                    (Some("delete"), Some((old, _))) => Piece::Deleted(path, old.clone()),
                    (Some("modify"), Some(_)) => Piece::Modified(path, hunks),
                    (Some("move"), _) => Piece::Moved(text(&change["oldPath"]), path),
                    _ => Piece::Changed(path),
                }
            })
            .collect(),
        (Some("diff"), _) => match content["oldText"].as_str() {
            None => vec![Piece::Added(path, text(&content["newText"]))],
            Some(old) => {
                let lines = vec![(old.to_owned(), text(&content["newText"]))];
                vec![Piece::Modified(path, lines)]
            }
        },
        _ => vec![Piece::Block(content.clone())],
    }
}

/// Returns the lines of each hunk of a patch, before and after.
fn hunks(patch: &str) -> Vec<(String, String)> {
    let mut hunks: Vec<(String, String)> = Vec::new();
    for line in patch.lines() {
        if line.starts_with("@@") {
            hunks.push(Default::default());
        } else if let Some((old, new)) = hunks.last_mut() {
            let text = format!("{}\n", line.get(1..).unwrap_or_default());
            if !line.starts_with('+') {
                old.push_str(&text);
            }
            if !line.starts_with('-') {
                new.push_str(&text);
            }
        }
    }
    hunks
}
