//! No folder of a crate, or of the web UI, needs another one that needs it. Files of one folder do so only for a reason.
//!
//! The children of a folder are its files and its folders. A folder in a circle of children cannot be read, moved or tested without
//! the rest of the circle.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

mod graph;
mod rust;
mod web;

use std::fs;
use std::path::{Path, PathBuf};

use self::graph::Graph;
use self::rust::Crate;

/// The crates of the product.
const PRODUCT: [&str; 19] = [
    "acp-check",
    "acpd",
    "catalog",
    "client",
    "demo-agent",
    "files",
    "formats",
    "host",
    "http-client",
    "log",
    "model",
    "policy",
    "proto",
    "runtime",
    "scripted-agent",
    "server",
    "shim",
    "traces",
    "web",
];

/// The crates for tests, which the product does not contain.
const FOR_TESTS: [&str; 4] = ["fake-agent", "fake-model", "fuzz", "loopback"];

/// The most lines of the product that may be in files of circles, of a thousand.
const MOST_IN_CIRCLES: usize = 130;

/// The most floors of `acpd`: its rooms stand on each other.
const ACPD_FLOORS: usize = 9;

/// Files of one folder that need each other: the crate, a file of the circle, and why.
const REASONS: &[(&str, &str, &str)] = &[
    (
        "acpd",
        "attach/state/mod.rs",
        "`App` is one state machine, with a file for each kind of input",
    ),
    (
        "proto",
        "agent/connection.rs",
        "`AgentConnection` has a file for what opens it, and one for the halves of its updates",
    ),
    (
        "proto",
        "agent/update/mod.rs",
        "`UpdateKind` has what a file for each kind reads from the members of all updates",
    ),
    (
        "proto",
        "surface/acp/peer.rs",
        "`Peer` has sessions, and a file for what agents ask of the editor, which has its own queue in each session",
    ),
    (
        "proto",
        "surface/app/wire/mod.rs",
        "the traits that write objects, and the types that have no macro for it",
    ),
    (
        "proto",
        "surface/codex/shown.rs",
        "what a client has seen of a thread has a part for messages that grow",
    ),
    (
        "proto",
        "thread/approval/mod.rs",
        "`Approvals` is one part of a thread, with a file for each of its tasks",
    ),
    (
        "proto",
        "thread/callback/mod.rs",
        "`Callbacks` is one part of a thread, with a file for each of its tasks",
    ),
    (
        "proto",
        "thread/machine/mod.rs",
        "`Thread` is the hub of its parts, with a file for each kind of input",
    ),
    (
        "proto",
        "thread/session/mod.rs",
        "the session is one part of a thread, with a file for each of its tasks",
    ),
    (
        "runtime",
        "attachments.rs",
        "`Attachments` has a file for what forks keep of their origins",
    ),
    (
        "runtime",
        "agent/registry.rs",
        "`Agents` lists installations, which look up what they install there",
    ),
    (
        "runtime",
        "agent/sandbox/mod.rs",
        "`SandboxState` has a file for each thing that is asked of it",
    ),
    (
        "runtime",
        "thread/actor.rs",
        "`ThreadActor` has a file for each of its tasks",
    ),
    (
        "server",
        "auth/store.rs",
        "`AuthStore` has a file for each kind of what it stores",
    ),
];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn read(name: &str) -> (Vec<String>, Graph) {
    let read = Crate::read(&workspace().join("crates").join(name).join("src"));
    let files = read.files.iter().map(|(file, _)| file.clone()).collect();
    (files, read.graph())
}

/// Returns the folder of a file. `x.rs` beside a folder `x` is in it.
fn folder_of(files: &[String], file: &str) -> String {
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    let below = format!("{stem}/");
    if files.iter().any(|other| other.starts_with(&below)) {
        return stem.to_owned();
    }
    file.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned()
}

/// Returns the circles among the children of each folder that have a folder in them.
fn circles_of_folders(graph: &Graph, folder_of: impl Fn(&str) -> String) -> Vec<String> {
    let homes = graph.names().map(&folder_of);
    let mut folders: Vec<String> = homes
        .flat_map(|home| {
            let all = std::iter::successors(Some(home.as_str()), |at| Some(at.rsplit_once('/')?.0));
            all.map(str::to_owned).collect::<Vec<String>>()
        })
        .collect();
    folders.push(String::new());
    folders.sort();
    folders.dedup();
    let mut found = Vec::new();
    for folder in &folders {
        let children = children(graph, folder, &folder_of);
        for circle in children.circles() {
            if circle.iter().any(|child| folders.contains(child)) {
                let edges: Vec<String> = graph
                    .edges()
                    .filter(|(from, to)| {
                        let (from, to) = (
                            child_of(folder, from, &folder_of),
                            child_of(folder, to, &folder_of),
                        );
                        from != to
                            && [from, to]
                                .iter()
                                .all(|child| child.as_ref().is_some_and(|child| circle.contains(child)))
                    })
                    .map(|(from, to)| format!("    {from} uses {to}"))
                    .collect();
                found.push(format!("{}\n{}", circle.join(", "), edges.join("\n")));
            }
        }
    }
    found
}

