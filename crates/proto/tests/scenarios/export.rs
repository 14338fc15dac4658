//! A thread written out, in each format.

use std::collections::BTreeSet;

use acpd_model::event::Caller;
use acpd_model::{By, Event, EventKind, Limits, RawJson, Summary};
use acpd_proto::agent::TerminalExit;
use acpd_proto::projection::text_block;
use acpd_proto::surface::export::{Export, Format, name::type_of};
use acpd_proto::thread::{Answer, MachineEvent, MachineReply};
use serde_json::Value;

use crate::support::recording::Recording;
use crate::support::replay::{Replay, conversations};
use crate::support::{Scene, check, check_in, thought, tool};

const FORMATS: [Format; 3] = [Format::Jsonl, Format::Markdown, Format::Html];
const DOC: &str = include_str!("../../../../docs/export.md");

fn write(scene: &Scene, summary: &Summary, log: &[Event], format: Format) -> String {
    let mut out = Vec::new();
    let mut export = Export::begin(format, scene.id, summary, &mut out);
    for event in log {
        export.fold(event, &mut out);
    }
    export.finish(&mut out);
    String::from_utf8(out).unwrap()
}

fn export(scene: &Scene, format: Format) -> String {
    write(scene, &scene.thread.live().summary, &scene.log, format)
}

