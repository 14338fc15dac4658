//! `acpd share`.

use serde_json::{Value, json};

use super::Stage;
use crate::support::{Client, acpd, outcome};

#[test]
fn the_command_makes_lists_and_revokes_links() {
    let stage = Stage::new();
    let place = &stage.daemon.place;
    let made = acpd(
        place,
        &[
            "share",
            "create",
            &stage.other,
            "--expires",
            "24h",
            "--name",
            "for Bob",
        ],
    );
    let link = made.stdout.trim();
    let (url, secret) = link
        .split_once("/#share=")
        .unwrap_or_else(|| panic!("{link} {}", made.stderr));
    assert_eq!(url, format!("http://{}", stage.daemon.address()));
    Client::with_token(&stage.daemon, secret).call("thread/read", &json!({ "threadId": stage.other }));
    let listed = acpd(place, &["share", "list", &stage.other, "--json"]).stdout;
    let listed: Value = serde_json::from_str(listed.trim()).unwrap();
    assert_eq!(
        (listed["name"].as_str(), listed["createdBy"].as_str()),
        (Some("for Bob"), Some("owner"))
    );
    let life = listed["expiresAt"].as_i64().unwrap() - listed["createdAt"].as_i64().unwrap();
    assert_eq!(life, 24 * 3600 * 1000);
    let all = acpd(place, &["share", "list"]).stdout;
    assert!(all.lines().count() == 3 && all.contains("for Bob"), "{all}");
    let id = listed["id"].as_str().unwrap();
    let revoked = acpd(place, &["share", "revoke", id]);
    assert!(revoked.stdout.contains("is revoked"), "{}", revoked.stderr);
    assert_eq!(acpd(place, &["share", "revoke", id]).code, Some(5));
    // A link is no way to make another one.
    let mut command = place.command(&["share", "create", &stage.shared]);
    let refused = outcome(command.env("ACPD_TOKEN", &stage.secret));
    assert_eq!(refused.code, Some(7), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("shares one thread to read"),
        "{}",
        refused.stderr
    );
}

/// Makes a link with these further options; returns the address with which it begins, and what else was said.
fn made(stage: &Stage, options: &[&str]) -> (String, String) {
    let args = [&["share", "create", &stage.other], options].concat();
    let made = acpd(&stage.daemon.place, &args);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let (url, _) = made.stdout.split_once("/#share=").expect("it is a link");
    (url.to_owned(), made.stderr)
}

#[test]
fn a_link_begins_with_the_address_of_its_readers() {
    const HINT: &str = "only this computer can open a link";
    let stage = Stage::new();
    let own = format!("http://{}", stage.daemon.address());
    let (url, said) = made(&stage, &[]);
    assert_eq!(url, own);
    assert!(said.contains(HINT) && said.contains("--url"), "{said}");
    for (named, expected) in [
        ("https://box.example/", "https://box.example"),
        ("http://[fd00::1]:4127", "http://[fd00::1]:4127"),
        // Readers with a tunnel of their own.
        ("http://localhost:9960", "http://localhost:9960"),
    ] {
        let (url, said) = made(&stage, &["--url", named]);
        assert_eq!(url, expected);
        assert!(!said.contains(HINT), "{said}");
    }

    let before = stage.number_of_links();
    for wrong in [
        "box.example",
        "https://box.example/path",
        "https://me@box.example",
    ] {
        let refused = acpd(
            &stage.daemon.place,
            &["share", "create", &stage.other, "--url", wrong],
        );
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        assert!(
            refused.stderr.contains("invalid daemon URL"),
            "{}",
            refused.stderr
        );
    }
    assert_eq!(
        stage.number_of_links(),
        before,
        "a link was made without an address"
    );

    // The configuration is asked for each link.
    let config = std::fs::read_to_string(stage.daemon.place.config()).unwrap();
    let configure = |url: &str| {
        let text = format!("{config}\n[notifications]\nurl = \"{url}\"\n");
        std::fs::write(stage.daemon.place.config(), text).unwrap();
    };
    configure("https://box.example:4127/");
    let (url, said) = made(&stage, &[]);
    assert_eq!(url, "https://box.example:4127");
    assert!(!said.contains(HINT), "{said}");
    assert_eq!(
        made(&stage, &["--url", "https://other.example"]).0,
        "https://other.example"
    );
    configure("http://127.0.0.1:4127");
    assert!(made(&stage, &[]).1.contains(HINT));
    // It says nothing about a daemon that another address names.
    configure("https://box.example:4127/");
    let token = stage.daemon.place.token();
    let mut command = stage
        .daemon
        .place
        .command(&["--connect", &own, "share", "create", &stage.other]);
    let far = outcome(command.env("ACPD_TOKEN", token));
    assert!(far.stdout.starts_with(&own), "{} {}", far.stdout, far.stderr);
    assert!(far.stderr.contains(HINT), "{}", far.stderr);
}
