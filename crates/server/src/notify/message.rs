//! What a target receives: the JSON object of webhooks and commands, and lines for people.
//!
//! In: a notification, and how much of its thread the target may know. Out: text. Never: writes more of the thread than
//! that, or a character that hides others.

use acpd_model::event::TurnStatus;
use acpd_model::text::{plain_line, visible_line};
use acpd_model::{EventKind, Millis, RequestEvent, RequestId, Summary, TurnEvent};
use acpd_proto::notify::Subject;
use acpd_runtime::notify::{Message, ThreadMessage};
use serde::Serialize;

use super::config::Content;

/// Bytes of one notification.
const NOTIFICATION_BYTES: usize = 16 << 10;
/// Characters of each text of a thread.
const TEXT_CHARS: usize = 500;

/// A notification for one target.
#[derive(Debug, Clone)]
pub(super) struct Notification {
    pub id: String,
    /// When it happened, in seconds since the Unix epoch.
    pub kind: &'static str,
    /// The JSON object.
    pub json: Vec<u8>,
    /// One line that says what happened.
    pub title: String,
    /// Lines with more about it.
    pub text: String,
    /// The address of the thread in the web UI.
    pub link: String,
    /// Whether a person has to do something.
    pub is_urgent: bool,
    pub thread: Option<String>,
}

#[derive(Serialize)]
struct Json<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    timestamp: String,
    data: Data<'a>,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    id: &'a str,
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<TurnStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<String>,
}

impl Notification {
    /// Makes the notification. `base` is the address of the web UI, without a slash at its end.
    pub fn new(message: &Message, content: Content, base: &str) -> Self {
        match message {
            Message::Thread(message) => about_thread(message, content, base),
            Message::Test { id, at } => Self::write(
                "test",
                *at,
                Data {
                    id,
                    url: &format!("{base}/"),
                    ..Data::default()
                },
                "Test notification".to_owned(),
                "acpd can deliver notifications to this target.".to_owned(),
            ),
        }
    }

    fn write(kind: &'static str, at: Millis, data: Data<'_>, title: String, text: String) -> Self {
        let (id, link, thread) = (data.id.to_owned(), data.url.to_owned(), data.thread_id.clone());
        let timestamp = jiff::Timestamp::from_millisecond(at)
            .unwrap_or_default()
            .to_string();
        let json = Json {
            kind,
            timestamp,
            data,
        };
        // Strings and ids alone cannot fail.
        let json = serde_json::to_vec(&json).unwrap_or_default();
        debug_assert!(json.len() <= NOTIFICATION_BYTES);
        Self {
            id,
            kind,
            json,
            title,
            text,
            link,
            is_urgent: matches!(kind, "waiting" | "failed"),
            thread,
        }
    }
}

fn about_thread(message: &ThreadMessage, content: Content, base: &str) -> Notification {
    let ThreadMessage {
        delivery,
        summary,
        event,
    } = message;
    let trigger = delivery.trigger;
    let id = delivery.id();
    let agent = short(&summary.agent);
    let url = format!("{base}/threads/{}", trigger.thread);
    let mut data = Data {
        id: &id,
        url: &url,
        thread_id: Some(trigger.thread.to_string()),
        agent_type: Some(&agent),
        ..Data::default()
    };
    let mut lines = Vec::new();
    let is_detailed = content == Content::Detailed;
    if is_detailed {
        data.title = summary.name.as_deref().map(short);
        data.cwd = Some(short(&visible_line(&summary.cwd)));
        lines.extend(data.title.clone());
        lines.push(format!("in {}", short(&visible_line(&summary.cwd))));
    }
    let title = match trigger.subject {
        Subject::Turn(turn) => {
            data.turn_id = Some(turn.to_string());
            let mut outcome = "has ended a turn";
            if let EventKind::Turn(TurnEvent::Settled {
                status,
                stop_reason,
                error,
                ..
            }) = &event.kind
            {
                data.status = Some(*status);
                // A word of the protocol. An agent could write anything there.
                data.stop_reason = stop_reason
                    .as_deref()
                    .filter(|reason| is_word(reason))
                    .map(str::to_owned);
                if is_detailed {
                    data.error = error.as_deref().map(short);
                    lines.extend(data.error.clone());
                }
                outcome = outcome_of(*status);
            }
            format!("{agent} {outcome}")
        }
        Subject::Question(request) => {
            data.request_id = Some(request.to_string());
            if is_detailed {
                data.question = question(summary, &event.kind, request).map(|title| short(&title));
                lines.extend(data.question.clone());
            }
            format!("{agent} waits for an answer")
        }
    };
    if lines.is_empty() {
        lines.push(format!("Thread {}", trigger.thread));
    }
    Notification::write(trigger.kind.word(), trigger.at, data, title, lines.join("\n"))
}

fn outcome_of(status: TurnStatus) -> &'static str {
    match status {
        TurnStatus::Completed => "is done",
        TurnStatus::Failed => "has failed",
        TurnStatus::Refused => "has refused to continue",
        TurnStatus::Limited => "has reached a limit",
        TurnStatus::Interrupted => "was interrupted",
    }
}

