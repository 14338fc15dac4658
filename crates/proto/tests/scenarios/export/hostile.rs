//! Content of agents, tools and clients always stays text.

use acpd_model::event::ClientOrigin;
use acpd_model::{Origin, Summary};
use acpd_proto::projection::text_block;
use acpd_proto::surface::export::Format;
use acpd_proto::thread::{Answer, HostReply, TerminalEvent};
use serde_json::Value;

use super::{terminal_made, write};
use crate::support::markup::{html_is_ours, markdown_is_ours};
use crate::support::{Scene, check_in, thought, tool};

/// A text with markup for every format, which the test puts into every field that an agent, a tool or a client can fill.
const EVIL: &str = "</pre></script><script>alert(1)</script><img src=x onerror=alert(1)>\" onload=\"x\" '\n```\n````\n<!-- \n</details>\n# Forged\n[a](javascript:alert(1)) ![b](http://evil/x.png)\n`x` **<b>** \u{202e}\u{1b}[2J\u{0}";

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
            r#"{{"sessionUpdate":"tool_call","toolCallId":"t","title":{evil},"kind":{evil},"status":"in_progress","rawInput":{{"x":{evil}}},"content":[{{"type":"content","content":{{"type":"text","text":{evil}}}}},{{"type":"content","content":{{"type":"resource","resource":{{"uri":{evil},"text":{evil}}}}}}},{{"type":"content","content":{{"type":"image","mimeType":{evil},"data":{evil}}}}},{{"type":"terminal","terminalId":{evil}}},{{"type":{evil}}},{{"type":"diff","path":{evil},"oldText":"a","newText":{evil}}}]}}"#
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

#[test]
fn hostile_text_is_only_text_in_html() {
    let scene = hostile();
    let html = write(&scene, &hostile_summary(), &scene.log, Format::Html);
    html_is_ours(&html);
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
    let outside = markdown_is_ours(&md);
    let headings: Vec<_> = outside.iter().filter(|line| line.starts_with('#')).collect();
    assert_eq!(headings.len(), 4, "the title and three sections: {headings:?}");
    assert_eq!(outside.iter().filter(|line| **line == "</details>").count(), 1);
    for bad in ["\u{202e}", "\u{1b}", "\u{0}"] {
        assert!(!md.contains(bad), "{bad:?}");
    }
}
