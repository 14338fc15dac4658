//! A connection that is dropped at any point and continues from its last memo is the same as one that is not: the same events, each line
//! to the agent once.

mod acts;
mod kills;
mod plan;
mod recorded;

use acpd_proto::agent::{AcpVersion, AgentEvent};
use proptest::prelude::*;

use self::acts::{Act, act_in_version_1, act_in_version_2, opened};
use self::kills::{Before, Order, Outcome, run};
use self::plan::Plan;

/// Compares a plan that is interrupted with the same one that is not. The order of lines to the agent is not part of it: commands are
/// given again before the lines of the agent.
fn assert_same(plan: &Plan, outcome: &Outcome) {
    assert_eq!(outcome.events, plan.events);
    assert_same_lines(plan, outcome);
}

fn assert_same_lines(plan: &Plan, outcome: &Outcome) {
    let sorted = |lines: &[String]| {
        let mut lines: Vec<&str> = lines
            .iter()
            .map(|line| &line[..line.floor_char_boundary(200)])
            .collect();
        lines.sort_unstable();
        lines.join("\n")
    };
    assert_eq!(sorted(&outcome.lines), sorted(&plan.lines));
}

/// Compares all events in any order.
fn assert_same_set(plan: &Plan, outcome: &Outcome) {
    let sorted = |events: &[AgentEvent]| {
        let mut events: Vec<String> = events.iter().map(|event| format!("{event:?}")).collect();
        events.sort_unstable();
        events
    };
    assert_eq!(sorted(&outcome.events), sorted(&plan.events));
    assert_same_lines(plan, outcome);
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    prop::collection::vec((any::<u8>(), any::<u8>(), any::<u8>()), 1..50)
}

/// What happens before each step. The last entry is repeated.
fn schedule() -> impl Strategy<Value = Vec<Before>> {
    let before = (0u8..3, 0u8..5, 0usize..4).prop_map(|(stores, kill, lost)| Before {
        stores: stores == 0,
        kill: (kill == 0).then_some(lost),
    });
    prop::collection::vec(before, 1..80)
}

fn at(schedule: &[Before], step: usize) -> Before {
    schedule
        .get(step)
        .or(schedule.last())
        .copied()
        .unwrap_or_default()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_agent_of_version_1_is_continued_after_every_kill(capabilities: u16, acts in acts(), schedule in schedule()) {
        let mut player = opened(AcpVersion::One, capabilities);
        for act in acts {
            act_in_version_1(&mut player, act, true);
        }
        let plan = player.finish();
        let outcome = run(&plan, Order::CommandsFirst, |step| at(&schedule, step));
        assert_same(&plan, &outcome);
    }

    #[test]
    fn an_agent_of_version_2_is_continued_after_every_kill(capabilities: u16, acts in acts(), schedule in schedule()) {
        let mut player = opened(AcpVersion::Two, capabilities);
        for act in acts {
            act_in_version_2(&mut player, act);
        }
        let plan = player.finish();
        let outcome = run(&plan, Order::CommandsFirst, |step| at(&schedule, step));
        assert_same(&plan, &outcome);
    }

    /// A thread should give its commands before lines are read. If it does not, nothing is sent twice or lost all the same.
    #[test]
    fn commands_that_come_late_claim_their_answers(capabilities: u16, acts in acts(), schedule in schedule()) {
        let mut player = opened(AcpVersion::One, capabilities);
        for act in acts {
            act_in_version_1(&mut player, act, false);
        }
        let plan = player.finish();
        let outcome = run(&plan, Order::LinesFirst, |step| at(&schedule, step));
        assert_same_set(&plan, &outcome);
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every prefix of one plan, with a kill after each step since.
    #[test]
    fn every_memo_of_a_turn_continues_it(version_2: bool, acts in prop::collection::vec((any::<u8>(), any::<u8>(), any::<u8>()), 1..16)) {
        let version = if version_2 { AcpVersion::Two } else { AcpVersion::One };
        let mut player = opened(version, u16::MAX);
        for act in acts {
            if version_2 {
                act_in_version_2(&mut player, act);
            } else {
                act_in_version_1(&mut player, act, true);
            }
        }
        let plan = player.finish();
        for stored in 0..plan.steps.len() {
            for killed in stored..plan.steps.len() {
                let outcome = run(&plan, Order::CommandsFirst, |step| Before {
                    stores: step == stored,
                    kill: (step == killed).then_some(0),
                });
                assert_same(&plan, &outcome);
            }
        }
    }
}