/// Returns the child of a folder that a file is, or is in.
fn child_of(folder: &str, file: &str, folder_of: impl Fn(&str) -> String) -> Option<String> {
    let home = folder_of(file);
    if home == folder {
        return Some(file.to_owned());
    }
    let rest = if folder.is_empty() {
        home.as_str()
    } else {
        home.strip_prefix(folder)?.strip_prefix('/')?
    };
    let first = rest.split('/').next()?;
    Some(if folder.is_empty() {
        first.to_owned()
    } else {
        format!("{folder}/{first}")
    })
}

/// Returns which children of a folder use which.
fn children(graph: &Graph, folder: &str, folder_of: impl Fn(&str) -> String) -> Graph {
    let mut found = Graph::default();
    for name in graph.names() {
        if let Some(child) = child_of(folder, name, &folder_of) {
            found.add(&child, graph.lines_of(name));
        }
    }
    for (from, to) in graph.edges() {
        if let (Some(from), Some(to)) = (
            child_of(folder, from, &folder_of),
            child_of(folder, to, &folder_of),
        ) {
            found.connect(&from, &to);
        }
    }
    found
}

#[test]
fn each_crate_is_of_the_product_or_for_tests() {
    let entries = fs::read_dir(workspace().join("crates")).unwrap();
    let mut found: Vec<String> = entries
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    found.sort();
    let mut listed = [&PRODUCT[..], &FOR_TESTS[..]].concat();
    listed.sort_unstable();
    assert_eq!(found, listed, "list a new crate in this file");
}

#[test]
fn no_folder_of_a_crate_is_in_a_circle() {
    let mut faults = Vec::new();
    for name in PRODUCT {
        let (files, graph) = read(name);
        assert!(!files.is_empty(), "crates/{name} has no sources");
        for circle in circles_of_folders(&graph, |file| folder_of(&files, file)) {
            faults.push(format!("crates/{name}/src: {circle}"));
        }
    }
    assert!(
        faults.is_empty(),
        "these need each other; move what both use below them:\n{}",
        faults.join("\n")
    );
}

#[test]
fn the_product_contains_no_crate_for_tests() {
    for name in PRODUCT {
        let manifest = workspace().join("crates").join(name).join("Cargo.toml");
        let manifest = fs::read_to_string(manifest).unwrap();
        let (_, rest) = manifest.split_once("[dependencies]\n").unwrap_or_default();
        let used = rest.split("\n[").next().unwrap_or_default();
        for test in FOR_TESTS {
            assert!(
                !used.contains(&format!("acpd-{test} ")),
                "crates/{name} uses acpd-{test}, which is for tests"
            );
        }
    }
}

#[test]
fn files_in_a_circle_have_a_reason() {
    let mut unused = REASONS.to_vec();
    let mut faults = Vec::new();
    let (mut all, mut in_circles) = (0, 0);
    for name in PRODUCT {
        let (files, graph) = read(name);
        all += graph.all_lines();
        for circle in graph.circles() {
            in_circles += graph.lines(&circle);
            let reason = REASONS.iter().find(|(of, hub, _)| {
                // A reason is about one folder: no file of another one slips in.
                let folder = folder_of(&files, hub);
                let is_near = |file: &String| folder_of(&files, file) == folder;
                *of == name && circle.iter().any(|file| file == hub) && circle.iter().all(is_near)
            });
            match reason {
                Some(reason) => unused.retain(|other| other != reason),
                None => faults.push(format!("crates/{name}/src: {}", circle.join(", "))),
            }
        }
    }
    for (name, hub, _) in unused {
        faults.push(format!(
            "crates/{name}/src/{hub} is in no circle of its folder any more: remove it from this test"
        ));
    }
    println!("{in_circles} of {all} lines of the product are in circles of files");
    assert!(
        faults.is_empty(),
        "these files need each other; move what both use into a file of its own, or give a reason in this test:\n{}",
        faults.join("\n")
    );
    assert!(
        in_circles * 1000 <= all * MOST_IN_CIRCLES,
        "{in_circles} of {all} lines are in circles of files: more than {MOST_IN_CIRCLES} of a thousand"
    );
}

