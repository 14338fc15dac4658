//! Runs each target on its corpus, and on inputs that are derived from it, always the same ones. `ACPD_FUZZ_INPUTS`
//! sets their number, `ACPD_FUZZ_SEED` the seed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;

use acpd_fuzz::{Mutator, TARGETS, Target};

const INPUTS: u64 = 300;

fn holds(name: &str) {
    let target = Target::find(name).unwrap();
    let mut files: Vec<_> = fs::read_dir(target.corpus())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{name} has no corpus");
    let corpus: Vec<Vec<u8>> = files.iter().map(|path| fs::read(path).unwrap()).collect();
    for (path, input) in files.iter().zip(&corpus) {
        run(target, input, &path.display().to_string());
    }
    let number = |name, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (inputs, seed): (u64, u64) = (number("ACPD_FUZZ_INPUTS", INPUTS), number("ACPD_FUZZ_SEED", 1));
    for number in 0..inputs {
        let input = Mutator::new(seed << 32 | number).derive(&corpus, target.words);
        run(target, &input, &format!("input {number} of seed {seed}"));
    }
}

/// Runs the target; a panic prints the input.
fn run(target: &Target, input: &[u8], which: &str) {
    if let Err(panic) = std::panic::catch_unwind(|| (target.run)(input)) {
        eprintln!("{}: {which}: {:?}", target.name, String::from_utf8_lossy(input));
        std::panic::resume_unwind(panic);
    }
}

macro_rules! targets {
    ($($name:ident)+) => {
        $(
            #[test]
            fn $name() {
                holds(stringify!($name));
            }
        )+

        #[test]
        fn every_target_has_a_test() {
            let tested = [$(stringify!($name)),+];
            assert_eq!(TARGETS.each_ref().map(|target| target.name), tested);
        }
    };
}

targets! {
    agent_lines
    agent_histories
    agent_lines_v2
    app_frames
    acp_messages
    shell_lines
    rules
    unclean_lines
    json_pass_through
    archives
    log_rows
    settings
    certificates
    codex_frames
    exports
    host_names
    credentials
    paths
    tool_calls
    checked_lines
}
