//! Items as blocks: messages, tool calls, file changes and commands.

use std::collections::BTreeSet;

use acpd_model::item::ToolStatus;
use acpd_model::{
    ItemEnd, ItemId, ItemOutcome, ItemStart, LaneId, MessageType, Millis, Origin, RawJson, Replaced,
};
use serde::Deserialize;

use super::block::{Block, Part, Span, code, word};
use super::text::{Piece, command, pieces, short_path, short_paths, who};
use crate::projection::{Item, ToolView, unified_diff};

/// Returns the block of an item, finished or not; `None` if there is nothing to show. `files` are the files that a tool
/// call changed and that have their own block. Paths below `cwd` are relative to it.
pub fn item_block(
    at: Millis,
    by: &Origin,
    item: &Item,
    files: &BTreeSet<(ItemId, String)>,
    cwd: &str,
) -> Option<Block> {
    let mut block = match item.content()? {
        ItemEnd::Message { role, content } => message(at, by, item.lane, role, &content)?,
        ItemEnd::ToolCall { status, call } => {
            let mut tool = ToolView::default();
            tool.apply(&call);
            let mut block = tool_call(at, &tool, status, cwd);
            for diff in tool.diffs() {
                if !files.contains(&(item.id, diff.path.clone())) {
                    let text = unified_diff(&diff.path, &diff.before(), &diff.new_text);
                    let path = short_path(&diff.path, cwd);
                    block = block.line(vec![code(path), counts(&text)]).verbatim("diff", text);
                }
            }
            block
        }
        ItemEnd::FileChange { path, diff, replaced } => {
            let (what, size) = match (&item.end, replaced) {
                (Some((ItemOutcome::Failed | ItemOutcome::Interrupted, _)), _) => {
                    ("File change that was not made: ", word(""))
                }
                (_, Some(Replaced::Nothing)) => ("New file: ", counts(&diff)),
                (_, Some(Replaced::Text | Replaced::Unknown) | None) => ("Edit: ", counts(&diff)),
            };
            let title = vec![word(what), code(short_path(&path, cwd)), size];
            Block::new("file", at, title).verbatim("diff", diff)
        }
        end @ ItemEnd::TerminalCommand { .. } => terminal(at, &item.start, &end),
    };
    match &item.end {
        Some((ItemOutcome::Completed, _)) => {}
        Some((ItemOutcome::Failed, _)) => block = block.line(vec![word("It failed.")]),
        Some((ItemOutcome::Interrupted, _)) => block = block.line(vec![word("It was interrupted.")]),
        None => block = block.line(vec![word("It was not finished when this was written.")]),
    }
    Some(block)
}

fn message(
    at: Millis,
    by: &Origin,
    lane: Option<LaneId>,
    role: MessageType,
    content: &[RawJson],
) -> Option<Block> {
    let (class, name) = match role {
        // An agent says it to its subagent, and no user does.
        MessageType::UserMessage if lane.is_some() => ("told", "Told"),
        MessageType::UserMessage => ("user", "User"),
        MessageType::AgentMessage => ("agent", "Agent"),
        MessageType::AgentThought => ("thought", "Thought"),
    };
    let mut title = vec![word(name)];
    if role == MessageType::UserMessage && lane.is_none() {
        title.push(word(": "));
        title.extend(match by {
            Origin::Agent => vec![word("as the agent remembers it")],
            Origin::Daemon | Origin::Client(_) | Origin::Policy(_) => who(by),
        });
    }
    let mut block = Block::new(class, at, title);
    block.folded = role == MessageType::AgentThought;
    block.parts = message_parts(pieces(content));
    (!block.parts.is_empty()).then_some(block)
}

/// Returns a message as parts of a block.
pub fn message_parts(pieces: Vec<Piece>) -> Vec<Part> {
    let mut parts = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Words(words) if words.trim().is_empty() => {}
            Piece::Words(words) => parts.push(Part::Prose(words)),
            Piece::Picture(picture) => parts.push(Part::Picture(picture)),
            Piece::Thing(label, text) => {
                parts.push(Part::Line(vec![code(label)]));
                parts.extend(text.map(|text| Part::Verbatim { language: "", text }));
            }
        }
    }
    parts
}

/// Returns the numbers of added and removed lines of a diff, as words after its path.
fn counts(diff: &str) -> Span {
    let lines = diff.lines().skip_while(|line| !line.starts_with("@@"));
    let (added, removed) = lines.fold((0_usize, 0_usize), |(added, removed), line| {
        match line.as_bytes() {
            [b'+', ..] => (added + 1, removed),
            [b'-', ..] => (added, removed + 1),
            _ => (added, removed),
        }
    });
    match (added, removed) {
        (0, 0) => word(""),
        (added, removed) => word(format!(" +{added} −{removed}")),
    }
}

