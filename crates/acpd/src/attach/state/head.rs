//! What is known of the thread as a whole: its name, its state, the running turn and the queue.

use serde_json::{Value, json};

use super::commands::SlashCommand;
use crate::terminal::plain::plain_line;
use crate::threads::options::SessionOption;

/// Ids of the options with which the daemon represents the modes and models of older agents.
const OWN_MODE: &str = "acpd.mode";
const OWN_MODEL: &str = "acpd.model";

/// The thread, without its conversation.
#[derive(Debug, Default)]
pub struct Head {
    pub name: String,
    pub agent: String,
    pub cwd: String,
    /// The agent's name and the folder, as requests need them.
    pub agent_id: String,
    pub directory: String,
    /// The agent's options, such as its mode.
    pub options: Vec<SessionOption>,
    /// The agent's commands.
    pub commands: Vec<SlashCommand>,
    pub status: String,
    /// Id of the running turn.
    pub turn: Option<String>,
    /// Whether the running turn was interrupted and has not ended yet.
    pub is_interrupting: bool,
    /// Queued prompts, in the order in which they start.
    pub queue: Vec<Queued>,
    pub is_paused: bool,
    /// Tokens in use, and the tokens that fit.
    pub tokens: Option<(u64, u64)>,
    /// Why the log cannot be used.
    pub error: Option<String>,
    pub is_archived: bool,
    pub is_deleted: bool,
}

/// A prompt that waits for the turns before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    pub turn: String,
    pub text: String,
}

impl Head {
    /// Reads a thread.
    pub fn read(thread: &Value) -> Self {
        let text = |member: &str| plain_line(thread[member].as_str().unwrap_or_default());
        let mut head = Self {
            name: text("name"),
            agent: text("agentType"),
            cwd: text("cwd"),
            agent_id: thread["agentType"].as_str().unwrap_or_default().to_owned(),
            directory: thread["cwd"].as_str().unwrap_or_default().to_owned(),
            options: SessionOption::all(&thread["configOptions"]),
            commands: SlashCommand::all(&thread["availableCommandsUpdate"]),
            status: text("status"),
            turn: thread["turnId"].as_str().map(str::to_owned),
            is_interrupting: thread["interrupting"] == true,
            is_paused: thread["queuePaused"] == true,
            tokens: None,
            error: thread["error"].as_str().map(plain_line),
            is_archived: thread["archived"] == true,
            is_deleted: false,
            queue: Vec::new(),
        };
        head.take_tokens(&thread["tokenUsage"]);
        for turn in thread["turns"].as_array().into_iter().flatten() {
            if turn["status"] == "queued" {
                head.enqueue(turn);
            }
        }
        head.order(&thread["queuedTurnIds"]);
        head
    }

    /// Folds one notification.
    pub fn fold(&mut self, method: &str, params: &Value) {
        match method {
            "thread/status/changed" => {
                self.status = plain_line(params["status"].as_str().unwrap_or_default());
            }
            "thread/updated" => {
                if let Some(name) = params.get("name") {
                    self.name = plain_line(name.as_str().unwrap_or_default());
                }
                if let Some(cwd) = params["directories"]["cwd"].as_str() {
                    self.cwd = plain_line(cwd);
                    cwd.clone_into(&mut self.directory);
                }
                self.fold_options(params);
            }
            "item/userMessage" if self.name.is_empty() => {
                let text = params["text"].as_str().unwrap_or_default();
                self.name = plain_line(text.trim().lines().next().unwrap_or_default());
            }
            "thread/archived" => self.is_archived = true,
            "thread/unarchived" => self.is_archived = false,
            "thread/deleted" => self.is_deleted = true,
            "thread/tokenUsage/updated" => self.take_tokens(params),
            "thread/log/changed" => self.error = params["error"].as_str().map(plain_line),
            "turn/queued" => self.enqueue(&params["turn"]),
            "turn/queue/changed" => {
                self.is_paused = params["paused"] == true;
                self.order(&params["queuedTurnIds"]);
            }
            "turn/started" => {
                self.turn = params["turn"]["id"].as_str().map(str::to_owned);
                self.is_interrupting = false;
                self.dequeue(&params["turn"]["id"]);
            }
            "turn/interrupting" => self.is_interrupting = true,
            "turn/completed" => {
                let id = &params["turn"]["id"];
                if self.turn.as_deref() == id.as_str() {
                    self.turn = None;
                    self.is_interrupting = false;
                }
                self.dequeue(id);
            }
            _ => {}
        }
    }

