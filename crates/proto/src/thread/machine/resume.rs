//! Continues a thread whose agent has outlived the daemon.
//!
//! In: the memo of the last append, and what it names. Out: the state of before, and again the commands that the agent may not have
//! received. Owns: the order in which the parts continue. Never: decides which of these commands the agent has: its connection knows
//! what was sent, and drops them.

use acpd_model::event::TurnStatus;
use acpd_model::{BlobId, Event, Origin, RawJson};

use super::Thread;
use super::agent::{DAEMON_STOPPED, RESTARTED};
use crate::agent::AgentCommand;
use crate::thread::approval::ApprovalsMemo;
use crate::thread::callback::CallbacksMemo;
use crate::thread::effect::Effect;
use crate::thread::journal::Kept;
use crate::thread::memo::{Once, ThreadMemo};
use crate::thread::message::Messages;
use crate::thread::recalled::Recalled;
use crate::thread::subagents::Subagents;
use crate::thread::tool_call::ToolCalls;
use crate::thread::turn::memo::TurnsMemo;
use crate::thread::turn::{TurnResult, Turns, UnsentPrompt};
use crate::time::Now;

impl Thread {
    /// Sets whether another process may continue the thread from any of its appends. Then [`take_events`](Self::take_events)
    /// returns text that is being merged whenever it returns another event, so that the events, and the memo after them,
    /// contain all that the agent has sent.
    pub fn keep_exact(&mut self, exact: bool) {
        self.journal.keep_exact(exact);
    }

    /// Returns what the events do not say of the thread, for a process that continues with the same agent. It belongs to the events
    /// that were just taken, before any effect was polled. Returns `None` if there is nothing to continue: without an agent, while its
    /// session is not open or it is being stopped, and while the conversation is collected for it.
    pub fn memo(&self) -> Option<ThreadMemo> {
        let session = self.session.memo(&self.journal)?;
        if self.live().is_deleted() || !self.callbacks.is_resumable() {
            return None;
        }
        let journal = &self.journal;
        Some(ThreadMemo {
            session,
            turns: self.turns.memo(journal),
            messages: self.messages.memo(journal),
            subagents: self.subagents.memo(journal),
            callbacks: self.callbacks.memo(),
            approvals: self.approvals.memo(),
            tool_calls: self.tool_calls.memo(),
            files: journal.has_file_changes(),
            says_plans_dropped: self.says_plans_dropped,
            once: self.once(),
        })
    }

    /// Returns the commands that wait to be polled, and that no part would issue again.
    fn once(&self) -> Vec<Once> {
        let commands = self.journal.effects().filter_map(|effect| match effect {
            Effect::Agent(command) => Once::of(command),
            _ => None,
        });
        // The cancellation of a prompt is issued until the turn has ended.
        let is_cancelled = self.turns.cancel_deadline().is_some();
        commands
            .filter(|once| !(is_cancelled && *once == Once::Cancel))
            .collect()
    }

    /// Takes an event that [`ThreadMemo::recalls`] names, in their order. Call this before [`resume`](Self::resume).
    pub fn recall(&mut self, event: &Event) {
        self.recalled.get_or_insert_default().fold(event);
    }

    /// Takes a blob that [`ThreadMemo::recalls`] names. Call this before [`resume`](Self::resume).
    pub fn recall_blob(&mut self, id: BlobId, content: Vec<u8>) {
        self.recalled.get_or_insert_default().add_blob(id, content);
    }

    /// Continues with the agent of a daemon that was killed, instead of [`recover`](Self::recover). The events of that daemon were
    /// replayed, and `memo` belongs to the last of them.
    ///
    /// Issues again what the agent, or the thread, waits for: its prompt and other requests for it, a cancellation, answers, operations of the host.
    /// Questions stay open under their numbers. Editors are gone, as are clients that wait for a reply; numbers of commands continue
    /// with [`first_call`](Self::first_call). If something that the memo names was not recalled, the turn ends as in
    /// [`recover`](Self::recover), and the agent is stopped.
    pub fn resume(&mut self, memo: ThreadMemo, now: Now) {
        self.journal.set_now(now);
        self.journal.keep_exact(true);
        let recalled = *self.recalled.take().unwrap_or_default();
        let agent = recalled.bound(memo.session.bound()).cloned();
        let prompt = self.recalled_prompt(&memo.turns, &recalled);
        match (agent, prompt) {
            (Some(agent), Ok(prompt)) if !self.live().is_deleted() && memo.is_intact() => {
                self.resume_with(memo, &agent, prompt, recalled);
            }
            _ => {
                // First, so that a turn that waits gets another process.
                if !self.live().is_deleted() {
                    self.session.stop(&mut self.journal);
                }
                self.recover(now);
            }
        }
    }