/// Returns what a kind of tool call does, unless its title begins with that.
fn verb(kind: &str, title: &str) -> &'static str {
    let verb = match kind {
        "read" => "Read ",
        "edit" => "Edit ",
        "delete" => "Delete ",
        "move" => "Move ",
        "search" => "Search ",
        "execute" => "Run ",
        "fetch" => "Fetch ",
        _ => "",
    };
    let begins = title
        .get(..verb.len())
        .is_some_and(|first| first.eq_ignore_ascii_case(verb));
    if begins { "" } else { verb }
}

fn tool_call(at: Millis, tool: &ToolView, status: ToolStatus, cwd: &str) -> Block {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Shown {
        #[serde(rename = "type")]
        kind: String,
        #[serde(default)]
        content: Option<RawJson>,
        #[serde(default)]
        terminal_id: Option<String>,
    }
    let mut title = tool.shown_title();
    if title.is_empty() {
        title = tool.read("toolCallId").unwrap_or_default();
    }
    let title = short_paths(&title, cwd);
    let mut title = vec![word(verb(&tool.kind(), &title)), code(title)];
    if status == ToolStatus::Failed {
        title.push(word(" (failed)"));
    }
    let mut block = Block::new("tool", at, title);
    let json = |name| tool.read::<RawJson>(name).filter(|json| json.get() != "{}");
    if let Some(input) = json("rawInput").or_else(|| json("input")) {
        block = block.line(vec![word("Input:")]).verbatim("json", input.get());
    }
    let mut shown = false;
    for content in tool.read::<Vec<RawJson>>("content").unwrap_or_default() {
        match content.read::<Shown>() {
            Ok(Shown {
                kind,
                content: Some(content),
                ..
            }) if kind == "content" => {
                for piece in pieces(&[content]) {
                    shown = true;
                    block = match piece {
                        Piece::Words(words) => block.verbatim("", words),
                        Piece::Picture(picture) => block.picture(picture),
                        Piece::Thing(label, text) => block
                            .line(vec![code(label)])
                            .verbatim("", text.unwrap_or_default()),
                    };
                }
            }
            Ok(Shown {
                kind,
                terminal_id: Some(id),
                ..
            }) if kind == "terminal" => block = block.line(vec![word("Terminal: "), code(id)]),
            Ok(Shown { kind, .. }) if kind == "diff" => {}
            _ => block = block.verbatim("json", content.get()),
        }
    }
    if let Some(output) = json("rawOutput").or_else(|| json("output")).filter(|_| !shown) {
        block = block.line(vec![word("Output:")]).verbatim("json", output.get());
    }
    block
}

fn terminal(at: Millis, start: &ItemStart, end: &ItemEnd) -> Block {
    let ItemEnd::TerminalCommand {
        terminal_id,
        exit_code,
        signal,
        output,
        output_blob,
        truncated,
    } = end
    else {
        return Block::new("terminal", at, Vec::new());
    };
    let mut title = match start.requester() {
        Origin::Agent => vec![word("Command: ")],
        user @ (Origin::Daemon | Origin::Client(_) | Origin::Policy(_)) => {
            let mut title = vec![word("Command of ")];
            title.extend(who(&user));
            title.push(word(": "));
            title
        }
    };
    title.push(code(command(start)));
    if let Some(exit) = exit_code.filter(|exit| *exit != 0) {
        title.push(word(format!(" (exit code {exit})")));
    }
    let mut block = Block::new("terminal", at, title);
    let mut spans = vec![word("Terminal "), code(terminal_id)];
    if let ItemStart::TerminalCommand { cwd, .. } = start {
        spans.extend([word(" in "), code(&**cwd)]);
    }
    block = block.line(spans);
    if *truncated {
        block = block.line(vec![word("Only the end of its output was kept.")]);
    }
    if let Some(blob) = output_blob {
        block = block.line(vec![
            word("This is the end of its output. All that was kept is at "),
            code(format!("/api/blobs/{blob}")),
            word(" of the daemon, as long as the thread is there."),
        ]);
    }
    block = block.verbatim("", output);
    match (exit_code, signal) {
        (Some(exit), _) => block.line(vec![word(format!("Exit code {exit}"))]),
        (None, Some(signal)) => block.line(vec![word("Ended by "), code(signal)]),
        (None, None) => block,
    }
}
