//! Titles that editors give to sessions.

use serde_json::json;

use super::stage::{SIMPLE, Stage, play};

#[test]
fn an_editor_names_a_session_and_all_editors_show_the_name() {
    play(|s| {
        let first = Stage::at_work(SIMPLE, s);
        let second = s.editor(SIMPLE);
        s.ask_session(second, "session/load", r#","cwd":"/workspace","mcpServers":[]"#);
        let answer = s.ask_session(first, "session/set_title", r#","title":" Fix the login ""#);
        assert_eq!(answer["result"], json!({ "title": "Fix the login" }));
        for who in [first, second] {
            let last = s.editors[who].got.iter().rev().find_map(|message| {
                let update = &message["params"]["update"];
                (update["sessionUpdate"] == "session_info_update").then(|| update["title"].clone())
            });
            assert_eq!(last, Some(json!("Fix the login")));
        }
        let empty = s.ask_session(first, "session/set_title", r#","title":" ""#);
        assert_eq!(empty["error"]["code"], -32602);
        let absent = s.ask_session(first, "session/set_title", "");
        assert_eq!(absent["error"]["code"], -32602);
    });
}

#[test]
fn a_title_of_the_agent_does_not_replace_the_name_that_a_user_gave() {
    play(|s| {
        let who = Stage::at_work(SIMPLE, s);
        let titled = r#"{"sessionUpdate":"session_info_update","title":"Its own"}"#;
        s.then(|scene| scene.update(titled));
        assert_eq!(
            s.editors[who].got.last().unwrap()["params"]["update"]["title"],
            "Its own"
        );
        s.ask_session(who, "session/set_title", r#","title":"Fix the login""#);
        let from = s.count(who);
        let more = r#"{"title":"Another","sessionUpdate":"session_info_update","_meta":{"k":1}}"#;
        s.then(|scene| {
            for (update, rest) in [(titled, ""), (titled, r#","_meta":{"n":2}"#), (more, ""), (more, r#","_meta":{"n":2}"#)] {
                scene.says(&format!(
                    r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s-1","update":{update}{rest}}}}}"#
                ));
            }
        });
        let got = s.editors[who].got[from..].iter();
        let got: Vec<_> = got.map(|message| message["params"].clone()).collect();
        let left = json!({ "sessionUpdate": "session_info_update", "_meta": { "k": 1 } });
        assert_eq!(
            got,
            [
                json!({ "sessionId": s.session(), "update": left }),
                json!({ "sessionId": s.session(), "update": left, "_meta": { "n": 2 } }),
            ]
        );
        assert_eq!(
            s.scene.thread.live().summary.name.as_deref(),
            Some("Fix the login")
        );
    });
}
