//! Prompts that the agent suggests, for editors that declare them.

use acpd_model::RawJson;
use acpd_proto::agent::Suggestion;
use acpd_proto::fanout::LiveUpdate;
use acpd_proto::surface::acp::Peer;
use acpd_proto::surface::contract::{Delivery, Lane, Pending, Source, Surface};
use serde_json::json;

use super::stage::{SIMPLE, Stage, play};

const SUGGESTED_TO: &str = concat!(
    r#"{"protocolVersion":1,"clientInfo":{"name":"zed","version":"1"},"clientCapabilities":{"#,
    r#""session":{"promptSuggestions":{}}}}"#
);

#[test]
fn editors_that_declare_suggestions_receive_them() {
    for (hello, expected) in [(SUGGESTED_TO, 1), (SIMPLE, 0)] {
        play(|s| {
            let who = Stage::at_work(hello, s);
            let from = s.count(who);
            let block = json!({ "type": "text", "text": "Run the tests" });
            let update = LiveUpdate::Suggestions(vec![Suggestion {
                prompt: vec![RawJson::from(block.clone())],
            }]);
            let session = s.session();
            let frames = Peer::encode(
                Lane::Acp,
                Source::Shown {
                    thread: &session,
                    turn: None,
                    at: 0,
                    update: &update,
                },
            );
            s.editors[who].peer.handle_frames(Delivery {
                thread: s.scene.id,
                frames: &frames,
                last: s.scene.log.last().unwrap().seq,
                pending: &Pending::all(),
            });
            s.pump();
            let got = &s.editors[who].got[from..];
            assert_eq!(got.len(), expected, "{got:?}");
            if let Some(message) = got.first() {
                assert_eq!(
                    message["params"],
                    json!({
                        "sessionId": session,
                        "update": {
                            "sessionUpdate": "prompt_suggestions_update",
                            "suggestions": [{ "prompt": [block] }],
                        },
                    })
                );
            }
        });
    }
}
