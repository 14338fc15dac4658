//! Wall clocks that leap. Turns stay in the order in which they began, and each event has the time at which it happened.

use acpd_model::{EventKind, Millis, TurnEvent, TurnId};

use crate::support::{Scene, check};

const DAY: Millis = 24 * 60 * 60 * 1000;

fn turn(s: &mut Scene, text: &str) {
    s.prompt(text);
    s.chunk("done");
    s.stops_with("end_turn");
}

#[test]
fn turns_keep_their_order_when_the_clock_leaps() {
    let mut times = Vec::new();
    let scene = check(|s| {
        s.open_session();
        for leap in [0, 400 * DAY, -400 * DAY, -DAY] {
            s.now.wall += leap;
            times.push(s.now.wall);
            turn(s, "go on");
        }
        s.says("rubbish");
    });
    let started = scene
        .log
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Turn(TurnEvent::Started { .. })));
    let started: Vec<Millis> = started.map(|event| event.at).collect();
    assert_eq!(started, times, "a leap dates nothing that comes after it");
    let turns = scene.transcript().into_turns();
    let shown: Vec<_> = turns.iter().filter(|turn| !turn.notes.is_empty()).collect();
    assert_eq!(shown.len(), 1);
    assert_eq!(
        shown[0].id,
        Some(TurnId(4)),
        "the notice is after the newest turn"
    );
    assert_eq!(scene.thread.live().last_turn_shown, Some(TurnId(4)));
    assert_eq!(scene.thread.live().summary.updated_at, times[3]);
}
