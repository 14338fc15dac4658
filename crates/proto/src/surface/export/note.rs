//! Events that have a block of their own.

use acpd_model::event::{Binding, DiffSize, Level, SubagentPatch, TurnStatus};
use acpd_model::{Event, EventKind, HostEvent, Millis, Origin, SessionEvent, ThreadEvent, TurnEvent};
use serde::Deserialize;

use super::block::{Block, Span, code, word};
use super::text::{short_path, turn_title, who};
use crate::surface::contract::LostEvents;
use crate::surface::ours::{ours_of_host, ours_of_session, ours_of_thread};

/// Returns the block in place of events that cannot be read.
pub fn lost(at: Millis, lost: &LostEvents) -> Block {
    let LostEvents { first, last, reason } = lost;
    let title = format!("Events {first} to {last} cannot be read: {reason}");
    Block::new("error", at, vec![word(title)])
}

/// Returns the block of an event that needs no other events; `None` if readers of documents do not need it. Paths below
/// `cwd` are relative to it.
pub fn block(event: &Event, cwd: &str) -> Option<Block> {
    match &event.kind {
        EventKind::Thread(kind) => of_thread(event, kind),
        EventKind::Session(kind) => of_session(event, kind),
        EventKind::Turn(kind) => of_turn(event, kind),
        EventKind::Host(kind) => of_host(event.at, kind, cwd),
        // They are part of the conversation.
        EventKind::Item(_) | EventKind::Request(_) | EventKind::Unknown => None,
    }
}

fn of_thread(event: &Event, kind: &ThreadEvent) -> Option<Block> {
    let title = match kind {
        ThreadEvent::TurnsRolledBack {
            last_kept: Some(turn),
            ..
        } => vec![word(format!(
            "Rolled back to turn {}: the turns after it are no longer part of the conversation. By ",
            turn.0
        ))],
        ThreadEvent::TurnsRolledBack { last_kept: None, .. } => vec![word(
            "Rolled back to the beginning: no turn before this is part of the conversation any more. By ",
        )],
        ThreadEvent::Forked(forked) => vec![
            word("Split off thread "),
            code(forked.from.to_string()),
            word(": everything up to here is that thread's. By "),
        ],
        ThreadEvent::Renamed { name: Some(name), .. } => vec![word("Renamed "), code(name), word(" by ")],
        ThreadEvent::Renamed { name: None, .. } => vec![word("Name given back by ")],
        ThreadEvent::DirectoriesSet(directories) => vec![
            word("Works in "),
            code(&directories.cwd),
            word(" from here on. Set by "),
        ],
        ThreadEvent::Archived {} => vec![word("Put away by ")],
        ThreadEvent::Unarchived {} => vec![word("Taken out again by ")],
        ours_of_thread!()
        | ThreadEvent::StatusChanged { .. }
        | ThreadEvent::Deleted { .. }
        | ThreadEvent::LeaseMoved { .. } => return None,
    };
    Some(by_originator(event, title))
}

fn of_session(event: &Event, kind: &SessionEvent) -> Option<Block> {
    let at = event.at;
    Some(match kind {
        SessionEvent::AgentBound { .. } => bound(event)?,
        SessionEvent::AgentLost {
            reason,
            stderr,
            expected,
        } => {
            let class = if *expected { "note" } else { "error" };
            let title = vec![word("The agent is gone: "), word(reason.clone())];
            Block::new(class, at, title).verbatim("", stderr)
        }
        SessionEvent::NoticeGiven {
            level,
            message,
            detail,
            ..
        } => {
            let (class, name) = match level {
                Level::Info => ("note", "Notice: "),
                Level::Warning => ("warning", "Warning: "),
                Level::Error => ("error", "Error: "),
            };
            let block = Block::new(class, at, vec![word(name), word(message.clone())]);
            block.verbatim("", detail.as_deref().unwrap_or_default())
        }
        SessionEvent::LineMalformed { reason, text, bytes } => {
            let title = vec![word("The agent wrote an invalid line: "), word(reason.clone())];
            let size = vec![word(format!("{bytes} bytes; it begins with:"))];
            Block::new("warning", at, title).line(size).verbatim("", text)
        }
        SessionEvent::CallRefused {
            method,
            reason,
            requested_by,
        } => {
            let title = match requested_by {
                Some(user) => {
                    let mut title = who(&Origin::Client(user.clone()));
                    title.push(word(" wanted to run a command and was refused"));
                    title
                }
                None => vec![word("The agent called "), code(method), word(" and was refused")],
            };
            Block::new("warning", at, title).line(vec![word(reason.clone())])
        }
        SessionEvent::ModelChanged { model_id } => {
            Block::new("note", at, vec![word("Model: "), code(model_id)])
        }
        SessionEvent::ModeChanged { mode_id } => Block::new("note", at, vec![word("Mode: "), code(mode_id)]),
        SessionEvent::SubagentUpdated(patch) => subagent(event, patch)?,
        ours_of_session!()
        | SessionEvent::InfoUpdated { .. }
        | SessionEvent::AgentNotified { .. }
        | SessionEvent::ConfigOptionsReplaced { .. }
        | SessionEvent::CommandsReplaced {} => return None,
    })
}

/// Says which subagent there is from then on.
fn subagent(event: &Event, patch: &SubagentPatch) -> Option<Block> {
    let session = patch.session_id.as_ref()?;
    let name = patch.title.set().unwrap_or(session);
    let block = Block::new("note", event.at, vec![word("New subagent: "), code(name)]);
    Some(match patch.description.set() {
        Some(description) => block.line(vec![word(description.clone())]),
        None => block,
    })
}

