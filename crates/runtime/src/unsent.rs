//! Memory for large answers that clients have not received yet.
//!
//! In: a client, and the bytes that its answer will have. Out: charges, which are held until the answer is sent. Owns: the room of
//! each connection, which is a part of its principal's, which is a part of the room of all; and the same for downloads, so that answers
//! never wait for a client that reads a download slowly. Never: lets readers of shared threads use the room of other clients, or other
//! clients all room of owners.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use acpd_model::limits::{
    DOWNLOAD_BYTES, DOWNLOAD_BYTES_OF_ONE, DOWNLOAD_PAGE_BYTES, DOWNLOAD_PAGE_BYTES_OF_ONE, FREE_EVENT_BYTES,
    UNSENT_BYTES, UNSENT_BYTES_OF_CONNECTION, UNSENT_BYTES_OF_ONE,
};
use acpd_model::{AccessScope, Role, ThreadId};
use acpd_proto::surface::request::Permissions;
use tokio::time::{Instant, sleep, sleep_until};

use crate::room::{Charge, Room};

/// A byte more than answers take. It is free as long as none waits.
const MARK: u32 = 1;

/// The interval of checks after a client has kept an answer for long: an answer that starts to wait wakes no connection.
const CHECK: Duration = Duration::from_millis(500);

/// The interval at which a subscription asks again for room that is not free.
const ASK: Duration = Duration::from_millis(100);

/// The room for answers; cheap to clone.
#[derive(Debug, Clone)]
pub struct UnsentAnswers(Arc<Rooms>);

#[derive(Debug)]
struct Rooms {
    answers: Mutex<Principals>,
    /// The rooms of connections for answers that are used.
    connections: Mutex<BTreeMap<(Principal, Arc<str>), Room>>,
    downloads: Mutex<Principals>,
    /// For large pages of downloads. It is apart from `downloads`, so that one that waits for it never waits for others of its kind.
    pages: Mutex<Principals>,
}

/// A room of all clients, and the parts of it that are used.
#[derive(Debug)]
struct Principals {
    /// For owners that reach everything, and for `others`.
    owners: Room,
    /// For other clients that reach everything.
    others: Room,
    /// For the readers of shared threads.
    shared: Room,
    /// The bytes of a principal.
    most: u32,
    parts: BTreeMap<Principal, Room>,
}

/// The name of a principal, its role, and the thread if it reaches only one.
type Principal = (String, Role, Option<ThreadId>);

/// A connection for which large events are read.
#[derive(Debug, Clone)]
pub struct Recipient {
    unsent: UnsentAnswers,
    principal: String,
    permissions: Permissions,
    connection: Arc<str>,
}

/// The room for the large pages of a principal's downloads.
#[derive(Debug)]
pub struct DownloadPages(Room);

/// The room of an answer that has been read for a client.
#[derive(Debug)]
pub struct UnsentCharge {
    charge: Charge,
    since: Instant,
}

impl Default for UnsentAnswers {
    fn default() -> Self {
        Self(Arc::new(Rooms {
            answers: Mutex::new(Principals::new(UNSENT_BYTES, UNSENT_BYTES_OF_ONE)),
            connections: Mutex::default(),
            downloads: Mutex::new(Principals::new(DOWNLOAD_BYTES, DOWNLOAD_BYTES_OF_ONE)),
            pages: Mutex::new(Principals::new(DOWNLOAD_PAGE_BYTES, DOWNLOAD_PAGE_BYTES_OF_ONE)),
        }))
    }
}

impl Principals {
    /// Creates room of `all` bytes, and again for the readers of shared threads, of which a principal has `one` at most.
    fn new(all: u32, one: u32) -> Self {
        let owners = Room::new(all + MARK);
        Self {
            others: owners.part(all - one + MARK),
            owners,
            shared: Room::new(all + MARK),
            most: one + MARK,
            parts: BTreeMap::new(),
        }
    }

    /// Returns the room of a principal.
    fn room(&mut self, principal: &Principal) -> &Room {
        self.parts.retain(|_, room| room.is_used());
        let around = match principal {
            (_, _, Some(_)) => &self.shared,
            (_, Role::Owner, None) => &self.owners,
            (_, _, None) => &self.others,
        };
        self.parts
            .entry(principal.clone())
            .or_insert_with(|| around.part(self.most))
    }
}

impl UnsentAnswers {
    /// Returns a connection of a principal, for its large events.
    pub fn recipient(&self, principal: String, permissions: Permissions, connection: Arc<str>) -> Recipient {
        Recipient {
            unsent: self.clone(),
            principal,
            permissions,
            connection,
        }
    }

