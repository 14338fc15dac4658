//! What a question of the daemon wants.
//!
//! In: messages of the daemon. Out: a question in its parts, and its text. Never: takes a question that this version cannot read
//! for a permission request, which could be accepted.

use acpd_client::protocol::{Approval, Notification};
use anyhow::anyhow;
use serde::Deserialize;

use super::choice::Choice;
use super::form::Form;
use super::wording::with_options;

/// A question of the daemon.
pub struct Inquiry {
    /// The daemon's id of the question.
    pub request: String,
    pub wants: Wants,
}

/// What it wants.
pub enum Wants {
    Permission(Box<Approval>),
    Information(Form),
    /// Something that a terminal cannot show, and why.
    Unknown {
        title: String,
        why: anyhow::Error,
    },
}

/// What every question has, however new it is.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params {
    request_id: String,
}

impl Wants {
    fn unknown(title: &str, why: anyhow::Error) -> Self {
        Self::Unknown {
            title: title.to_owned(),
            why,
        }
    }
}

impl Inquiry {
    /// Returns the question that a notification is; `None` for any other one.
    pub fn read(notification: &Notification) -> Option<Self> {
        match notification {
            Notification::ItemCommandExecutionRequestApproval(approval)
            | Notification::ItemFileChangeRequestApproval(approval)
            | Notification::ItemPermissionsRequestApproval(approval) => Some(Self {
                request: approval.request_id.clone(),
                wants: Wants::Permission(Box::new(approval.clone())),
            }),
            Notification::ItemToolRequestUserInput(wanted) => {
                let form = Form::read(&wanted.title, wanted.url.as_deref(), wanted.schema.as_ref());
                Some(Self {
                    request: wanted.request_id.clone(),
                    wants: form.map_or_else(|why| Wants::unknown(&wanted.title, why), Wants::Information),
                })
            }
            Notification::Unrecognized { method, params } if notification.is_question() => {
                let params = Params::deserialize(params).ok()?;
                let why = anyhow!("this version of acpd cannot read {method}");
                Some(Self {
                    request: params.request_id,
                    wants: Wants::unknown("", why),
                })
            }
            _ => None,
        }
    }

    /// Returns its text.
    pub fn text(&self) -> String {
        match &self.wants {
            Wants::Permission(approval) => with_options(approval, &Choice::of(approval)),
            Wants::Information(form) => form.outline(),
            Wants::Unknown { why, .. } => {
                format!("The agent asks for information that acpd cannot show: {why:#}\n")
            }
        }
    }

    /// Returns whether it only sends the user to an address.
    pub fn is_url(&self) -> bool {
        matches!(&self.wants, Wants::Information(form) if form.is_url())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::terminal::items::fixtures::complete;

    fn inquiry(method: &str, params: &serde_json::Value) -> Option<Inquiry> {
        Inquiry::read(&Notification::from_params(method, params))
    }

    #[test]
    fn unreadable_questions_are_never_permission_requests() {
        let method = "item/permissions/requestApproval";
        let mut whole = json!({ "requestId": "req_9", "title": "x" });
        complete(method, &mut whole);
        let read = inquiry(method, &whole).expect("it is a question");
        assert!(matches!(read.wants, Wants::Permission(_)));
        let mut odd = whole.clone();
        odd["options"] = json!("all");
        for (method, params) in [(method, &odd), ("item/later/requestApproval", &whole)] {
            let read = inquiry(method, params).expect("it is a question");
            assert_eq!(read.request, "req_9");
            assert!(matches!(read.wants, Wants::Unknown { .. }), "{method}");
        }
        assert!(inquiry("thread/notice", &whole).is_none());
        assert!(inquiry(method, &json!({ "threadId": "t" })).is_none());
    }

    #[test]
    fn a_form_keeps_the_order_of_its_agent() {
        let text = r#"{"method":"item/tool/requestUserInput","params":{"threadId":"t","seq":1,"ts":1,"requestId":"r","title":"?",
            "schema":{"properties":{"z":{"type":"string"},"a":{"type":"string"}}}}}"#;
        let read = Notification::from_message(text).expect("it is a message");
        let read = Inquiry::read(&read).expect("it is a question");
        let text = read.text();
        assert!(text.find("  z: ") < text.find("  a: "), "{text}");
    }
}