    /// Folds a change of the agent's options and commands.
    fn fold_options(&mut self, params: &Value) {
        let session = &params["agent"]["session"];
        for options in [
            &params["configOptionUpdate"]["configOptions"],
            &session["configOptions"],
        ] {
            if options.is_array() {
                let options = SessionOption::all(options);
                // The daemon's substitutes remain, unless the agent has an option of their own by now.
                let replaces =
                    |own: &SessionOption| options.iter().any(|option| option.category == own.category);
                let is_own = |option: &SessionOption| option.id == OWN_MODE || option.id == OWN_MODEL;
                let own: Vec<SessionOption> = std::mem::take(&mut self.options)
                    .into_iter()
                    .filter(|option| is_own(option) && !replaces(option))
                    .collect();
                self.options = options.into_iter().chain(own).collect();
            }
        }
        let mode = params["modeId"].as_str();
        let mode = mode.or(session["modes"]["currentModeId"].as_str());
        for (own, value) in [(OWN_MODE, mode), (OWN_MODEL, params["modelId"].as_str())] {
            let option = self.options.iter_mut().find(|option| option.id == own);
            if let (Some(option), Some(value)) = (option, value) {
                option.current = json!(value);
            }
        }
        if params["availableCommandsUpdate"].is_object() {
            self.commands = SlashCommand::all(&params["availableCommandsUpdate"]);
        }
    }

    /// Returns whether a turn runs.
    pub fn is_running(&self) -> bool {
        self.turn.is_some()
    }

    fn take_tokens(&mut self, usage: &Value) {
        let (used, size) = self.tokens.unwrap_or_default();
        let used = usage["used"].as_u64().unwrap_or(used);
        let size = usage["size"].as_u64().unwrap_or(size);
        self.tokens = (used > 0).then_some((used, size));
    }

    fn enqueue(&mut self, turn: &Value) {
        let Some(id) = turn["id"].as_str() else {
            return;
        };
        let blocks = turn["input"].as_array().into_iter().flatten();
        let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
        let queued = Queued {
            turn: id.to_owned(),
            text: texts.join("\n"),
        };
        match self.queue.iter_mut().find(|known| known.turn == id) {
            Some(known) => *known = queued,
            None => self.queue.push(queued),
        }
    }

    fn dequeue(&mut self, id: &Value) {
        self.queue.retain(|queued| *id != *queued.turn);
        self.is_paused &= !self.queue.is_empty();
    }

    fn order(&mut self, ids: &Value) {
        let Some(ids) = ids.as_array() else {
            return;
        };
        let place = |queued: &Queued| ids.iter().position(|id| *id == *queued.turn);
        self.queue.retain(|queued| place(queued).is_some());
        self.queue.sort_by_key(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_in_the_daemons_order_and_ends_with_its_turns() {
        let queued =
            |id: &str| json!({ "id": id, "status": "queued", "input": [{ "type": "text", "text": id }] });
        let mut head = Head::read(&json!({
            "turns": [{ "id": "turn_1", "status": "running" }, queued("turn_3"), queued("turn_2")],
            "queuedTurnIds": ["turn_2", "turn_3"], "turnId": "turn_1", "queuePaused": true,
        }));
        let texts = |head: &Head| {
            head.queue
                .iter()
                .map(|queued| queued.text.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(texts(&head), ["turn_2", "turn_3"]);
        head.fold("turn/queued", &json!({ "turn": queued("turn_4") }));
        head.fold(
            "turn/queue/changed",
            &json!({ "paused": true, "queuedTurnIds": ["turn_4", "turn_2"] }),
        );
        assert_eq!(texts(&head), ["turn_4", "turn_2"]);
        head.fold("turn/completed", &json!({ "turn": { "id": "turn_1" } }));
        assert!(!head.is_running() && head.is_paused);
        head.fold("turn/started", &json!({ "turn": { "id": "turn_4" } }));
        head.fold("turn/completed", &json!({ "turn": { "id": "turn_2" } }));
        // An empty queue is never paused.
        assert!(head.is_running() && head.queue.is_empty() && !head.is_paused);
    }
}
