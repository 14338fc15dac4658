//! All pairs of a version of the agent and one of the editor. A scene says what happens; the agent writes it in its version, and what the
//! editor of each pair shows is the same, but for the losses that the documents list.

mod act;
mod editor;
mod expected;
mod listed;
mod play;
mod scenes;
mod told;

use std::collections::BTreeSet;
use std::fmt::Debug;

use similar::TextDiff;

use act::{Act, Version};
use expected::{Expected, Loss, PAIRS, Pair};
use listed::{OF_VERSION_1, ROWS, Shown, documented};
use play::{OPTIONS, ORDERS, Order, Played, play};
use scenes::{Scene, prompts, says, scenes};

/// Fails with a comparison if the two differ.
fn same<T: Debug + PartialEq>(expected: &T, shown: &T, what: &str) {
    if expected != shown {
        let (expected, shown) = (format!("{expected:#?}\n"), format!("{shown:#?}\n"));
        let diff = TextDiff::from_lines(&expected, &shown);
        panic!("{what}\n{}", diff.unified_diff().header("expected", "shown"));
    }
}

/// Plays the acts, and checks what the editor shows and the agent receives.
fn check(name: &str, acts: &[Act], pair: Pair, order: Order) -> Played {
    let mut played = play(acts, pair, order);
    let what = format!("{name}, with {pair:?}, {order:?}");
    let expected = played.expected.shown();
    same(&expected, &played.shown, &what);
    same(
        &played.expected.heard,
        &played.heard,
        &format!("{what}: the agent"),
    );
    // The same without what has gone by.
    let (now, late) = (expected.opened_later(), played.late.clone().opened_later());
    same(
        &now,
        &late,
        &format!("{what}: an editor that opens the session at the end"),
    );
    played
}

/// Plays the acts with each pair that can play them. Agents of version 2 take prompts in these orders.
fn check_pairs(name: &str, acts: &[Act], orders: &[Order], is_playable: impl Fn(Version) -> bool) {
    let mut words: Option<Vec<String>> = None;
    for pair in PAIRS.into_iter().filter(|pair| is_playable(pair.agent)) {
        let orders = match pair.agent {
            Version::One => &orders[..1],
            Version::Two => orders,
        };
        for order in orders {
            let played = check(name, acts, pair, *order);
            let words = words.get_or_insert_with(|| played.words.clone());
            same(
                words,
                &played.words,
                &format!("{name}: the words of acpd, with {pair:?}"),
            );
        }
    }
}

fn check_scene(scene: &Scene, acts: &[Act], orders: &[Order]) {
    check_pairs(scene.name, acts, orders, |version| scene.is_played_by(version));
}

#[test]
fn all_pairs_show_the_same_but_for_the_losses() {
    for scene in scenes() {
        check_scene(&scene, &scene.acts, &ORDERS);
    }
}

#[test]
fn an_agent_that_is_killed_leaves_the_same_in_all_pairs() {
    for scene in scenes() {
        for at in 1..=scene.acts.len() {
            let mut acts = scene.acts[..at].to_vec();
            acts.extend([
                Act::Dies,
                prompts("again"),
                says("z", "Here"),
                Act::Ends("end_turn"),
            ]);
            check_scene(&scene, &acts, &ORDERS[..1]);
        }
    }
}

#[test]
fn each_loss_is_listed_and_takes_place() {
    let listed: BTreeSet<String> = ROWS.iter().map(|(row, _)| (*row).to_owned()).collect();
    same(&documented(), &listed, "the rows of the documents");
    let mut lost = BTreeSet::new();
    let mut names = Vec::new();
    for scene in scenes() {
        names.push(scene.name);
        for pair in PAIRS {
            if scene.is_played_by(pair.agent) {
                let mut expected = Expected::new(pair, OPTIONS.to_vec());
                for act in &scene.acts {
                    expected.play(act);
                }
                expected.shown();
                lost.extend(expected.lost);
            }
        }
    }
    let mut permitted: BTreeSet<Loss> = OF_VERSION_1.into();
    for (row, shown) in ROWS {
        match shown {
            Shown::By(losses) => permitted.extend(*losses),
            Shown::Same(scene) => assert!(names.contains(scene), "{row}: {scene}"),
            Shown::Elsewhere => {}
        }
    }
    same(&permitted, &lost, "the losses of all scenes");
}
