//! A limit that only one file needs is a constant of that file. `crates/model/src/limits` has those that several files need, and some
//! that are read beside them.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::names::{list, workspace};

/// The files of the limits: the one that the configuration can change, and those of the subjects.
const LIMITS: &str = "crates/model/src/limits";

/// Limits with fewer users, such as the largest sum of others and the longest time of a pair.
const MOST_WITH_ONE_USER: usize = 32;

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

#[test]
fn limits_are_beside_their_only_user() {
    let mut files = Vec::new();
    for folder in ["crates", "xtask"] {
        list(folder, &mut files);
    }
    files.retain(|file| {
        std::path::Path::new(file)
            .extension()
            .is_some_and(|ending| ending == "rs")
    });
    let text = |file: &String| fs::read_to_string(workspace().join(file)).unwrap();
    let (limits, others): (Vec<String>, Vec<String>) =
        files.into_iter().partition(|file| file.starts_with(LIMITS));
    let names: BTreeSet<String> = limits
        .iter()
        .map(text)
        .flat_map(|text| {
            let constants = text.lines().filter_map(|line| line.strip_prefix("pub const "));
            let names = constants.filter_map(|line| line.split(':').next().map(str::to_owned));
            names.collect::<Vec<String>>()
        })
        .collect();
    assert!(names.len() > MOST_WITH_ONE_USER, "{LIMITS} has {}", names.len());
    let mut users: BTreeMap<&str, usize> = names.iter().map(|name| (name.as_str(), 0)).collect();
    for file in &others {
        let text = text(file);
        let used: BTreeSet<&str> = words(&text).collect();
        for name in used {
            if let Some(count) = users.get_mut(name) {
                *count += 1;
            }
        }
    }
    users.retain(|_, count| *count < 2);
    assert!(
        users.len() <= MOST_WITH_ONE_USER,
        "{} limits have one user at most, of which at most {MOST_WITH_ONE_USER} may be in {LIMITS}; move one to the file that needs it: \
         {users:#?}",
        users.len()
    );
}
