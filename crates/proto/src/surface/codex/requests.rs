//! What the client asks: for each method, what acpd answers, or the first request to the daemon.

#![allow(
    clippy::needless_pass_by_value,
    reason = "each is the function of a row, which passes the params that it has read"
)]

use acpd_model::{ErrorCode, Failure, ThreadId, TurnId};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::history::{Page, read_before, read_whole, whole};
use super::models::ModelList;
use super::params::{
    Cwd, Fork, List, OfThread, OfTurn, Pages, Queued, ReadConfig, Revert, Review, ReviewTarget, SetName,
    ShellCommand, StartThread, TurnInput, UpdateSettings, blocks,
};
use super::peer::{Peer, Step};
use super::search::SearchResults;
use super::settings::{Settings, WantedSettings};
use super::steps::{last_turn, open_step, queue_of, read_thread, respond_empty, respond_page, write_list};
use super::turn_id::{NamedTurn, turn_id};
use crate::projection::text_block;
use crate::surface::contract::{DaemonRequest, Steps, request};
use crate::surface::idempotency::idempotency_key;
use crate::surface::reply::{ListPage, Opened};
use crate::surface::request::{
    FollowFrom, ForkThread, ListThreads, ListedStatus, OpenThread, SearchThreads, StartTurn,
};
use crate::thread::{Change, InterruptOptions, QueueChange};

/// How a request begins.
pub(super) enum Begun {
    /// With its result.
    Answer(Value),
    /// With a request to the daemon.
    Step(Step),
}

pub(super) fn read_config(peer: &mut Peer, ReadConfig { cwd }: ReadConfig) -> Value {
    let folder = cwd.unwrap_or_else(|| peer.host.home.clone());
    // Whether a folder is trusted is a question of Codex's own sandbox.
    let config = json!({ "projects": { folder: { "trust_level": "trusted" } } });
    json!({ "config": config, "origins": {}, "layers": null })
}

/// Codex writes what it remembers for new threads. acpd's own configuration does not change.
pub(super) fn write_config(peer: &mut Peer, _: IgnoredAny) -> Value {
    json!({
        "status": "ok", "version": "1", "filePath": format!("{}/config.toml", peer.host.home),
        "overriddenMetadata": null,
    })
}

pub(super) fn list_models(_: &mut Peer, _: IgnoredAny) -> Step {
    Peer::then(request!(ListAgents), |peer, open, agents| {
        let (mut list, threads) = ModelList::new(agents);
        let step = Peer::then(threads, |peer, open, threads| {
            list.add_threads(&threads.page);
            peer.list_models(open, list);
        });
        peer.take_step(open, step);
    })
}

/// The modes of the client's thread are its profiles.
pub(super) fn list_profiles(peer: &mut Peer, _: IgnoredAny) -> Begun {
    let Some(thread) = peer.current else {
        return Begun::Answer(json!({ "data": [], "nextCursor": null }));
    };
    Begun::Step(Peer::then(read_thread(thread), |peer, open, view| {
        let data = Settings::of(&view.live).profiles();
        peer.respond(open, &json!({ "data": data, "nextCursor": null }));
    }))
}

/// ACP has no review of its own, so that the agent is asked for it.
pub(super) fn start_review(_: &mut Peer, params: Review) -> Step {
    let subject = match params.target {
        ReviewTarget::UncommittedChanges => {
            "the uncommitted changes, staged, unstaged and untracked".to_owned()
        }
        ReviewTarget::BaseBranch { branch } => {
            format!("the changes against the merge base with the branch {branch}")
        }
        ReviewTarget::Commit { sha } => format!("the changes of the commit {sha}"),
        ReviewTarget::Custom { instructions } => instructions,
    };
    let text = format!(
        "Review {subject}. Report what the author would fix: bugs, risks and missing tests, the worst first, each with \
         its file and line. Change nothing."
    );
    let thread = params.thread_id;
    let start = StartTurn::new(thread, vec![text_block(&text)]);
    Peer::then(request!(StartTurn(start)), move |peer, open, turn| {
        peer.turn_started(open, thread, &turn, true)
    })
}

pub(super) fn archive(_: &mut Peer, params: OfThread) -> Step {
    let thread = params.thread_id;
    let change = Change::Archive;
    Peer::then(request!(ChangeThread { thread, change }), respond_empty)
}

