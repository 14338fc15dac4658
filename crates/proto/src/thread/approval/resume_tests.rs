//! Kills of the daemon while calls wait for a decision.

use std::cell::RefCell;
use std::sync::Arc;

use acpd_model::event::{ClientOrigin, Outcome, PermissionOption};
use acpd_model::{EventKind, Origin, RawJson, RequestEvent, RequestId};
use acpd_policy::{Form, Policy, RealPaths, Scope};
use serde_json::json;

use super::{Approvals, ApprovalsMemo, CallResult, NextStep, Policies};
use crate::agent::{Call, ToolUpdate};
use crate::thread::command::Answer;
use crate::thread::effect::{RememberedChange, RememberedOutcome, Waiter};
use crate::thread::host_call::{HostCall, HostReply};
use crate::thread::journal::{Journal, Kept};
use crate::thread::restart::{Due, Log, due, journal, reread};
use crate::thread::tool_call::ToolCalls;

/// The approvals of a daemon, and its log.
struct Daemon {
    journal: Journal,
    approvals: Approvals,
    log: Log,
    /// The answers for calls that could not continue.
    lost: Vec<(u64, CallResult)>,
}

fn asking() -> Arc<Policies> {
    Arc::new(Policies {
        daemon: Some(serde_json::from_str::<Policy>(r#"{"ask":["*"]}"#).unwrap()),
        ..Policies::default()
    })
}

impl Daemon {
    fn new() -> Self {
        let mut approvals = Approvals::default();
        approvals.set_policies(asking());
        Self {
            journal: journal(),
            approvals,
            log: Log::default(),
            lost: Vec::new(),
        }
    }

    fn evaluates(&mut self, call: u64, request: Call) -> NextStep {
        self.approvals
            .evaluate(&mut self.journal, call, request, Form::Program)
    }

    /// The agent's tool call changes a file from `old` to `new`, and the agent asks about it.
    fn asks(&mut self, call: u64, old: &str, new: &str) -> NextStep {
        let tool = json!({
            "toolCallId": "t",
            "kind": "edit",
            "title": "Edit",
            "content": [{ "type": "diff", "path": "/w/f", "oldText": old, "newText": new }],
        });
        let tool = RawJson::from(tool);
        let update = ToolUpdate {
            id: "t".into(),
            opens: true,
            title: Some("Edit".to_owned()),
            kind: Some("edit".to_owned()),
            status: None,
            has_diff: true,
        };
        ToolCalls::default().handle(&mut self.journal, update, Some(tool.clone()), None, true);
        let options = ["allow_once", "reject_once"].map(|kind| PermissionOption {
            option_id: kind.to_owned(),
            name: kind.to_owned(),
            kind: kind.to_owned(),
        });
        let raw = RawJson::from(json!({ "toolCall": tool }));
        self.approvals
            .ask(&mut self.journal, call, "t", &tool, options.into(), raw)
    }

    /// The paths that are looked up lead where their names say.
    fn resolves(&mut self) -> Vec<NextStep> {
        let lookups = due(&mut self.journal).lookups;
        let resolve = |(call, paths): (u64, Vec<String>)| {
            let real = RealPaths {
                paths: paths.into_iter().map(|path| (path.clone(), Ok(path))).collect(),
                ..RealPaths::default()
            };
            self.approvals
                .paths_resolved(&mut self.journal, Waiter::Call(call), &real)
        };
        lookups.into_iter().map(resolve).collect()
    }

    fn answers(&mut self, number: u32, answer: &Answer, scope: Option<Scope>) -> NextStep {
        let thread = self.journal.live().thread;
        let (by, request) = (person(), RequestId { thread, number });
        let outcome = self
            .approvals
            .answer(&mut self.journal, &by, request, answer, scope)
            .unwrap();
        self.approvals
            .settle(&mut self.journal, by, number, &outcome)
            .next
    }

    fn open(&self) -> Vec<u32> {
        self.journal.live().requests.keys().copied().collect()
    }

    fn due(&mut self) -> Due {
        due(&mut self.journal)
    }

    fn memo(&mut self) -> ApprovalsMemo {
        self.log.store(&mut self.journal);
        self.approvals.memo()
    }

    fn killed(mut self) -> Self {
        let memo = reread(&self.memo());
        self.next(memo, asking())
    }

    fn next(self, memo: ApprovalsMemo, policies: Arc<Policies>) -> Self {
        let mut journal = self.log.next();
        let mut approvals = Approvals::default();
        approvals.set_policies(policies);
        let lost = approvals.resume(&mut journal, memo, &|kept| self.log.recall(kept));
        Self {
            journal,
            approvals,
            log: self.log,
            lost,
        }
    }
}

fn person() -> Origin {
    Origin::Client(Box::new(ClientOrigin {
        principal: "p".to_owned(),
        client: "web".to_owned(),
    }))
}

fn write(content: &str) -> Call {
    Call::WriteFile {
        path: "/w/f".to_owned(),
        content: content.to_owned(),
    }
}

const YES: Answer = Answer::Accept { always: false };
const NO: Answer = Answer::Decline { always: false };

/// Returns the call that runs, and where.
fn runs(next: NextStep) -> Option<(u64, Call, Option<String>)> {
    match next {
        NextStep::Run { call, request, at } => Some((call, request, at)),
        _ => None,
    }
}

fn waits(next: &NextStep) -> bool {
    matches!(next, NextStep::Wait)
}

#[test]
fn paths_are_looked_up_again_and_a_question_keeps_its_number() {
    for content in ["new".to_owned(), "x".repeat(200_000)] {
        let mut alive = Daemon::new();
        assert!(waits(&alive.evaluates(4, write(&content))));
        let looked_up = alive.due();
        assert_eq!(looked_up.lookups, [(4, vec!["/w/f".to_owned()])]);
        let mut next = alive.killed();
        assert_eq!(next.due(), looked_up);
        let mut next = next.killed();
        assert!(next.approvals.holds(4));
        assert!(next.resolves().iter().all(waits));
        assert_eq!(next.open(), [1]);
        // Open for days, over two kills.
        assert!(serde_json::to_string(&next.memo()).unwrap().len() < 4096);
        let mut next = next.killed().killed();
        assert_eq!((next.due(), next.open()), (Due::default(), vec![1]));
        assert!(next.approvals.holds(4) && next.lost.is_empty());
        let settled = next.answers(1, &YES, None);
        assert_eq!(runs(settled), Some((4, write(&content), Some("/w/f".to_owned()))));
        assert!(!next.approvals.holds(4));
        // The question is answered once.
        assert!(next.open().is_empty() && next.killed().open().is_empty());
    }
}

#[test]
fn a_denial_after_the_restart_denies() {
    let mut alive = Daemon::new();
    alive.evaluates(0, write("new"));
    alive.resolves();
    let mut next = alive.killed();
    let settled = next.answers(1, &NO, None);
    assert!(matches!(
        settled,
        NextStep::Answer {
            call: 0,
            result: Err(_)
        }
    ));
}

#[test]
fn a_question_of_the_agent_continues_at_each_stage() {
    let mut alive = Daemon::new();
    assert!(waits(&alive.asks(2, "old", "new")));
    let mut next = alive.killed().killed();
    assert!(next.resolves().iter().all(waits));
    let mut next = next.killed();
    assert_eq!(next.open(), [1]);
    let settled = next.answers(1, &YES, None);
    assert!(matches!(
        settled,
        NextStep::Answer {
            call: 2,
            result: Ok(_)
        }
    ));
    // The permission lasts over the next kill, for what the question showed.
    let mut next = next.killed();
    assert!(waits(&next.evaluates(3, write("new"))));
    assert!(next.resolves().iter().all(waits));
    let compared = next.due();
    assert_eq!(compared.host.len(), 1);
    assert!(matches!(&compared.host[0], (3, HostCall::ReadFile { at: Some(at), .. }) if at == "/w/f"));
    let mut next = next.killed();
    assert_eq!(next.due(), compared);
    let mut next = next.killed();
    assert!(next.approvals.compares(3));
    let content = "old".to_owned();
    let reply = Ok(HostReply::Read { content });
    let decided = next.approvals.compared(&mut next.journal, 3, reply);
    assert_eq!(runs(decided), Some((3, write("new"), Some("/w/f".to_owned()))));
    // It is used up, for the next daemon as well.
    let mut next = next.killed();
    next.evaluates(5, write("new"));
    assert!(next.resolves().iter().all(waits));
    assert_eq!(next.open(), [2]);
}

#[test]
fn a_permission_is_void_under_other_policies_or_for_another_text() {
    let allowed = || {
        let mut alive = Daemon::new();
        alive.asks(2, "", "new");
        alive.resolves();
        alive.answers(1, &YES, None);
        alive
    };
    let asks_again = |mut next: Daemon, content: &str| {
        next.evaluates(3, write(content));
        let decided = next.resolves();
        assert!(decided.iter().all(waits), "{decided:?}");
        !next.open().is_empty() || next.approvals.compares(3)
    };
    assert!(asks_again(allowed().killed(), "other"));
    let mut alive = allowed();
    let memo = reread(&alive.memo());
    assert_eq!(memo.grants.len(), 1);
    let mut changed = (*asking()).clone();
    changed.agent = Some(serde_json::from_str(r#"{"ask":["Bash"]}"#).unwrap());
    let next = alive.next(memo, Arc::new(changed));
    assert!(next.approvals.grants.is_empty());
    assert!(asks_again(next, "new"));
    assert_eq!(allowed().killed().approvals.grants.len(), 1);
}

#[test]
fn a_question_for_information_stays_open() {
    let mut alive = Daemon::new();
    let raw = RawJson::trusted(r#"{"mode":"form"}"#);
    alive
        .approvals
        .ask_input(&mut alive.journal, 6, "Which?".to_owned(), raw);
    let mut next = alive.killed().killed();
    assert_eq!(next.open(), [1]);
    let content = RawJson::trusted(r#"{"a":1}"#);
    let NextStep::Answer { call: 6, result } = next.answers(1, &Answer::Provide(content), None) else {
        panic!("it is answered");
    };
    let expected = json!({ "action": "accept", "content": { "a": 1 } });
    assert_eq!(result.unwrap().get(), expected.to_string());
}

#[test]
fn a_withdrawn_question_is_in_no_memo() {
    let mut alive = Daemon::new();
    alive.evaluates(0, write("new"));
    alive.resolves();
    alive.approvals.withdraw(&mut alive.journal, 0);
    alive.evaluates(1, write("new"));
    alive.approvals.withdraw(&mut alive.journal, 1);
    alive.due();
    assert_eq!(alive.memo(), ApprovalsMemo::default());
    assert_eq!(serde_json::to_string(&alive.memo()).unwrap(), "{}");
}

#[test]
fn an_answer_is_remembered_for_the_agent_although_the_daemon_was_killed() {
    let mut alive = Daemon::new();
    alive.evaluates(0, write("new"));
    alive.resolves();
    alive.answers(1, &YES, Some(Scope::Agent));
    let first = alive.due().remembered;
    assert!(matches!(
        &first[..],
        [RememberedChange::Remember { allow: true, .. }]
    ));
    let mut next = alive.killed();
    assert_eq!(next.due().remembered, first);
    let mut next = next.killed();
    assert_eq!(next.due().remembered, first);
    let outcome = RememberedOutcome::Remembered(Ok(Vec::new()));
    next.approvals
        .remembered_changed(&mut next.journal, person(), outcome);
    assert!(next.killed().due().remembered.is_empty());
}

#[test]
fn a_call_whose_content_is_lost_is_answered_and_its_question_is_void() {
    let mut alive = Daemon::new();
    let content = "x".repeat(200_000);
    alive.evaluates(0, write(&content));
    alive.resolves();
    alive.evaluates(1, write(&content));
    let memo = reread(&alive.memo());
    assert_eq!(memo.kept().filter_map(Kept::blob).count(), 2);
    alive.log.blobs.clear();
    let mut next = alive.next(memo, asking());
    let mut calls: Vec<u64> = next.lost.iter().map(|(call, _)| *call).collect();
    calls.sort_unstable();
    assert_eq!(calls, [0, 1]);
    assert!(next.lost.iter().all(|(_, result)| result.is_err()));
    assert!(next.open().is_empty());
    next.memo();
    let is_void = |kind: &EventKind| matches!(kind, EventKind::Request(RequestEvent::Voided { .. }));
    assert!(next.log.events.iter().any(|event| is_void(&event.kind)));
}

#[test]
fn questions_of_many_calls_make_no_large_memo() {
    let mut alive = Daemon::new();
    for call in 0..256 {
        alive.evaluates(call, write(&format!("{call}{}", "x".repeat(15_000))));
    }
    alive.resolves();
    assert_eq!(alive.open().len(), 256);
    let length = serde_json::to_string(&alive.memo()).unwrap().len();
    assert!(length < 256 * 1200, "{length}");
    let next = alive.killed();
    assert_eq!(next.open().len(), 256);
    assert!(next.lost.is_empty());
}

#[test]
fn without_a_held_agent_no_question_is_kept() {
    let mut alive = Daemon::new();
    alive.journal.keep_exact(false);
    alive.evaluates(0, write(&"x".repeat(200_000)));
    alive.resolves();
    alive.log.store(&mut alive.journal);
    assert!(alive.approvals.kept.is_empty());
}

#[test]
fn a_damaged_memo_allows_nothing_and_never_panics() {
    let mut alive = Daemon::new();
    alive.asks(2, "", "new");
    alive.resolves();
    alive.answers(1, &YES, None);
    alive.evaluates(3, write("small"));
    alive.resolves();
    alive.evaluates(4, write("next"));
    let memo = alive.memo();
    assert!(memo.grants.len() == 1 && memo.questions.len() == 1 && memo.lookups.len() == 1);
    let text = serde_json::to_string(&memo).unwrap();
    let log = RefCell::new(alive.log);
    let check = |text: &str| {
        let Ok(damaged) = serde_json::from_str::<ApprovalsMemo>(text) else {
            return;
        };
        if damaged == memo {
            return;
        }
        assert!(
            !damaged.is_intact() || damaged == ApprovalsMemo::default(),
            "{text}"
        );
        let mut journal = log.borrow().next();
        let mut approvals = Approvals::default();
        approvals.set_policies(asking());
        let lost = approvals.resume(&mut journal, damaged, &|kept| log.borrow().recall(kept));
        assert_eq!(
            (approvals.len(), approvals.grants.len(), lost.len()),
            (0, 0, 0),
            "{text}"
        );
        assert!(journal.live().requests.is_empty());
        assert_eq!(due(&mut journal), Due::default());
        // Nothing that waits for an answer of a person can be run by one.
        let outcome = Outcome::Cancelled;
        let settled = approvals.settle(&mut journal, person(), 2, &outcome);
        assert!(waits(&settled.next));
    };
    for at in 0..text.len() {
        for with in ["", "0", "z", "null", "\"x\":1,"] {
            let mut damaged = text.clone();
            damaged.replace_range(at..=at, with);
            check(&damaged);
        }
    }
    check("{}");
    let unknown = text.replacen('{', "{\"unknown\":{},", 1);
    assert_eq!(serde_json::from_str::<ApprovalsMemo>(&unknown).unwrap(), memo);
}
