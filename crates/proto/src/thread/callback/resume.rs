//! Calls that the next daemon continues.
//!
//! In: the memo of the daemon that was killed, and the state from the log. Out: requests to the host, answers for the agent, events of
//! what ended with the daemon. Never: writes a file or starts a command twice.

use acpd_model::limits::{AGENT_CALL_BYTES, TERMINAL_BYTES_MAX};
use acpd_model::{ErrorCode, Failure, ItemId, LaneId, Origin, PreviousContent, RawJson};

use super::Callbacks;
use super::files::{WriteCheck, fail_change};
use super::memo::{CallbacksMemo, TaskMemo};
use super::task::{Delegation, HostTask, TerminalCommand, TerminalSearch};
use super::unsent::{AnswerContent, UnsentAnswer};
use super::user_commands::is_users_terminal;
use crate::agent::Call;
use crate::projection::ItemView;
use crate::thread::host_call::{HostCall, HostReply};
use crate::thread::journal::Journal;
use crate::thread::kept::{Recall, read};
use crate::wire::RpcError;

const WRITE: &str = "fs/write_text_file";
const CREATE: &str = "terminal/create";

impl Callbacks {
    /// Continues from a memo: requests from the host what is due, and sends again the answers that the agent may not have. No editor is
    /// attached any more, and commands of users have ended. The quirks are set beside this.
    pub fn resume(&mut self, journal: &mut Journal, memo: CallbacksMemo, recall: &Recall<'_>) {
        let memo = if memo.is_intact() {
            memo
        } else {
            CallbacksMemo::default()
        };
        self.before = memo.before;
        self.count = memo.count.max(journal.live().last_terminal);
        self.abandoned = memo.abandoned;
        self.void_lease(journal);
        self.close_user_terminals(journal);
        self.lanes = memo.lanes;
        let most = usize::try_from(AGENT_CALL_BYTES).unwrap_or(usize::MAX);
        let large_calls = memo.large_calls.into_iter();
        self.large_calls = large_calls.map(|(call, bytes)| (call, bytes.min(most))).collect();
        let limits = memo.output_limits.into_iter();
        self.output_limits = limits
            .map(|(id, bytes)| (id, bytes.min(TERMINAL_BYTES_MAX)))
            .collect();
        for answer in memo.answers {
            self.resume_answer(journal, answer, recall);
        }
        for (id, terminal) in memo.editor_terminals {
            self.editor_terminals.insert(id, terminal.restored(journal));
        }
        let mut delegated = Vec::new();
        for (call, task) in memo.tasks {
            let task = self.resume_task(journal, call, task, recall);
            delegated.extend(task.map(|task| (call, task)));
        }
        self.end_with_editors(journal, delegated);
    }

    /// Ends the terminals of users' commands, which do not outlive the daemon.
    fn close_user_terminals(&mut self, journal: &mut Journal) {
        let is_users = |view: &ItemView| matches!(view, ItemView::Terminal { terminal_id, .. } if is_users_terminal(terminal_id));
        let open = journal.live().items.iter();
        let open: Vec<ItemId> = open
            .filter(|(_, open)| is_users(&open.view))
            .map(|(item, _)| *item)
            .collect();
        for item in open {
            self.close_terminal(journal, item);
        }
    }

    /// Sends an answer again, or has the host return its result again.
    fn resume_answer(&mut self, journal: &mut Journal, answer: UnsentAnswer, recall: &Recall<'_>) {
        let UnsentAnswer { call, lane, content } = answer;
        let result = match content {
            AnswerContent::Again(repeatable) => {
                self.lanes.extend(lane.map(|lane| (call, lane)));
                journal.call_host(call, repeatable.what.clone());
                self.tasks.insert(call, HostTask::Again(repeatable));
                return;
            }
            AnswerContent::Given(kept) => read::<Result<RawJson, RpcError>>(&kept, recall),
            AnswerContent::Lost => None,
        };
        let result = result.unwrap_or_else(|| {
            let lost = "acpd was restarted, and the result of this request was lost";
            Err((&Failure::new(ErrorCode::Internal, lost)).into())
        });
        self.answer(journal, call, result);
    }