/// Returns the title of a question.
fn question(summary: &Summary, event: &EventKind, wanted: RequestId) -> Option<String> {
    match event {
        EventKind::Request(RequestEvent::PermissionRequested { request, title, .. })
            if *request == wanted =>
        {
            Some(title.clone())
        }
        EventKind::Request(RequestEvent::InputRequested { request, message, .. }) if *request == wanted => {
            Some(message.clone())
        }
        _ => {
            let question = summary.question.as_deref()?;
            (question.request_id == wanted).then(|| question.title.clone())
        }
    }
}

/// Returns whether a text is a single word of a protocol.
fn is_word(text: &str) -> bool {
    text.len() <= 64
        && text
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || "_-/.".contains(character))
}

/// Returns the beginning of a text in one line, with a visible mark in place of characters that hide or reorder others.
pub(super) fn short(text: &str) -> String {
    let mut characters = text.chars();
    let line: String = characters.by_ref().take(TEXT_CHARS).collect();
    let mut line = plain_line(&line.replace(['\n', '\r', '\t'], " "));
    if characters.next().is_some() {
        line.push('…');
    }
    line
}

#[cfg(test)]
pub(super) mod tests {
    use acpd_model::{Event, Origin, ThreadId, TurnId};
    use acpd_proto::notify::{Delivery, Trigger, TriggerKind};
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::*;

    const THREAD: ThreadId = ThreadId(Uuid::from_u128(7));

    fn message(kind: TriggerKind, subject: Subject, event: EventKind) -> Message {
        Message::Thread(Box::new(ThreadMessage {
            delivery: Delivery {
                target: "a".to_owned(),
                trigger: Trigger {
                    thread: THREAD,
                    kind,
                    subject,
                    seq: 4,
                    at: 1_700_000_000_000,
                },
            },
            summary: Summary {
                agent: "claude".to_owned(),
                cwd: "/planted/folder".to_owned(),
                name: Some("planted prompt".to_owned()),
                ..Summary::default()
            },
            event: Event {
                seq: 4,
                at: 1_700_000_000_000,
                turn: Some(TurnId(2)),
                by: Origin::Agent,
                kind: event,
                raw: None,
                raw_params: None,
                repeats_id: false,
                translated: false,
                lane: None,
            },
        }))
    }

    pub fn failed(error: &str, stop_reason: Option<&str>) -> Message {
        let settled = EventKind::Turn(TurnEvent::Settled {
            status: TurnStatus::Failed,
            stop_reason: stop_reason.map(str::to_owned),
            error: Some(error.to_owned()),
            started_at: Some(1),
            usage: None,
            changes: None,
            plan: None,
            plans: None,
            permitted: 0,
            waited_ms: 0,
        });
        message(TriggerKind::Failed, Subject::Turn(TurnId(2)), settled)
    }

    pub fn asked(title: &str) -> Message {
        let request = RequestId {
            thread: THREAD,
            number: 3,
        };
        let message_text = title.to_owned();
        let kind = EventKind::Request(RequestEvent::InputRequested {
            request,
            message: message_text,
            call: None,
        });
        message(TriggerKind::Waiting, Subject::Question(request), kind)
    }

    fn json_of(message: &Message, content: Content) -> Value {
        let notification = Notification::new(message, content, "https://box:4127");
        serde_json::from_slice(&notification.json).unwrap()
    }

    #[test]
    fn the_default_has_ids_and_outcomes_and_nothing_of_the_thread() {
        assert_eq!(
            json_of(&failed("planted error", Some("planted reason")), Content::Minimal),
            json!({
                "type": "failed",
                "timestamp": "2023-11-14T22:13:20Z",
                "data": {
                    "id": "ntf_00000000000000000000000000000007_turn_2_failed_a",
                    "url": "https://box:4127/threads/00000000-0000-0000-0000-000000000007",
                    "threadId": "00000000-0000-0000-0000-000000000007",
                    "agentType": "claude",
                    "turnId": "turn_2",
                    "status": "failed",
                },
            })
        );
        for message in [failed("planted error", None), asked("planted question")] {
            let notification = Notification::new(&message, Content::Minimal, "https://box:4127");
            assert!(
                !format!("{notification:?}").contains("planted"),
                "{notification:?}"
            );
            assert!(!String::from_utf8(notification.json).unwrap().contains("planted"));
        }
    }

    #[test]
    fn details_are_titles_folders_errors_and_questions() {
        let data = &json_of(&failed("it broke", Some("max_tokens")), Content::Detailed)["data"];
        assert_eq!(data["title"], "planted prompt");
        assert_eq!(data["cwd"], "/planted/folder");
        assert_eq!(data["error"], "it broke");
        assert_eq!(data["stopReason"], "max_tokens");
        let notification = Notification::new(&asked("Delete a file?"), Content::Detailed, "https://box:4127");
        assert_eq!(notification.title, "claude waits for an answer");
        assert_eq!(
            notification.text,
            "planted prompt\nin /planted/folder\nDelete a file?"
        );
    }

    #[test]
    fn long_and_hidden_texts_are_cut_and_marked() {
        let data = &json_of(&asked(&"x".repeat(1 << 20)), Content::Detailed)["data"];
        assert_eq!(data["question"].as_str().unwrap().chars().count(), TEXT_CHARS + 1);
        let data = &json_of(&asked("rm\u{202e}\u{200b}\u{7}\nx"), Content::Detailed)["data"];
        assert_eq!(data["question"], "rm\u{fffd}\u{fffd}\u{fffd} x");
    }
}
