//! Instructions of an editor for the agent.

use acpd_model::{EventKind, SessionEvent};
use acpd_proto::agent::{SystemPromptMode, system_prompt};
use acpd_proto::projection::SessionChange;
use serde_json::Value;

use super::stage::{SIMPLE, play};
use crate::support::{FULL, Scene};

/// Returns the answer to `initialize` of an agent that takes a system prompt.
fn hello() -> String {
    FULL.replace(r#""resume":{}"#, r#""resume":{},"systemPrompt":{}"#)
}

fn opens(s: &mut Scene, change: SessionChange) {
    s.create_with(change);
    s.answer("initialize", &hello());
    s.answer("session/new", r#"{"sessionId":"s-1"}"#);
}

/// Returns the member of a request with this system prompt.
fn member(prompt: &str) -> String {
    format!(r#","cwd":"/workspace","mcpServers":[],"systemPrompt":{prompt}"#)
}

const BRIEF: &str = r#"{"mode":"append","content":[{"type":"text","text":"be brief"}],"_meta":{"k":1.10}}"#;

#[test]
fn an_editors_own_is_kept_and_passed_on_unchanged() {
    play(|s| {
        s.start = opens;
        let who = s.editor(SIMPLE);
        let params = format!("{{{}}}", &member(BRIEF)[1..]);
        assert!(s.ask(who, "session/new", &params)["result"].is_object());
        let text = &s.scene.sent_as("session/new")[0].text;
        assert!(text.contains(&format!(r#""systemPrompt":{BRIEF}"#)), "{text}");
        // The same again changes nothing, null leaves it as it is, and another one is applied by another process.
        let kind = system_prompt(SystemPromptMode::Append, "be kind").unwrap();
        for (prompt, stops) in [(BRIEF, 0), ("null", 0), (kind.get(), 1)] {
            s.ask_session(who, "session/load", &member(prompt));
            assert_eq!(s.scene.stops, stops, "{prompt}");
        }
        s.then(|scene| {
            scene.exits("it was told to");
            scene.answer("initialize", &hello());
        });
        let resumed = &s.scene.sent_as("session/resume")[0].json["params"];
        assert_eq!(resumed["systemPrompt"], kind.read::<Value>().unwrap());
        s.then(|scene| scene.answer("session/resume", "{}"));
    });
}

#[test]
fn an_editors_own_is_refused_where_the_agent_does_not_take_it() {
    play(|s| {
        s.then(Scene::open_session);
        let who = s.editor(SIMPLE);
        for (prompt, says) in [
            (BRIEF, "fake takes no system prompt"),
            (r#"{"append":"be kind"}"#, "systemPrompt must be"),
            (r#"{"mode":"append","content":[]}"#, "at least one block"),
        ] {
            let answer = s.ask_session(who, "session/load", &member(prompt));
            let message = answer["error"].to_string();
            assert!(message.contains(says), "{message}");
        }
        let set = |kind: &EventKind| matches!(kind, EventKind::Session(SessionEvent::ParamsSet(_)));
        assert!(!s.scene.log.iter().any(|event| set(&event.kind)));
    });
}