#[test]
fn the_rooms_of_acpd_have_few_floors() {
    let (files, graph) = read("acpd");
    let rooms = children(&graph, "", |file| folder_of(&files, file));
    let floors = rooms.floors();
    let top = floors.values().copied().max().unwrap_or_default();
    let listed: Vec<String> = (1..=top)
        .map(|floor| {
            let rooms: Vec<&str> = floors
                .iter()
                .filter(|(_, of)| **of == floor)
                .map(|(room, _)| *room)
                .collect();
            format!("{floor}: {}", rooms.join(", "))
        })
        .collect();
    assert!(top <= ACPD_FLOORS, "{top} floors:\n{}", listed.join("\n"));
}

#[test]
fn no_folder_of_the_web_ui_is_in_a_circle() {
    let graph = web::read(&workspace().join("web/src"));
    assert!(graph.all_lines() > 0);
    let folder_of = |file: &str| file.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let faults = circles_of_folders(&graph, folder_of);
    assert!(
        faults.is_empty(),
        "these need each other; move what both use below them:\n{}",
        faults.join("\n")
    );
}

/// Writes the sources of a crate, and returns which of its files uses which.
fn uses(files: &[(&str, &str)]) -> Vec<(String, String)> {
    let place = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = place.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let graph = Crate::read(place.path()).graph();
    graph
        .edges()
        .map(|(from, to)| (from.to_owned(), to.to_owned()))
        .collect()
}

#[test]
fn uses_are_found_where_items_are_defined() {
    let found = uses(&[
        (
            "lib.rs",
            "//! A face.\nmod a;\nmod b;\n#[path = \"odd.rs\"]\nmod c;\npub use b::{self, One, inner::Two};\n",
        ),
        (
            "a.rs",
            "use crate::{One, Two as Other};\n// use crate::c::Comment;\nconst TEXT: &str = \"crate::c::Text\";\n\
             const RAW: &str = r#\"\" crate::c::Raw\"#;\nfn f<'c>(c: &'c char) -> char { '\"' }\n\
             #[cfg(test)]\nmod tests {\n use crate::c::Test;\n}\n",
        ),
        (
            "b/mod.rs",
            "pub mod inner;\npub struct One;\nimpl One {\n const MOST: usize = 1;\n}\nuse super::c;\nfn f() { c::call(); }\n",
        ),
        ("b/inner.rs", "pub enum Two { A }\nfn f(x: super::One) {}\n"),
        (
            "odd.rs",
            "pub fn call() {}\npub struct Comment;\npub struct Text;\npub struct Raw;\npub struct Test;\n",
        ),
    ]);
    let expected = [
        ("a.rs", "b/inner.rs"),
        ("a.rs", "b/mod.rs"),
        ("b/inner.rs", "b/mod.rs"),
        ("b/mod.rs", "odd.rs"),
        ("lib.rs", "b/inner.rs"),
        ("lib.rs", "b/mod.rs"),
    ];
    assert_eq!(found, expected.map(|(from, to)| (from.to_owned(), to.to_owned())));
}

#[test]
fn texts_and_comments_are_no_code() {
    let text = "a /* b /* c */ */ 'd' 'e: b\"f\\\"\" // g\n r#\"h\"i\"# b'\\'' r#type::j";
    let found = crate::tokens::tokens(text);
    assert_eq!(
        found,
        ["a", ":", "b\"f\\\"\"", "r#\"h\"i\"#", "b", "type", "::", "j"]
    );
}

#[test]
fn circles_are_found() {
    let mut graph = Graph::default();
    for (from, to) in [
        ("a/x.rs", "b/y.rs"),
        ("b/y.rs", "c.rs"),
        ("c.rs", "a/z.rs"),
        ("d.rs", "a/x.rs"),
        ("c.rs", "e.rs"),
        ("e.rs", "c.rs"),
    ] {
        for name in [from, to] {
            graph.add(name, 0);
        }
        graph.connect(from, to);
    }
    let files: Vec<String> = graph.names().map(str::to_owned).collect();
    assert_eq!(graph.circles(), [["c.rs", "e.rs"]]);
    let found = circles_of_folders(&graph, |file| folder_of(&files, file));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("a, b, c.rs, e.rs\n"), "{found:?}");
}

#[test]
fn imports_of_scripts_are_found() {
    let found = web::imports(
        "import type { A } from \"../a.ts\";\nimport \"./b.css\";\nexport {\n  C,\n} from \"./c.ts\";\n// import \"./no.ts\";\n\
         const d = () => import(\"./d.tsx\");\nimport { e } from \"preact\";\n",
    );
    assert_eq!(found, ["../a.ts", "./c.ts", "./b.css", "./d.tsx"]);
}
