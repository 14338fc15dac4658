//! The messages of real agents as an editor receives them: every line of every recording, with the thread's id as session
//! id. One agent repeats the ids of its tool calls, which editors receive under other ids.

use acpd_model::{Event, EventKind, ItemEvent, Limits, Origin, SessionEvent};
use acpd_proto::surface::acp::{ConnectionStart, Frame, FrameKind, Peer, TurnResult, frames};
use acpd_proto::surface::contract::{Lane, Source, Surface};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::connection::{deliver, opened, opened_as, request, sent};
use super::{schema, v2};
use crate::support::recording::{Line, Recording};
use crate::support::replay::{Conversation, Replay, conversations};
use crate::support::{Scene, check_in};

/// The response to a prompt that the agent does not answer.
const CANCELLED: &str = r#"{"stopReason":"cancelled"}"#;

/// A message of the agent: its method and its exact params.
#[derive(Debug, Clone, PartialEq)]
struct Said {
    method: String,
    params: String,
}

#[derive(serde::Deserialize)]
struct Message<'a> {
    method: String,
    #[serde(borrow)]
    params: &'a RawValue,
}

fn said(text: &str) -> Said {
    let Message { method, params } = serde_json::from_str(text).unwrap();
    let params = params.get().to_owned();
    Said { method, params }
}

/// Returns the text of a chunk that may be merged with adjacent ones, and the rest of the message.
fn mergeable(said: &Said) -> Option<(String, Value)> {
    let mut params: Value = serde_json::from_str(&said.params).ok()?;
    let text = params["update"]["content"]["text"].as_str()?.to_owned();
    let kind = params["update"]["sessionUpdate"].as_str()?;
    let block = params["update"]["content"].as_object()?;
    if !kind.ends_with("_chunk") || block.len() != 2 || params["update"].get("_meta").is_some() {
        return None;
    }
    params["update"]["content"]["text"] = Value::Null;
    Some((text, params))
}

/// Returns whether the frame contains the exact content from the agent.
fn is_the_agents(event: &Event, frame: &Frame) -> bool {
    let words = event
        .raw
        .as_ref()
        .is_some_and(|raw| raw.get().contains("\"sessionUpdate\""));
    let text = matches!(event.kind, EventKind::Item(ItemEvent::Delta { .. }));
    let params = matches!(&event.kind, EventKind::Session(SessionEvent::AgentNotified { method }) if method != "session/update");
    let asked = matches!(frame.kind, FrameKind::Asked(..));
    event.by == Origin::Agent
        && frame.text.is_some()
        && (words || text || params || asked || event.raw_params.is_some())
}

/// Returns the agent's messages in the conversation, with the indexes of their lines.
fn expected(recording: &Recording, one: &Conversation, thread: &str) -> Vec<(usize, Said)> {
    let ours = |(at, line): &(usize, &Line)| {
        let method = line.method().unwrap_or_default();
        let told = matches!(
            method,
            "session/update" | "session/request_permission" | "elicitation/create"
        );
        let of_process = |opening: &usize| opening < at && recording.lines[*opening].process == line.process;
        let for_all =
            method.starts_with('_') && line.session().is_none() && one.openings.iter().any(of_process);
        let of_session = line.session() == Some(one.session.as_str());
        line.from_agent && (for_all || of_session && (told || method.starts_with('_')))
    };
    let lines = recording.lines.iter().enumerate().filter(ours);
    lines
        .map(|(at, line)| {
            let Said { method, params } = said(&line.text);
            // The id is unique, so the first match is the right one.
            let params = params.replacen(&format!("\"{}\"", one.session), &format!("\"{thread}\""), 1);
            (at, of_agents_own(Said { method, params }))
        })
        .collect()
}