    /// Continues a call in progress. Returns it if an editor had it.
    fn resume_task(
        &mut self,
        journal: &mut Journal,
        call: u64,
        task: TaskMemo,
        recall: &Recall<'_>,
    ) -> Option<Delegation> {
        let (task, what) = match task {
            TaskMemo::Again(repeatable) => {
                let what = repeatable.what.clone();
                (HostTask::Again(repeatable), what)
            }
            TaskMemo::Write(check) => {
                let what = check.request();
                (HostTask::Check(check), what)
            }
            TaskMemo::Create {
                terminal_id,
                kept,
                withdrawn,
            } => {
                let what = HostCall::FindTerminal {
                    terminal_id: terminal_id.clone(),
                };
                let create = kept.as_ref().and_then(|kept| read::<HostCall>(kept, recall));
                let command = create.as_ref().and_then(TerminalCommand::of);
                let is_its = command.is_some_and(|command| command.terminal_id == terminal_id);
                let search = TerminalSearch {
                    terminal_id,
                    create: create.filter(|_| is_its),
                    kept,
                    withdrawn,
                };
                (HostTask::Find(Box::new(search)), what)
            }
            TaskMemo::Released(terminal_id) => {
                self.tasks.insert(call, HostTask::QueuedRelease(terminal_id));
                return None;
            }
            TaskMemo::Delegated(delegated) => return Some(delegated.restored()),
        };
        self.tasks.insert(call, task);
        journal.call_host(call, what);
        None
    }

    /// Ends what editors had, as when they leave.
    fn end_with_editors(&mut self, journal: &mut Journal, delegated: Vec<(u64, Delegation)>) {
        self.lose_terminals(journal, "");
        // A release of a terminal that is not known waits for nothing.
        let is_queued = |_: &u64, task: &mut HostTask| matches!(task, HostTask::QueuedRelease(_));
        let queued: Vec<_> = self.tasks.extract_if(.., is_queued).collect();
        for (call, task) in queued {
            if let HostTask::QueuedRelease(terminal_id) = task {
                self.answer_lost(journal, call, Call::ReleaseTerminal { terminal_id });
            }
        }
        for (call, delegation) in delegated {
            let lane = self.lane_of(call);
            in_lane(journal, lane, |journal| {
                self.end_delegation(journal, call, delegation, false);
            });
        }
    }

    /// Handles the host's comparison of a file with a write that had begun.
    pub(super) fn write_checked(
        &mut self,
        journal: &mut Journal,
        call: u64,
        check: &WriteCheck,
        reply: HostReply,
    ) {
        let text = match reply {
            HostReply::Checked { text } => text,
            _ => None,
        };
        let Some(write) = text.and_then(|text| check.found(text)) else {
            return self.write_unknown(journal, call, check);
        };
        // What the file contained before is gone.
        write.complete(journal, &PreviousContent::Unknown, Origin::Agent);
        self.answer(journal, call, Ok(RawJson::trusted("{}")));
    }

    /// Answers that it is not known whether a write was done, as when an editor leaves.
    pub(super) fn write_unknown(&mut self, journal: &mut Journal, call: u64, check: &WriteCheck) {
        fail_change(journal, check.item, &check.path, Origin::Daemon);
        let message = format!(
            "acpd was restarted during {WRITE}; it is not known whether {} was written",
            check.path
        );
        let failure = Failure::new(ErrorCode::Internal, message);
        self.refuse_and_record(journal, call, WRITE, &failure);
    }

    /// Handles that the terminal of a command exists: an earlier daemon has started it.
    pub(super) fn terminal_found(
        &mut self,
        journal: &mut Journal,
        call: u64,
        search: &TerminalSearch,
        reply: &HostReply,
    ) {
        let command = search.create.as_ref().and_then(TerminalCommand::of);
        match command.filter(|_| *reply == HostReply::Created) {
            Some(command) => self.created_on_host(journal, call, command),
            None => self.command_unknown(journal, call, search),
        }
    }

    /// Handles that the host does not have the terminal of a command. It starts now if it is certain that it has not started before.
    pub(super) fn terminal_missing(
        &mut self,
        journal: &mut Journal,
        call: u64,
        search: TerminalSearch,
        failure: &Failure,
    ) {
        let is_wanted = !search.withdrawn && !self.is_abandoned(call);
        match search {
            TerminalSearch {
                create: Some(what),
                kept,
                ..
            } if is_wanted && failure.code == ErrorCode::NotFound => {
                if let Some(command) = TerminalCommand::of(&what) {
                    self.tasks.insert(call, HostTask::Create { command, kept });
                    journal.call_host(call, what);
                }
            }
            search if is_wanted => self.command_unknown(journal, call, &search),
            search => {
                self.output_limits.remove(&search.terminal_id);
                self.refuse(journal, call, failure);
            }
        }
    }

    fn command_unknown(&mut self, journal: &mut Journal, call: u64, search: &TerminalSearch) {
        self.output_limits.remove(&search.terminal_id);
        let command = search.create.as_ref().and_then(TerminalCommand::of);
        let command = command.map_or_else(|| "the command".to_owned(), |command| command.command);
        let message =
            format!("acpd was restarted during {CREATE}; it is not known whether {command} was started");
        let failure = Failure::new(ErrorCode::Internal, message);
        self.refuse_and_record(journal, call, CREATE, &failure);
    }
}

fn in_lane(journal: &mut Journal, lane: Option<LaneId>, act: impl FnOnce(&mut Journal)) {
    let before = journal.set_lane(lane);
    act(journal);
    journal.set_lane(before);
}
