use serde_json::json;

use super::*;

fn busy() -> Scene {
    let call = json!({
        "itemId": "item_3", "type": "toolCall", "status": "completed", "outcome": "completed",
        "toolCall": { "title": "Edit notes.md", "content": [
            { "type": "diff", "path": "/code/notes.md", "oldText": "one\ntwo\n", "newText": "one\n2\n" }] },
    });
    let command = json!({
        "itemId": "item_4", "type": "terminalCommand", "terminalId": "term_1", "command": "make", "args": ["test"], "output": "ok\n",
        "outcome": "completed", "exitCode": 0,
    });
    let items = json!([
        message("item_1", "userMessage", "fix it\nplease"),
        message("item_2", "agentThought", "Which file?"),
        call,
        command,
        message(
            "item_5",
            "agentMessage",
            "# Done\n\nIt **works**, see `notes.md`."
        ),
    ]);
    let mut done = turn("turn_1", &items);
    done["changes"] = json!({ "files": 1, "added": 1, "removed": 1, "incomplete": false });
    done["plan"] = json!([{ "content": "Fix it", "status": "completed", "priority": "high" }]);
    let mut scene =
        Scene::with(json!({ "turns": [done], "tokenUsage": { "used": 12_345, "size": 200_000 } }));
    scene.run_turn("turn_2");
    scene
}

#[test]
fn a_thread_at_work() {
    let mut scene = busy();
    scene.app.handle_resize(80, 32);
    scene.event(
        "thread/notice",
        json!({ "turnId": "turn_2", "level": "warning", "code": "x", "message": "slow" }),
    );
    scene.event(
        "turn/queued",
        json!({ "turn": { "id": "turn_3", "status": "queued", "input": [{ "type": "text", "text": "next" }] } }),
    );
    scene.typed("a prompt");
    scene.key("M-Enter");
    scene.typed("of two lines");
    insta::assert_snapshot!(scene.draw());
}

#[test]
fn a_question_in_the_smallest_window() {
    let mut scene = busy();
    scene.permission("req_1");
    scene.event("thread/status/changed", json!({ "status": "waiting" }));
    insta::assert_snapshot!(scene.resize(40, 10));
}

#[test]
fn a_window_that_is_too_small() {
    let mut scene = busy();
    insta::assert_snapshot!(scene.resize(30, 4));
    // No size makes it fail.
    for columns in 0..45 {
        for rows in 0..14 {
            scene.resize(columns, rows);
        }
    }
}

#[test]
fn wide_characters_stay_in_their_columns() {
    let items = json!([
        message(
            "item_1",
            "userMessage",
            "日本語のとても長い文章がここで折り返されるはずです。"
        ),
        message(
            "item_2",
            "agentMessage",
            "👩\u{200d}💻 emoji 👍🏽 and é, then a long line that wraps around 漢字"
        ),
    ]);
    let mut scene =
        Scene::with(json!({ "name": "名前がとても長いスレッドの名前", "turns": [turn("turn_1", &items)] }));
    scene.app.handle_paste("入力", scene.now);
    insta::assert_snapshot!(scene.resize(40, 16));
}

#[test]
fn hostile_text_reaches_no_cell() {
    let hostile = "a\u{1b}[31m\u{7}\u{9b}2J\u{202e}b\u{2066}c\u{7f}";
    let items = json!([
        message("item_1", "userMessage", hostile),
        message("item_2", "agentMessage", hostile)
    ]);
    let mut scene =
        Scene::with(json!({ "name": hostile, "cwd": hostile, "turns": [turn("turn_1", &items)] }));
    scene.event(
        "thread/notice",
        json!({ "level": "error", "message": hostile, "detail": hostile }),
    );
    scene.event(
        "turn/queued",
        json!({ "turn": { "id": "turn_2", "status": "queued", "input": [{ "type": "text", "text": hostile }] } }),
    );
    scene.ask(
        "item/permissions/requestApproval",
        "req_1",
        json!({ "title": hostile, "itemId": "i", "subjects": [{ "type": "commandLine", "line": hostile, "cwd": hostile }],
            "options": [{ "optionId": "x", "name": hostile, "kind": "allow_once" }] }),
    );
    scene.lose(hostile);
    let picture = scene.draw();
    assert!(picture.contains("a\u{fffd}[31m"), "{picture}");
    let acts = |c: &char| *c != '\n' && acpd_model::text::misleads(*c);
    assert_eq!(picture.chars().find(acts), None, "{picture:?}");
}

#[test]
fn the_help() {
    let mut scene = busy();
    scene.key("F1");
    insta::assert_snapshot!(scene.resize(80, 32));
    // In a small window it scrolls, and any other key closes it.
    scene.resize(60, 12);
    scene.keys(&["PgDn", "PgDn", "PgDn", "PgDn", "PgDn"]);
    assert!(scene.draw().contains("\nHome End  "));
    scene.key("x");
    assert!(scene.app.help.is_none() && scene.app.prompt.is_empty());
}
