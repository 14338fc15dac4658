//! Exports of a thread in each format.

mod hostile;
mod names;

use acpd_model::limits::{EXPORT_PICTURE_BYTES, EXPORT_PICTURES_BYTES, EXPORT_TURN_BYTES};
use acpd_model::{Event, Limits, RawJson, Summary};
use acpd_proto::agent::TerminalExit;
use acpd_proto::surface::export::{Export, Format};
use acpd_proto::thread::{Answer, HostReply, TerminalEvent};
use serde_json::Value;

use crate::support::markup::html_is_ours;
use crate::support::recording::Recording;
use crate::support::replay::{Replay, conversations};
use crate::support::{Scene, check, check_in, message, thought, tool};

const FORMATS: [Format; 3] = [Format::Jsonl, Format::Markdown, Format::Html];

fn write(scene: &Scene, summary: &Summary, log: &[Event], format: Format) -> String {
    let mut out = Vec::new();
    let mut export = Export::begin(format, scene.id, summary, &mut out);
    for event in log {
        export.fold(event, &mut out);
    }
    export.finish(&mut out);
    String::from_utf8(out).unwrap()
}

pub fn export(scene: &Scene, format: Format) -> String {
    write(scene, &scene.thread.live().summary, &scene.log, format)
}

pub fn lines(scene: &Scene) -> Vec<Value> {
    let text = export(scene, Format::Jsonl);
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns an event whose kind is given as JSON.
fn event(kind: &str) -> Event {
    let json = format!(r#"{{"seq":1,"at":1700000000000,"by":"daemon","kind":{kind}}}"#);
    Event::decode(json.as_bytes()).unwrap_or_else(|error| panic!("{kind}: {error}"))
}

fn snapshot(name: &str, scene: &Scene) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for format in FORMATS {
            let name = format!("export-{name}-{}", format.word());
            insta::assert_snapshot!(name, export(scene, format));
        }
    });
}

fn recorded(agent: &str, session: usize) {
    let recording = Recording::read(agent);
    let all = conversations(&recording);
    let scene = check_in(Scene::new(), |scene| {
        let stage = std::mem::replace(scene, Scene::new());
        *scene = Replay::play(&recording, &all, &all[session - 1], stage).scene;
    });
    snapshot(&format!("{agent}-{session}"), &scene);
}

#[test]
fn a_recorded_thread_with_permissions() {
    recorded("sdk-agent", 1);
}

#[test]
fn a_recorded_thread_with_changes() {
    recorded("opencode", 4);
}

/// Returns the terminal in the response to the agent's request 8.
fn terminal_made(s: &Scene) -> String {
    let id = &s.answer_to(&8.into())["result"]["terminalId"];
    id.as_str().unwrap().to_owned()
}

