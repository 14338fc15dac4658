use std::sync::Arc;

use super::*;
use crate::agent::config::AgentConfig;
use crate::agent::process_table::ProcessTable;
use crate::agent::stalled::STALL;
use crate::metrics::Metrics;
use acpd_model::limits::{AGENT_BURST_BYTES, AGENT_COMMAND_BYTES, AGENT_OUTBOX_BYTES};
use acpd_model::{Limits, RawJson, TurnId};

async fn run(script: &str) -> AgentHandle {
    let limits = Limits {
        agent_exit_grace_secs: 1,
        ..Limits::default()
    };
    let metrics = Arc::new(Metrics::new(Arc::new(acpd_log::Memory::default())));
    let launcher = Launcher::local(limits, metrics);
    let running = ProcessTable::open(launcher.clone());
    run_in(&launcher, &running, script).await
}

/// Runs the script as an agent that must not write more for some time.
async fn run_in_debt(script: &str, debt: Duration, patience: Duration) -> AgentHandle {
    let limits = Limits {
        agent_exit_grace_secs: 1,
        agent_bytes_per_sec: 1 << 20,
        ..Limits::default()
    };
    let metrics = Arc::new(Metrics::new(Arc::new(acpd_log::Memory::default())));
    let launcher = Launcher::local(limits, metrics);
    let running = ProcessTable::open(launcher.clone());
    let handle = run_with(&launcher, &running, script, patience).await;
    owe(&handle, debt);
    handle
}

fn owe(handle: &AgentHandle, debt: Duration) {
    let bytes = AGENT_BURST_BYTES + (usize::try_from(debt.as_secs()).unwrap() << 20);
    handle.process.budget().spend(bytes);
}

async fn run_in(launcher: &Launcher, running: &ProcessTable, script: &str) -> AgentHandle {
    run_with(launcher, running, script, Duration::from_mins(1)).await
}

async fn run_with(
    launcher: &Launcher,
    running: &ProcessTable,
    script: &str,
    patience: Duration,
) -> AgentHandle {
    let config = AgentConfig {
        command: "sh".into(),
        args: vec!["-c".into(), script.into()],
        ..AgentConfig::default()
    };
    let cwd = std::env::temp_dir().display().to_string();
    let start = Start::new("fake", cwd, patience);
    let slot = running.start("sh").await.unwrap();
    let program = config.program(start.cwd.clone().into(), None);
    spawn(launcher, &program, start, slot).unwrap()
}

/// Returns the size of the future that a function returns.
fn size_of_future<A, B, C, D, F>(_: fn(A, B, C, D) -> F) -> usize {
    size_of::<F>()
}

/// A daemon has thousands of idle agents. A future reserves space for its largest step, so box what is rare and
/// large.
#[test]
fn an_idle_agent_needs_little_memory() {
    let sizes = [
        ("the task", size_of_future(Actor::run), 1_280),
        ("the actor", size_of::<Actor>(), 1_344),
    ];
    for (name, size, limit) in sizes {
        assert!(size <= limit, "{name} has {size} bytes (limit {limit})");
    }
}

fn notify(params: &RawJson) -> AgentCommand {
    AgentCommand::Notify {
        method: "_x".into(),
        params: Some(params.clone()),
    }
}

async fn exit_reason(mut handle: AgentHandle) -> String {
    let exited = async {
        loop {
            match handle.receive().await.expect("its end is told") {
                AgentMessage::Exited(exit) => break exit.reason,
                AgentMessage::Events(_) => {}
            }
        }
    };
    let exited = tokio::time::timeout(Duration::from_secs(30), exited).await;
    exited.expect("it is ended")
}

/// Returns the malformed lines that the agent wrote until its end.
async fn words(mut handle: AgentHandle) -> Vec<String> {
    let mut words = Vec::new();
    while let Some(AgentMessage::Events(events)) = handle.receive().await {
        words.extend(events.into_iter().filter_map(|event| match event {
            AgentEvent::Malformed { text, .. } => Some(text),
            _ => None,
        }));
    }
    words
}

