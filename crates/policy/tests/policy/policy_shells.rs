//! The policy's analysis agrees with real shells: random lines are judged first and then run by each shell.
//!
//! `ACPD_SHELLS` names the shells, `ACPD_SHELL_LINES` is the number of lines, `ACPD_SHELL_SEED` selects them.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "real shells run real lines here"
)]

use std::path::Path;

use crate::grammar::Dice;
use crate::judges::not_tested::not_tested;
use crate::judges::{Judges, Policies, shells};

const LINES: u64 = 2_000;
/// Of the lines that no policy lets pass, one in so many runs, to know that they would do harm.
const SAMPLE: u64 = 16;

#[test]
fn shells_run_nothing_that_the_policy_did_not_allow() {
    let number = |name, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (lines, seed) = (number("ACPD_SHELL_LINES", LINES), number("ACPD_SHELL_SEED", 1));
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("shells-{seed}"));
    let shells = shells();
    if shells.is_empty() {
        not_tested("no shell is installed that could judge");
    }
    let judges = Judges::new(shells, &home);
    let policies = Policies::new();
    let (mut wrong, mut allowed, mut sampled, mut harmful) = (String::new(), 0, 0, 0);
    for number in 0..lines {
        let line = Dice::new(seed << 32 | number).line();
        let decided = policies.decide(&line);
        allowed += u64::from(decided.by_rule);
        let is_sample = number % SAMPLE == 0;
        if line.contains('\0') || !(decided.by_rule || decided.by_default || is_sample) {
            continue;
        }
        let done = judges.run(&line);
        wrong.extend(done.iter().filter_map(|done| done.wrong(decided)));
        sampled += u64::from(is_sample);
        harmful += u64::from(is_sample && done.iter().any(super::judges::Done::ran_evil));
    }
    println!("{lines} lines, {allowed} allowed; of {sampled} at random, {harmful} ran what no rule allows");
    assert!(wrong.is_empty(), "\n{wrong}");
    // The test is meaningful only if enough lines are allowed, and enough have forbidden effects.
    assert!(
        allowed > lines / 50 && harmful > sampled / 50,
        "{allowed} of {lines}, {harmful} of {sampled}"
    );
}
