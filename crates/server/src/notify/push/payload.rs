//! What a browser's service worker receives: facts of which it makes a notification in the words of the page.
//!
//! The message is encrypted for a browser whose user may read the thread, so it names the thread and the question. It is
//! short all the same, because push services accept little: what does not fit is left out, and the notification says less.

use acpd_model::event::TurnStatus;
use acpd_model::limits::PUSH_BYTES;
use acpd_model::summary::WaitingQuestion;
use acpd_model::{EventKind, RawJson, TurnEvent};
use acpd_proto::notify::{Subject, TriggerKind};
use acpd_proto::surface::app::question_json;
use acpd_runtime::notify::{Message, ThreadMessage};
use serde::Serialize;

use crate::notify::message::short;

/// How much of a message is written. What has no room is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    Whole,
    /// Without the effects of a question, and so without buttons.
    NoEffects,
    /// Also without the question, and with the beginnings of texts.
    Least,
}

/// Characters of each text of the least detail.
const FEW_CHARS: usize = 100;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Payload {
    /// `done`, `failed`, `waiting`, `test` or `signOut`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// With `signOut`: whether the browser stays signed in if the user opens the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    can_stay: Option<bool>,
    #[serde(flatten)]
    about: Option<About>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct About {
    thread_id: String,
    agent_type: String,
    cwd: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<TurnStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<RawJson>,
    /// Whether the user may answer the question.
    can_answer: bool,
}

/// Returns the JSON of a message, at most [`PUSH_BYTES`].
pub(super) fn payload(message: &Message, can_answer: bool) -> Vec<u8> {
    let mut json = Vec::new();
    for detail in [Detail::Whole, Detail::NoEffects, Detail::Least] {
        let payload = match message {
            Message::Test { .. } => Payload {
                kind: "test",
                can_stay: None,
                about: None,
            },
            Message::Thread(message) => Payload {
                kind: message.delivery.trigger.kind.word(),
                can_stay: None,
                about: Some(about(message, can_answer, detail)),
            },
        };
        json = written(&payload);
        if json.len() <= PUSH_BYTES {
            break;
        }
    }
    debug_assert!(json.len() <= PUSH_BYTES);
    json
}

/// Returns the JSON of the message that the browser will be signed out within a day.
pub(super) fn sign_out(can_stay: bool) -> Vec<u8> {
    written(&Payload {
        kind: "signOut",
        can_stay: Some(can_stay),
        about: None,
    })
}

fn written(payload: &Payload) -> Vec<u8> {
    // Strings and ids alone cannot fail.
    serde_json::to_vec(payload).unwrap_or_default()
}

fn about(message: &ThreadMessage, can_answer: bool, detail: Detail) -> About {
    let ThreadMessage {
        delivery,
        summary,
        event,
    } = message;
    let text = |text: &str| shown(text, detail);
    let (status, error) = match &event.kind {
        EventKind::Turn(TurnEvent::Settled { status, error, .. }) => {
            (Some(*status), error.as_deref().map(text))
        }
        _ => (None, None),
    };
    About {
        thread_id: delivery.trigger.thread.to_string(),
        agent_type: text(&summary.agent),
        cwd: text(&summary.cwd),
        name: summary.name.as_deref().map(text),
        status,
        error,
        question: oldest_question(message).and_then(|question| shown_question(question, detail)),
        can_answer: can_answer && delivery.trigger.kind == TriggerKind::Waiting,
    }
}

fn shown(text: &str, detail: Detail) -> String {
    let mut text = short(text);
    if detail == Detail::Least
        && let Some((end, _)) = text.char_indices().nth(FEW_CHARS)
    {
        text.truncate(end);
        text.push('…');
    }
    text
}

fn shown_question(question: &WaitingQuestion, detail: Detail) -> Option<RawJson> {
    match detail {
        Detail::Whole => Some(question_json(question)),
        Detail::NoEffects => Some(question_json(&WaitingQuestion {
            answerable: None,
            ..question.clone()
        })),
        Detail::Least => None,
    }
}

/// Returns the question of a message if it is the thread's oldest one, which the page shows first. Another one has to be
/// opened.
fn oldest_question(message: &ThreadMessage) -> Option<&WaitingQuestion> {
    let Subject::Question(request) = message.delivery.trigger.subject else {
        return None;
    };
    let oldest = message.summary.question.as_deref()?;
    (oldest.request_id == request).then_some(oldest)
}

#[cfg(test)]
mod tests {
    use acpd_model::event::PermissionOption;
    use acpd_model::subject::CallSubject;
    use acpd_model::summary::{Answerable, QuestionType};
    use serde_json::{Value, json};

    use super::*;
    use crate::notify::message::tests::{asked, failed};

    fn json_of(message: &Message, can_answer: bool) -> Value {
        let bytes = payload(message, can_answer);
        assert!(bytes.len() <= PUSH_BYTES);
        serde_json::from_slice(&bytes).unwrap()
    }

    /// Adds the question of a message to its summary.
    fn with_question(mut message: Message, line: &str) -> Message {
        let Message::Thread(about) = &mut message else {
            unreachable!()
        };
        let Subject::Question(request_id) = about.delivery.trigger.subject else {
            unreachable!()
        };
        about.summary.question = Some(Box::new(WaitingQuestion {
            request_id,
            kind: QuestionType::Permission,
            title: "Run it".to_owned(),
            asker: None,
            answerable: Some(Answerable {
                subjects: [CallSubject::CommandLine {
                    line: line.to_owned(),
                    cwd: "/planted/folder".to_owned(),
                    env: Vec::new(),
                }]
                .into(),
                options: [PermissionOption {
                    option_id: "a".to_owned(),
                    name: "Allow".to_owned(),
                    kind: "allow_once".to_owned(),
                }]
                .into(),
            }),
            more: 0,
            asked_at: None,
        }));
        message
    }

    #[test]
    fn a_question_has_its_effects_and_whether_the_user_may_answer() {
        let message = with_question(asked("Run it"), "cargo test");
        let shown = json_of(&message, true);
        assert_eq!(
            shown,
            json!({
                "type": "waiting",
                "threadId": "00000000-0000-0000-0000-000000000007",
                "agentType": "claude",
                "cwd": "/planted/folder",
                "name": "planted prompt",
                "question": {
                    "requestId": shown["question"]["requestId"],
                    "type": "permission",
                    "title": "Run it",
                    "subjects": [{ "type": "commandLine", "line": "cargo test", "cwd": "/planted/folder" }],
                    "options": [{ "optionId": "a", "name": "Allow", "kind": "allow_once" }],
                    "more": 0,
                },
                "canAnswer": true,
            })
        );
        assert_eq!(json_of(&message, false)["canAnswer"], false);
    }

    #[test]
    fn long_payloads_are_shortened() {
        let mut message = with_question(asked("Run it"), &"x".repeat(4000));
        let shown = json_of(&message, true);
        assert_eq!(shown["question"]["title"], "Run it");
        assert_eq!(shown["question"]["subjects"], Value::Null);
        assert_eq!(shown["cwd"], "/planted/folder");
        let Message::Thread(about) = &mut message else {
            unreachable!()
        };
        about.summary.name = Some("\u{10ffff}".repeat(500));
        about.summary.cwd = "\"".repeat(500);
        let shown = json_of(&message, true);
        assert_eq!(shown["question"], Value::Null);
        assert_eq!(shown["name"].as_str().unwrap().chars().count(), FEW_CHARS + 1);
        assert_eq!(shown["cwd"].as_str().unwrap().chars().count(), FEW_CHARS + 1);
    }

    #[test]
    fn the_end_of_a_turn_has_its_status_and_error() {
        let shown = json_of(&failed("it broke", Some("max_tokens")), true);
        assert_eq!(
            (&shown["type"], &shown["status"]),
            (&json!("failed"), &json!("failed"))
        );
        assert_eq!(shown["error"], "it broke");
        assert_eq!(shown["canAnswer"], false);
        let test = Message::Test {
            id: "ntf_test".to_owned(),
            at: 1,
        };
        assert_eq!(json_of(&test, true), json!({ "type": "test" }));
    }

    #[test]
    fn a_coming_sign_out_says_whether_opening_the_page_prevents_it() {
        let read = |json: Vec<u8>| serde_json::from_slice::<Value>(&json).unwrap();
        assert_eq!(
            read(sign_out(true)),
            json!({ "type": "signOut", "canStay": true })
        );
        assert_eq!(
            read(sign_out(false)),
            json!({ "type": "signOut", "canStay": false })
        );
    }
}
