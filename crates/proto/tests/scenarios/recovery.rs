//! The daemon is killed after any event, and recovers.

use acpd_model::event::TurnStatus;
use acpd_model::{Event, EventKind, PreviousContent, RequestEvent, TurnId};
use acpd_proto::agent::TerminalExit;
use acpd_proto::projection::Live;
use acpd_proto::thread::{Answer, HostReply, TerminalEvent};

use crate::support::{FULL, Scene, check, check_in, thought, tool};

/// Returns the log of a thread with every kind of event that the state machine writes.
fn rich() -> Vec<Event> {
    let scene = check(|s| {
        s.open_session();
        s.prompt("first");
        s.update(&thought("hm"));
        s.chunk("well");
        s.chunk(", then");
        s.update(r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"","mimeType":"a/b"}}"#);
        let diff = r#"[{"type":"diff","path":"/workspace/a","oldText":"1\n","newText":"2\n"}]"#;
        s.update(&tool(
            "t1",
            false,
            &format!(r#","title":"edit","kind":"edit","content":{diff}"#),
        ));
        s.asks_permission("70", "t1");
        s.decide(1, Answer::Accept { always: false }).unwrap();
        s.update(&tool("t1", true, r#","status":"completed""#));
        s.update(
            r#"{"sessionUpdate":"plan","entries":[{"content":"a","priority":"low","status":"pending"}]}"#,
        );
        s.update(r#"{"sessionUpdate":"usage_update","used":1,"size":2}"#);
        s.update(r#"{"sessionUpdate":"current_mode_update","currentModeId":"ask"}"#);
        s.update(r#"{"sessionUpdate":"config_option_update","configOptions":[]}"#);
        s.update(r#"{"sessionUpdate":"available_commands_update","availableCommands":[]}"#);
        s.update(r#"{"sessionUpdate":"session_info_update","title":"A title"}"#);
        s.update(r#"{"sessionUpdate":"hologram"}"#);
        s.says("rubbish");
        let queued = s.prompt("second");
        let dropped = s.prompt("dropped");
        s.interrupt_turn(Some(dropped)).unwrap();
        s.script.extend([
            Ok(HostReply::Written {
                old: PreviousContent::Nothing,
            }),
            Ok(HostReply::Read { content: "x".into() }),
            Ok(HostReply::Created),
        ]);
        s.calls(
            "71",
            "fs/write_text_file",
            r#"{"sessionId":"s-1","path":"/workspace/b","content":"b"}"#,
        );
        s.calls(
            "72",
            "fs/read_text_file",
            r#"{"sessionId":"s-1","path":"/workspace/b"}"#,
        );
        s.calls("73", "terminal/create", r#"{"sessionId":"s-1","command":"make"}"#);
        s.calls("74", "_vendor/x", "{}");
        let terminal = s.answer_to(&73.into())["result"]["terminalId"]
            .as_str()
            .unwrap()
            .to_owned();
        s.terminal_says(&terminal, TerminalEvent::Output("building\n".into()));
        s.stops_with("end_turn");
        assert_eq!(s.thread.live().turn.unwrap().id, queued);
        s.terminal_says(
            &terminal,
            TerminalEvent::Exited {
                exit: TerminalExit {
                    code: Some(0),
                    signal: None,
                },
                output: "building\n".into(),
                truncated: false,
            },
        );
        s.chunk("on it");
        s.update(&tool(
            "t2",
            false,
            r#","title":"sleep","kind":"execute","status":"in_progress""#,
        ));
        s.asks_permission("75", "t2");
        s.asks_permission("76", "t3");
        s.prompt("third");
        s.interrupt();
        s.chunk("fine");
        s.stops_with("cancelled");
        s.calls("77", "terminal/create", r#"{"sessionId":"s-1","command":"top"}"#);
        s.host_replies(Ok(HostReply::Created));
        s.chunk("third answer");
        s.asks_permission("78", "t4");
        s.exits("killed");
        s.prompt("fourth");
        s.answer("initialize", FULL);
        s.refuse("session/resume", -32601, "no");
        s.refuse("session/load", -32601, "no");
        s.answer("session/new", r#"{"sessionId":"s-2"}"#);
        s.chunk("who are you?");
        s.stops_with("end_turn");
    });
    scene.log
}

/// Starts the agent again, and ends every queued turn.
fn works_again(scene: &mut Scene) {
    if scene.awaits("initialize") {
        scene.answer("initialize", FULL);
        let way = ["session/resume", "session/new"]
            .into_iter()
            .find(|way| scene.awaits(way));
        scene.answer(way.unwrap(), r#"{"sessionId":"s-3"}"#);
        scene.later(100);
    }
    while scene.awaits("session/prompt") {
        scene.stops_with("end_turn");
    }
}

#[test]
fn after_any_event() {
    let log = rich();
    for cut in 1..=log.len() {
        let prefix = &log[..cut];
        let mut before = Live::new(Scene::new().id);
        for event in prefix {
            before.fold(event);
        }
        check_in(Scene::restarted(prefix), |s| {
            assert_eq!(s.log[..cut], *prefix, "what was stored stays");
            let live = s.thread.live();
            if let Some(turn) = before.turn {
                let (status, _, error) = s.ending(turn.id);
                let expected = match turn.interrupted {
                    Some(_) => (TurnStatus::Interrupted, None),
                    None => (
                        TurnStatus::Interrupted,
                        Some("acpd was restarted while this turn was running"),
                    ),
                };
                assert_eq!((status, error), expected, "cut after {cut}");
                assert_eq!(live.summary.cut_off, error.is_some(), "cut after {cut}");
            }
            assert!(
                live.requests.is_empty(),
                "cut after {cut}: nobody waits for an answer any more"
            );
            assert!(live.items.is_empty(), "cut after {cut}: {:?}", live.items);
            let next = before.queue.front().map(|queued| queued.id);
            assert_eq!(live.turn.map(|turn| turn.id), next, "who waited goes on");
            for number in before.requests.keys() {
                let void = |kind: &EventKind| matches!(kind, EventKind::Request(RequestEvent::Voided { request, .. }) if request.number == *number);
                assert!(s.kinds().any(void), "cut after {cut}");
            }
            works_again(s);
            let turn = s.prompt("are you there?");
            assert_eq!(turn, TurnId(before.summary.turns + 1));
            works_again(s);
            assert_eq!(s.status(turn), TurnStatus::Completed, "cut after {cut}");
        });
    }
}

#[test]
fn after_a_second_crash_during_the_recovery() {
    let log = rich();
    for cut in (1..=log.len()).step_by(5) {
        let once = check_in(Scene::restarted(&log[..cut]), |_| {});
        for again in cut..=once.log.len() {
            check_in(Scene::restarted(&once.log[..again]), |s| {
                works_again(s);
                let turn = s.prompt("still there?");
                works_again(s);
                assert_eq!(s.status(turn), TurnStatus::Completed);
            });
        }
    }
}

#[test]
fn a_thread_at_rest_says_nothing_when_it_comes_back() {
    let log = rich();
    check_in(Scene::restarted(&log), |s| {
        assert_eq!(s.log.len(), log.len());
        assert!(s.agent.is_none(), "no agent is started for nothing");
    });
}

#[test]
fn the_rich_log_has_every_kind() {
    let mut kinds: Vec<String> = rich()
        .iter()
        .map(|event| {
            let kind = serde_json::to_value(&event.kind).unwrap();
            kind.as_object().unwrap().keys().next().unwrap().clone()
        })
        .collect();
    kinds.sort();
    kinds.dedup();
    assert_eq!(
        kinds,
        [
            "agentBound",
            "agentLost",
            "agentNotified",
            "callRefused",
            "commandsReplaced",
            "configOptionsReplaced",
            "diffUpdated",
            "fileRead",
            "fileWritten",
            "interruptRequested",
            "itemCompleted",
            "itemContent",
            "itemDelta",
            "itemStarted",
            "itemUpdated",
            "lineMalformed",
            "modeChanged",
            "noticeGiven",
            "permissionRequested",
            "planReplaced",
            "requestSettled",
            "requestVoided",
            "sessionInfoUpdated",
            "statusChanged",
            "terminalOutput",
            "threadCreated",
            "turnQueued",
            "turnSettled",
            "turnStarted",
            "usageUpdated",
            "userMessageAdded",
        ]
    );
}