/// Plays a thread with every sort of content.
fn everything(s: &mut Scene) {
    s.open_turn();
    s.prompt("and then this");
    s.update(&thought("first I think"));
    s.update(r#"{"sessionUpdate":"plan","entries":[{"content":"look","priority":"high","status":"in_progress"},{"content":"change","priority":"low","status":"pending"}]}"#);
    s.chunk("I look at it.\n\n```rust\nlet a: Vec<u8>;\n```\n");
    s.later(10);
    s.script.push_back(Ok(HostReply::Read {
        content: "old\n".into(),
    }));
    s.calls(
        "5",
        "fs/read_text_file",
        r#"{"sessionId":"s-1","path":"/workspace/a.rs"}"#,
    );
    s.update(&tool(
        "t",
        false,
        r#","title":"rm x","kind":"execute","status":"pending","rawInput":{"n":18446744073709551616,"b":1.10,"a":0}"#,
    ));
    s.asks_permission("7", "t");
    s.later(2000);
    s.decide(1, Answer::Accept { always: false }).unwrap();
    s.script.push_back(Ok(HostReply::Created));
    s.calls(
        "8",
        "terminal/create",
        r#"{"sessionId":"s-1","command":"cargo","args":["test","a b"],"cwd":"/workspace"}"#,
    );
    let id = terminal_made(s);
    s.terminal_says(&id, TerminalEvent::Output("\u{1b}[32mok\u{1b}[0m\n".into()));
    s.terminal_says(
        &id,
        TerminalEvent::Exited {
            exit: TerminalExit {
                code: Some(0),
                signal: None,
            },
            output: "\u{1b}[32mok\u{1b}[0m\n".into(),
            truncated: true,
        },
    );
    s.update(&tool(
        "t",
        true,
        &format!(r#","status":"completed","content":[{{"type":"diff","path":"/workspace/a.rs","oldText":"old\n","newText":"new\n"}},{{"type":"terminal","terminalId":"{id}"}}]"#),
    ));
    s.update(r#"{"sessionUpdate":"plan","entries":[{"content":"look","priority":"high","status":"completed"},{"content":"change","priority":"low","status":"completed"}]}"#);
    s.update(r#"{"sessionUpdate":"usage_update","used":10,"size":100}"#);
    s.update(r#"{"sessionUpdate":"current_mode_update","currentModeId":"ask"}"#);
    s.says("not JSON");
    s.chunk("Done.");
    s.later(10);
    let third = s.prompt("never run");
    s.interrupt_turn(Some(third)).unwrap();
    s.answer(
        "session/prompt",
        r#"{"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3}}"#,
    );
    s.chunk("The second");
    s.later(10);
    s.asks_permission("9", "u");
    s.exits("signal 9");
}

#[test]
fn a_thread_with_a_bit_of_everything() {
    snapshot("everything", &check(everything));
}

#[test]
fn a_thread_in_the_middle_of_a_turn_says_so() {
    let scene = check(everything);
    for end in 0..scene.log.len() {
        let summary = &scene.thread.live().summary;
        let [lines, md, html] = FORMATS.map(|format| write(&scene, summary, &scene.log[..end], format));
        assert_eq!(lines.lines().count(), end);
        assert_eq!(md.matches("<details>").count(), md.matches("</details>").count());
        html_is_ours(&html);
    }
    let scene = check(|s| {
        s.open_turn();
        s.chunk("so far");
    });
    assert!(export(&scene, Format::Markdown).contains("It was not finished when this was written."));
}

#[test]
fn pictures_are_shown_by_their_content_and_within_bounds() {
    const PNG: &str = "iVBORw0KGgpyZXN0";
    let chunk = |mime: &str, data: &str| {
        format!(
            r#"{{"sessionUpdate":"agent_message_chunk","content":{{"type":"image","mimeType":"{mime}","data":"{data}"}}}}"#
        )
    };
    let scene = check(|s| {
        s.open_turn();
        s.update(&chunk("image/svg+xml", PNG));
        s.update(&chunk("image/png", "PHN2ZyBvbmxvYWQ9IngoKSI+"));
        s.update(&tool(
            "t",
            false,
            &format!(
                r#","title":"Screenshot","status":"completed","content":[{{"type":"content","content":{{"type":"image","mimeType":"image/png","data":"{PNG}"}}}}]"#
            ),
        ));
    });
    let html = export(&scene, Format::Html);
    html_is_ours(&html);
    let shown = format!("<p><img src=\"data:image/png;base64,{PNG}\" alt=\"Picture\"></p>");
    assert_eq!(html.matches(&shown).count(), 2, "{html}");
    assert!(html.contains("img-src data:;"));
    assert!(html.contains("<code>image image/png, 18 bytes</code>"), "{html}");
    let md = export(&scene, Format::Markdown);
    assert_eq!(md.matches("`image image/png, 12 bytes`").count(), 2, "{md}");
    assert!(!md.contains(PNG));
}

#[test]
fn a_document_has_words_for_the_pictures_beyond_its_bound() {
    let data = format!(
        "iVBORw0KGgpyZXN0{}",
        "A".repeat(EXPORT_PICTURE_BYTES / 3 * 4 - 16)
    );
    let picture = format!(r#"{{"type":"image","mimeType":"image/png","data":"{data}"}}"#);
    let pictures = EXPORT_PICTURES_BYTES / EXPORT_PICTURE_BYTES + 2;
    let content = vec![picture; pictures].join(",");
    let start = event(r#"{"itemStarted":{"item":"item_1","start":{"message":{"role":"userMessage"}}}}"#);
    let end = event(&format!(
        r#"{{"itemCompleted":{{"item":"item_1","outcome":"completed","end":{{"message":{{"role":"userMessage","content":[{content}]}}}}}}}}"#
    ));
    let html = write(&Scene::new(), &Summary::default(), &[start, end], Format::Html);
    assert_eq!(html.matches("<img ").count(), pictures - 2);
    assert_eq!(html.matches("<code>image image/png, ").count(), 2);
}

#[test]
fn lines_have_who_answered_and_what_the_agent_sent() {
    let scene = check(everything);
    let lines = lines(&scene);
    let seqs: Vec<u64> = lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=scene.log.len() as u64).collect::<Vec<_>>());
    let result = lines
        .iter()
        .find(|line| line["type"] == "permission:result")
        .unwrap();
    assert_eq!(
        (&result["outcome"], &result["allowed"], &result["optionKind"]),
        (&"selected".into(), &true.into(), &"allow_once".into())
    );
    assert_eq!(
        result["by"],
        serde_json::json!({ "kind": "client", "principal": "owner", "client": "test" })
    );
    let text = export(&scene, Format::Jsonl);
    let call = text.lines().find(|line| line.contains("\"tool:call\"")).unwrap();
    let input = r#"{"n":18446744073709551616,"b":1.10,"a":0}"#;
    assert!(call.contains(&format!("\"args\":{input}")), "{call}");
    assert!(call.contains(&format!("\"rawInput\":{input}}}")), "{call}");
}

#[test]
fn an_export_has_what_was_chosen_and_what_the_agent_was_sent() {
    let scene = check(|s| {
        s.open_turn();
        let options = r#"[{"optionId":"aa","name":"For ever","kind":"allow_always"},{"optionId":"ao","name":"Now","kind":"allow_once"}]"#;
        let call = r#"{"toolCallId":"t","kind":"execute","rawInput":{"command":"make"}}"#;
        let params = format!(r#"{{"sessionId":"s-1","toolCall":{call},"options":{options}}}"#);
        s.calls("7", "session/request_permission", &params);
        s.decide(1, Answer::Accept { always: true }).unwrap();
        s.stops_with("end_turn");
    });
    let lines = lines(&scene);
    let result = lines.iter().find(|line| line["type"] == "permission:result");
    let result = result.unwrap();
    assert_eq!(
        (&result["optionId"], &result["sentOptionId"]),
        (&"aa".into(), &"ao".into())
    );
    let document = export(&scene, Format::Markdown);
    let line = document
        .lines()
        .find(|line| line.contains("Allow this command in /workspace for this session: “For ever” ("))
        .unwrap();
    assert!(
        line.contains("; acpd remembers it, the agent was sent: Allow once: “Now”, by "),
        "{line}"
    );
}

#[test]
fn a_change_of_nothing_but_line_ends_is_seen() {
    let scene = check(|s| {
        s.open_turn();
        s.update(&tool(
            "t",
            false,
            r#","title":"edit","kind":"edit","status":"completed","content":[{"type":"diff","path":"/workspace/a","oldText":"one\nls\n","newText":"one\r\nrm x\r-ls\r\n"}]"#,
        ));
        s.stops_with("end_turn");
    });
    let document = export(&scene, Format::Markdown);
    let lines = "\\ line ends changed from LF to CRLF\n@@ -1,2 +1,2 @@\n-one\n-ls\n+one␍\n+rm x␍-ls␍\n";
    assert!(document.contains(lines), "{document}");
    let page = export(&scene, Format::Html);
    let lines = "<del>-one</del>\n<del>-ls</del>\n<ins>+one␍</ins>\n<ins>+rm x␍-ls␍</ins>\n";
    assert!(page.contains(lines), "{page}");
}

#[test]
fn a_line_is_one_line_whatever_json_a_client_sent() {
    let block = RawJson::parse(
        "{\"type\":\"text\",\r\n \"text\":\"a\\nb\",\n\"big\":123456789012345678901234567890}",
    )
    .unwrap();
    let scene = check(|s| {
        s.open_session();
        s.start_turn(vec![block.clone()], None).unwrap();
        s.stops_with("end_turn");
    });
    let text = export(&scene, Format::Jsonl);
    assert_eq!(text.lines().count(), scene.log.len());
    assert!(!text.contains('\r'));
    assert!(
        text.contains(r#"{"type":"text",   "text":"a\nb", "big":123456789012345678901234567890}"#),
        "{text}"
    );
}

/// Finished items of a turn are written before they accumulate, whatever the size of the turn.
#[test]
fn a_long_turn_is_not_held_back() {
    let mut out = Vec::new();
    let scene = Scene::new();
    let mut export = Export::begin(Format::Markdown, scene.id, &Summary::default(), &mut out);
    export.fold(&event(r#"{"turnStarted":{}}"#), &mut out);
    let text = "x".repeat(1 << 20);
    let mut written = Vec::new();
    for k in 1..=20 {
        out.clear();
        export.fold(
            &event(&format!(
                r#"{{"itemStarted":{{"item":"item_{k}","start":{{"message":{{"role":"agentMessage"}}}}}}}}"#
            )),
            &mut out,
        );
        export.fold(&event(&format!(r#"{{"itemCompleted":{{"item":"item_{k}","outcome":"completed","end":{{"message":{{"role":"agentMessage","content":[{{"type":"text","text":"{text}"}}]}}}}}}}}"#)), &mut out);
        written.push(out.len() >> 20);
    }
    let total: usize = written.iter().sum();
    let most = (EXPORT_TURN_BYTES >> 20) + 1;
    assert!(total >= 16, "{written:?}");
    assert!(written.iter().all(|at_once| *at_once <= most), "{written:?}");
    out.clear();
    export.finish(&mut out);
    assert!(out.len() >> 20 < most);
}

#[test]
fn the_rest_of_an_answer_after_words_of_a_subagent_is_with_its_turn() {
    let said = |item: u32, text: &str, lane: &str| {
        let kinds = [
            format!(
                r#"{{"itemStarted":{{"item":"item_{item}","start":{{"message":{{"role":"agentMessage"}}}}}}}}"#
            ),
            format!(
                r#"{{"itemCompleted":{{"item":"item_{item}","outcome":"completed","end":{{"message":{{"role":"agentMessage","content":[{{"type":"text","text":"{text}"}}]}}}}}}}}"#
            ),
        ];
        kinds.map(|kind| (kind, lane.to_owned()))
    };
    let turn = |kind: &str| (kind.to_owned(), String::new());
    let mut events = vec![
        turn(r#"{"turnStarted":{}}"#),
        turn(r#"{"turnSettled":{"status":"completed","stopReason":"end_turn","startedAt":1700000000000}}"#),
    ];
    events.extend(said(1, "of-the-subagent", r#","lane":"lane_1""#));
    events.extend(said(2, "second-part", ""));
    let log: Vec<Event> = events
        .iter()
        .map(|(kind, lane)| {
            let json = format!(r#"{{"seq":1,"at":1700000000000,"turn":"turn_1","kind":{kind}{lane}}}"#);
            Event::decode(json.as_bytes()).unwrap()
        })
        .collect();
    let text = write(&Scene::new(), &Summary::default(), &log, Format::Markdown);
    for expected in ["of-the-subagent", "second-part"] {
        assert!(text.contains(expected), "{text}");
    }
    for wrong in ["Between turns", "Belongs to"] {
        assert!(!text.contains(wrong), "{text}");
    }
}

#[test]
fn the_rest_of_an_answer_is_with_its_turn() {
    let part = |id: &str, text: &str| message(text).replacen('{', &format!(r#"{{"messageId":"{id}","#), 1);
    let random = "msg_ebce90c09001gryYsSnuDhEeCe";
    let scene = check_in(Scene::with_limits(Limits::default()), |s| {
        s.open_turn();
        s.update(&part("msg_ebce90c06001kXvb1Zr0tQmPwA", "so"));
        s.update(&part(random, "first-part"));
        s.stops_with("end_turn");
        s.later(5_000);
        s.update(&part(random, "second-part"));
        s.later(5_000);
        s.prompt("next");
        s.update(&part(random, "third-part"));
        s.update(&part("n", "an-answer"));
        s.stops_with("end_turn");
    });
    let text = export(&scene, Format::Markdown);
    assert!(!text.contains("Between turns"), "{text}");
    let order = [
        "first-part",
        "second-part",
        "## Turn 2",
        "Belongs to Turn 1.",
        "third-part",
        "an-answer",
    ];
    let places: Vec<usize> = order
        .iter()
        .map(|part| text.find(part).unwrap_or_else(|| panic!("{part}: {text}")))
        .collect();
    assert!(places.is_sorted(), "{text}");
    let turns = |word: &str| {
        let with_word = lines(&scene)
            .into_iter()
            .filter(|line| line.to_string().contains(word));
        with_word.map(|line| line["turnId"].clone()).collect::<Vec<_>>()
    };
    assert!(
        turns("third-part").iter().all(|turn| turn == "turn_1"),
        "{:?}",
        turns("third-part")
    );
}