    /// Takes room for a download of a principal that holds up to `bytes` at a time, if it is free. Otherwise a download whose client stops
    /// reading ends, so that a later attempt succeeds.
    pub fn take_download(
        &self,
        principal: &str,
        permissions: Permissions,
        bytes: u64,
    ) -> Option<UnsentCharge> {
        let principal = principal_of(principal.to_owned(), permissions);
        // A room of its own: a charge is wanted if a room around it is.
        let room = lock(&self.0.downloads)
            .room(&principal)
            .part(DOWNLOAD_BYTES_OF_ONE);
        room.ask(bytes).map(UnsentCharge::new)
    }

    /// Returns the room for the large pages of a principal's downloads.
    pub fn download_pages(&self, principal: &str, permissions: Permissions) -> DownloadPages {
        let principal = principal_of(principal.to_owned(), permissions);
        DownloadPages(lock(&self.0.pages).room(&principal).clone())
    }

    /// Returns the room of a connection, which is a part of the room of its principal.
    pub(crate) fn room_for(&self, name: String, permissions: Permissions, connection: Arc<str>) -> Room {
        let principal = principal_of(name, permissions);
        let mut connections = lock(&self.0.connections);
        connections.retain(|_, room| room.is_used());
        let mut answers = lock(&self.0.answers);
        let of_principal = answers.room(&principal);
        connections
            .entry((principal, connection))
            .or_insert_with(|| of_principal.overflowing_part(UNSENT_BYTES_OF_CONNECTION))
            .clone()
    }
}

