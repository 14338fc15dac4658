//! Questions in the form of version 2. A permission request has a title and a description of its own, and a tool call as its subject. A
//! form has the members of its schema that version 1 can leave out.

use acpd_model::{Event, EventKind, RawJson, RequestEvent};
use acpd_policy::in_lines;
use bytes::Bytes;

use super::tool_call::fill;
use crate::wire::{Object, has_string, inside, member, members, spliced};

/// Members of the agent's description of a call that a question of the agent leaves as they are: the call has begun, and its editor knows
/// it. The title and the content of the question say what acpd decides on.
const OF_CALL: [&str; 3] = ["title", "content", "status"];

/// Returns the permission request `message` of version 1 in the form of version 2, with these options.
pub(in crate::surface::acp) fn permission(
    event: &Event,
    thread: &str,
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
    let known: &[&str] = if item.is_some() { &OF_CALL } else { &OF_CALL[1..] };
    let mut out = Vec::with_capacity(text.len() + 128);
    let mut message = Object::open(&mut out);
    message
        .raw("jsonrpc", "\"2.0\"")
        .put("id", request)
        .plain("method", "session/request_permission");
    message.object("params", |out| {
        out.plain("sessionId", thread);
        out.raw("title", title.unwrap_or("\"Permission\""));
        if !subjects.is_empty() {
            out.put("description", in_lines(subjects).trim_end());
        }
        out.object("subject", |subject| {
            subject.plain("type", "tool_call").object("toolCall", |out| {
                if !has_string(&call, "toolCallId") {
                    out.put("toolCallId", request);
                }
                fill(out, &call, known);
            });
        });
        members(&params, |key, value| {
            if ![
                "sessionId",
                "title",
                "description",
                "subject",
                "toolCall",
                "options",
            ]
            .contains(&key)
            {
                out.raw(key, value);
            }
        });
        out.json("options", Some(options));
    });
    message.close();
    Some(out)
}

/// Returns the request for information `message` of version 1 in the form of version 2.
pub(in crate::surface::acp) fn form(message: &Bytes) -> Option<Bytes> {
    let text = str::from_utf8(message).ok()?;
    let params = inside(text, text, "params")?;
    let Some(schema) = inside(text, params, "requestedSchema").filter(|schema| schema.starts_with('{'))
    else {
        return Some(message.clone());
    };
    let json = RawJson::trusted(schema);
    let mut put = Vec::new();
    if !has_string(&json, "type") {
        put.push(("type", "\"object\""));
    }
    if !member(&json, "properties").is_some_and(|properties| properties.starts_with('{')) {
        put.push(("properties", "{}"));
    }
    if put.is_empty() {
        return Some(message.clone());
    }
    let whole = spliced(&json, &put);
    let start = schema.as_ptr() as usize - text.as_ptr() as usize;
    let (before, after) = (&text[..start], &text[start + schema.len()..]);
    Some([before, whole.get(), after].concat().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_has_all_members_that_version_2_requires() {
        let formed = |schema: &str| {
            let message =
                format!(r#"{{"id":1,"params":{{"mode":"form","requestedSchema":{schema},"message":"m"}}}}"#);
            String::from_utf8(form(&message.into()).unwrap().to_vec()).unwrap()
        };
        let whole = r#"{"type":"object","properties":{"a":{"type":"string"}}}"#;
        assert!(formed(whole).contains(whole));
        assert!(
            formed("{}").contains(r#""requestedSchema":{"type":"object","properties":{}},"message":"m""#)
        );
        let url = Bytes::from_static(br#"{"id":1,"params":{"mode":"url","url":"https://x"}}"#);
        assert_eq!(form(&url), Some(url));
    }
}
