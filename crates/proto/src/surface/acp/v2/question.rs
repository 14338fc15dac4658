//! Questions in the form of version 2. A permission request has a title and a description of its own, and a tool call as its subject. A
//! form has the members of its schema that version 1 can leave out.

use acpd_model::text::visible_line;
use acpd_model::{Event, EventKind, RawJson, RequestEvent};
use acpd_policy::in_lines;
use bytes::Bytes;
use serde_json::Value;

use super::original::{CallNotes, QuestionNotes};
use super::parts::object_in;
use super::tool_call::{fill, has_id};
use crate::wire::{Object, inside, member, others, spliced};

/// Members of the agent's description of a call that a question of the agent leaves as they are: the call has begun, and its editor knows
/// it. The title and the content of the question say what acpd decides on.
const OF_CALL: [&str; 3] = ["title", "content", "status"];

/// Members of the params that acpd writes itself.
const SAID: [&str; 6] = [
    "sessionId",
    "title",
    "description",
    "subject",
    "toolCall",
    "options",
];

/// Returns the permission request `message` of version 1 in the form of version 2, with these options, in the session that the call belongs
/// to. What acpd itself asks is about no call of the agent: as a subject, it would become one that never ends.
pub(in crate::surface::acp) fn permission(
    event: &Event,
    session: &str,
    message: &Bytes,
    options: &RawJson,
) -> Option<Vec<u8>> {
    let EventKind::Request(RequestEvent::PermissionRequested {
        request,
        item,
        subjects,
        ..
    }) = &event.kind
    else {
        return None;
    };
    let text = str::from_utf8(message).ok()?;
    let params = RawJson::trusted(inside(text, text, "params")?);
    let call = RawJson::trusted(member(&params, "toolCall")?);
    let title = member(&call, "title").filter(|title| title.starts_with('"'));
    let noted = QuestionNotes::of(event);
    // The call has the notes of an earlier update of it.
    let notes = CallNotes::outdated(event.translated);
    let mut out = Vec::with_capacity(text.len() + 128);
    let mut message = Object::open(&mut out);
    message
        .raw("jsonrpc", "\"2.0\"")
        .put("id", request)
        .plain("method", "session/request_permission");
    message.object("params", |out| {
        out.plain("sessionId", session);
        out.raw("title", title.unwrap_or("\"Permission\""));
        let description = description(in_lines(subjects).trim_end(), &noted);
        if !description.is_empty() {
            out.put("description", &description);
        }
        if let Some(subject) = &noted.subject {
            out.raw("subject", subject.get());
        } else if item.is_some() && !noted.is_about_nothing && has_id(&call) {
            out.object("subject", |subject| {
                subject.plain("type", "tool_call").object("toolCall", |out| {
                    fill(out, &call, &OF_CALL, &notes);
                });
            });
        }
        out.others(others(&params, &SAID).as_ref());
        out.json("options", Some(options));
    });
    message.close();
    Some(out)
}

/// Returns what acpd decides on, followed by the words of the agent.
fn description(decided: &str, noted: &QuestionNotes) -> String {
    let title = noted.title.as_ref();
    let title = title.map(|title| format!("The agent asks: “{}”", visible_line(title)));
    let parts = [
        Some(decided),
        title.as_deref(),
        noted.description.as_deref().map(str::trim_end),
    ];
    let parts: Vec<&str> = parts
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect();
    parts.join("\n\n")
}

/// Returns the request for information `message` of version 1 in the form of version 2, in this session. `original` is the form that the
/// agent sent, if version 1 has another one.
pub(in crate::surface::acp) fn form(
    session: &str,
    message: &Bytes,
    original: Option<RawJson>,
) -> Option<Bytes> {
    let text = str::from_utf8(message).ok()?;
    let params = inside(text, text, "params")?;
    let json = RawJson::trusted(params);
    let session = Value::from(session).to_string();
    let mut put = vec![("sessionId", session.as_str())];
    let is_form = member(&json, "mode") == Some("\"form\"");
    let schema = original.unwrap_or_else(|| object_in(&json, "requestedSchema"));
    let mut missing = vec![("type", "\"object\"")];
    if !member(&schema, "properties").is_some_and(|properties| properties.starts_with('{')) {
        missing.push(("properties", "{}"));
    }
    let schema = spliced(&schema, &missing);
    if is_form {
        put.push(("requestedSchema", schema.get()));
    }
    let whole = spliced(&json, &put);
    let start = params.as_ptr() as usize - text.as_ptr() as usize;
    let (before, after) = (&text[..start], &text[start + params.len()..]);
    Some([before, whole.get(), after].concat().into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_form_has_all_members_that_version_2_requires() {
        let formed = |members: &str| {
            let message = format!(r#"{{"id":1,"params":{{"sessionId":"s","message":"m"{members}}}}}"#);
            let message = form("t/lane_1", &message.into(), None).unwrap();
            let message: Value = serde_json::from_slice(&message).unwrap();
            message["params"].clone()
        };
        let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        let whole = formed(&format!(r#","mode":"form","requestedSchema":{schema}"#));
        let expected = |schema: &Value| json!({ "sessionId": "t/lane_1", "message": "m", "mode": "form", "requestedSchema": schema });
        assert_eq!(whole, expected(&schema));
        let empty = expected(&json!({ "type": "object", "properties": {} }));
        for odd in [
            "",
            r#","requestedSchema":{}"#,
            r#","requestedSchema":null"#,
            r#","requestedSchema":{"type":"text","properties":[]}"#,
        ] {
            assert_eq!(formed(&format!(r#","mode":"form"{odd}"#)), empty, "{odd}");
        }
        let url = formed(r#","mode":"url","url":"https://x""#);
        assert_eq!(
            url,
            json!({ "sessionId": "t/lane_1", "message": "m", "mode": "url", "url": "https://x" })
        );
    }
}
