//! Every kind of event has a name, and a row in `docs/export.md`.

use std::collections::BTreeSet;

use acpd_model::Summary;
use acpd_proto::surface::export::Format;
use serde_json::Value;

use super::{event, write};
use crate::support::Scene;
use crate::support::samples::{Sample, samples};

const DOC: &str = include_str!("../../../../../docs/export.md");

/// Returns the rows of the tables of types in `docs/export.md`: type → members that the row names.
fn documented() -> Vec<(String, String)> {
    let rows = DOC.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("| `")?.split_once("` |")?;
        (name.contains(':') || ["notice", "unknown"].contains(&name))
            .then(|| (name.to_owned(), rest.to_owned()))
    });
    rows.collect()
}

#[test]
fn every_kind_comes_out_under_a_documented_name() {
    let common = [
        "seq",
        "ts",
        "time",
        "type",
        "threadId",
        "turnId",
        "itemId",
        "lane",
        "by",
        "raw",
        "rawParams",
    ];
    let documented = documented();
    let mut used: BTreeSet<String> = BTreeSet::from(["unknown".to_owned()]);
    let scene = Scene::new();
    for Sample { event, .. } in samples() {
        let name = event.kind.export_name();
        used.insert(name.to_owned());
        let text = write(
            &scene,
            &Summary::default(),
            std::slice::from_ref(&event),
            Format::Jsonl,
        );
        let line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["type"], name);
        let (_, row) = documented
            .iter()
            .find(|(documented, _)| documented == name)
            .unwrap_or_else(|| panic!("{name} is not in docs/export.md"));
        // "as `message:chunk`": the other row lists the members.
        let other = row
            .split_once("as `")
            .and_then(|(_, rest)| rest.split('`').next());
        let other = other.and_then(|other| documented.iter().find(|(name, _)| name == other));
        let row = format!("{row}{}", other.map_or("", |(_, row)| row));
        for member in line.as_object().unwrap().keys() {
            let is_documented = common.contains(&member.as_str()) || row.contains(&format!("`{member}`"));
            assert!(
                is_documented,
                "docs/export.md does not tell of {member} in {name}"
            );
        }
    }
    let is_documented: BTreeSet<String> = documented.into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        is_documented, used,
        "docs/export.md tells of the types that there are"
    );
}

#[test]
fn documents_take_every_kind() {
    for sample in samples() {
        let event = std::slice::from_ref(&sample.event);
        for format in [Format::Markdown, Format::Html] {
            let text = write(&Scene::new(), &Summary::default(), event, format);
            assert!(!text.contains("secret"));
        }
    }
}

#[test]
fn a_kind_of_a_newer_daemon_comes_out_as_unknown() {
    let newer = event(r#"{"moonLanded":{"by":"eagle"}}"#);
    let line = write(
        &Scene::new(),
        &Summary::default(),
        std::slice::from_ref(&newer),
        Format::Jsonl,
    );
    assert_eq!(
        line,
        concat!(
            r#"{"seq":1,"ts":1700000000000,"time":"2023-11-14T22:13:20.000Z","type":"unknown","#,
            r#""threadId":"0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4","by":{"kind":"daemon"}}"#,
            "\n"
        )
    );
    let page = write(&Scene::new(), &Summary::default(), &[newer], Format::Markdown);
    assert!(!page.contains("Before the first turn"), "{page}");
}
