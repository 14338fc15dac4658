//! Replays every session of every recording of real agents in `fixtures/transcripts`. The snapshots are meant to be read;
//! `INSTA_UPDATE=always cargo test -p acpd-proto` updates them.

use std::collections::BTreeSet;

use acpd_model::Limits;

use crate::support::recording::Recording;
use crate::support::replay::{Replay, conversations};
use crate::support::{Scene, check_in, show};

/// Replays the recording of `agent`, and compares each session with its snapshot.
fn play(agent: &str) {
    let recording = Recording::read(agent);
    let all = conversations(&recording);
    let mut played = BTreeSet::new();
    for (number, conversation) in (1..).zip(&all) {
        let processes = conversation
            .openings
            .iter()
            .map(|at| recording.lines[*at].process);
        let processes: Vec<u32> = processes.collect();
        played.extend(&processes);
        let mut left_out = String::new();
        // Some agents need longer for a cancel than the daemon waits. Their updates in this time should be in the
        // snapshots.
        let limits = || Limits {
            cancel_secs: 300,
            ..Scene::limits()
        };
        let scene = check_in(Scene::with_limits(limits()), |scene| {
            let stage = std::mem::replace(scene, Scene::new());
            let replay = Replay::play(&recording, &all, conversation, stage);
            for (what, times) in &replay.left_out {
                left_out += &format!("left out: {what}, {times} times\n");
            }
            *scene = replay.scene;
        });
        let story = format!(
            "{agent}, session {number} of {}, in processes {processes:?}\n{left_out}\n{}",
            all.len(),
            show::story(&scene)
        );
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../snapshots");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(format!("{agent}-{number}"), story));
    }
    let in_recording: BTreeSet<u32> = recording.lines.iter().map(|line| line.process).collect();
    assert_eq!(played, in_recording, "each process is played");
}

#[test]
fn claude() {
    play("claude");
}

#[test]
fn codex() {
    play("codex");
}

#[test]
fn codex_subagents() {
    play("codex-subagents");
}

#[test]
fn deepagents() {
    play("deepagents");
}

#[test]
fn fast_agent() {
    play("fast-agent-passthrough");
}

#[test]
fn gemini() {
    play("gemini");
}

#[test]
fn opencode() {
    play("opencode");
}

#[test]
fn openhands() {
    play("openhands");
}

#[test]
fn sdk_agent() {
    play("sdk-agent");
}

#[test]
fn zed_codex() {
    play("zed-codex");
}
