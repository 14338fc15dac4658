//! Questions about permission. In version 2 they have words of their own, and may be about a tool call, a command, or neither; in version 1
//! each is about a tool call.

use acpd_model::RawJson;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::form::form;
use super::parts::{empty, list, noted, object_in, text_in, without_notes};
use super::tool::Asked;
use super::translator::Translator;
use crate::agent::bounds::{is_name, sentence};
use crate::wire::{object, others, repeated_key, spliced};

/// The members of the params that have another form in version 1.
const OWN: [&str; 4] = ["title", "description", "subject", "toolCall"];

impl Translator {
    /// Returns the params of a request of the agent in the form of version 1; `None` if that is the same.
    pub fn call(&mut self, method: &str, params: &RawValue) -> Option<Box<RawValue>> {
        let is_form = method == "elicitation/create";
        if !is_form && method != "session/request_permission" {
            return None;
        }
        let given = RawJson::from(params);
        self.allowance.add(given.get().len());
        let params = without_notes(&given);
        // Without a tool call, a question is refused.
        if repeated_key(&params).is_some() {
            return None;
        }
        let one = if is_form {
            let stripped = || (params.get() != given.get()).then(|| params.clone());
            form(&params).or_else(stripped)?
        } else {
            self.question(&params)
        };
        RawValue::from_string(one.get().to_owned()).ok()
    }

    fn question(&mut self, params: &RawJson) -> RawJson {
        let session = text_in(params, "sessionId").filter(|session| is_name(session));
        let session = session.unwrap_or_default();
        let title =
            text_in(params, "title").map_or_else(|| "Permission".to_owned(), |title| sentence(&title));
        let subject = object_in(params, "subject");
        let kind = subject.as_ref().and_then(|subject| text_in(subject, "type"));
        let mut notes = Map::new();
        let call = match (kind.as_deref(), &subject) {
            (Some("tool_call"), Some(subject)) => object_in(subject, "toolCall"),
            (Some("command"), Some(subject)) => Some(command(subject)),
            _ => None,
        };
        let named = call
            .as_ref()
            .and_then(|call| text_in(call, "toolCallId"))
            .filter(|id| is_name(id));
        let is_named = named.is_some();
        let (id, call) = match (named, call) {
            (Some(id), Some(call)) => (id, call),
            (_, call) => self.invented(call),
        };
        let description = text_in(params, "description").filter(|text| !text.is_empty());
        let asked = Asked {
            title,
            description: description.as_deref().map(sentence),
        };
        let call = self.patched(&session, &id, &call, Some(&asked));
        if is_named && description.is_some() {
            // The description is of the question alone: what the call says next is without it.
            self.calls.change(&session, &id);
        }
        notes.extend(description.map(|description| ("description".to_owned(), description.into())));
        notes.insert("title".to_owned(), asked.title.into());
        if kind.is_some_and(|kind| kind != "tool_call") {
            let subject = subject.and_then(|subject| subject.read::<Value>().ok());
            notes.insert("subject".to_owned(), subject.unwrap_or_default());
        }
        let rest = others(params, &OWN);
        let question = object(|out| {
            out.others(rest.as_ref()).raw("toolCall", call.get());
        });
        noted(&question, &Value::from(notes).to_string())
    }

    /// Returns a tool call for a question that names none, with what is known of it.
    fn invented(&mut self, call: Option<RawJson>) -> (String, RawJson) {
        self.questions += 1;
        let id = format!("acpd:question:{}", self.questions);
        let call = call.unwrap_or_else(empty);
        let named = spliced(&call, &[("toolCallId", &Value::from(id.as_str()).to_string())]);
        (id, named)
    }
}

/// Returns the tool call that runs the command of a question.
fn command(subject: &RawJson) -> RawJson {
    let input = others(subject, &["type", "toolCallId", "terminalId", "_meta"]);
    let id = text_in(subject, "toolCallId");
    let terminal = text_in(subject, "terminalId");
    object(|out| {
        out.maybe("toolCallId", id.as_ref())
            .put("title", &text_in(subject, "command").unwrap_or_default())
            .put("kind", "execute")
            .json("rawInput", input.as_ref());
        if let Some(terminal) = terminal {
            let piece = object(|piece| {
                piece.put("type", "terminal").put("terminalId", &terminal);
            });
            out.raw("content", &list([piece]));
        }
    })
}
