//! Writes turns as Codex's `Turn`.

use std::collections::BTreeMap;

use acpd_model::event::TurnStatus;
use acpd_model::{
    EventKind, ItemEnd, ItemId, ItemStart, MessageType, Millis, Origin, RequestEvent, ThreadId,
};

use super::bounded;
use super::call::{Call, FileUpdate, Shape};
use super::item::{
    CommandOutput, Progress, ShownCall, command_line, escaped, shown_text, write_call, write_files,
    write_terminal, write_text, write_user_message,
};
use super::turn_id::turn_id;
use crate::projection::{Item, Turn};
use crate::wire::Object;

/// How a turn stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    pub status: &'static str,
    /// Why it failed.
    pub error: Option<String>,
    pub started_at: Option<Millis>,
    pub completed_at: Option<Millis>,
}

impl Outcome {
    /// Describes a turn that runs, or waits for others.
    pub fn running(started_at: Option<Millis>) -> Self {
        Self {
            status: "inProgress",
            error: None,
            started_at,
            completed_at: None,
        }
    }

    /// Describes a turn that has ended. A turn that the daemon interrupted has failed, from Codex's point of view.
    pub fn ended(
        status: TurnStatus,
        stop_reason: Option<&str>,
        error: Option<&str>,
        started_at: Option<Millis>,
        completed_at: Millis,
    ) -> Self {
        let error = match (status, error) {
            (TurnStatus::Completed, _) | (TurnStatus::Interrupted, None) => None,
            (_, Some(error)) => Some(error.to_owned()),
            (TurnStatus::Refused, None) => Some("The agent refused to continue.".to_owned()),
            (TurnStatus::Limited, None) => Some(match stop_reason {
                Some(reason) => format!("The turn reached a limit of the agent: {reason}."),
                None => "The turn reached a limit of the agent.".to_owned(),
            }),
            (TurnStatus::Failed, None) => Some("The turn failed.".to_owned()),
        };
        let word = match (status, &error) {
            (_, Some(_)) => "failed",
            (TurnStatus::Interrupted, None) => "interrupted",
            (_, None) => "completed",
        };
        Self {
            status: word,
            error,
            started_at,
            completed_at: Some(completed_at),
        }
    }
}

/// Writes a turn. `items` writes its items, which are complete as `view` says.
pub(super) fn write_turn(
    out: &mut Vec<u8>,
    id: &str,
    outcome: &Outcome,
    view: &str,
    items: impl FnOnce(&mut Vec<u8>),
) {
    let mut turn = Object::open(out);
    turn.plain("id", id);
    turn.plain("status", outcome.status).plain("itemsView", view);
    turn.with("items", |out| {
        out.push(b'[');
        items(out);
        out.push(b']');
    });
    match &outcome.error {
        Some(error) => turn.object("error", |object| {
            object.put("message", error);
        }),
        None => turn.raw("error", "null"),
    };
    let seconds = |at: Option<Millis>| at.map(|at| at / 1000);
    turn.maybe("startedAt", seconds(outcome.started_at).as_ref());
    turn.maybe("completedAt", seconds(outcome.completed_at).as_ref());
    let took = outcome.started_at.zip(outcome.completed_at);
    let took = took.map(|(start, end)| end.saturating_sub(start));
    turn.maybe("durationMs", took.as_ref());
    turn.close();
}

/// Adds the members of the notification that a turn failed, without its thread.
pub(super) fn put_error(params: &mut Object<'_>, turn: &str, why: &str) {
    params.plain("turnId", turn);
    params.object("error", |error| {
        error.put("message", why);
    });
    params.put("willRetry", &false);
}

/// The items that a list of turns contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemsView {
    /// None.
    NotLoaded,
    /// The messages of the user and the last one of the agent.
    Summary,
    /// All.
    Full,
}

impl ItemsView {
    /// Reads Codex's name of the view.
    pub fn read(word: Option<&str>) -> Self {
        match word {
            Some("notLoaded") => Self::NotLoaded,
            Some("full") => Self::Full,
            _ => Self::Summary,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::NotLoaded => "notLoaded",
            Self::Summary => "summary",
            Self::Full => "full",
        }
    }
}

