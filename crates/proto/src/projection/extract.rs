//! The searchable texts of an event, and the blobs that it references.

use acpd_model::event::Content;
use acpd_model::{
    Event, EventKind, Extract, HostEvent, ItemEnd, ItemEvent, ItemStart, MessageType, RawJson,
    SearchableText, TextKind, ThreadEvent, TurnsDropped,
};
use acpd_policy::{call_command, shell_line};
use serde::Deserialize;

use super::item::content_text;
use super::tool::ToolView;

/// Returns the search entries of these events for the log. Only complete items are searchable, so that the thousands of
/// deltas and updates add nothing. Thoughts are excluded because they are long, and their results occur again in
/// messages.
pub fn extract<'a>(events: impl IntoIterator<Item = &'a Event>) -> Extract {
    let mut extract = Extract::default();
    for event in events {
        match &event.kind {
            EventKind::Item(ItemEvent::Started {
                start: ItemStart::TerminalCommand { command, args, .. },
                ..
            }) => {
                let line = shell_line(command, args.iter().map(String::as_str));
                add(&mut extract, event, TextKind::Command, line);
            }
            EventKind::Item(ItemEvent::Completed { end, .. }) => add_item(&mut extract, event, end),
            EventKind::Host(HostEvent::FileWritten {
                content: Some(Content { blob: Some(blob), .. }),
                ..
            }) => extract.blobs.push(*blob),
            EventKind::Thread(ThreadEvent::TurnsRolledBack { last_kept, .. }) => {
                extract.dropped.push(TurnsDropped {
                    seq: event.seq,
                    last_kept: *last_kept,
                })
            }
            EventKind::Thread(_)
            | EventKind::Session(_)
            | EventKind::Turn(_)
            | EventKind::Item(
                ItemEvent::Started { .. }
                | ItemEvent::Delta { .. }
                | ItemEvent::Content { .. }
                | ItemEvent::Updated { .. }
                | ItemEvent::UserMessageAdded { .. },
            )
            | EventKind::Host(
                HostEvent::FileRead { .. }
                | HostEvent::FileWritten { .. }
                | HostEvent::TerminalOutput { .. }
                | HostEvent::TerminalWaiting { .. }
                | HostEvent::TerminalInput { .. }
                | HostEvent::TerminalKilled { .. }
                | HostEvent::TerminalReleased { .. },
            )
            | EventKind::Request(_)
            | EventKind::Unknown => {}
        }
    }
    extract
}

fn add_item(extract: &mut Extract, event: &Event, end: &ItemEnd) {
    match end {
        ItemEnd::Message { role, content } => {
            let kind = match role {
                // An agent's words to its subagent are not the user's.
                MessageType::UserMessage if event.lane.is_some() => TextKind::AgentMessage,
                MessageType::UserMessage => TextKind::UserMessage,
                MessageType::AgentMessage => TextKind::AgentMessage,
                MessageType::AgentThought => return,
            };
            add(extract, event, kind, content_text(content));
        }
        ItemEnd::ToolCall { call, .. } => add_tool(extract, event, call),
        ItemEnd::FileChange { path, .. } => add(extract, event, TextKind::Path, path.clone()),
        // The event that started the item has its command.
        ItemEnd::TerminalCommand { output_blob, .. } => extract.blobs.extend(output_blob.as_deref()),
    }
}

fn add_tool(extract: &mut Extract, event: &Event, call: &RawJson) {
    #[derive(Deserialize)]
    struct Location {
        path: String,
    }
    let mut tool = ToolView::default();
    tool.apply(call);
    let title = tool.shown_title();
    let command = tool
        .read::<serde_json::Value>("rawInput")
        .and_then(|input| call_command(&input))
        .filter(|line| !title.contains(line.as_str()));
    // Files that the call changes are items of their own.
    let changed = tool.diffs();
    let mut paths: Vec<String> = Vec::new();
    for Location { path } in tool.read::<Vec<Location>>("locations").unwrap_or_default() {
        if !paths.contains(&path) && changed.iter().all(|diff| diff.path != path) {
            paths.push(path);
        }
    }
    add(extract, event, TextKind::ToolCall, title);
    add(extract, event, TextKind::Command, command.unwrap_or_default());
    add(extract, event, TextKind::Path, paths.join("\n"));
}

fn add(extract: &mut Extract, event: &Event, kind: TextKind, text: String) {
    if text.is_empty() {
        return;
    }
    extract.texts.push(SearchableText {
        seq: event.seq,
        at: event.at,
        turn: event.turn,
        item: event.kind.item(),
        kind,
        text,
    });
}

#[cfg(test)]
mod tests {
    use acpd_model::item::{ItemOutcome, ToolStatus};
    use acpd_model::{BlobId, ItemId, LaneId, Origin, TurnId};
    use serde_json::json;

    use super::*;

    fn event(kind: EventKind) -> Event {
        Event {
            seq: 7,
            at: 70,
            turn: Some(TurnId(1)),
            by: Origin::Agent,
            kind,
            raw: None,
            raw_params: None,
            repeats_id: false,
            translated: false,
            lane: None,
        }
    }

