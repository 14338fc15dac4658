//! Commands that users run themselves. A command belongs to the running turn; without one, it gets a turn without a
//! prompt, which ends with its last command. The agent learns nothing of them.

use acpd_model::limits::USER_COMMAND_BYTES;
use acpd_model::{EventKind, Failure, Origin, RequestEvent, TurnId};
use acpd_policy::Decision;

use super::Thread;
use crate::thread::approval::ruling;
use crate::thread::callback::RUN_COMMAND;
use crate::thread::effect::UserLine;
use crate::thread::host_call::HostReply;
use crate::thread::reply::Reply;
use crate::thread::turn::{TurnResult, is_interrupted_by_client};

impl Thread {
    /// Decides about a command line of a user, then runs it.
    pub(super) fn run_command(&mut self, call: u64, by: Origin, line: String) {
        let checked = check_line(&line).and_then(|()| self.check_runs_commands());
        if let Err(failure) = checked {
            return self.journal.reply(call, Err(failure));
        }
        let wanted = UserLine { call, by, line };
        let next = self.approvals.evaluate_line(&mut self.journal, wanted);
        self.follow(next);
    }

    fn check_runs_commands(&self) -> Result<(), Failure> {
        self.session.check_accepts_turns(&self.journal)?;
        self.callbacks.check_user_commands()
    }

    /// Runs a command line that no policy denies. `permitted` is the decision of the policy that allows it, if there is
    /// one; otherwise the user's request is the reason.
    pub(super) fn start_user_command(&mut self, wanted: UserLine, permitted: Option<&Decision>) {
        let UserLine { call, by, line } = wanted;
        // While its paths were resolved, the thread may have been archived.
        if let Err(failure) = self.check_runs_commands() {
            return self.journal.reply(call, Err(failure));
        }
        let turn = match self.live().turn {
            Some(running) => running.id,
            None => self.begin_commands(by.clone()),
        };
        if let Some(decision) = permitted {
            let kind = EventKind::Request(RequestEvent::CallPermitted {
                method: RUN_COMMAND.to_owned(),
                subject: decision.subject.clone(),
            });
            self.journal.emit(ruling(decision), kind, None);
        }
        let item = self
            .callbacks
            .start_user_command(&mut self.journal, by, line, turn);
        self.journal.reply(call, Ok(Reply::CommandStarted { item, turn }));
    }

    fn begin_commands(&mut self, by: Origin) -> TurnId {
        let turn = TurnId(self.live().last_turn + 1);
        self.prepare_turn();
        self.approvals.forget_grants();
        self.turns.begin_commands(&mut self.journal, turn, by);
        turn
    }

    pub(super) fn user_host_replied(&mut self, call: u64, result: Result<HostReply, Failure>) {
        let failed = self.callbacks.user_host_replied(&mut self.journal, call, result);
        let result = match failed {
            Some(failure) => TurnResult::failed(&failure.message),
            None => TurnResult::completed(),
        };
        self.settle_commands(result);
    }

    /// Ends the running turn if it consisted of commands of users, and none of them runs any more.
    pub(super) fn settle_commands(&mut self, result: TurnResult) {
        if !self.turns.has_only_commands() || self.runs_commands() {
            return;
        }
        let result = if is_interrupted_by_client(&self.journal) {
            TurnResult::interrupted()
        } else {
            result
        };
        self.settle(result, &Origin::Daemon);
    }

    /// Returns whether the running turn consists of commands of users, and one of them runs.
    pub(super) fn runs_commands(&self) -> bool {
        let turn = self.live().turn.map(|turn| turn.id);
        self.turns.has_only_commands()
            && turn.is_some_and(|turn| self.callbacks.has_user_commands(Some(turn)))
    }

    /// Kills the commands of users that outlived their turn, if an interrupt means those: it names their turn, or no
    /// turn runs. Returns whether it does.
    pub(super) fn interrupt_leftover(&mut self, by: &Origin, turn: Option<TurnId>, at_once: bool) -> bool {
        let running = self.live().turn.map(|turn| turn.id);
        let is_over = match turn {
            Some(_) => running != turn,
            None => running.is_none(),
        };
        let found = is_over && self.callbacks.has_user_commands(turn);
        if found {
            self.callbacks
                .kill_user_commands(&mut self.journal, by, turn, at_once);
        }
        found
    }
}

fn check_line(line: &str) -> Result<(), Failure> {
    if line.trim().is_empty() {
        return Err(Failure::invalid_params("the command is empty"));
    }
    if line.contains('\0') {
        return Err(Failure::invalid_params("the command contains a NUL character"));
    }
    if line.len() > USER_COMMAND_BYTES {
        let message = format!(
            "the command has {} bytes (limit {USER_COMMAND_BYTES}): put it into a script",
            line.len()
        );
        return Err(Failure::invalid_params(message));
    }
    Ok(())
}
