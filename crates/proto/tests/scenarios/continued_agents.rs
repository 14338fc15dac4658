//! The recordings of real agents, with a daemon that is killed again and again: connection and thread continue together, and the agent
//! notices nothing.

use std::collections::BTreeMap;

use acpd_model::{EventKind, ItemEvent, ItemId, Limits};

use crate::support::recording::Recording;
use crate::support::replay::{Replay, conversations};
use crate::support::{Moment, Scene, check_in};

/// Plays a session of a recording. Returns the scene.
fn play(recording: &Recording, number: usize, limits: Limits, kills: Option<(Moment, usize)>) -> Scene {
    let all = conversations(recording);
    check_in(Scene::with_limits(limits), |scene| {
        let mut stage = std::mem::replace(scene, Scene::new());
        stage.survives();
        if let Some((moment, every)) = kills {
            stage.survives_kills(moment, every);
        }
        *scene = Replay::play(recording, &all, &all[number], stage).scene;
    })
}

/// Returns the names of events without the pieces of text, and the text of each item.
fn outline(scene: &Scene) -> (Vec<String>, BTreeMap<ItemId, String>) {
    let (mut names, mut texts) = (Vec::new(), BTreeMap::<ItemId, String>::new());
    for event in &scene.log {
        match &event.kind {
            EventKind::Item(ItemEvent::Delta { item, text, .. }) => {
                texts.entry(*item).or_default().push_str(text)
            }
            kind => {
                let kind = serde_json::to_value(kind).unwrap();
                let name = kind.as_object().unwrap().keys().next().unwrap().clone();
                names.push(format!("{:?} {:?} {name}", event.turn, event.lane));
            }
        }
    }
    (names, texts)
}

/// Returns the lines that an agent got.
fn sent(scene: &Scene) -> Vec<&str> {
    scene.sent.iter().map(|sent| sent.text.as_str()).collect()
}

/// Plays the recording of `agent` with kills, and compares it with one without.
fn survives(agent: &str) {
    let recording = Recording::read(agent);
    for number in 0..conversations(&recording).len() {
        for tail in [0, Limits::default().turn_tail_millis] {
            let limits = || Limits {
                cancel_secs: 300,
                turn_tail_millis: tail,
                ..Limits::default()
            };
            let whole = play(&recording, number, limits(), None);
            for (moment, every) in [
                (Moment::Append, 1),
                (Moment::Line, 1),
                (Moment::Append, 3),
                (Moment::Line, 7),
            ] {
                let killed = play(&recording, number, limits(), Some((moment, every)));
                let context = format!("{agent}, session {number}, {moment:?}, each {every}, tail {tail}");
                assert!(killed.kills() > 0 || every > 1, "{context}");
                assert_eq!(sent(&killed), sent(&whole), "{context}");
                assert_eq!(outline(&killed), outline(&whole), "{context}");
            }
        }
    }
}

#[test]
fn claude() {
    survives("claude");
}

#[test]
fn codex() {
    survives("codex");
}

#[test]
fn codex_subagents() {
    survives("codex-subagents");
}

#[test]
fn deepagents() {
    survives("deepagents");
}

#[test]
fn fast_agent() {
    survives("fast-agent-passthrough");
}

#[test]
fn gemini() {
    survives("gemini");
}

#[test]
fn opencode() {
    survives("opencode");
}

#[test]
fn openhands() {
    survives("openhands");
}

#[test]
fn sdk_agent() {
    survives("sdk-agent");
}

#[test]
fn zed_codex() {
    survives("zed-codex");
}