pub(super) fn unarchive(_: &mut Peer, params: OfThread) -> Step {
    let thread = params.thread_id;
    Peer::then(request!(UnarchiveThread { thread }), move |peer, open, _| {
        peer.respond_again(open, thread)
    })
}

pub(super) fn delete(_: &mut Peer, params: OfThread) -> Step {
    let thread = params.thread_id;
    Peer::then(request!(DeleteThread { thread }), respond_empty)
}

pub(super) fn set_name(_: &mut Peer, params: SetName) -> Step {
    let thread = params.thread_id;
    let change = Change::Rename {
        name: Some(params.name).filter(|name| !name.trim().is_empty()),
    };
    Peer::finally(
        request!(ChangeThread { thread, change }),
        move |peer, open, changed| {
            // An error would end Codex's TUI.
            if let Err(failure) = changed {
                peer.warn(Some(thread), &failure.message);
            }
            peer.respond(open, &json!({}));
        },
    )
}

pub(super) fn compact(_: &mut Peer, params: OfThread) -> Step {
    let thread = params.thread_id;
    Peer::finally(read_thread(thread), move |peer, open, view| match view {
        Ok(view) => peer.compact(open, thread, &view.live),
        Err(failure) => peer.respond_without_turn(open, thread, failure.message),
    })
}

pub(super) fn run_command(_: &mut Peer, params: ShellCommand) -> Step {
    let (thread, line) = (params.thread_id, params.command);
    Peer::finally(
        request!(RunCommand { thread, line }),
        move |peer, open, started| match started {
            Ok(_) => peer.respond(open, &json!({})),
            Err(failure) => peer.respond_without_turn(open, thread, failure.message),
        },
    )
}

pub(super) fn start_thread(peer: &mut Peer, params: StartThread) -> Result<Step, Failure> {
    if params.ephemeral == Some(true) {
        let message = "ephemeral threads are not supported: acpd keeps every thread";
        return Err(Failure::new(ErrorCode::Unsupported, message));
    }
    let cwd = params.cwd.unwrap_or_else(|| peer.host.home.clone());
    let wanted = params.wanted;
    Ok(Peer::then(request!(ListAgents), move |peer, open, agents| {
        peer.start(open, &agents, cwd, wanted)
    }))
}

pub(super) fn resume(_: &mut Peer, params: OfThread) -> Step {
    let open = OpenThread {
        thread: params.thread_id,
        from: FollowFrom::Latest,
        turns: (!params.exclude_turns).then(whole),
        session: None,
        claims: Vec::new(),
        starts_agent: false,
    };
    open_step(request!(OpenThread(Box::new(open))), None, params.exclude_turns)
}

pub(super) fn fork(_: &mut Peer, params: Fork) -> Result<Step, Failure> {
    let (thread, exclude_turns) = (params.thread_id, params.exclude_turns);
    if params.ephemeral {
        let message = "acpd keeps every thread: a fork cannot be ephemeral";
        return Err(Failure::new(ErrorCode::Unsupported, message));
    }
    let Some(turn) = params.before_turn_id else {
        let turn = named(params.last_turn_id, thread)?;
        return Ok(open_step(fork_at(thread, turn), Some(thread), exclude_turns));
    };
    let before = read_before(thread, turn.of(thread)?);
    Ok(Peer::then(before, move |peer, open, view| {
        match last_turn(&view) {
            Some(turn) => {
                let fork = fork_at(thread, Some(turn));
                peer.take_step(open, open_step(fork, Some(thread), exclude_turns));
            }
            None => {
                let message = "there is no turn before it to fork: start a new thread";
                peer.refuse(open, &Failure::new(ErrorCode::Conflict, message));
            }
        }
    }))
}

/// Returns the request to fork a thread after `turn`.
fn fork_at(thread: ThreadId, turn: Option<TurnId>) -> DaemonRequest<Box<Opened>> {
    request!(ForkThread(Box::new(ForkThread {
        thread,
        turn,
        name: None,
        session: None,
    })))
}

pub(super) fn revert(_: &mut Peer, params: Revert) -> Result<Step, Failure> {
    let thread = params.thread_id;
    let before = read_before(thread, params.before_turn_id.of(thread)?);
    Ok(Peer::then(before, move |peer, open, view| {
        let last_kept = last_turn(&view);
        let roll_back = request!(RollBack { thread, last_kept });
        let step = Peer::then(roll_back, move |peer, open, _| peer.respond_again(open, thread));
        peer.take_step(open, step);
    }))
}