#[tokio::test]
async fn processes_of_one_agent_start_one_after_another_and_in_order() {
    let limits = Limits {
        agent_exit_grace_secs: 1,
        agent_starts: 1,
        ..Limits::default()
    };
    let metrics = Arc::new(Metrics::new(Arc::new(acpd_log::Memory::default())));
    let launcher = Launcher::local(limits, metrics);
    let running = ProcessTable::open(launcher.clone());
    let hello = r#"read -r line; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'"#;
    let session =
        r#"read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}'; cat >/dev/null"#;
    let opens = format!("{hello}; {session}");
    // The first one never answers.
    let first = run_in(&launcher, &running, "cat >/dev/null").await;
    let mut second = run_in(&launcher, &running, &opens).await;
    let third = run_in(&launcher, &running, "echo third").await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(first.process.pid() > 0);
    assert_eq!((second.process.pid(), third.process.pid()), (0, 0));
    drop(first);
    let opened = async {
        while let Some(AgentMessage::Events(events)) = second.receive().await {
            if events.iter().any(|event| matches!(event, AgentEvent::Opened(_))) {
                return;
            }
        }
        panic!("it opened no session");
    };
    tokio::time::timeout(Duration::from_secs(30), opened)
        .await
        .unwrap();
    // The second one continues, but does not start any more.
    assert_eq!(words(third).await, ["third"]);
    assert!(second.process.pid() > 0);
}

#[tokio::test]
async fn a_process_that_waits_for_its_start_can_be_stopped() {
    let limits = Limits {
        agent_starts: 1,
        ..Limits::default()
    };
    let metrics = Arc::new(Metrics::new(Arc::new(acpd_log::Memory::default())));
    let launcher = Launcher::local(limits, metrics);
    let running = ProcessTable::open(launcher.clone());
    let _first = run_in(&launcher, &running, "cat >/dev/null").await;
    let second = run_in(&launcher, &running, "echo started").await;
    second.stop();
    assert_eq!(exit_reason(second).await, "it was stopped before its start");
}

#[tokio::test]
async fn the_last_words_of_an_agent_that_is_stopped_are_heard() {
    for script in [
        "cat >/dev/null; echo at the end; printf 'of input'",
        "trap 'echo at the end; printf \"of input\"; exit' TERM; while :; do sleep 0.1; done",
    ] {
        let handle = run(script).await;
        handle.stop();
        assert_eq!(words(handle).await, ["at the end", "of input"], "{script}");
    }
}

/// Answers `initialize` and `session/new`.
const OPENS: &str = r#"read -r line; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}'"#;

/// Waits for an event of the agent.
async fn event(handle: &mut AgentHandle, is_it: fn(&AgentEvent) -> bool) {
    let events = async {
        loop {
            match handle.receive().await {
                Some(AgentMessage::Events(events)) if events.iter().any(is_it) => return,
                Some(AgentMessage::Events(_)) => {}
                ended => panic!("it ended before: {ended:?}"),
            }
        }
    };
    let there = tokio::time::timeout(Duration::from_secs(30), events).await;
    there.expect("the event comes");
}

#[tokio::test]
async fn time_in_debt_does_not_count_for_the_start() {
    let script = format!("{OPENS}; cat >/dev/null");
    let mut handle = run_in_debt(&script, Duration::from_secs(4), Duration::from_secs(2)).await;
    event(&mut handle, |event| matches!(event, AgentEvent::Opened(_))).await;
}

#[tokio::test]
async fn an_agent_in_debt_can_end_a_cancelled_turn() {
    let answer = r#"echo '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"cancelled"}}'"#;
    let script = format!("{OPENS}; read -r line; read -r line; {answer}; cat >/dev/null");
    let mut handle = run_in_debt(&script, Duration::ZERO, Duration::from_mins(1)).await;
    event(&mut handle, |event| matches!(event, AgentEvent::Opened(_))).await;
    owe(&handle, Duration::from_hours(1));
    let prompt = AgentCommand::Prompt {
        turn: TurnId(1),
        prompt: Vec::new(),
        meta: None,
    };
    handle.send_command(prompt, None).await;
    event(&mut handle, |event| *event == AgentEvent::Slowed).await;
    handle.send_command(AgentCommand::Cancel, None).await;
    event(&mut handle, AgentEvent::ends_prompt).await;
}