/// Writes a turn of a thread that works in `cwd`.
pub(super) fn write_history(out: &mut Vec<u8>, thread: ThreadId, turn: &Turn, cwd: &str, view: ItemsView) {
    let outcome = match &turn.settled {
        Some(settled) => Outcome::ended(
            settled.status,
            settled.stop_reason.as_deref(),
            settled.error.as_deref(),
            turn.started_at,
            settled.at,
        ),
        None if turn.id.is_none() => Outcome {
            status: "completed",
            ..Outcome::running(None)
        },
        None => Outcome::running(turn.started_at),
    };
    write_turn(out, &turn_id(thread, turn.id), &outcome, view.word(), |out| {
        let mut first = true;
        for (_, text) in items_of(thread, turn, cwd, view) {
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            out.extend_from_slice(&text);
        }
    });
}

/// Returns whether the client sees a turn: one that has not started is in the queue, or was taken out of it.
pub(super) fn is_shown(turn: &Turn) -> bool {
    match turn.id {
        Some(_) => turn.started_at.is_some(),
        None => !turn.items.is_empty(),
    }
}

/// Returns the items of a turn of `thread` that this protocol shows, in order, as JSON.
pub(super) fn items_of(thread: ThreadId, turn: &Turn, cwd: &str, view: ItemsView) -> Vec<(ItemId, Vec<u8>)> {
    let all = || {
        let linked = Linked::of(turn);
        let items = turn.items.iter();
        items.filter_map(move |item| {
            let mut out = Vec::new();
            bounded::write_item(&mut out, thread, |out| linked.write(out, turn, item, cwd));
            (!out.is_empty()).then_some((item.id, out))
        })
    };
    match view {
        ItemsView::NotLoaded => Vec::new(),
        ItemsView::Full => all().collect(),
        ItemsView::Summary => {
            let last = turn
                .items
                .iter()
                .rev()
                .find(|item| role(item) == Some(MessageType::AgentMessage));
            let last = last.map(|item| item.id);
            let by_user: Vec<ItemId> = turn
                .items
                .iter()
                .filter(|item| role(item) == Some(MessageType::UserMessage))
                .map(|item| item.id)
                .collect();
            all()
                .filter(|(id, _)| by_user.contains(id) || last == Some(*id))
                .collect()
        }
    }
}

/// Returns whose message an item is. Those of subagents do not count: Codex shows one conversation in a thread.
fn role(item: &Item) -> Option<MessageType> {
    let ItemStart::Message { role, .. } = &item.start else {
        return None;
    };
    Some(*role).filter(|_| item.lane.is_none())
}

/// Returns the client's own id for a message that it added to the running turn.
fn own_name(item: &Item) -> Option<&str> {
    let ItemStart::Message {
        client_message_id, ..
    } = &item.start
    else {
        return None;
    };
    client_message_id.as_deref()
}

/// Which items of a turn belong to others, and are shown with them.
struct Linked {
    calls: BTreeMap<ItemId, Call>,
    /// The changes of calls that are shown as file changes.
    files: BTreeMap<ItemId, Vec<FileUpdate>>,
    /// The output of terminals, by the calls that show them.
    terminals: BTreeMap<ItemId, CommandOutput>,
    /// Items that are shown with others.
    hidden: Vec<ItemId>,
    /// Calls that were denied.
    denied: Vec<ItemId>,
    /// The first message of the user.
    prompt: Option<ItemId>,
}

