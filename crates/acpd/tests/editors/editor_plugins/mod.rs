//! Neovim plugins at `acpd acp`, with the settings of `docs/editors.md` as they stand.
//!
//! Each plugin has a fixture: the messages that it sends, as its source at that version sends them, what it does with
//! the agent's requests, and what it requires of the answers. The fixtures are derived from reading the sources; no
//! plugin runs here. The agent's part is played by the fake agent behind a real daemon.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

mod fixture;
mod player;
mod settings;

use fixture::Fixture;
use player::Player;

use crate::support::{Daemon, Place, acpd};

/// The document whose settings are tested.
const DOCUMENT: &str = include_str!("../../../../../docs/editors.md");

const CODECOMPANION: &str = include_str!("codecompanion.json");
const AVANTE: &str = include_str!("avante.json");
const AGENTIC: &str = include_str!("agentic.json");

/// The agent in the document, and the one of the tests.
const AGENTS: (&str, &str) = ("gemini", "fake");

#[test]
fn codecompanion_plays_its_part() {
    play(CODECOMPANION);
}

#[test]
fn avante_plays_its_part() {
    play(AVANTE);
}

#[test]
fn agentic_plays_its_part() {
    play(AGENTIC);
}

#[test]
fn every_plugin_of_the_document_has_a_fixture() {
    let blocks = DOCUMENT.matches("```lua\n").count();
    let fixtures = [CODECOMPANION, AVANTE, AGENTIC].map(Fixture::read);
    assert_eq!(blocks, fixtures.len(), "the document has other plugins");
    for fixture in fixtures {
        let name = fixture.plugin.split('/').next_back().unwrap();
        assert!(
            DOCUMENT.contains(&format!("With {name}:")),
            "{name} is not in the document"
        );
        assert!(!fixture.requires.is_empty(), "{name}");
        for requirement in &fixture.requires {
            assert!(requirement.that.ends_with('.'), "{name}: {}", requirement.that);
            assert!(
                requirement.source.contains(".lua"),
                "{name}: {}",
                requirement.that
            );
        }
    }
}

#[test]
fn the_printed_settings_have_the_same_command_lines() {
    let place = Place::new("");
    let printed = acpd(&place, &["editors", "install", "neovim", "--agent", AGENTS.1]);
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    for text in [CODECOMPANION, AVANTE, AGENTIC] {
        let fixture = Fixture::read(text);
        let line = settings::command_line(&printed.stdout, &fixture.settings);
        // The program is a full path where acpd is not in PATH, and the daemon of the test has options of its own.
        let wanted = command_line(&fixture);
        assert_eq!(line[1..wanted.len()], wanted[1..], "{}", fixture.plugin);
    }
}

/// Returns the command line in the document's settings of a plugin, with the agent of the tests.
fn command_line(fixture: &Fixture) -> Vec<String> {
    let mut line = settings::command_line(DOCUMENT, &fixture.settings);
    assert_eq!(line, ["acpd", "acp", "--agent", AGENTS.0], "{}", fixture.plugin);
    for word in &mut line {
        if *word == AGENTS.0 {
            AGENTS.1.clone_into(word);
        }
    }
    line
}

fn play(text: &str) {
    let fixture = Fixture::read(text);
    // A failed test shows it.
    eprintln!("{} at {}: {}", fixture.plugin, fixture.version, fixture.about);
    let daemon = Daemon::start();
    for (path, content) in &fixture.files {
        let path = daemon.place.work().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let mut player = Player::new(&daemon.place, &fixture, command_line(&fixture));
    for step in &fixture.steps {
        player.play(step);
    }
}
