//! Tests of the registry document: which entries are accepted and which are refused.

use acpd_loopback::{CannedResponse, serve};

use super::super::registry::{Registry, npm_name, platform, pypi_name};
use super::super::{RegistryOrigin, shipped};
use super::Machine;

const GOOD: &str = r#"{ "id": "good", "name": "Good", "version": "1.2.3", "description": "d",
    "distribution": { "npx": { "package": "good-agent@1.2.3", "args": ["--acp"], "env": { "A": "b" } } } }"#;

fn parse(agents: &str) -> Registry {
    let text = format!(r#"{{ "version": "1.0.0", "agents": [{agents}] }}"#);
    Registry::parse(&text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_shipped_document_is_whole() {
    let registry = shipped();
    assert_eq!(registry.skipped, Vec::<String>::new());
    let ids: Vec<_> = registry.agents.iter().map(|entry| entry.id.as_str()).collect();
    for id in [
        "claude-acp",
        "codex-acp",
        "gemini",
        "opencode",
        "qwen-code",
        "fast-agent",
        "goose",
    ] {
        assert!(ids.contains(&id), "{id} is not in {ids:?}");
    }
    for entry in &registry.agents {
        let packages = [&entry.distribution.npx, &entry.distribution.uvx];
        for package in packages.into_iter().flatten() {
            // Versions are pinned, so that a program does not change without the user's knowledge.
            assert!(package.package.ends_with(&entry.version), "{}", entry.id);
        }
        for binary in entry.distribution.binary.values() {
            assert!(binary.sha256.is_some(), "{} has no checksum", entry.id);
            assert!(binary.archive.starts_with("https://"), "{}", entry.id);
        }
    }
}

#[test]
fn members_that_are_not_known_are_passed_over() {
    let text = format!(
        r#"{{ "version": "1.7.0", "extensions": [{{}}], "x": {{}}, "agents": [{}, {}] }}"#,
        GOOD.replace(
            r#""name""#,
            r#""preview": {"version": "2"}, "authors": [1], "icon": null, "name""#
        ),
        r#"{ "id": "other", "name": "O", "version": "1.0.0", "description": "d",
            "distribution": { "docker": { "image": "x" }, "uvx": { "package": "o==1", "x": 1 } } }"#,
    );
    let registry = Registry::parse(&text).unwrap();
    assert_eq!(registry.skipped, Vec::<String>::new());
    let [good, other] = &registry.agents[..] else {
        panic!("{registry:?}");
    };
    let npx = good.distribution.npx.as_ref().unwrap();
    assert_eq!(
        (npx.package.as_str(), &npx.args[..]),
        ("good-agent@1.2.3", &["--acp".to_owned()][..])
    );
    assert_eq!(npx.env["A"], "b");
    assert_eq!(other.distribution.uvx.as_ref().unwrap().package, "o==1");
}

#[test]
fn a_wrong_entry_is_skipped_and_reported() {
    let with = |id: &str, distribution: &str| {
        format!(r#"{{ "id": "{id}", "name": "N", "version": "1.0.0", "distribution": {distribution} }}"#)
    };
    let here = platform();
    let binary = |cmd: &str, sum: &str| {
        format!(
            r#"{{ "binary": {{ "{here}": {{ "archive": "https://x/y.zip", "cmd": "{cmd}", "sha256": "{sum}" }} }} }}"#
        )
    };
    let sum = "a".repeat(64);
    for (entry, reason) in [
        ("7".to_owned(), "an entry without an id: "),
        (r#"{ "id": "x" }"#.to_owned(), "\"x\": missing field `name`"),
        (with("../x", "{}"), "\"../x\": its id is not"),
        (
            with("X", r#"{ "npx": { "package": "p" } }"#),
            "\"X\": its id is not",
        ),
        (
            with("none", "{}"),
            "\"none\": it has no distribution that acpd knows",
        ),
        (
            with("d", r#"{ "docker": {} }"#),
            "\"d\": it has no distribution that acpd knows",
        ),
        (
            with("o", r#"{ "npx": { "package": "--eval=1" } }"#),
            "is not an npm package",
        ),
        (
            with("u", r#"{ "uvx": { "package": "-r x" } }"#),
            "is not a PyPI package",
        ),
        (
            with("e", r#"{ "npx": { "package": "p", "env": { "A=B": "" } } }"#),
            "cannot be set in an environment",
        ),
        (
            with("c", &binary("../run", &sum)),
            "is not a path inside its archive",
        ),
        (
            with("r", &binary("/bin/sh", &sum)),
            "is not a path inside its archive",
        ),
        (with("e", &binary("./", &sum)), "is not a path inside its archive"),
        (
            with("s", &binary("./run", "abc")),
            "its sha256 is not 64 hexadecimal digits",
        ),
        (GOOD.to_owned(), "good: it is there twice"),
    ] {
        let registry = parse(&format!("{GOOD}, {entry}"));
        assert_eq!(registry.agents.len(), 1, "{entry}");
        assert_eq!(registry.skipped.len(), 1, "{entry}");
        assert!(
            registry.skipped[0].contains(reason),
            "{:?} lacks {reason:?}",
            registry.skipped[0]
        );
    }
}

#[test]
fn texts_other_than_registries_are_refused() {
    for text in [
        "",
        "[]",
        "{}",
        r#"{ "agents": {} }"#,
        r#"{ "version": "2.0.0", "agents": [] }"#,
    ] {
        assert!(Registry::parse(text).is_err(), "{text}");
    }
}

#[test]
fn packages_are_names_with_a_version_and_nothing_else() {
    for (package, name) in [
        ("a", "a"),
        ("a@1.2.3-rc.1+x", "a"),
        ("a@^1", "a"),
        ("@s/a", "@s/a"),
        ("@s/a@latest", "@s/a"),
    ] {
        assert_eq!(npm_name(package), Some(name), "{package}");
    }
    for package in [
        "",
        "-g",
        "@s",
        "@/a",
        "../a",
        "./a",
        "a/b",
        "git+ssh://x",
        "https://x/y.tgz",
        "file:x",
        "a@npm:b",
        "a b",
        "a@",
        "@s/a@file:x",
    ] {
        assert_eq!(npm_name(package), None, "{package}");
    }
    for (package, name) in [
        ("a", "a"),
        ("a==1.0", "a"),
        ("a[x,y]>=1", "a"),
        ("a@1.0", "a"),
        ("a@latest", "a"),
    ] {
        assert_eq!(pypi_name(package), Some(name), "{package}");
    }
    for package in [
        "",
        "-r",
        "--index-url=x",
        "a @ https://x",
        "a==",
        "a[",
        "a[x",
        "./a",
        "git+https://x",
        "a==1;b",
    ] {
        assert_eq!(pypi_name(package), None, "{package}");
    }
}

#[test]
fn an_update_replaces_the_shipped_document() {
    let machine = Machine::new();
    let good = format!(r#"{{ "version": "1.0.0", "agents": [{GOOD}, {{}}] }}"#);
    let address = serve(|_| {
        [
            ("/good", good.into()),
            ("/empty", r#"{ "agents": [] }"#.into()),
            ("/html", "<html>".into()),
            ("/away", CannedResponse::Moved("http://example.org/")),
            ("/large", vec![b' '; 5 << 20].into()),
        ]
    });
    let catalog = machine.catalog();
    assert_eq!(catalog.look().origin, RegistryOrigin::Shipped);
    for (path, reason) in [
        ("/empty", "no agent that acpd can use"),
        ("/html", "invalid ACP registry document"),
        ("/none", "404"),
        ("/away", "302"),
        ("/large", "larger than 4194304 bytes"),
    ] {
        let error = catalog
            .update(&format!("http://{address}{path}"))
            .unwrap_err()
            .to_string();
        assert!(error.contains(reason), "{error}");
        assert_eq!(catalog.look().origin, RegistryOrigin::Shipped);
    }
    let updated = catalog.update(&format!("http://{address}/good")).unwrap();
    assert_eq!((updated.agents.len(), updated.skipped.len()), (1, 1));
    let now = catalog.look();
    assert_eq!(now.origin, RegistryOrigin::Updated);
    assert_eq!(now.registry.agents, updated.agents);
    assert!(catalog.update("http://example.org/registry.json").is_err());

    std::fs::write(machine.data().join("registry.json"), "{").unwrap();
    let broken = catalog.look();
    assert_eq!(broken.origin, RegistryOrigin::Shipped);
    assert!(
        broken.registry.skipped[0].contains("registry.json"),
        "{:?}",
        broken.registry.skipped
    );
}
