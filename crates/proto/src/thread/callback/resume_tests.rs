//! Kills of the daemon at each stage of a call.

use std::cell::RefCell;

use acpd_model::event::{ClientOrigin, LeaseMove};
use acpd_model::limits::AGENT_CALLS;
use acpd_model::{
    BlobId, ErrorCode, EventKind, Failure, HostEvent, ItemEvent, ItemOutcome, LaneId, Origin,
    PreviousContent, RawJson, SessionEvent, ThreadEvent, TurnId,
};
use serde_json::json;

use super::{Callbacks, CallbacksMemo};
use crate::agent::{Call, TerminalExit};
use crate::thread::command::TerminalAct;
use crate::thread::editors::EditorCapabilities;
use crate::thread::host_call::{HostCall, HostReply, TerminalEvent};
use crate::thread::journal::{Journal, Kept};
use crate::thread::restart::{Due, Log, due, journal, reread};
use crate::wire::RpcError;

/// The callbacks of a daemon, and its log.
struct Daemon {
    journal: Journal,
    callbacks: Callbacks,
    log: Log,
}

impl Daemon {
    fn new() -> Self {
        Self {
            journal: journal(),
            callbacks: Callbacks::default(),
            log: Log::default(),
        }
    }

    /// The agent makes a call that is allowed. Returns its number.
    fn calls(&mut self, request: Call) -> u64 {
        let call = self.admits(&request);
        self.callbacks.run(&mut self.journal, call, request, None);
        call
    }

    fn admits(&mut self, request: &Call) -> u64 {
        let call = self.callbacks.count(self.callbacks.count - self.callbacks.before);
        self.callbacks
            .admit(&mut self.journal, call, request, None, 0, |_| false);
        call
    }

    fn replies(&mut self, call: u64, result: Result<HostReply, Failure>) {
        self.callbacks.host_replied(&mut self.journal, call, result);
    }

    fn due(&mut self) -> Due {
        due(&mut self.journal)
    }

    fn memo(&mut self) -> CallbacksMemo {
        self.log.store(&mut self.journal);
        self.callbacks.memo()
    }

    /// Kills the daemon, whose effects since the last append may be lost, and starts the next one.
    fn killed(mut self) -> Self {
        let memo = reread(&self.memo());
        self.next(memo)
    }

    fn next(self, memo: CallbacksMemo) -> Self {
        let mut journal = self.log.next();
        let mut callbacks = Callbacks::default();
        callbacks.resume(&mut journal, memo, &|kept| self.log.recall(kept));
        Self {
            journal,
            callbacks,
            log: self.log,
        }
    }

    /// Returns how the items have ended.
    fn outcomes(&mut self) -> Vec<ItemOutcome> {
        self.log.store(&mut self.journal);
        let ends = self.log.events.iter().filter_map(|event| match event.kind {
            EventKind::Item(ItemEvent::Completed { outcome, .. }) => Some(outcome),
            _ => None,
        });
        ends.collect()
    }

    fn count(&mut self, is_it: impl Fn(&EventKind) -> bool) -> usize {
        self.log.store(&mut self.journal);
        let events = self.log.events.iter();
        events.filter(|event| is_it(&event.kind)).count()
    }
}

fn read(path: &str) -> Call {
    Call::ReadFile {
        path: path.to_owned(),
        line: Some(2),
        limit: None,
    }
}

fn write(content: &str) -> Call {
    Call::WriteFile {
        path: "/w/f".to_owned(),
        content: content.to_owned(),
    }
}

fn create(env: &str) -> Call {
    Call::CreateTerminal {
        command: "make".to_owned(),
        args: vec!["all".to_owned()],
        env: vec![("A".to_owned(), env.to_owned())],
        cwd: Some("/w".to_owned()),
        output_byte_limit: Some(1000),
    }
}

fn editor() -> Origin {
    Origin::Client(Box::new(ClientOrigin {
        principal: "p".to_owned(),
        client: "Zed".to_owned(),
    }))
}

fn attach(daemon: &mut Daemon) {
    let abilities = EditorCapabilities {
        reads_files: true,
        writes_files: true,
        terminals: true,
        ..EditorCapabilities::default()
    };
    daemon
        .callbacks
        .attach(&mut daemon.journal, editor(), "c", abilities);
}