impl Linked {
    fn of(turn: &Turn) -> Self {
        let mut linked = Self {
            calls: BTreeMap::new(),
            files: BTreeMap::new(),
            terminals: BTreeMap::new(),
            hidden: Vec::new(),
            denied: Vec::new(),
            prompt: turn
                .items
                .iter()
                .find(|item| role(item) == Some(MessageType::UserMessage))
                .map(|item| item.id),
        };
        let mut shows = BTreeMap::new();
        let is_message =
            |item: &&Item| item.lane.is_some() && matches!(item.start, ItemStart::Message { .. });
        linked
            .hidden
            .extend(turn.items.iter().filter(is_message).map(|item| item.id));
        for item in &turn.items {
            if let Some(ItemEnd::ToolCall { call, .. }) = item.content() {
                let mut call = Call::read(&call);
                if item.lane.is_some() {
                    call.mark_subagents();
                }
                for terminal in call.terminals() {
                    shows.insert(terminal.clone(), (item.id, call.shape()));
                }
                linked.calls.insert(item.id, call);
            }
        }
        for item in &turn.items {
            linked.link(item, &shows);
        }
        let denied = turn.notes.iter().filter_map(|note| {
            let EventKind::Request(RequestEvent::Settled { item, outcome, .. }) = &note.event.kind else {
                return None;
            };
            item.filter(|_| outcome.refuses())
        });
        linked.denied.extend(denied);
        linked
    }

    fn link(&mut self, item: &Item, shows: &BTreeMap<String, (ItemId, Shape)>) {
        match item.content() {
            Some(ItemEnd::FileChange { path, diff, .. }) => {
                let parent = item.parent.filter(|call| {
                    self.calls
                        .get(call)
                        .is_some_and(|call| call.shape() == Shape::Files)
                });
                if let Some(parent) = parent {
                    self.hidden.push(item.id);
                    if item.end.is_some() {
                        let file = FileUpdate::of_unified(&path, &diff);
                        self.files.entry(parent).or_default().push(file);
                    }
                }
            }
            Some(ItemEnd::TerminalCommand {
                terminal_id,
                exit_code,
                output,
                ..
            }) => {
                if let Some((call, Shape::Command)) = shows.get(&terminal_id) {
                    self.hidden.push(item.id);
                    let output = CommandOutput {
                        text: Some(output),
                        exit_code,
                    };
                    self.terminals.insert(*call, output);
                }
            }
            _ => {}
        }
    }

    fn write(&self, out: &mut Vec<u8>, turn: &Turn, item: &Item, cwd: &str) {
        if self.hidden.contains(&item.id) {
            return;
        }
        let progress = item.end.as_ref().map_or(Progress::Running, |(outcome, _)| {
            Progress::ended(*outcome, self.denied.contains(&item.id))
        });
        match (item.content(), &item.start) {
            (Some(ItemEnd::Message { role, content }), _) => match role {
                MessageType::UserMessage => {
                    let of_turn = turn.client_turn_id.as_deref();
                    let of_turn = of_turn.filter(|_| self.prompt == Some(item.id));
                    write_user_message(out, item.id, own_name(item).or(of_turn), &content);
                }
                MessageType::AgentMessage | MessageType::AgentThought => {
                    write_text(out, role, &item.id.to_string(), &escaped(&shown_text(&content)))
                }
            },
            (Some(ItemEnd::ToolCall { .. }), _) => {
                let Some(call) = self.calls.get(&item.id) else {
                    return;
                };
                let files = self.files.get(&item.id).map_or(&[][..], Vec::as_slice);
                let shape = super::shown::final_shape(call, files);
                let shown = ShownCall {
                    call,
                    cwd,
                    files,
                    terminal: self.terminals.get(&item.id),
                };
                write_call(out, item.id, shape, &shown, progress);
            }
            (Some(ItemEnd::FileChange { path, diff, .. }), _) if item.end.is_some() => {
                write_files(out, item.id, &[FileUpdate::of_unified(&path, &diff)], progress);
            }
            (
                Some(ItemEnd::TerminalCommand {
                    exit_code, output, ..
                }),
                ItemStart::TerminalCommand {
                    command,
                    args,
                    cwd: own,
                    ..
                },
            ) => {
                let output = CommandOutput {
                    text: Some(output),
                    exit_code,
                };
                let line = command_line(command, args);
                let by_user = item.start.requester() != Origin::Agent;
                write_terminal(out, item.id, &line, by_user, own, progress, &output);
            }
            _ => {}
        }
    }
}