    fn completed(end: ItemEnd) -> Event {
        event(EventKind::Item(ItemEvent::Completed {
            item: ItemId(3),
            outcome: ItemOutcome::Completed,
            end,
        }))
    }

    fn texts(event: &Event) -> Vec<(TextKind, String)> {
        let texts = extract([event]).texts;
        for text in &texts {
            assert_eq!(
                (text.seq, text.at, text.turn, text.item),
                (7, 70, event.turn, event.kind.item())
            );
        }
        texts.into_iter().map(|found| (found.kind, found.text)).collect()
    }

    fn message(role: MessageType) -> Event {
        let content = [
            json!({ "type": "text", "text": "look at " }),
            json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" }),
            json!({ "type": "text", "text": "this" }),
        ];
        completed(ItemEnd::Message {
            role,
            content: content.map(RawJson::from).into(),
        })
    }

    #[test]
    fn messages_are_searched_and_thoughts_are_not() {
        let text = "look at this".to_owned();
        assert_eq!(
            texts(&message(MessageType::UserMessage)),
            [(TextKind::UserMessage, text.clone())]
        );
        assert_eq!(
            texts(&message(MessageType::AgentMessage)),
            [(TextKind::AgentMessage, text.clone())]
        );
        let told = Event {
            lane: LaneId::new(1),
            ..message(MessageType::UserMessage)
        };
        assert_eq!(texts(&told), [(TextKind::AgentMessage, text)], "an agent says it");
        assert_eq!(texts(&message(MessageType::AgentThought)), []);
    }

    #[test]
    fn tools_are_searched_by_title_command_and_paths() {
        let call = |call: serde_json::Value| {
            completed(ItemEnd::ToolCall {
                status: ToolStatus::Completed,
                call: call.into(),
            })
        };
        let run = call(json!({
            "title": "Run tests", "rawInput": { "command": "cargo test" },
            "locations": [{ "path": "/w/a.rs", "line": 3 }, { "path": "/w/b.rs" }, { "path": "/w/c.rs" }, { "path": "/w/b.rs" }],
            "content": [{ "type": "diff", "path": "/w/a.rs", "newText": "secret" }],
        }));
        assert_eq!(
            texts(&run),
            [
                (TextKind::ToolCall, "Run tests".to_owned()),
                (TextKind::Command, "cargo test".to_owned()),
                (TextKind::Path, "/w/b.rs\n/w/c.rs".to_owned()),
            ]
        );
        let same = call(json!({ "title": "`ls -l`", "rawInput": { "command": ["ls", "-l"] } }));
        assert_eq!(texts(&same), [(TextKind::ToolCall, "`ls -l`".to_owned())]);
        let script = call(json!({ "title": "sh -c a; b", "rawInput": { "command": ["sh", "-c", "a; b"] } }));
        assert_eq!(texts(&script), [(TextKind::ToolCall, "sh -c 'a; b'".to_owned())]);
        assert_eq!(texts(&call(json!({ "rawInput": 7, "locations": "odd" }))), []);
    }

    #[test]
    fn commands_and_files_of_ours_are_searched() {
        let started = event(EventKind::Item(ItemEvent::Started {
            item: ItemId(3),
            parent: None,
            start: ItemStart::TerminalCommand {
                terminal_id: "term_1".into(),
                command: "git".into(),
                args: ["status".into(), "-s".into()].into(),
                cwd: "/w".into(),
                output_bytes: None,
                requested_by: None,
            },
        }));
        assert_eq!(texts(&started), [(TextKind::Command, "git status -s".to_owned())]);
        let changed = completed(ItemEnd::FileChange {
            path: "/w/src/auth.ts".into(),
            diff: "+secret".into(),
            replaced: None,
        });
        assert_eq!(texts(&changed), [(TextKind::Path, "/w/src/auth.ts".to_owned())]);
    }

    #[test]
    fn growing_text_is_not_searched() {
        let item = ItemId(3);
        for kind in [
            EventKind::Item(ItemEvent::Delta {
                item,
                role: MessageType::AgentMessage,
                text: "wor".into(),
                message_id: None,
            }),
            EventKind::Item(ItemEvent::Updated {
                item,
                status: ToolStatus::InProgress,
            }),
            EventKind::Item(ItemEvent::UserMessageAdded {
                item,
                content: vec![super::super::text_block("said again when it is whole")],
            }),
        ] {
            assert!(extract([&event(kind)]).is_empty());
        }
    }

    #[test]
    fn blobs_are_named() {
        let blob = BlobId([7; 32]);
        let written = event(EventKind::Host(HostEvent::FileWritten {
            path: "/w/a".into(),
            bytes: 9,
            content: Some(Content {
                text: "the beginning".into(),
                blob: Some(blob),
            }),
            replaced: None,
        }));
        let extract = extract([&written]);
        assert_eq!((extract.texts, extract.blobs), (Vec::new(), vec![blob]));
    }
}