fn failure(code: ErrorCode) -> Failure {
    Failure::new(code, "no")
}

fn is_unknown(answer: &Result<RawJson, RpcError>) -> bool {
    matches!(answer, Err(error) if error.message.contains("it is not known whether"))
}

fn is_file_read(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Host(HostEvent::FileRead { .. }))
}

#[test]
fn repeatable_operations_are_done_again_and_answered_once() {
    let terminal_id = || "term_9".to_owned();
    let output = HostReply::Output {
        output: "x".to_owned(),
        truncated: false,
        exit: None,
    };
    let content = "text".to_owned();
    let calls = [
        (read("/w/f"), HostReply::Read { content }),
        (
            Call::TerminalOutput {
                terminal_id: terminal_id(),
            },
            output,
        ),
        (
            Call::WaitForTerminalExit {
                terminal_id: terminal_id(),
            },
            HostReply::Exited(TerminalExit::default()),
        ),
        (
            Call::KillTerminal {
                terminal_id: terminal_id(),
            },
            HostReply::Done,
        ),
        (
            Call::ReleaseTerminal {
                terminal_id: terminal_id(),
            },
            HostReply::Done,
        ),
    ];
    for (request, reply) in calls {
        let mut alive = Daemon::new();
        let call = alive.calls(request);
        let asked = alive.due();
        assert_eq!(asked.host.len(), 1);
        let mut next = alive.killed();
        assert_eq!(next.due(), asked);
        // A second kill before the reply.
        let mut next = next.killed();
        assert_eq!(next.due(), asked);
        next.replies(call, Ok(reply));
        assert_eq!(next.due().answers.len(), 1);
        next.replies(call, Ok(HostReply::Done));
        assert_eq!(next.due(), Due::default());
        assert!(!next.callbacks.has_agent_waiting());
    }
}

#[test]
fn a_write_that_had_begun_is_compared_and_never_repeated() {
    let content = "x".repeat(100_000);
    let answers = [
        (Some(content.clone()), true),
        (None, false),
        // A host that returns another text changes nothing.
        (Some("y".repeat(100_000)), false),
    ];
    for (text, is_done) in answers {
        let mut alive = Daemon::new();
        let call = alive.calls(write(&content));
        alive.due();
        let memo = alive.memo();
        assert!(serde_json::to_string(&memo).unwrap().len() < 400);
        assert!(alive.log.blobs.is_empty());
        let mut next = alive.killed();
        let asked = next.due();
        let check = HostCall::CheckWritten {
            path: "/w/f".to_owned(),
            at: None,
            hash: BlobId::of(content.as_bytes()),
            bytes: 100_000,
        };
        assert_eq!(asked.host, [(call, check)]);
        let mut next = next.killed();
        assert_eq!(next.due(), asked);
        next.replies(call, Ok(HostReply::Checked { text }));
        let answers = next.due().answers;
        let [(_, answer)] = &answers[..] else {
            panic!("{answers:?}")
        };
        assert_eq!(answer.is_ok(), is_done);
        assert_eq!(is_unknown(answer), !is_done);
        let outcome = if is_done {
            ItemOutcome::Completed
        } else {
            ItemOutcome::Failed
        };
        assert_eq!(next.outcomes(), [outcome]);
        let written = next.count(|kind| matches!(kind, EventKind::Host(HostEvent::FileWritten { .. })));
        assert_eq!(written, usize::from(is_done));
    }
    // A file that cannot be read shows nothing either.
    let mut alive = Daemon::new();
    let call = alive.calls(write("new"));
    let mut next = alive.killed();
    next.due();
    next.replies(call, Err(failure(ErrorCode::NotFound)));
    assert!(is_unknown(&next.due().answers[0].1));
}

#[test]
fn a_write_that_is_recorded_is_only_answered_again() {
    let mut alive = Daemon::new();
    let call = alive.calls(write("new"));
    let old = PreviousContent::Nothing;
    alive.replies(call, Ok(HostReply::Written { old }));
    let mut next = alive.killed();
    let again = next.due();
    assert_eq!(again.answers, [(call, Ok(RawJson::trusted("{}")))]);
    assert!(again.host.is_empty());
    assert_eq!(next.outcomes(), [ItemOutcome::Completed]);
    next.callbacks.answers_sent(1);
    assert_eq!(next.killed().due(), Due::default());
}