fn principal_of(name: String, permissions: Permissions) -> Principal {
    let thread = match permissions.scope {
        AccessScope::Everything => None,
        AccessScope::Thread(thread) => Some(thread),
    };
    (name, permissions.role, thread)
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recipient {
    /// Waits for room for events of `bytes`. Takes nothing while it is not polled: a connection polls its subscriptions only while
    /// there is room in its queue.
    pub(crate) async fn room(&self, bytes: u64) -> UnsentCharge {
        let bytes = bytes.min(UNSENT_BYTES_OF_ONE.into());
        loop {
            let connection = Arc::clone(&self.connection);
            let room = self
                .unsent
                .room_for(self.principal.clone(), self.permissions, connection);
            if let Some(charge) = room.ask(bytes) {
                return UnsentCharge::new(charge);
            }
            drop(room);
            sleep(ASK).await;
        }
    }
}

impl DownloadPages {
    /// Waits for room for a page of `bytes`; a small one needs none. Others that hold room for longer than their time end meanwhile.
    pub async fn room(&self, bytes: u64) -> Option<UnsentCharge> {
        if bytes <= FREE_EVENT_BYTES {
            return None;
        }
        let page = self.0.part(DOWNLOAD_PAGE_BYTES_OF_ONE);
        Some(UnsentCharge::new(page.take(bytes).await))
    }
}

impl UnsentCharge {
    /// Starts the time that the client has to receive the answer.
    pub(crate) fn new(charge: Charge) -> Self {
        let since = Instant::now();
        Self { charge, since }
    }

    /// Starts that time again: the client has received what the room was for, and the same room is for what follows.
    pub fn restart(&mut self) {
        self.since = Instant::now();
    }

    /// Counts the bytes of the message that the answer has become. What is more than was charged is counted if it is free: the
    /// message exists.
    pub fn encoded(&mut self, bytes: u64) {
        self.charge.settle(bytes.min(UNSENT_BYTES_OF_ONE.into()));
    }

    /// Returns how many times as long as for a small answer the client has for this one.
    pub fn times(&self) -> u32 {
        let bytes = self.charge.bytes().min(UNSENT_BYTES_OF_ONE.into());
        let times = bytes.div_ceil(UNSENT_BYTES_OF_CONNECTION.into()).max(1);
        u32::try_from(times).unwrap_or(1)
    }

    /// Waits until the client has had the answer for this time and other connections wait for its room. The time is for as much as one
    /// connection has room for: a client that is fast enough for small answers also receives large ones. Cancel safe.
    pub async fn overdue(&self, within: Duration) {
        let mut due = self.since + within * self.times();
        loop {
            sleep_until(due).await;
            if self.charge.is_wanted() {
                return;
            }
            due = Instant::now() + CHECK;
        }
    }
}

#[cfg(test)]
mod tests {
    use acpd_model::Origin;
    use acpd_model::event::ClientOrigin;
    use acpd_proto::surface::contract::Lane;
    use acpd_proto::surface::request::Permissions;
    use futures_util::FutureExt;

    use super::*;
    use crate::service::{Caller, Defaults};

    /// Connections that use all room of their principal.
    const AT_ONCE: u32 = UNSENT_BYTES_OF_ONE / UNSENT_BYTES_OF_CONNECTION;

    /// All room of a connection.
    const OF_CONNECTION: u64 = UNSENT_BYTES_OF_CONNECTION as u64;

    fn caller(principal: &str, role: Role, scope: AccessScope, connection: u32) -> Caller {
        let by = Origin::Client(Box::new(ClientOrigin {
            principal: principal.into(),
            client: "test".into(),
        }));
        let mut caller = Caller::new(by, Permissions { role, scope }, Lane::App, Defaults::none());
        caller.connection = connection.to_string().into();
        caller
    }

    fn observer(principal: &str, connection: u32) -> Caller {
        caller(principal, Role::Observer, AccessScope::Everything, connection)
    }

    /// Takes all room of a principal.
    async fn fill(unsent: &UnsentAnswers, of: impl Fn(u32) -> Caller) -> Vec<Charge> {
        let mut held = Vec::new();
        for connection in 0..AT_ONCE {
            held.push(unsent.take(&of(connection), OF_CONNECTION).await);
        }
        held
    }

    #[tokio::test]
    async fn a_connection_waits_for_itself_alone() {
        let unsent = UnsentAnswers::default();
        let [slow, other] = [0, 1].map(|connection| observer("ann", connection));
        let first = unsent.take(&slow, OF_CONNECTION).await;
        let mut second = Box::pin(unsent.take(&slow, 1));
        assert!(second.as_mut().now_or_never().is_none());
        assert!(!first.is_wanted(), "it waits for itself");
        assert!(unsent.take(&other, OF_CONNECTION).now_or_never().is_some());
        drop(first);
        assert!(second.now_or_never().is_some());
    }

    #[tokio::test]
    async fn an_answer_beyond_its_connection_takes_room_of_its_principal() {
        let unsent = UnsentAnswers::default();
        let [slow, other] = [0, 1].map(|connection| observer("ann", connection));
        let mut large = UnsentCharge::new(unsent.take(&slow, u64::MAX).await);
        let mut waiting = Box::pin(unsent.take(&other, 2));
        assert!(waiting.as_mut().now_or_never().is_none());
        let bob = observer("bob", 0);
        assert!(
            unsent.take(&bob, u64::MAX).now_or_never().is_some(),
            "it is not bob's"
        );
        // The message turns out to be small.
        large.encoded(10);
        assert!(waiting.now_or_never().is_some());
        // One that turns out to be large takes what is free.
        large.encoded(u64::MAX);
        assert!(unsent.take(&other, 2).now_or_never().is_none());
        drop(large);
        assert!(unsent.take(&other, 2).now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_principal_waits_for_itself_alone() {
        let unsent = UnsentAnswers::default();
        let mut held = fill(&unsent, |connection| observer("ann", connection)).await;
        let ann = observer("ann", AT_ONCE);
        let mut waiting = Box::pin(unsent.take(&ann, 2));
        assert!(!held[0].is_wanted());
        assert!(waiting.as_mut().now_or_never().is_none());
        assert!(held[0].is_wanted());
        let bob = observer("bob", 0);
        assert!(unsent.take(&bob, u64::MAX).now_or_never().is_some());
        held.pop();
        assert!(waiting.now_or_never().is_some());
        drop(held);
        // Rooms that are not used are forgotten.
        unsent.room_of(&bob);
        let used = (
            lock(&unsent.0.answers).parts.len(),
            lock(&unsent.0.connections).len(),
        );
        assert_eq!(used, (1, 1));
    }

    #[tokio::test]
    async fn other_clients_leave_room_for_owners() {
        let unsent = UnsentAnswers::default();
        let mut held = Vec::new();
        for principal in 1..UNSENT_BYTES / UNSENT_BYTES_OF_ONE {
            held.extend(fill(&unsent, |connection| observer(&principal.to_string(), connection)).await);
        }
        let another = observer("another", 0);
        assert!(unsent.take(&another, 2).now_or_never().is_none());
        let owner = |connection| caller("owner", Role::Owner, AccessScope::Everything, connection);
        assert!(fill(&unsent, owner).now_or_never().is_some());
    }

    #[tokio::test]
    async fn readers_of_shared_threads_take_no_room_of_others() {
        let unsent = UnsentAnswers::default();
        let reader = |number, connection| {
            let scope = AccessScope::Thread(ThreadId(uuid::Uuid::from_u128(number)));
            caller("link", Role::Observer, scope, connection)
        };
        let mut held = Vec::new();
        for number in 0..u128::from(UNSENT_BYTES / UNSENT_BYTES_OF_ONE) {
            held.extend(fill(&unsent, |connection| reader(number, connection)).await);
        }
        assert!(unsent.take(&reader(99, 0), 2).now_or_never().is_none());
        let all = |connection| observer("ann", connection);
        assert!(fill(&unsent, all).now_or_never().is_some());
    }

    #[tokio::test]
    async fn downloads_take_no_room_of_answers() {
        let unsent = UnsentAnswers::default();
        let half = u64::from(DOWNLOAD_BYTES_OF_ONE) / 2;
        let permissions = observer("ann", 0).permissions;
        let download = |name: &str| unsent.take_download(name, permissions, half);
        let mut held = vec![download("ann"), download("ann")];
        assert!(held.iter().all(Option::is_some));
        assert!(
            download("ann").is_none(),
            "it is refused rather than kept waiting"
        );
        let ann = observer("ann", 0);
        let all = unsent.take(&ann, UNSENT_BYTES_OF_ONE.into());
        assert!(all.now_or_never().is_some());
        held.pop();
        assert!(download("ann").is_some());
        // Others leave room for owners.
        for name in 0..DOWNLOAD_BYTES / DOWNLOAD_BYTES_OF_ONE {
            held.extend([download(&name.to_string()), download(&name.to_string())]);
        }
        assert!(download("bob").is_none());
        assert!(
            unsent
                .take_download("owner", Role::Owner.into(), 2 * half)
                .is_some()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_has_more_time_for_a_large_answer() {
        let within = Duration::from_secs(30);
        let unsent = UnsentAnswers::default();
        let [slow, other] = [0, 1].map(|connection| observer("ann", connection));
        let large = UnsentCharge::new(unsent.take(&slow, u64::MAX).await);
        let mut waiting = Box::pin(unsent.take(&other, 2));
        assert!(waiting.as_mut().now_or_never().is_none());
        let times = UNSENT_BYTES_OF_ONE / UNSENT_BYTES_OF_CONNECTION;
        let early = tokio::time::timeout((within * times).saturating_sub(CHECK), large.overdue(within)).await;
        assert!(early.is_err(), "as much time for each part");
        large.overdue(within).await;
        drop(large);
        assert!(waiting.now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_download_is_overdue_once_another_was_refused() {
        let within = Duration::from_secs(30);
        let unsent = UnsentAnswers::default();
        let permissions = observer("ann", 0).permissions;
        let download = |bytes: u32| unsent.take_download("ann", permissions, bytes.into());
        let first = download(DOWNLOAD_BYTES_OF_ONE).unwrap();
        let alone = tokio::time::timeout(10 * within, first.overdue(within)).await;
        assert!(alone.is_err(), "no other needs the room");
        assert!(download(2).is_none());
        first.overdue(within).await;
        drop(first);
        assert!(download(2).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_large_page_of_a_download_waits_for_others_until_they_are_overdue() {
        let within = Duration::from_secs(30);
        let unsent = UnsentAnswers::default();
        let permissions = observer("ann", 0).permissions;
        let pages = |name: &str| unsent.download_pages(name, permissions);
        assert!(pages("ann").room(FREE_EVENT_BYTES).await.is_none());
        let first = pages("ann").room(u64::MAX).await.unwrap();
        let alone = tokio::time::timeout(10 * within, first.overdue(within)).await;
        assert!(alone.is_err(), "no other waits");
        let ann = pages("ann");
        let mut waiting = Box::pin(ann.room(FREE_EVENT_BYTES + 1));
        assert!(waiting.as_mut().now_or_never().is_none());
        first.overdue(within).await;
        drop(first);
        let second = waiting.now_or_never().unwrap();
        // Others leave room for owners, and answers need none of it.
        assert!(pages("bob").room(u64::MAX).now_or_never().is_none());
        let owner = unsent.download_pages("owner", Role::Owner.into());
        assert!(owner.room(u64::MAX).now_or_never().is_some());
        let ann = observer("ann", 0);
        assert!(unsent.take(&ann, u64::MAX).now_or_never().is_some());
        drop(second);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_overdue_once_others_wait_for_its_room() {
        let within = Duration::from_secs(30);
        let unsent = UnsentAnswers::default();
        let mut held = fill(&unsent, |connection| observer("ann", connection)).await;
        let first = UnsentCharge::new(held.remove(0));
        let alone = tokio::time::timeout(10 * within, first.overdue(within)).await;
        assert!(alone.is_err(), "no other needs the room");
        let ann = observer("ann", AT_ONCE);
        let mut waiting = Box::pin(unsent.take(&ann, 2));
        assert!(waiting.as_mut().now_or_never().is_none());
        first.overdue(within).await;
        drop(first);
        assert!(waiting.now_or_never().is_some());
        let mut second = UnsentCharge::new(held.remove(0));
        assert!(second.overdue(within).now_or_never().is_none(), "it has its time");
        let full = unsent.take(&observer("ann", AT_ONCE + 1), OF_CONNECTION).await;
        let ann = observer("ann", AT_ONCE + 2);
        let mut waiting = Box::pin(unsent.take(&ann, 2));
        assert!(waiting.as_mut().now_or_never().is_none());
        second.overdue(within).await;
        second.restart();
        assert!(
            second.overdue(within).now_or_never().is_none(),
            "it has its time again"
        );
        drop((full, waiting));
    }
}