    /// Returns the prompt of the running turn, if the memo needs it; an error if it was not recalled.
    fn recalled_prompt(&self, memo: &TurnsMemo, recalled: &Recalled) -> Result<Option<UnsentPrompt>, ()> {
        let running = self.live().turn.map(|turn| turn.id);
        if !running.is_some_and(|running| memo.needs_prompt(running)) {
            return Ok(None);
        }
        memo.prompt(recalled).map(Some).ok_or(())
    }

    fn resume_with(
        &mut self,
        memo: ThreadMemo,
        agent: &RawJson,
        prompt: Option<UnsentPrompt>,
        mut recalled: Recalled,
    ) {
        let ThreadMemo {
            session,
            turns,
            messages,
            subagents,
            callbacks,
            approvals,
            tool_calls,
            files,
            says_plans_dropped,
            once,
        } = memo;
        let journal = &mut self.journal;
        self.callbacks.void_lease(journal);
        self.session.continue_with(journal, session, agent, &recalled);
        self.callbacks.set_quirks(self.session.quirks());
        let sent = prompt.as_ref().filter(|_| !turns.is_unsent());
        let first = sent.map(|prompt| &*prompt.blocks);
        let inputs = first.into_iter().chain(recalled.after_prompt());
        self.messages = Messages::resume(journal, messages, inputs);
        self.subagents = Subagents::resume(subagents);
        self.tool_calls = ToolCalls::resume(tool_calls);
        self.turns = Turns::resume(journal, turns, prompt.clone());
        self.says_plans_dropped = says_plans_dropped;
        if files {
            journal.recall_files(std::mem::take(&mut recalled.files));
        }
        self.send_again(prompt, once);
        self.continue_calls(callbacks, approvals, &recalled);
        self.end_commands();
        self.send_requests();
        self.prompt_if_ready();
        self.journal.note_status();
        self.session.follow_questions(&mut self.journal);
    }

    /// Issues the commands again that the agent may not have received.
    fn send_again(&mut self, prompt: Option<UnsentPrompt>, once: Vec<Once>) {
        let journal = &mut self.journal;
        if let (Some(turn), Some(prompt)) = (journal.current_turn(), prompt) {
            self.turns.send_again(journal, turn, prompt);
        }
        self.session.send_again(journal);
        if self.turns.cancel_deadline().is_some() {
            journal.send_to_agent(AgentCommand::Cancel);
        }
        for once in once {
            journal.send_to_agent(once.command());
        }
    }

    /// Continues calls and questions of the agent.
    fn continue_calls(&mut self, callbacks: CallbacksMemo, approvals: ApprovalsMemo, recalled: &Recalled) {
        let recall = |kept: &Kept| recalled.json(kept);
        self.callbacks.resume(&mut self.journal, callbacks, &recall);
        let lost = self.approvals.resume(&mut self.journal, approvals, &recall);
        for (call, result) in lost {
            self.callbacks.answer(&mut self.journal, call, result);
        }
    }

    /// Ends a turn that has only commands of users: these have ended with the daemon.
    fn end_commands(&mut self) {
        if self.turns.has_only_commands() {
            self.note_interrupted(DAEMON_STOPPED, RESTARTED);
            let result = TurnResult::ended(TurnStatus::Interrupted, RESTARTED);
            self.settle_unanswered(result, &Origin::Daemon);
        }
    }

    /// Returns the first number for commands that no request to the agent has. A thread that continues has such requests of
    /// the daemon before, and their clients' numbers must not come again.
    pub fn first_call(&self) -> u64 {
        self.session.next_ask()
    }
}
