//! Deletes a thread: at the request of a client, or because it was not used for long.

use acpd_log::LogError;
use acpd_model::{ErrorCode, Failure, Origin};
use acpd_proto::thread::{Command, Deletion, Reply};

use crate::thread::actor::ThreadActor;

/// A thread of which only the log remains.
#[derive(Debug)]
pub(super) struct PendingDeletion {
    /// The command that requested the deletion; unknown after a restart.
    pub call: Option<u64>,
    pub by: Origin,
    pub reason: Deletion,
}

impl PendingDeletion {
    /// Returns the principal of the client that requested the deletion, or the part of the daemon that did.
    fn principal(&self) -> &str {
        match (&self.by, self.reason) {
            (Origin::Client(client), _) => &client.principal,
            (_, Deletion::Unused) => "retention",
            (_, Deletion::Requested | Deletion::Interrupted) => "acpd",
        }
    }

    fn reason(&self) -> &'static str {
        match self.reason {
            Deletion::Requested => "requested",
            Deletion::Unused => "retention",
            Deletion::Interrupted => "an interrupted deletion is finished",
        }
    }
}

impl ThreadActor {
    /// Stops the agent, then deletes the log. By then subscribers have received the last event, or never will.
    pub(super) async fn finish_deletion(&mut self, deletion: PendingDeletion) -> Result<(), LogError> {
        Box::pin(self.wait_for_agent()).await?;
        match self.context.log.delete(self.id).await {
            Ok(()) | Err(LogError::NoSuchThread(_)) => {}
            Err(error) => return Err(error),
        }
        let (by, reason) = (deletion.principal(), deletion.reason());
        tracing::info!(thread = %self.id, by, reason, "deleted");
        self.context.attachments.forget(self.id).await;
        self.context.shares.forget(self.id).await;
        self.context.seen.forget(self.id).await;
        self.context
            .thread_list
            .removed(self.id, self.context.clock.now().wall);
        if let Some(call) = deletion.call {
            self.reply(call, Ok(Reply::Done));
        }
        Ok(())
    }

    /// Returns why a command is refused that the machine would carry out: it does not know who follows the thread.
    pub(super) fn refusal_of(&self, command: &Command) -> Option<Failure> {
        let used = match command {
            Command::DeleteUnused(_) if self.publisher.has_subscribers() => "a client follows it",
            Command::DeleteUnused(_) if self.has_editors() => "an editor has it open",
            Command::DeleteUnused(_) if self.standby.is_some() => "an editor is about to use it",
            _ => return None,
        };
        Some(Failure::new(ErrorCode::Conflict, used))
    }

    /// Answers the latest command with a failure.
    pub(super) fn refuse_command(&mut self, failure: Failure) {
        let call = self.next_call;
        self.next_call += 1;
        self.reply(call, Err(failure));
    }

    fn has_editors(&self) -> bool {
        self.editors.as_deref().is_some_and(|editors| !editors.is_empty())
    }
}