pub(super) fn read(_: &mut Peer, params: OfThread) -> Step {
    let thread = params.thread_id;
    let view = if params.include_turns {
        read_whole(thread)
    } else {
        read_thread(thread)
    };
    Peer::then(view, |peer, open, view| peer.respond_thread(open, &view))
}

pub(super) fn list_turns(_: &mut Peer, params: Pages) -> Result<Step, Failure> {
    Page::read(&params, false).map(respond_page)
}

pub(super) fn list_items(_: &mut Peer, params: Pages) -> Result<Step, Failure> {
    Page::read(&params, true).map(respond_page)
}

pub(super) fn list(_: &mut Peer, params: List) -> Begun {
    if params.is_foreign() {
        return Begun::Answer(json!({ "data": [], "nextCursor": null, "backwardsCursor": null }));
    }
    let cwds = match params.cwd {
        None => Vec::new(),
        Some(Cwd::One(cwd)) => vec![cwd],
        Some(Cwd::Many(cwds)) => cwds,
    };
    let list = ListThreads {
        cursor: params.cursor,
        limit: params.limit,
        archived: params.archived,
        cwd: (cwds.len() == 1).then(|| cwds[0].clone()),
        search: params.search_term.filter(|term| !term.is_empty()),
        ..ListThreads::default()
    };
    Begun::Step(Peer::then(
        request!(ListThreads(list)),
        move |peer, open, threads| {
            let ListPage { page, next } = threads;
            peer.respond_with(open, |out| write_list(out, &page, next.as_deref(), &cwds));
        },
    ))
}

/// Lists the threads that work, and those that the client follows.
pub(super) fn list_loaded(_: &mut Peer, _: IgnoredAny) -> Step {
    let list = ListThreads {
        status: Some(ListedStatus::Active),
        ..ListThreads::default()
    };
    Peer::then(request!(ListThreads(list)), |peer, open, threads| {
        let mut ids: Vec<ThreadId> = threads.page.iter().map(|listed| listed.thread).collect();
        let followed = peer.sessions.keys().filter(|own| !ids.contains(own)).copied();
        let followed: Vec<ThreadId> = followed.collect();
        ids.extend(followed);
        peer.respond(open, &json!({ "data": ids, "nextCursor": null }));
    })
}

pub(super) fn search(_: &mut Peer, params: List) -> Result<Step, Failure> {
    let query = params.search_term.filter(|term| !term.is_empty());
    let search = SearchThreads {
        query: query.ok_or_else(|| Failure::invalid_params("missing field `searchTerm`"))?,
        cursor: params.cursor,
        limit: params.limit,
        thread: None,
    };
    Ok(Peer::then(request!(SearchThreads(search)), |peer, open, hits| {
        let ListPage { page, next } = hits;
        peer.list_found(open, SearchResults::new(&page, next));
    }))
}

pub(super) fn update_settings(_: &mut Peer, params: UpdateSettings) -> Step {
    let (thread, wanted) = (params.thread_id, params.wanted);
    Peer::then(read_thread(thread), move |peer, open, view| {
        let settings = Settings::of(&view.live);
        if let Some(failure) = settings.refusal(&wanted) {
            return peer.refuse(open, &failure);
        }
        peer.apply(open, thread, settings.change(&wanted, true), move |peer, open| {
            peer.respond(open, &json!({}));
            // Codex takes no input until it has been told of the settings.
            peer.read_settings(thread);
        });
    })
}

pub(super) fn unsubscribe(peer: &mut Peer, params: OfThread) -> Step {
    let thread = params.thread_id;
    peer.sessions.remove(&thread);
    let release = false;
    Peer::then(request!(CloseThread { thread, release }), |peer, open, closed| {
        let status = if closed.was_open {
            "unsubscribed"
        } else {
            "notSubscribed"
        };
        peer.respond(open, &json!({ "status": status }));
    })
}

pub(super) fn queue(_: &mut Peer, params: TurnInput) -> Result<Step, Failure> {
    let (thread, start) = (params.thread_id, prompt(params)?.0);
    Ok(Peer::then(request!(StartTurn(start)), move |peer, open, turn| {
        let id = turn_id(thread, Some(turn.id));
        let queued = json!({ "id": id, "clientUserMessageId": "", "input": [] });
        peer.respond(open, &json!({ "queuedSubmission": queued }));
    }))
}