#[test]
fn a_command_starts_at_most_once() {
    for env in ["small".to_owned(), "x".repeat(40_000)] {
        let mut alive = Daemon::new();
        let call = alive.calls(create(&env));
        let first = alive.due();
        let memo = alive.memo();
        assert!(serde_json::to_string(&memo).unwrap().len() < 800);
        assert_eq!(memo.terminals().collect::<Vec<_>>(), [("term_1", 1000)]);
        let mut next = alive.killed();
        let terminal_id = "term_1".to_owned();
        let search = next.due();
        assert_eq!(search.host, [(call, HostCall::FindTerminal { terminal_id })]);
        let mut next = next.killed();
        assert_eq!(next.due(), search);
        // It was not started, and the next daemon is killed while it starts it.
        next.replies(call, Err(failure(ErrorCode::NotFound)));
        assert_eq!(next.due(), first);
        let mut next = next.killed();
        assert_eq!(next.due(), search);
        next.replies(call, Ok(HostReply::Created));
        let answers = next.due().answers;
        assert_eq!(answers, [(call, Ok(json!({ "terminalId": "term_1" }).into()))]);
        let started = |kind: &EventKind| matches!(kind, EventKind::Item(ItemEvent::Started { .. }));
        assert_eq!(next.count(started), 1);
        // From now on the terminal is in the log.
        next.callbacks.answers_sent(1);
        assert_eq!(next.killed().due(), Due::default());
    }
}

#[test]
fn a_command_is_not_started_where_that_is_not_certain_to_be_right() {
    // The host does not know.
    let mut alive = Daemon::new();
    let call = alive.calls(create(""));
    let mut next = alive.killed();
    next.due();
    next.replies(call, Err(failure(ErrorCode::Conflict)));
    let due = next.due();
    assert!(is_unknown(&due.answers[0].1) && due.host.is_empty());
    // What was to be started is lost.
    let mut alive = Daemon::new();
    let call = alive.calls(create(&"x".repeat(40_000)));
    let memo = reread(&alive.memo());
    assert_eq!(memo.kept().filter_map(Kept::blob).count(), 1);
    alive.log.blobs.clear();
    let mut next = alive.next(memo);
    next.due();
    next.replies(call, Err(failure(ErrorCode::NotFound)));
    let due = next.due();
    assert!(due.answers[0].1.is_err() && due.host.is_empty());
    // The agent has exited, or does not want it any more.
    let leave: [fn(&mut Daemon, u64); 2] = [
        |daemon, _| daemon.callbacks.abandon(&mut daemon.journal),
        |daemon, call| daemon.callbacks.withdraw(&mut daemon.journal, call),
    ];
    for leave in leave {
        let mut alive = Daemon::new();
        let call = alive.calls(create(""));
        let mut next = alive.killed();
        leave(&mut next, call);
        let mut next = next.killed();
        next.due();
        next.replies(call, Err(failure(ErrorCode::NotFound)));
        assert!(next.due().host.is_empty());
        assert_eq!(next.memo().terminals().count(), 0);
    }
}

#[test]
fn a_long_result_is_returned_again_and_recorded_once() {
    let mut alive = Daemon::new();
    let call = alive.calls(read("/w/f"));
    let asked = alive.due();
    let content = "x".repeat(100_000);
    let reply = HostReply::Read { content };
    alive.replies(call, Ok(reply.clone()));
    let first = alive.due();
    assert!(serde_json::to_string(&alive.memo()).unwrap().len() < 400);
    assert!(alive.log.blobs.is_empty());
    let mut next = alive.killed();
    assert_eq!(next.due(), asked);
    let mut next = next.killed();
    assert_eq!(next.due(), asked);
    next.replies(call, Ok(reply));
    assert_eq!(next.due(), first);
    assert_eq!(next.count(is_file_read), 1);
    // The file is gone meanwhile: the agent gets the error, and the log has nothing new.
    let mut next = next.killed();
    next.due();
    next.replies(call, Err(failure(ErrorCode::Forbidden)));
    assert!(next.due().answers[0].1.is_err());
    let refused = |kind: &EventKind| matches!(kind, EventKind::Session(SessionEvent::CallRefused { .. }));
    assert_eq!(next.count(refused), 0);
}

