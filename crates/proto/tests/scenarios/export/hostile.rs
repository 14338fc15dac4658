//! Content of agents, tools and clients always stays text.

use acpd_model::event::ClientOrigin;
use acpd_model::{Origin, Summary};
use acpd_proto::projection::text_block;
use acpd_proto::surface::export::Format;
use acpd_proto::thread::{Answer, HostReply, TerminalEvent};
use serde_json::Value;

use super::{terminal_made, write};
use crate::support::{Scene, check_in, thought, tool};

/// A text with markup for every format, which the test puts into every field that an agent, a tool or a client can fill.
const EVIL: &str = "</pre></script><script>alert(1)</script><img src=x onerror=alert(1)>\" onload=\"x\" '\n```\n````\n<!-- \n</details>\n# Forged\n[a](javascript:alert(1)) ![b](http://evil/x.png)\n`x` \u{202e}\u{1b}[2J\u{0}";

fn hostile() -> Scene {
    let evil = Value::from(EVIL).to_string();
    let mut scene = Scene::new();
    scene = check_in(scene, |s| {
        s.open_session();
        s.start_turn(vec![text_block(EVIL)], None).unwrap();
        s.chunk(EVIL);
        s.later(10);
        s.update(&thought(EVIL));
        s.later(10);
        s.update(&format!(
            r#"{{"sessionUpdate":"plan","entries":[{{"content":{evil},"priority":{evil},"status":{evil}}}]}}"#
        ));
        s.update(&format!(
            r#"{{"sessionUpdate":"current_mode_update","currentModeId":{evil}}}"#
        ));
        s.update(&format!(
            r#"{{"sessionUpdate":"session_info_update","title":{evil}}}"#
        ));
        s.update(&format!(
            r#"{{"sessionUpdate":"tool_call","toolCallId":"t","title":{evil},"kind":{evil},"status":"in_progress","rawInput":{{"x":{evil}}},"content":[{{"type":"content","content":{{"type":"text","text":{evil}}}}},{{"type":"content","content":{{"type":"resource","resource":{{"uri":{evil},"text":{evil}}}}}}},{{"type":"terminal","terminalId":{evil}}},{{"type":{evil}}},{{"type":"diff","path":{evil},"oldText":"a","newText":{evil}}}]}}"#
        ));
        s.calls("7", "session/request_permission", &format!(
            r#"{{"sessionId":"s-1","toolCall":{{"toolCallId":"t","title":{evil}}},"options":[{{"optionId":{evil},"name":{evil},"kind":"allow_once"}}]}}"#
        ));
        s.decide(1, Answer::Accept { always: false }).unwrap();
        s.script.push_back(Ok(HostReply::Created));
        s.calls(
            "8",
            "terminal/create",
            &format!(r#"{{"sessionId":"s-1","command":{evil},"args":[{evil}],"cwd":"/workspace"}}"#),
        );
        s.terminal_says(&terminal_made(s), TerminalEvent::Output(EVIL.into()));
        s.update(&tool("t", true, r#","status":"failed""#));
        s.says(&EVIL.replace('\n', " "));
        s.answer(
            "session/prompt",
            &format!(r#"{{"stopReason":{evil},"usage":{{"x":{evil}}}}}"#),
        );
        s.exits(EVIL);
    });
    // The log also contains the names that clients give themselves.
    for event in &mut scene.log {
        if let Origin::Client(caller) = &mut event.by {
            **caller = ClientOrigin {
                principal: EVIL.into(),
                client: EVIL.into(),
            };
        }
    }
    scene
}

fn hostile_summary() -> Summary {
    Summary {
        agent: EVIL.into(),
        cwd: EVIL.into(),
        name: Some(EVIL.into()),
        ..Summary::default()
    }
}

/// Checks that every tag is one of ours, is closed in order, and has only the attributes that the exporter writes.
pub fn well_formed(html: &str) {
    const VOID: [&str; 1] = ["meta"];
    const TAGS: &str = "html head title style body header main section article details summary h1 h2 h3 dl dt dd p pre code ul li time ins del meta";
    let body = html.split_once("</style>").unwrap().1;
    let before = html.split_once("<style>").unwrap().0;
    let mut open: Vec<&str> = Vec::new();
    let rest = format!("{before}<style></style>{body}");
    let mut pieces = rest.strip_prefix("<!DOCTYPE html>").unwrap().split('<');
    pieces.next();
    for piece in pieces {
        let (tag, text) = piece
            .split_once('>')
            .unwrap_or_else(|| panic!("an open end: {piece:?}"));
        assert!(!text.contains('>'), "a loose end: {text:?}");
        if let Some(name) = tag.strip_prefix('/') {
            let last = open.pop();
            assert_eq!(
                last.map(|last| last == name),
                Some(true),
                "</{name}> closes {last:?}"
            );
            continue;
        }
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(TAGS.split(' ').any(|known| known == name), "<{tag}>");
        let of_class = attributes
            .strip_prefix("class=\"")
            .and_then(|rest| rest.strip_suffix('"'))
            .is_some_and(|class| class.bytes().all(|byte| byte.is_ascii_lowercase()));
        let ours = attributes.is_empty() || of_class || name == "meta" || tag == "html lang=\"en\"";
        assert!(ours, "<{tag}>");
        if !VOID.contains(&name) {
            open.push(tag.split(' ').next().unwrap());
        }
    }
    // HTML allows these tags to be open at the end. The exporter closes them.
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn hostile_text_is_only_text_in_html() {
    let scene = hostile();
    let html = write(&scene, &hostile_summary(), &scene.log, Format::Html);
    well_formed(&html);
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(html.matches("onerror").count() > 15, "the places are filled");
    for bad in [
        "<script", "<img", "href", "src=\"", "\u{202e}", "\u{1b}", "\u{0}", "url(", "@import",
    ] {
        assert!(!html.contains(bad), "{bad:?}");
    }
    assert!(html.contains(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-"
    ));
}

#[test]
fn hostile_text_is_only_text_in_markdown() {
    let scene = hostile();
    let md = write(&scene, &hostile_summary(), &scene.log, Format::Markdown);
    let outside = outside_fences(&md);
    for line in &outside {
        if let Some(quoted) = line.strip_prefix("> ") {
            for bad in ["</", "<s", "<i", "<!", "](", "]:"] {
                assert!(!quoted.contains(bad), "{line:?}");
            }
        } else {
            let plain = outside_code_spans(line);
            let plain = plain.replace("\\<", "").replace("\\[", "").replace("\\]", "");
            let ours = ["<details>", "</details>", "<summary>Thought</summary>"].contains(&plain.as_str());
            assert!(ours || !plain.contains(['<', '[']), "{line:?}");
        }
    }
    let headings: Vec<_> = outside.iter().filter(|line| line.starts_with('#')).collect();
    assert_eq!(headings.len(), 4, "the title and three sections: {headings:?}");
    assert_eq!(outside.iter().filter(|line| **line == "</details>").count(), 1);
    for bad in ["\u{202e}", "\u{1b}", "\u{0}"] {
        assert!(!md.contains(bad), "{bad:?}");
    }
}

/// Returns the lines outside of code fences, as a Markdown parser finds them.
fn outside_fences(md: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut fence: Option<(&str, usize)> = None;
    for line in md.lines() {
        let (before, text) = line.strip_prefix("> ").map_or(("", line), |text| ("> ", text));
        let ticks = text.len() - text.trim_start_matches('`').len();
        match fence {
            Some((quote, length)) => {
                assert!(before.len() >= quote.len(), "a fence is left: {line:?}");
                // In a fence without a quote, a quote sign is plain text.
                if before == quote && ticks >= length && ticks == text.trim_end().len() {
                    fence = None;
                }
            }
            None if ticks >= 3 && !text[ticks..].contains('`') => fence = Some((before, ticks)),
            None => found.push(line),
        }
    }
    assert_eq!(fence, None);
    found
}

/// Returns a line without its code spans. A run of backticks ends at the next run of the same length.
fn outside_code_spans(line: &str) -> String {
    let run = |text: &str| text.len() - text.trim_start_matches('`').len();
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        if rest[..at].ends_with('\\') {
            out.push_str(&rest[..=at]);
            rest = &rest[at + 1..];
            continue;
        }
        out.push_str(&rest[..at]);
        let length = run(&rest[at..]);
        let mut end = at + length;
        loop {
            let next = rest[end..]
                .find('`')
                .unwrap_or_else(|| panic!("an open code span: {line:?}"));
            let start = end + next;
            end = start + run(&rest[start..]);
            if end - start == length {
                break;
            }
        }
        rest = &rest[end..];
    }
    out + rest
}
