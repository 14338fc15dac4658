//! Requests about a thread as a whole, and words into a running turn.

use acpd_model::{Failure, Origin, RawJson, ThreadId};
use acpd_proto::surface::app::{Named, On, Request, thread_json};
use acpd_proto::thread::{Change, Command};
use acpd_proto::wire;

use crate::service::{Dispatched, Service, await_reply, misrouted};

impl Service {
    /// Carries out such a request.
    pub(crate) async fn lifecycle(&self, by: Origin, request: Request) -> Result<Dispatched, Failure> {
        match request {
            Request::ThreadNameSet(On { thread, params }) => {
                let name = params.name;
                self.change(thread, by, Change::Rename { name }).await
            }
            Request::ThreadMetadataSet(On { thread, params }) => {
                let metadata = params.metadata;
                self.change(thread, by, Change::SetMetadata { metadata }).await
            }
            Request::ThreadArchive(On { thread, .. }) => self.change(thread, by, Change::Archive).await,
            Request::ThreadUnarchive(On { thread, .. }) => self.unarchive(thread, by).await,
            Request::ThreadDelete(Named { thread, .. }) => self.simple(thread, by, Command::Delete).await,
            Request::ThreadRollback(On { thread, params }) => {
                let last_kept = params.turn_id;
                let change = Change::RollBack { last_kept };
                self.query_thread(thread, by, Command::Change(change)).await
            }
            Request::ThreadFork(On { thread, params }) => self.fork(by, thread, params).await,
            Request::TurnSteer(On { thread, params }) => {
                let (input, turn) = (params.content.0, params.turn_id);
                self.query_thread(thread, by, Command::Steer { input, turn })
                    .await
            }
            other => Err(misrouted(&other)),
        }
    }

    async fn change(&self, thread: ThreadId, by: Origin, change: Change) -> Result<Dispatched, Failure> {
        self.simple(thread, by, Command::Change(change)).await
    }

    async fn unarchive(&self, thread: ThreadId, by: Origin) -> Result<Dispatched, Failure> {
        let command = Command::Change(Change::Unarchive);
        let done = self.directory.command(thread, by, command).await?;
        let directory = self.directory.clone();
        Ok(Dispatched::answer(async move {
            await_reply(done).await?;
            let live = directory.subscribe(thread).await?.live;
            let thread: RawJson = thread_json(&live, None, None);
            Ok(wire::object(|found| {
                found.json("thread", Some(&thread));
            }))
        }))
    }
}