/// Returns a frame about a tool call with the agent's own id of it, which the daemon replaces where the agent repeats it.
fn with_the_agents_id(event: &Event, text: &str) -> String {
    let Some(item) = event.kind.named_item().filter(|_| event.repeats_id) else {
        return text.to_owned();
    };
    let raw = event.raw.as_ref().unwrap().get();
    let (_, after) = raw.split_once(r#""toolCallId":"#).unwrap();
    let own = after.split([',', '}']).next().unwrap();
    text.replacen(&format!("\"{item}\""), own, 1)
}

/// Returns the part of a permission request that reaches an editor unchanged. The daemon sets the title, the content and
/// the option names.
fn of_agents_own(said: Said) -> Said {
    if said.method != "session/request_permission" {
        return said;
    }
    let params: serde_json::Value = serde_json::from_str(&said.params).unwrap();
    let kinds: Vec<_> = params["options"]
        .as_array()
        .unwrap()
        .iter()
        .map(|option| &option["kind"])
        .collect();
    let own = serde_json::json!([params["sessionId"], params["toolCall"]["toolCallId"], kinds]);
    Said {
        params: own.to_string(),
        ..said
    }
}

/// Returns whether a line belongs to the history that an agent replays when it reopens a session.
fn is_history(recording: &Recording, one: &Conversation, at: usize) -> bool {
    let process = recording.lines[at].process;
    let opening = one
        .openings
        .iter()
        .find(|opening| recording.lines[**opening].process == process);
    let opened_again =
        opening.is_some_and(|opening| recording.lines[*opening].method() != Some("session/new"));
    let prompted = recording.lines[..at].iter().any(|line| {
        line.process == process
            && line.method() == Some("session/prompt")
            && line.session() == Some(one.session.as_str())
    });
    opened_again && !prompted
}

/// Checks that editors of version 2 receive valid messages, whatever the agent sends: one that sees all of it happen, and one that loads
/// it afterwards.
fn check_version_2(scene: &Scene) {
    let name = scene.id.to_string();
    let thread = name.as_str();
    let events = &scene.log;
    let frames = Peer::encode(Lane::AcpV2, Source::Events { thread, events });
    let last = scene.thread.live().last_seq;
    let loads = json!({ "sessionId": thread, "cwd": "/w", "replayFrom": { "type": "start" } });
    let follows = json!({ "sessionId": thread, "cwd": "/w" });
    let afterwards = opened_as(scene.thread.live().clone(), 0, Vec::new());
    for (params, opened) in [(follows, opened(scene.id, 0, 0, Vec::new())), (loads, afterwards)] {
        let mut peer = v2::greeted(ConnectionStart::default());
        let (call, _) = request(&mut peer, 1, "session/resume", &params.to_string());
        peer.handle_reply(call, Ok(opened));
        deliver(&mut peer, scene.id, &frames, last);
        for message in sent(&mut peer) {
            let answers = message.get("method").is_none().then_some("session/resume");
            schema::check_v2(&message, answers);
        }
    }
}

fn play(agent: &str) {
    let recording = Recording::read(agent);
    let all = conversations(&recording);
    let mut compared = 0;
    for one in &all {
        let limits = Limits {
            cancel_secs: 300,
            ..Scene::limits()
        };
        let scene = check_in(Scene::with_limits(limits), |scene| {
            let stage = std::mem::replace(scene, Scene::new());
            *scene = Replay::play(&recording, &all, one, stage).scene;
        });
        let thread = scene.id.to_string();
        check_version_2(&scene);
        let mut wanted = expected(&recording, one, &thread).into_iter().peekable();
        let mut imports = false;
        for event in &scene.log {
            // Import splits replayed history differently. Other tests cover this.
            match &event.kind {
                EventKind::Session(SessionEvent::NoticeGiven { code, .. }) if code == "imported" => {
                    imports = true
                }
                EventKind::Session(SessionEvent::AgentBound { .. }) => imports = false,
                _ => {}
            }
            for frame in frames(&thread, std::slice::from_ref(event)) {
                if imports {
                    continue;
                }
                if let (FrameKind::Ended(ending), Origin::Agent) = (&frame.kind, &event.by)
                    && let TurnResult::Stopped(answer) = &**ending
                    && answer.get() != CANCELLED
                {
                    let answered = format!("\"result\":{}", answer.get());
                    let told = |line: &Line| line.from_agent && line.text.contains(&answered);
                    assert!(
                        recording.lines.iter().any(told),
                        "{agent} did not answer {answered}"
                    );
                }
                if !is_the_agents(event, &frame) {
                    // The daemon's own messages must be valid ACP.
                    if let Some(text) = &frame.text {
                        schema::check(&serde_json::from_slice(text).unwrap(), None);
                    }
                    continue;
                }
                let text = std::str::from_utf8(frame.text.as_ref().unwrap()).unwrap();
                let got = of_agents_own(said(&with_the_agents_id(event, text)));
                // The log already contains the replayed history.
                while wanted
                    .peek()
                    .is_some_and(|(at, next)| *next != got && is_history(&recording, one, *at))
                {
                    wanted.next();
                }
                let (at, first) = wanted
                    .next()
                    .unwrap_or_else(|| panic!("{agent}: nobody said {got:?}"));
                compared += 1;
                if first == got {
                    continue;
                }
                let (text, rest) =
                    mergeable(&got).unwrap_or_else(|| panic!("{agent}, line {at}: {first:?}\n{got:?}"));
                let (mut said, same) =
                    mergeable(&first).unwrap_or_else(|| panic!("{agent}, line {at}: {first:?}\n{got:?}"));
                assert_eq!(rest, same, "{agent}, line {at}");
                while said.len() < text.len() {
                    let (_, next) = wanted.next().unwrap();
                    let (more, same) = mergeable(&next).unwrap();
                    assert_eq!(rest, same, "{agent}, after line {at}");
                    said.push_str(&more);
                    compared += 1;
                }
                assert_eq!(said, text, "{agent}, line {at}");
            }
        }
        let left: Vec<_> = wanted
            .filter(|(at, _)| !is_history(&recording, one, *at))
            .collect();
        assert!(left.is_empty(), "{agent}, {}: not told: {left:#?}", one.session);
    }
    assert!(compared > 0, "{agent} said nothing");
}

macro_rules! each {
    ($($name:ident $agent:literal),+ $(,)?) => {
        $(#[test]
        fn $name() {
            play($agent);
        })+
    };
}

each!(
    codex "codex",
    deepagents "deepagents",
    gemini "gemini",
    opencode "opencode",
    openhands "openhands",
    sdk_agent "sdk-agent",
    zed_codex "zed-codex",
    fast_agent "fast-agent-passthrough",
);