#[test]
fn a_long_answer_of_a_person_is_in_a_blob() {
    let mut alive = Daemon::new();
    let raw = RawJson::trusted("{}");
    let message = "?".to_owned();
    let call = alive.admits(&Call::Elicit { message, raw });
    let content = json!({ "action": "accept", "content": "x".repeat(50_000) });
    let answer = Ok(RawJson::from(content));
    alive.callbacks.answer(&mut alive.journal, call, answer.clone());
    assert!(serde_json::to_string(&alive.memo()).unwrap().len() < 400);
    let memo = reread(&alive.memo());
    let mut next = alive.killed();
    assert_eq!(next.due().answers, [(call, answer.clone())]);
    let mut next = next.killed();
    assert_eq!(next.due().answers, [(call, answer)]);
    // Without the blob, the agent gets an error.
    next.log.blobs.clear();
    let mut next = next.next(memo);
    assert!(next.due().answers[0].1.is_err());
}

#[test]
fn answers_that_are_sent_are_forgotten_in_their_order() {
    let mut alive = Daemon::new();
    let mut calls = Vec::new();
    for number in 0..4 {
        let call = alive.calls(read(&format!("/w/{number}")));
        let content = number.to_string();
        alive.replies(call, Ok(HostReply::Read { content }));
        calls.push(call);
    }
    let all = alive.due().answers;
    alive.callbacks.answers_sent(3);
    let mut next = alive.killed();
    assert_eq!(next.due().answers, all[3..]);
    // The next daemon counts anew.
    next.callbacks.answers_sent(0);
    let mut next = next.killed();
    assert_eq!(next.due().answers, all[3..]);
    next.callbacks.answers_sent(1);
    assert_eq!(next.killed().due(), Due::default());
}

#[test]
fn calls_that_an_editor_had_are_taken_over_as_when_it_leaves() {
    let extension = Call::Extension {
        method: "_x".to_owned(),
        params: None,
    };
    let calls = [read("/w/f"), write("new"), create(""), extension];
    let mut alive = Daemon::new();
    attach(&mut alive);
    let calls = calls.map(|call| alive.calls(call));
    assert_eq!(alive.due(), Due::default());
    let mut next = alive.killed();
    let first = next.due();
    let path = "/w/f".to_owned();
    let (at, line, limit) = (None, Some(2), None);
    let what = HostCall::ReadFile {
        path,
        at,
        line,
        limit,
    };
    assert_eq!(first.host, [(calls[0], what)]);
    let answered: Vec<u64> = first.answers.iter().map(|(call, _)| *call).collect();
    assert_eq!(answered, calls[1..]);
    assert!(is_unknown(&first.answers[0].1) && is_unknown(&first.answers[1].1));
    assert!(first.answers.iter().all(|(_, answer)| answer.is_err()));
    assert_eq!(next.outcomes(), [ItemOutcome::Failed]);
    let moved = |kind: &EventKind| {
        let why = LeaseMove::Restarted;
        matches!(kind, EventKind::Thread(ThreadEvent::LeaseMoved { holder: None, why: w }) if *w == why)
    };
    assert_eq!(next.count(moved), 1);
    // A kill after that repeats what the agent may not have, and no event.
    let events = next.log.events.len();
    let mut next = next.killed();
    assert_eq!(next.due().answers, first.answers);
    next.memo();
    assert_eq!(next.log.events.len(), events);
}

#[test]
fn a_kill_before_the_events_of_the_resume_are_stored_resumes_alike() {
    let mut alive = Daemon::new();
    attach(&mut alive);
    alive.calls(write("new"));
    alive.calls(create(""));
    let memo = reread(&alive.memo());
    let mut next = alive.next(memo.clone());
    let first = next.due();
    // Nothing of it reached the log.
    let mut again = next.next(memo);
    assert_eq!(again.due(), first);
    assert_eq!(again.outcomes(), [ItemOutcome::Failed]);
}

/// Returns a daemon whose agent has a terminal in an editor.
fn with_terminal_in_editor() -> Daemon {
    let mut alive = Daemon::new();
    attach(&mut alive);
    let call = alive.calls(create(""));
    let made = Ok(json!({ "terminalId": "its" }).into());
    alive
        .callbacks
        .editor_answered(&mut alive.journal, "c", call, made);
    alive.due();
    alive.callbacks.answers_sent(1);
    alive
}

