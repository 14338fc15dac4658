//! Wall clocks that leap. The order of turns and events stays.

use acpd_model::{Millis, TurnId};
use acpd_proto::projection::Transcript;

use crate::support::{Scene, check};

const DAY: Millis = 24 * 60 * 60 * 1000;

fn turn(s: &mut Scene, text: &str) {
    s.prompt(text);
    s.chunk("done");
    s.stops_with("end_turn");
}

#[test]
fn turns_and_events_keep_their_order_when_the_clock_leaps() {
    let scene = check(|s| {
        s.open_session();
        for leap in [0, -400 * DAY, 800 * DAY, -400 * DAY] {
            s.now.wall += leap;
            turn(s, "go on");
        }
    });
    let times = scene.log.iter().map(|event| event.at);
    assert!(times.is_sorted());
    let mut transcript = Transcript::new(scene.id);
    for event in &scene.log {
        transcript.fold(event);
    }
    let turns = transcript.into_turns();
    let started: Vec<_> = turns
        .iter()
        .filter_map(|turn| turn.started_at.zip(turn.id))
        .collect();
    assert!(started.is_sorted());
    assert_eq!(started.last().map(|(_, turn)| *turn), Some(TurnId(4)));
    let live = scene.thread.live();
    assert_eq!(live.last_turn_shown.map(|(_, turn)| turn), Some(TurnId(4)));
    assert_eq!(live.summary.updated_at, live.last_at);
}