#[tokio::test]
async fn the_last_words_of_an_agent_in_debt_are_heard() {
    let long = (Duration::from_hours(1), Duration::from_mins(1));
    let handle = run_in_debt("cat >/dev/null; echo at the end", long.0, long.1).await;
    handle.stop();
    assert_eq!(words(handle).await, ["at the end"]);
}

#[test]
fn an_uncharged_answer_uses_the_remaining_room_or_fails() {
    let budget = Budget::default();
    let free = || budget.try_take(u64::from(AGENT_CALL_BYTES)).is_some();
    let answer = |bytes: usize, charge| {
        let result = RawJson::of(&"x".repeat(bytes - 2)).map_err(|_| unreachable!());
        let order = ChargedCommand::new(AgentCommand::Answer { call: 7, result }, charge, &budget);
        let AgentCommand::Answer { call: 7, result } = order.command else {
            panic!("it is another command");
        };
        (result, order.charge)
    };
    let large = AGENT_CALL_BYTES as usize / 2 + 1;
    let (first, charge) = answer(large, None);
    assert!(first.is_ok() && charge.is_some() && !free());
    let (second, none) = answer(large, None);
    assert_eq!(
        second.map_err(|error| error.code),
        Err(ErrorCode::Overloaded.rpc())
    );
    assert!(none.is_none());
    let (small, none) = answer(SMALL_CALL_BYTES, None);
    assert!(small.is_ok() && none.is_none());
    drop(charge);
    // An answer with a charge is charged for its actual size.
    let (_, charge) = answer(10, budget.try_take(u64::MAX));
    assert!(charge.is_some() && budget.try_take(u64::from(AGENT_CALL_BYTES) - 10).is_some());
    drop(charge);
    assert!(free());
}

#[tokio::test]
async fn an_agent_that_reads_nothing_fills_no_memory_and_is_ended() {
    let handle = run("exec sleep 1000").await;
    let text = RawJson::of(&"x".repeat(900 << 10)).unwrap();
    let mut sent = 0;
    while tokio::time::timeout(STALL / 4, handle.send_command(notify(&text), None))
        .await
        .is_ok()
    {
        sent += text.get().len();
        assert!(sent <= AGENT_OUTBOX_BYTES, "{} MiB wait for it", sent >> 20);
    }
    assert!(sent >= AGENT_OUTBOX_BYTES / 2, "there was room");
    // This command waits until the process has ended.
    handle.send_command(notify(&text), None).await;
    let reason = exit_reason(handle).await;
    assert!(reason.contains("stdin"), "{reason}");
}

#[tokio::test]
async fn an_agent_ends_with_its_process_although_a_child_holds_its_output() {
    for (script, reason) in [
        ("sleep 1000 & echo last; exit 3", "sh exited with code 3"),
        ("sleep 1000 & echo last; kill -9 $$", "sh was ended by SIGKILL"),
        // The child has no stdin, so it is no agent.
        ("sleep 1000 </dev/null & echo last", "sh exited with code 0"),
    ] {
        let handle = run(script).await;
        assert_eq!(exit_reason(handle).await, reason, "{script}");
    }
}

#[tokio::test]
async fn an_agent_that_has_closed_its_stdin_is_ended() {
    let handle = run("exec <&-; sleep 1000").await;
    let notification = notify(&RawJson::of(&1).unwrap());
    let sends = async {
        loop {
            handle.send_command(notification.clone(), None).await;
            tokio::task::yield_now().await;
            if handle.commands.is_closed() {
                break;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), sends)
        .await
        .expect("it is ended");
    let reason = exit_reason(handle).await;
    assert!(reason.contains("closed its stdin"), "{reason}");
}

#[tokio::test]
async fn a_thread_waits_for_room_for_so_long_and_no_longer() {
    // The agent reads too little to make room for the rest, but too much to count as stalled.
    let mut handle = run("while :; do head -c 70000 >/dev/null; sleep 0.2; done").await;
    handle.patience = Duration::from_millis(500);
    let large = RawJson::of(&"x".repeat(AGENT_COMMAND_BYTES as usize)).unwrap();
    handle.send_command(notify(&large), None).await;
    assert!(!handle.stop.is_cancelled(), "it fits alone");
    let sent = tokio::time::timeout(Duration::from_secs(30), handle.send_command(notify(&large), None));
    sent.await.expect("it waits no longer");
    assert!(handle.stop.is_cancelled());
}
