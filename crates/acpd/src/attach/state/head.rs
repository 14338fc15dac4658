//! What is known of the thread as a whole: its name, its state, the running turn and the queue.

use acpd_client::protocol::{
    AcpObject, Notification, Thread, ThreadStatus, ThreadUpdated, TokenUsage, Turn, TurnStatus,
};
use serde_json::{Value, json};

use super::acp::{self, SessionState};
use super::commands::SlashCommand;
use crate::terminal::plain::plain_line;
use crate::threads::options::SessionOption;

/// Ids of the options with which the daemon represents the modes and models of older agents.
const OWN_MODE: &str = "acpd.mode";
const OWN_MODEL: &str = "acpd.model";

/// The thread, without its conversation.
#[derive(Debug)]
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
    pub status: ThreadStatus,
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
    pub fn read(thread: &Thread) -> Self {
        let mut head = Self {
            name: plain_line(thread.name.as_deref().unwrap_or_default()),
            agent: plain_line(&thread.agent_type),
            cwd: plain_line(&thread.cwd),
            agent_id: thread.agent_type.clone(),
            directory: thread.cwd.clone(),
            options: thread
                .config_options
                .as_deref()
                .map(options_of)
                .unwrap_or_default(),
            commands: commands_of(thread.available_commands_update.as_ref()),
            status: thread.status.clone(),
            turn: thread.turn_id.clone(),
            is_interrupting: thread.interrupting == Some(true),
            is_paused: thread.queue_paused == Some(true),
            tokens: None,
            error: thread.error.as_deref().map(plain_line),
            is_archived: thread.archived,
            is_deleted: false,
            queue: Vec::new(),
        };
        if let Some(TokenUsage { used, size, .. }) = &thread.token_usage {
            head.take_tokens(*used, *size);
        }
        for turn in thread.turns.iter().flatten() {
            if turn.status == TurnStatus::Queued {
                head.enqueue(turn);
            }
        }
        head.order(&thread.queued_turn_ids);
        head
    }

    /// Folds one notification.
    pub fn fold(&mut self, notification: &Notification) {
        match notification {
            Notification::ThreadStatusChanged(changed) => self.status.clone_from(&changed.status),
            Notification::ThreadUpdated(updated) => self.update(updated),
            Notification::ItemUserMessage(message) if self.name.is_empty() && message.lane.is_none() => {
                self.name = plain_line(message.text.trim().lines().next().unwrap_or_default());
            }
            Notification::ThreadArchived(_) => self.is_archived = true,
            Notification::ThreadUnarchived(_) => self.is_archived = false,
            Notification::ThreadDeleted(_) => self.is_deleted = true,
            Notification::ThreadTokenUsageUpdated(usage) => self.take_tokens(usage.used, usage.size),
            Notification::ThreadLogChanged(log) => self.error = log.error.as_deref().map(plain_line),
            Notification::TurnQueued(queued) => self.enqueue(&queued.turn),
            Notification::TurnQueueChanged(queue) => {
                self.is_paused = queue.paused;
                self.order(&queue.queued_turn_ids);
            }
            Notification::TurnStarted(started) => {
                self.turn.clone_from(&started.turn.id);
                self.is_interrupting = false;
                self.dequeue(started.turn.id.as_deref());
            }
            Notification::TurnInterrupting(_) => self.is_interrupting = true,
            Notification::TurnCompleted(completed) => {
                let id = &completed.turn.id;
                if self.turn == *id {
                    self.turn = None;
                    self.is_interrupting = false;
                }
                self.dequeue(id.as_deref());
            }
            _ => {}
        }
    }

    /// Folds changes of the thread, and of the agent's options and commands.
    fn update(&mut self, updated: &ThreadUpdated) {
        if let Some(name) = &updated.name {
            self.name = plain_line(name.as_deref().unwrap_or_default());
        }
        if let Some(directories) = &updated.directories {
            self.cwd = plain_line(&directories.cwd);
            self.directory.clone_from(&directories.cwd);
        }
        let session = updated.agent.as_ref().and_then(|agent| agent.session.as_ref());
        let session: SessionState = session
            .and_then(Value::as_object)
            .map(acp::read)
            .unwrap_or_default();
        let changed: SessionState = updated
            .config_option_update
            .as_ref()
            .map(acp::read)
            .unwrap_or_default();
        for options in [changed.config_options, session.config_options] {
            if let Some(options) = options.filter(Value::is_array) {
                self.replace_options(SessionOption::all(&options));
            }
        }
        let mode = session.modes.and_then(|modes| modes.current_mode_id);
        let mode = updated.mode_id.clone().or(mode);
        for (own, value) in [(OWN_MODE, mode), (OWN_MODEL, updated.model_id.clone())] {
            let option = self.options.iter_mut().find(|option| option.id == own);
            if let (Some(option), Some(value)) = (option, value) {
                option.current = json!(value);
            }
        }
        if updated.available_commands_update.is_some() {
            self.commands = commands_of(updated.available_commands_update.as_ref());
        }
    }

    /// Replaces the agent's options. The daemon's substitutes remain, unless the agent has an option of their own by now.
    fn replace_options(&mut self, options: Vec<SessionOption>) {
        let replaces = |own: &SessionOption| options.iter().any(|option| option.category == own.category);
        let is_own = |option: &SessionOption| option.id == OWN_MODE || option.id == OWN_MODEL;
        let own: Vec<SessionOption> = std::mem::take(&mut self.options)
            .into_iter()
            .filter(|option| is_own(option) && !replaces(option))
            .collect();
        self.options = options.into_iter().chain(own).collect();
    }

    /// Returns whether a turn runs.
    pub fn is_running(&self) -> bool {
        self.turn.is_some()
    }

    fn take_tokens(&mut self, used: Option<u64>, size: Option<u64>) {
        let (known_used, known_size) = self.tokens.unwrap_or_default();
        let (used, size) = (used.unwrap_or(known_used), size.unwrap_or(known_size));
        self.tokens = (used > 0).then_some((used, size));
    }

    fn enqueue(&mut self, turn: &Turn) {
        let Some(id) = &turn.id else {
            return;
        };
        let queued = Queued {
            turn: id.clone(),
            text: acp::text_of(turn.input.as_deref().unwrap_or_default()),
        };
        match self.queue.iter_mut().find(|known| known.turn == *id) {
            Some(known) => *known = queued,
            None => self.queue.push(queued),
        }
    }

    fn dequeue(&mut self, id: Option<&str>) {
        self.queue.retain(|queued| id != Some(&*queued.turn));
        self.is_paused &= !self.queue.is_empty();
    }

    fn order(&mut self, ids: &[String]) {
        let place = |queued: &Queued| ids.iter().position(|id| *id == queued.turn);
        self.queue.retain(|queued| place(queued).is_some());
        self.queue.sort_by_key(place);
    }
}