fn of_turn(event: &Event, kind: &TurnEvent) -> Option<Block> {
    let title = match kind {
        TurnEvent::InterruptRequested {} => "Interrupted by ",
        TurnEvent::SteerRequested { .. } => "Something to say in the middle of the turn, by ",
        TurnEvent::Queued { .. }
        | TurnEvent::QueueChanged { .. }
        | TurnEvent::Started { .. }
        | TurnEvent::Settled { .. }
        | TurnEvent::DiffUpdated { .. }
        | TurnEvent::PlanReplaced { .. }
        | TurnEvent::PlanRemoved { .. }
        | TurnEvent::UsageUpdated { .. } => return None,
    };
    Some(by_originator(event, vec![word(title)]))
}

fn of_host(at: Millis, kind: &HostEvent, cwd: &str) -> Option<Block> {
    let title = match kind {
        HostEvent::FileRead { path, bytes } => file("Read ", short_path(path, cwd), *bytes),
        HostEvent::FileWritten { path, bytes, .. } => file("Wrote ", short_path(path, cwd), *bytes),
        ours_of_host!() | HostEvent::TerminalOutput { .. } | HostEvent::TerminalWaiting { .. } => {
            return None;
        }
    };
    Some(Block::new("file", at, title))
}

/// Returns a note whose title ends with the originator of the event.
fn by_originator(event: &Event, mut title: Vec<Span>) -> Block {
    title.extend(who(&event.by));
    Block::new("note", event.at, title)
}

fn file(verb: &'static str, path: &str, bytes: u64) -> Vec<Span> {
    vec![word(verb), code(path), word(format!(" ({bytes} bytes)"))]
}

fn bound(event: &Event) -> Option<Block> {
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct InitializeResult {
        agent_info: Option<Info>,
    }
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Info {
        name: String,
        version: String,
    }
    let EventKind::Session(SessionEvent::AgentBound {
        session_id,
        how,
        agent,
        ..
    }) = &event.kind
    else {
        return None;
    };
    let how = match how {
        Binding::New => "Agent session begun: ",
        Binding::Load => "Agent session loaded: ",
        Binding::Resume => "Agent session resumed: ",
        Binding::Fork => "Agent session forked: ",
    };
    let block = Block::new("note", event.at, vec![word(how), code(session_id)]);
    Some(
        match agent.read::<InitializeResult>().unwrap_or_default().agent_info {
            Some(Info { name, version }) => block.line(vec![code(name), word(" "), code(version)]),
            None => block,
        },
    )
}

/// Returns the block of a turn's end; `usage` is the agent's last report of its context.
pub fn turn_end(event: &Event, usage: Option<(u64, u64)>) -> Option<Block> {
    let EventKind::Turn(TurnEvent::Settled {
        status,
        stop_reason,
        error,
        started_at,
        usage: tokens,
        changes,
        plan: _,
        plans: _,
        permitted: _,
        waited_ms,
    }) = &event.kind
    else {
        return None;
    };
    let (class, how) = match status {
        TurnStatus::Completed => ("end", "completed"),
        TurnStatus::Interrupted => ("end", "interrupted"),
        TurnStatus::Failed => ("error", "failed"),
        TurnStatus::Refused => ("end", "refused by the agent"),
        TurnStatus::Limited => ("end", "stopped at a limit"),
    };
    let title = vec![word(format!("{} {how}", turn_title(event.turn)))];
    let mut block = Block::new(class, event.at, title);
    if let Some(reason) = stop_reason {
        block = block.line(vec![word("Stop reason: "), code(reason)]);
    }
    block = block.verbatim("", error.as_deref().unwrap_or_default());
    match started_at {
        Some(started) => block = block.line(vec![word(took(*started, event.at, *waited_ms))]),
        None => block = block.line(vec![word("It never began.")]),
    }
    if let Some(DiffSize {
        files,
        added,
        removed,
        incomplete,
    }) = changes.as_deref()
    {
        let more = if *incomplete {
            ", and more that the diff does not show"
        } else {
            ""
        };
        let plural = if *files == 1 { "" } else { "s" };
        block = block.line(vec![word(format!(
            "Changed {files} file{plural}: +{added} −{removed}{more}"
        ))]);
    }
    if let Some(tokens) = tokens {
        block = block.line(vec![word("Tokens: "), code(tokens.get())]);
    }
    if let Some((used, size)) = usage.filter(|_| started_at.is_some()) {
        block = block.line(vec![word(format!("Context: {used} of {size} tokens"))]);
    }
    Some(block)
}

/// Describes the time of a turn. The time in which a question waited is not the agent's.
fn took(from: Millis, to: Millis, waited_ms: u64) -> String {
    if waited_ms == 0 {
        return format!("It took {}.", lasted(from, to));
    }
    let waited = Millis::try_from(waited_ms).unwrap_or(Millis::MAX);
    let (worked, waited) = (lasted(from.saturating_add(waited), to), lasted(0, waited));
    format!("It worked for {worked} and waited {waited} for answers.")
}

fn lasted(from: Millis, to: Millis) -> String {
    let millis = to.saturating_sub(from).max(0);
    let (minutes, rest) = (millis / 60_000, millis % 60_000);
    let (seconds, millis) = (rest / 1000, rest % 1000);
    if minutes > 0 {
        format!("{minutes} min {seconds} s")
    } else {
        format!("{seconds}.{millis:03} s")
    }
}