fn lines(scene: &Scene) -> Vec<Value> {
    let text = export(scene, Format::Jsonl);
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// One event of a kind, given as JSON.
fn event(kind: &str) -> Event {
    let json = format!(r#"{{"seq":1,"at":1700000000000,"by":"daemon","kind":{kind}}}"#);
    Event::decode(json.as_bytes()).unwrap_or_else(|error| panic!("{kind}: {error}"))
}

fn snapshot(name: &str, scene: &Scene) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
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
    let scene = check_in(Scene::with_limits(Limits::default()), |scene| {
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

/// A bit of everything that a thread can hold.
fn everything(s: &mut Scene) {
    s.open_turn();
    s.prompt("and then this");
    s.update(&thought("first I think"));
    s.update(r#"{"sessionUpdate":"plan","entries":[{"content":"look","priority":"high","status":"in_progress"},{"content":"change","priority":"low","status":"pending"}]}"#);
    s.chunk("I look at it.\n\n```rust\nlet a: Vec<u8>;\n```\n");
    s.later(10);
    s.script.push_back(Ok(MachineReply::Read {
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
    s.script.push_back(Ok(MachineReply::Created));
    s.calls(
        "8",
        "terminal/create",
        r#"{"sessionId":"s-1","command":"cargo","args":["test"],"cwd":"/workspace"}"#,
    );
    s.terminal_says("term_1", MachineEvent::Output("\u{1b}[32mok\u{1b}[0m\n".into()));
    s.terminal_says(
        "term_1",
        MachineEvent::Exited {
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
        r#","status":"completed","content":[{"type":"diff","path":"/workspace/a.rs","oldText":"old\n","newText":"new\n"},{"type":"terminal","terminalId":"term_1"}]"#,
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
        well_formed(&html);
    }
    let scene = check(|s| {
        s.open_turn();
        s.chunk("so far");
    });
    assert!(export(&scene, Format::Markdown).contains("It was not finished when this was written."));
}

/// The names of all kinds, as the model's own reader tells them.
fn kinds() -> BTreeSet<String> {
    let error = serde_json::from_str::<EventKind>(r#"{"none of them":{}}"#)
        .unwrap_err()
        .to_string();
    let (_, names) = error.split_once("expected one of ").unwrap();
    let names = names.split('`').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}

/// One of each kind, and of each that has several types.
const SAMPLES: &[&str] = &[
    r#"{"threadCreated":{"agent":"a","cwd":"/","name":"n","projectId":"p","metadata":{"m":1},"additionalDirectories":["/b"],"mcpServers":[{"name":"db","env":[{"name":"K","value":"secret"}]},7]}}"#,
    r#"{"statusChanged":{"status":"idle"}}"#,
    r#"{"sessionInfoUpdated":{"title":"t"}}"#,
    r#"{"agentBound":{"sessionId":"s","how":"load","agent":{},"session":{}}}"#,
    r#"{"agentLost":{"reason":"r","stderr":"s","expected":true}}"#,
    r#"{"noticeGiven":{"level":"info","code":"c","message":"m"}}"#,
    r#"{"lineMalformed":{"reason":"r","text":"t","bytes":1}}"#,
    r#"{"agentNotified":{"method":"_x"}}"#,
    r#"{"callRefused":{"method":"m","reason":"r"}}"#,
    r#"{"turnQueued":{"input":[{"type":"text","text":"t"}],"clientTurnId":"c"}}"#,
    r#"{"turnStarted":{"clientTurnId":"c"}}"#,
    r#"{"turnSettled":{"status":"failed","stopReason":"r","error":"e","startedAt":1,"usage":{}}}"#,
    r#"{"interruptRequested":{}}"#,
    r#"{"diffUpdated":{"diff":"d"}}"#,
    r#"{"itemStarted":{"item":"item_1","start":{"message":{"role":"userMessage"}}}}"#,
    r#"{"itemStarted":{"item":"item_1","start":{"message":{"role":"agentMessage","messageId":"m"}}}}"#,
    r#"{"itemStarted":{"item":"item_1","start":{"message":{"role":"agentThought"}}}}"#,
    r#"{"itemStarted":{"item":"item_1","start":{"toolCall":{"toolCallId":"t","title":"n","kind":"edit","status":"pending"}}}}"#,
    r#"{"itemStarted":{"item":"item_2","parent":"item_1","start":{"fileChange":{"path":"/p"}}}}"#,
    r#"{"itemStarted":{"item":"item_1","start":{"terminalCommand":{"terminalId":"t","command":"c","args":["a"],"cwd":"/"}}}}"#,
    r#"{"itemDelta":{"item":"item_1","role":"userMessage","text":"t"}}"#,
    r#"{"itemDelta":{"item":"item_1","role":"agentMessage","text":"t"}}"#,
    r#"{"itemDelta":{"item":"item_1","role":"agentThought","text":"t"}}"#,
    r#"{"itemContent":{"item":"item_1","role":"agentMessage","block":{"type":"image","data":"AA","mimeType":"image/png"}}}"#,
    r#"{"itemUpdated":{"item":"item_1","status":"completed"}}"#,
    r#"{"itemCompleted":{"item":"item_1","outcome":"completed","end":{"message":{"role":"userMessage","content":[]}}}}"#,
    r#"{"itemCompleted":{"item":"item_1","outcome":"completed","end":{"message":{"role":"agentMessage","content":[]}}}}"#,
    r#"{"itemCompleted":{"item":"item_1","outcome":"completed","end":{"message":{"role":"agentThought","content":[]}}}}"#,
    r#"{"itemCompleted":{"item":"item_1","outcome":"failed","end":{"toolCall":{"status":"failed","call":{}}}}}"#,
    r#"{"itemCompleted":{"item":"item_1","outcome":"completed","end":{"fileChange":{"path":"/p","diff":"d"}}}}"#,
    r#"{"itemCompleted":{"item":"item_1","outcome":"completed","end":{"terminalCommand":{"terminalId":"t","exitCode":0,"signal":null,"output":"o","truncated":false}}}}"#,
    r#"{"userMessageAdded":{"item":"item_1","content":[{"type":"text","text":"t"}]}}"#,
    r#"{"terminalOutput":{"item":"item_1","terminalId":"t","text":"o"}}"#,
    r#"{"planReplaced":{"entries":[]}}"#,
    r#"{"modeChanged":{"modeId":"m"}}"#,
    r#"{"configOptionsReplaced":{}}"#,
    r#"{"commandsReplaced":{}}"#,
    r#"{"usageUpdated":{"used":1,"size":2,"cost":{}}}"#,
    r#"{"permissionRequested":{"request":"req_1_0192f0c1c5d77c0aa5e5f8d9a1b2c3d4","item":"item_1","about":"fileChange","title":"t","options":[]}}"#,
    r#"{"requestSettled":{"request":"req_1_0192f0c1c5d77c0aa5e5f8d9a1b2c3d4","outcome":{"selected":{"optionId":"o","kind":"allow_once"}}}}"#,
    r#"{"requestSettled":{"request":"req_1_0192f0c1c5d77c0aa5e5f8d9a1b2c3d4","outcome":"cancelled"}}"#,
    r#"{"requestVoided":{"request":"req_1_0192f0c1c5d77c0aa5e5f8d9a1b2c3d4","reason":"r"}}"#,
    r#"{"fileRead":{"path":"/p","bytes":1}}"#,
    r#"{"fileWritten":{"path":"/p","bytes":1}}"#,
];

/// The rows of the tables of types in `docs/export.md`: type → members that its row names.
fn documented() -> Vec<(String, String)> {
    let rows = DOC.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("| `")?.split_once("` |")?;
        (name.contains(':') || ["notice", "unknown"].contains(&name))
            .then(|| (name.to_owned(), rest.to_owned()))
    });
    rows.collect()
}

#[test]
fn every_kind_comes_out_under_a_documented_name() {
    let common = [
        "seq",
        "ts",
        "time",
        "type",
        "threadId",
        "turnId",
        "itemId",
        "by",
        "raw",
        "rawParams",
    ];
    let documented = documented();
    let mut sampled = BTreeSet::new();
    let mut used: BTreeSet<String> = BTreeSet::from(["unknown".to_owned()]);
    let scene = Scene::new();
    for sample in SAMPLES {
        let event = event(sample);
        let tag: serde_json::Map<String, Value> = serde_json::from_str(sample).unwrap();
        sampled.extend(tag.keys().cloned());
        let name =
            type_of(&event.kind).unwrap_or_else(|| panic!("{sample} has no name in surface/export/name.rs"));
        used.insert(name.to_owned());
        let text = write(
            &scene,
            &Summary::default(),
            std::slice::from_ref(&event),
            Format::Jsonl,
        );
        let line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["type"], name);
        let (_, row) = documented
            .iter()
            .find(|(documented, _)| documented == name)
            .unwrap_or_else(|| panic!("{name} is not in docs/export.md"));
        // "as `message:chunk`": the members are in that row.
        let other = row
            .split_once("as `")
            .and_then(|(_, rest)| rest.split('`').next());
        let other = other.and_then(|other| documented.iter().find(|(name, _)| name == other));
        let row = format!("{row}{}", other.map_or("", |(_, row)| row));
        for member in line.as_object().unwrap().keys() {
            let told = common.contains(&member.as_str()) || row.contains(&format!("`{member}`"));
            assert!(told, "docs/export.md does not tell of {member} in {name}");
        }
        // What the kind says is said: nothing is left out but what goes by another name.
        assert!(!text.contains("\"data\""), "{text}");
    }
    assert_eq!(
        sampled,
        kinds(),
        "SAMPLES has one of each kind that the model has"
    );
    let told: BTreeSet<String> = documented.into_iter().map(|(name, _)| name).collect();
    assert_eq!(told, used, "docs/export.md tells of the types that there are");
}

#[test]
fn documents_take_every_kind() {
    for sample in SAMPLES {
        for format in [Format::Markdown, Format::Html] {
            let text = write(&Scene::new(), &Summary::default(), &[event(sample)], format);
            assert!(!text.contains("secret"));
        }
    }
}

#[test]
fn a_kind_of_a_newer_daemon_comes_out_as_unknown() {
    let newer = event(r#"{"moonLanded":{"by":"eagle"}}"#);
    let line = write(
        &Scene::new(),
        &Summary::default(),
        std::slice::from_ref(&newer),
        Format::Jsonl,
    );
    assert_eq!(
        line,
        concat!(
            r#"{"seq":1,"ts":1700000000000,"time":"2023-11-14T22:13:20.000Z","type":"unknown","#,
            r#""threadId":"0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4","by":{"kind":"daemon"}}"#,
            "\n"
        )
    );
    let page = write(&Scene::new(), &Summary::default(), &[newer], Format::Markdown);
    assert!(!page.contains("Before the first turn"), "{page}");
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

/// Words that try to be more than words, in every place that an agent, a tool or a client can fill.
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
        s.script.push_back(Ok(MachineReply::Created));
        s.calls(
            "8",
            "terminal/create",
            &format!(r#"{{"sessionId":"s-1","command":{evil},"args":[{evil}],"cwd":"/workspace"}}"#),
        );
        s.terminal_says("term_1", MachineEvent::Output(EVIL.into()));
        s.update(&tool("t", true, r#","status":"failed""#));
        s.says(&EVIL.replace('\n', " "));
        s.answer(
            "session/prompt",
            &format!(r#"{{"stopReason":{evil},"usage":{{"x":{evil}}}}}"#),
        );
        s.exits(EVIL);
    });
    // What a client may call itself is in the log as well.
    for event in &mut scene.log {
        if let By::Client(caller) = &mut event.by {
            **caller = Caller {
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

/// Every tag is one of ours, is closed in its order, and has no attribute but those that we write.
fn well_formed(html: &str) {
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
    // The standard lets these be open when the input ends, and ours are not.
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
    // As a reader of Markdown goes through it: what is outside of fences has no markup but ours.
    let mut fence: Option<(bool, usize)> = None;
    for line in md.lines() {
        let (quoted, text) = match line.strip_prefix("> ") {
            Some(text) => (true, text),
            None => (false, line),
        };
        let ticks = text.len() - text.trim_start_matches('`').len();
        match fence {
            Some((in_quote, length)) => {
                assert_eq!(quoted, in_quote, "a fence is left: {line:?}");
                if ticks >= length && ticks == text.trim_end().len() {
                    fence = None;
                }
                continue;
            }
            None if ticks >= 3 && !text[ticks..].contains('`') => {
                fence = Some((quoted, ticks));
                continue;
            }
            None => {}
        }
        if quoted {
            assert!(!text.contains('<') && !text.contains("]("), "{line:?}");
            continue;
        }
        let plain = outside_code_spans(line)
            .replace("\\<", "")
            .replace("\\[", "")
            .replace("\\]", "");
        let ours = ["<details>", "</details>", "<summary>Thought</summary>", ""];
        if !ours.contains(&plain.trim()) {
            assert!(!plain.contains(['<', '[']), "{line:?}");
        }
        assert!(!line.starts_with("# F"), "{line:?}");
    }
    assert_eq!(fence, None);
    let headings = md.lines().filter(|line| line.starts_with('#')).count();
    assert_eq!(headings, 4, "the title, before, the turn, after");
    assert_eq!(
        md.lines().filter(|line| *line == "</details>").count(),
        1 + in_fences(&md)
    );
    for bad in ["\u{202e}", "\u{1b}", "\u{0}"] {
        assert!(!md.contains(bad), "{bad:?}");
    }
}

/// How often the hostile line stands alone in what is shown as it is.
fn in_fences(md: &str) -> usize {
    let mut fence = 0;
    let mut found = 0;
    for line in md.lines() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        if fence == 0 && ticks >= 3 && !line[ticks..].contains('`') {
            fence = ticks;
        } else if fence > 0 && ticks >= fence && ticks == line.len() {
            fence = 0;
        } else if fence > 0 && line == "</details>" {
            found += 1;
        }
    }
    found
}

/// A line without its code spans, by CommonMark's rule: a run of backticks ends at the next run of its length.
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

/// However much a turn holds, what is finished in it is written before it piles up.
#[test]
fn a_long_turn_is_not_held_back() {
    let mut out = Vec::new();
    let scene = Scene::new();
    let mut export = Export::begin(Format::Markdown, scene.id, &Summary::default(), &mut out);
    export.fold(&event(r#"{"turnStarted":{}}"#), &mut out);
    let text = "x".repeat(1 << 20);
    let mut written = Vec::new();
    for k in 1..=40 {
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
    assert!(total >= 30, "{written:?}");
    assert!(written.iter().all(|at_once| *at_once <= 17), "{written:?}");
    out.clear();
    export.finish(&mut out);
    assert!(out.len() >> 20 < 17);
}
