//! Many kills at random moments of streaming turns.

use super::{Survivor, left, words};

const KILLS: u32 = 30;
const WORDS: usize = 400;

/// Returns numbers that look random and are the same in each run.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn thirty_kills_at_random_moments_lose_and_repeat_nothing() {
    let mut one = Survivor::new();
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let script = format!("stream n={WORDS} ms=2");
    let mut turn = one.start(&script);
    let processes = one.processes();
    for _ in 0..KILLS {
        // Some kills come before the first message of a turn.
        for _ in 0..random(&mut state) % 40 {
            if one.client.next().method == "turn/completed" {
                complete(&mut one, &turn);
                turn = one.start(&script);
            }
        }
        one.kill();
        // Its end may be among what the subscriber read after the kill.
        if one.has_seen_end_of(&turn) {
            complete(&mut one, &turn);
            turn = one.start(&script);
        }
    }
    complete(&mut one, &turn);
    assert_eq!(one.processes(), processes, "one process has done it all");
    assert_eq!(one.daemon.stop().code(), Some(0));
    one.wait_for_nothing(&processes);
    assert!(left(&one.daemon.place).is_empty());
}

fn complete(one: &mut Survivor, turn: &str) {
    let end = one.finish(turn);
    assert_eq!(end.status(), "completed", "{:?}", end.end);
    assert_eq!(end.said(), words(WORDS), "{turn}");
}
