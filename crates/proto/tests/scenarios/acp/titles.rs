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