pub(super) fn list_queue(_: &mut Peer, params: Queued) -> Step {
    Peer::then(read_thread(params.thread_id), |peer, open, view| {
        peer.respond(open, &queue_of(&view.live))
    })
}

pub(super) fn remove_queued(_: &mut Peer, params: Queued) -> Result<Step, Failure> {
    Ok(interrupt_turn(params.thread_id, queued_turn(&params)?))
}

pub(super) fn edit_queued(_: &mut Peer, params: Queued) -> Result<Step, Failure> {
    let change = QueueChange::Edit {
        turn: queued_turn(&params)?,
        input: blocks(&params.input)?,
    };
    Ok(change_queue(params.thread_id, change))
}

pub(super) fn reorder_queue(_: &mut Peer, params: Queued) -> Result<Step, Failure> {
    let change = QueueChange::Arrange {
        first: all_turns(params.thread_id, &params.order)?,
        paused: None,
    };
    Ok(change_queue(params.thread_id, change))
}

pub(super) fn start_queue(_: &mut Peer, params: Queued) -> Result<Step, Failure> {
    let change = QueueChange::Arrange {
        first: all_turns(params.thread_id, params.turn.as_slice())?,
        paused: Some(false),
    };
    Ok(change_queue(params.thread_id, change))
}

fn change_queue(thread: ThreadId, change: QueueChange) -> Step {
    Peer::then(request!(ChangeQueue { thread, change }), respond_empty)
}

fn queued_turn(params: &Queued) -> Result<TurnId, Failure> {
    let missing = || Failure::invalid_params("missing field `queuedSubmissionId`");
    params.turn.ok_or_else(missing)?.of(params.thread_id)
}

fn all_turns(thread: ThreadId, turns: &[NamedTurn]) -> Result<Vec<TurnId>, Failure> {
    turns.iter().map(|turn| turn.of(thread)).collect()
}

pub(super) fn interrupt(_: &mut Peer, params: OfTurn) -> Result<Step, Failure> {
    let thread = params.thread_id;
    Ok(interrupt_turn(thread, params.turn_id.of(thread)?))
}

fn interrupt_turn(thread: ThreadId, turn: TurnId) -> Step {
    let (turn, options) = (Some(turn), InterruptOptions::default());
    Peer::then(
        request!(Interrupt {
            thread,
            turn,
            options
        }),
        respond_empty,
    )
}

pub(super) fn steer(_: &mut Peer, params: TurnInput) -> Result<Step, Failure> {
    let thread = params.thread_id;
    let steer = request!(SteerTurn {
        thread,
        input: blocks(&params.input)?,
        turn: named(params.expected_turn_id, thread)?,
        client_turn_id: params.client_user_message_id,
    });
    Ok(Peer::then(steer, move |peer, open, steered| {
        let turn = turn_id(thread, Some(steered.turn));
        peer.respond(open, &json!({ "turnId": turn }));
    }))
}

pub(super) fn start_turn(_: &mut Peer, params: TurnInput) -> Result<Step, Failure> {
    let thread = params.thread_id;
    let (start, wanted) = prompt(params)?;
    if wanted.is_empty() {
        return Ok(turn_step(start));
    }
    Ok(Peer::then(read_thread(thread), move |peer, open, view| {
        let change = Settings::of(&view.live).change(&wanted, false);
        peer.apply(open, thread, change, |peer, open| {
            peer.take_step(open, turn_step(start))
        });
    }))
}

fn turn_step(start: StartTurn) -> Step {
    let thread = start.thread;
    Peer::then(request!(StartTurn(start)), move |peer, open, turn| {
        peer.turn_started(open, thread, &turn, false)
    })
}

/// Returns the prompt of a message, and the settings that the client wants for it. The client's own id of its message is also a key.
/// It has precedence, because the client finds the message by it.
fn prompt(params: TurnInput) -> Result<(StartTurn, WantedSettings), Failure> {
    let input = blocks(&params.input)?;
    let key = idempotency_key(params.meta.as_ref())?;
    let start = StartTurn {
        client_turn_id: params.client_user_message_id.or(key),
        ..StartTurn::new(params.thread_id, input)
    };
    Ok((start, params.wanted))
}

fn named(turn: Option<NamedTurn>, thread: ThreadId) -> Result<Option<TurnId>, Failure> {
    turn.map(|turn| turn.of(thread)).transpose()
}