#[test]
fn a_terminal_in_an_editor_is_lost_with_the_daemon() {
    let terminal_id = || "term_1".to_owned();
    let mut alive = with_terminal_in_editor();
    let wait = alive.calls(Call::WaitForTerminalExit {
        terminal_id: terminal_id(),
    });
    assert_eq!(alive.memo().terminals().count(), 0);
    let mut next = alive.killed();
    let answers = next.due().answers;
    assert!(
        matches!(&answers[..], [(call, Ok(_))] if *call == wait),
        "{answers:?}"
    );
    // Whether the command has ended is not known.
    assert_eq!(next.outcomes(), [ItemOutcome::Interrupted]);
    next.callbacks.answers_sent(1);
    // The agent learns that of its terminal later, too, over another kill.
    let mut next = next.killed();
    let later = next.calls(Call::TerminalOutput {
        terminal_id: terminal_id(),
    });
    let due = next.due();
    assert!(
        matches!(&due.answers[..], [(call, Ok(_))] if *call == later),
        "{due:?}"
    );
    assert!(due.host.is_empty());
}

#[test]
fn a_release_that_waits_for_an_editor_is_answered_once() {
    let mut alive = with_terminal_in_editor();
    let terminal_id = "term_1".to_owned();
    let release = alive.calls(Call::ReleaseTerminal { terminal_id });
    assert_eq!(alive.due(), Due::default());
    let mut next = alive.killed();
    let first = next.due();
    assert!(
        matches!(&first.answers[..], [(call, Ok(_))] if *call == release),
        "{first:?}"
    );
    assert_eq!(next.outcomes(), [ItemOutcome::Interrupted]);
    let mut next = next.killed();
    assert_eq!(next.due(), first);
    assert_eq!(next.outcomes(), [ItemOutcome::Interrupted]);
}

#[test]
fn commands_of_users_end_and_terminals_of_the_agent_continue() {
    let mut alive = Daemon::new();
    let call = alive.calls(create(""));
    alive.replies(call, Ok(HostReply::Created));
    alive.callbacks.answers_sent(1);
    alive
        .callbacks
        .start_user_command(&mut alive.journal, editor(), "top".to_owned(), TurnId(1));
    let terminal_id = "term_1".to_owned();
    let act = TerminalAct::TypeIn("y".to_owned());
    alive
        .callbacks
        .use_terminal(&mut alive.journal, 7, editor(), terminal_id.clone(), act);
    let mut next = alive.killed();
    assert_eq!(next.due(), Due::default());
    assert_eq!(next.outcomes(), [ItemOutcome::Interrupted]);
    assert!(!next.callbacks.has_user_commands(None));
    let event = TerminalEvent::Exited {
        exit: TerminalExit {
            code: Some(0),
            signal: None,
        },
        output: "done".to_owned(),
        truncated: false,
    };
    next.callbacks
        .handle_terminal(&mut next.journal, &terminal_id, event);
    assert_eq!(
        next.outcomes(),
        [ItemOutcome::Interrupted, ItemOutcome::Completed]
    );
    assert!(next.memo().terminals().next().is_none());
}

#[test]
fn a_call_of_a_subagent_stays_one() {
    let mut alive = Daemon::new();
    let lane = LaneId::new(3);
    alive.journal.set_lane(lane);
    let call = alive.calls(write("new"));
    alive.journal.set_lane(None);
    let mut next = alive.killed();
    assert_eq!(next.callbacks.lane_of(call), lane);
    assert_eq!(next.journal.lane(), None);
    next.due();
    next.replies(call, Ok(HostReply::Checked { text: None }));
    assert_eq!(next.callbacks.lane_of(call), None);
}

#[test]
fn numbers_of_calls_and_terminals_continue() {
    let mut alive = Daemon::new();
    let first = alive.calls(create(""));
    alive.replies(first, Ok(HostReply::Created));
    alive.callbacks.abandon(&mut alive.journal);
    alive.callbacks.start_process();
    let second = alive.calls(read("/w/f"));
    let mut next = alive.killed();
    let content = String::new();
    next.due();
    next.replies(second, Ok(HostReply::Read { content }));
    // The connection counts the calls of its own process.
    assert_eq!(next.due().answers[0].0, 0);
    let third = next.calls(read("/w/g"));
    assert!(first < second && second < third);
    // Nothing of the first process is answered.
    next.callbacks
        .answer(&mut next.journal, first, Ok(RawJson::trusted("{}")));
    assert!(next.due().answers.is_empty());
}

