//! What an editor of version 2 asks, where it differs from version 1.

use acpd_model::text::clip;
use acpd_model::{ErrorCode, Failure, RawJson, Seq};
use serde::Deserialize;

use super::opening::{self, from_start};
use super::params::{self, Authenticate, Params, SetConfigOption};
use super::peer::{Peer, Step};
use super::replies::empty;
use super::requests::{ask_agent, options_request, read_prompt as read_prompt_v1};
use super::session::OpenMode;
use super::subagents::thread_and_lane;
use super::v2::options;
use crate::agent::AgentRequest;
use crate::projection::has_options;
use crate::surface::contract::{Steps, request};
use crate::surface::idempotency::turn_of_key;
use crate::surface::request::{FollowFrom, OpenThread, StartTurn};
use crate::thread::TerminalAct;
use crate::wire::{member, object, others, spliced};

/// acpd's own position in a session: the number of the last event that the editor has. Updates of the state have it.
const AFTER: &str = "_acpd/after";
/// Bytes of an unknown position in an error.
const SHOWN_BYTES: usize = 80;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resume {
    #[serde(default)]
    replay_from: Option<ReplayFrom>,
}

#[derive(Deserialize)]
struct ReplayFrom {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    seq: Option<Seq>,
}

/// Opens a session, with its history or a part of it if the editor asks for one.
pub(super) fn resume_session(peer: &mut Peer, method: &str, params: Params<'_>) -> Result<Step, Failure> {
    let Resume { replay_from } = params::read(method, params)?;
    let Some(ReplayFrom { kind, seq }) = replay_from else {
        return opening::resume_session(peer, method, params);
    };
    let from = match (kind.as_str(), seq) {
        ("start", _) => FollowFrom::Start,
        (AFTER, Some(seq)) => FollowFrom::After { seq, clamp: true },
        (AFTER, None) => {
            let message = format!("{method}: replayFrom of the type {AFTER:?} needs the number \"seq\"");
            return Err(Failure::invalid_params(message));
        }
        _ => {
            let kind = clip(&kind, SHOWN_BYTES);
            return Err(Failure::invalid_params(format!(
                "{method}: replayFrom has the unknown type {kind:?}: use \"start\" or {AFTER:?}"
            )));
        }
    };
    let (thread, session) = peer.existing(method, params)?;
    let open = OpenThread {
        from,
        claims: peer.claims(thread),
        ..from_start(thread, session)
    };
    Ok(opening::opening(
        request!(OpenThread(Box::new(open))),
        OpenMode::Load,
    ))
}

/// Reads a prompt. Its key may also be where version 1 has it.
pub(super) fn read_prompt(peer: &mut Peer, method: &str, params: Params<'_>) -> Result<StartTurn, Failure> {
    let key = params.and_then(|params| {
        let params = RawJson::from(params);
        member(&params, "idempotencyKey").map(str::to_owned)
    });
    let key = turn_of_key(key.as_deref())?;
    let turn = read_prompt_v1(peer, method, params)?;
    Ok(StartTurn {
        client_turn_id: key.or(turn.client_turn_id),
        ..turn
    })
}

/// Sets an option, and answers with all of them.
pub(super) fn set_option(peer: &mut Peer, method: &str, params: Params<'_>) -> Result<Step, Failure> {
    let thread = peer.open_thread(method, params)?;
    let SetConfigOption { config_id, value } = params::read(method, params)?;
    let (id, set) = (config_id.clone(), value.clone());
    let session = peer.sessions.get(&thread);
    let late = session.and_then(|session| session.late.as_deref());
    let before = late.map_or(0, |late| late.reports(&id));
    let ask = request!(AskAgent {
        thread: Some(thread),
        request: AgentRequest::SetConfigOption { config_id, value },
        names_thread: true,
    });
    Ok(Peer::then(ask, move |peer, open, result| {
        let session = peer.sessions.get_mut(&thread);
        let late = session.and_then(|session| session.late.as_mut());
        let list = late.map(|late| {
            late.set(&id, &set, &result, before);
            options(&late.options().to_list())
        });
        let result = object(|out| {
            out.list("configOptions", &list.unwrap_or_default());
        });
        peer.answer(open, &result);
    }))
}

/// Asks the agent for the options before a session.
pub(super) fn session_options(peer: &mut Peer, method: &str, params: Params<'_>) -> Result<Step, Failure> {
    let (thread, request) = options_request(peer, method, params)?;
    let ask = request!(AskAgent {
        thread,
        request,
        names_thread: true,
    });
    Ok(Peer::then(ask, |peer, open, result| {
        let list = member(&result, "configOptions").filter(|_| has_options(&result));
        let list: Vec<RawJson> = list
            .and_then(|list| acpd_model::json::read(list).ok())
            .unwrap_or_default();
        let list = RawJson::of(&options(&list)).unwrap_or_else(|_| RawJson::trusted("[]"));
        peer.answer(open, &spliced(&result, &[("configOptions", list.get())]));
    }))
}

/// Signs in.
pub(super) fn log_in(_: &mut Peer, method: &str, params: Params<'_>) -> Result<Step, Failure> {
    let Authenticate { method_id } = params::read(method, params)?;
    let members = params.and_then(|params| others(&params.into(), &["methodId", "type"]));
    Ok(ask_agent(None, AgentRequest::Authenticate { method_id, members }))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CancelTerminal {
    session_id: String,
    terminal_id: String,
}

/// Ends the command of a terminal, which may be one of a subagent. ACP has one code for all terminals that cannot be cancelled.
pub(super) fn cancel_terminal(peer: &mut Peer, method: &str, params: Params<'_>) -> Result<Step, Failure> {
    let CancelTerminal {
        session_id,
        terminal_id,
    } = params::read(method, params)?;
    let (session, _) = thread_and_lane(&session_id);
    let thread = peer.checked_open(params::thread_named(session)?)?;
    let ask = request!(UseTerminal {
        thread,
        terminal_id,
        act: TerminalAct::Kill,
    });
    Ok(Peer::finally(ask, |peer, open, done| match done {
        Ok(()) => peer.answer(open, &empty()),
        Err(failure) if matches!(failure.code, ErrorCode::NotFound | ErrorCode::Unsupported) => {
            peer.refuse(open, &Failure::invalid_params(failure.message));
        }
        Err(failure) => peer.refuse(open, &failure),
    }))
}