fn options_of(objects: &[AcpObject]) -> Vec<SessionOption> {
    let objects = objects.iter().cloned().map(Value::Object);
    SessionOption::all(&Value::Array(objects.collect()))
}

fn commands_of(update: Option<&AcpObject>) -> Vec<SlashCommand> {
    update.map(acp::read).map(SlashCommand::all).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::state::tests::typed::{notification, thread};

    #[test]
    fn the_queue_is_in_the_daemons_order_and_ends_with_its_turns() {
        let queued =
            |id: &str| json!({ "id": id, "status": "queued", "input": [{ "type": "text", "text": id }] });
        let mut head = Head::read(&thread(json!({
            "turns": [{ "id": "turn_1", "status": "running" }, queued("turn_3"), queued("turn_2")],
            "queuedTurnIds": ["turn_2", "turn_3"], "turnId": "turn_1", "queuePaused": true,
        })));
        let texts = |head: &Head| {
            head.queue
                .iter()
                .map(|queued| queued.text.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(texts(&head), ["turn_2", "turn_3"]);
        head.fold(&notification("turn/queued", json!({ "turn": queued("turn_4") })));
        head.fold(&notification(
            "turn/queue/changed",
            json!({ "paused": true, "queuedTurnIds": ["turn_4", "turn_2"] }),
        ));
        assert_eq!(texts(&head), ["turn_4", "turn_2"]);
        let turn = |id: &str, status: &str| json!({ "turn": { "id": id, "status": status } });
        head.fold(&notification("turn/completed", turn("turn_1", "completed")));
        assert!(!head.is_running() && head.is_paused);
        head.fold(&notification("turn/started", turn("turn_4", "running")));
        head.fold(&notification("turn/completed", turn("turn_2", "interrupted")));
        // An empty queue is never paused.
        assert!(head.is_running() && head.queue.is_empty() && !head.is_paused);
    }
}
