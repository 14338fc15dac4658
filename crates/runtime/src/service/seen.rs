//! What users have seen, and whether they are here.

use acpd_log::LogError;
use acpd_model::{AccessScope, ErrorCode, Failure, Millis};
use acpd_proto::surface::reply::{Absence, SeenThread};
use acpd_proto::surface::request::SeeThreads;

use crate::service::Service;
use crate::service::caller::Caller;
use crate::stored::log_failure;

impl Service {
    pub(super) async fn see_threads(&self, caller: &Caller, wanted: SeeThreads) -> Result<Millis, Failure> {
        let user = user_of(caller).ok_or_else(no_user)?;
        let mut seen = Vec::with_capacity(wanted.threads.len());
        for SeenThread { thread, seen_at } in wanted.threads {
            match self.context.log.summary(thread).await {
                // What has not happened yet cannot be seen.
                Ok(summary) => seen.push(SeenThread {
                    thread,
                    seen_at: seen_at.min(summary.updated_at),
                }),
                Err(LogError::NoSuchThread(_)) => {}
                Err(error) => return Err(log_failure(&error)),
            }
        }
        let marked = self
            .context
            .seen
            .mark(user.to_owned(), seen, wanted.since)
            .await?;
        if !marked.changed.is_empty() {
            let at = self.context.clock.now().wall;
            self.context.thread_list.seen(user, at, &marked.changed);
        }
        Ok(marked.since)
    }

    pub(super) async fn report_presence(&self, caller: &Caller) -> Option<Absence> {
        match user_of(caller) {
            Some(user) => self.context.seen.present(user.to_owned()).await,
            None => None,
        }
    }
}

/// Returns the user of a client, unless it reads a shared thread: readers of a link are many.
pub(super) fn user_of(caller: &Caller) -> Option<&str> {
    match caller.permissions.scope {
        AccessScope::Everything => caller.user.as_deref(),
        AccessScope::Thread(_) => None,
    }
}

fn no_user() -> Failure {
    Failure::new(
        ErrorCode::Unsupported,
        "only a client of a user can mark threads as seen",
    )
}