#[test]
fn ten_thousand_calls_make_no_large_memo() {
    let mut alive = Daemon::new();
    let path = format!("/{}", "x".repeat(4000));
    let env = "e".repeat(15_000);
    for number in 0_u64..10_000 {
        let request = if number % 2 == 0 {
            create(&env)
        } else {
            read(&path)
        };
        let is_admitted = alive.callbacks.tasks.len() < AGENT_CALLS;
        let call = alive.admits(&request);
        if is_admitted {
            alive.callbacks.run(&mut alive.journal, call, request, None);
        }
    }
    let length = |daemon: &mut Daemon| serde_json::to_string(&daemon.memo()).unwrap().len();
    // 256 calls with a path each, and 1024 answers with an error each.
    assert!(length(&mut alive) < 2 << 20, "{}", length(&mut alive));
    assert!(!alive.callbacks.is_resumable());
    // An agent that reads its answers leaves the calls alone.
    alive.callbacks.answers_sent(10_000);
    assert!(alive.callbacks.is_resumable());
    assert!(length(&mut alive) < 1 << 20, "{}", length(&mut alive));
}

#[test]
fn without_a_held_agent_nothing_is_noted() {
    let mut alive = Daemon::new();
    alive.journal.keep_exact(false);
    alive.calls(create(&"x".repeat(40_000)));
    let call = alive.calls(read("/w/f"));
    let content = "x".to_owned();
    alive.replies(call, Ok(HostReply::Read { content }));
    assert!(alive.memo().answers.is_empty());
    assert!(alive.log.blobs.is_empty());
}

#[test]
fn an_empty_memo_is_an_empty_object() {
    let memo = Callbacks::default().memo();
    assert_eq!(serde_json::to_string(&memo).unwrap(), "{}");
    assert!(memo.is_intact());
}

/// Returns a daemon with a call at each stage.
fn busy() -> Daemon {
    let mut alive = Daemon::new();
    alive.calls(read("/w/f"));
    alive.calls(write("new"));
    alive.calls(create("e"));
    let call = alive.calls(read("/w/g"));
    let content = "text".to_owned();
    alive.replies(call, Ok(HostReply::Read { content }));
    attach(&mut alive);
    alive.calls(write("other"));
    alive.calls(create("f"));
    alive
}

#[test]
fn a_damaged_memo_starts_nothing_and_never_panics() {
    let mut alive = busy();
    let memo = alive.memo();
    let text = serde_json::to_string(&memo).unwrap();
    let allowed = {
        let mut next = Daemon::new();
        next.log.events.clone_from(&alive.log.events);
        next.next(reread(&memo)).due()
    };
    let log = RefCell::new(alive.log);
    let check = |text: &str| {
        let Ok(damaged) = serde_json::from_str::<CallbacksMemo>(text) else {
            return;
        };
        if damaged == memo {
            return;
        }
        assert!(!damaged.is_intact(), "{text}");
        let mut journal = log.borrow().next();
        let mut callbacks = Callbacks::default();
        callbacks.resume(&mut journal, damaged, &|kept| log.borrow().recall(kept));
        let due = due(&mut journal);
        assert!(due.host.is_empty() && due.answers.is_empty(), "{text}");
        callbacks.count(0);
    };
    for at in 0..text.len() {
        for with in ["", "0", "9", "z", "-", "null", "99999999999999999999", "\"x\":1,"] {
            let mut damaged = text.clone();
            damaged.replace_range(at..=at, with);
            check(&damaged);
        }
        check(&text[..at]);
    }
    assert!(!allowed.host.is_empty() && !allowed.answers.is_empty());
    // Another version has a member that this one does not know.
    let mut newer = memo.clone();
    newer.count += 1;
    check(&serde_json::to_string(&newer).unwrap());
    let unknown = text.replacen('{', "{\"unknown\":[1],", 1);
    let read: CallbacksMemo = serde_json::from_str(&unknown).unwrap();
    assert_eq!(read, memo);
}
