//! The task that owns the [`AuthStore`], and stores its sessions and links on disk.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use acpd_model::{ErrorCode, Failure, ThreadId};
use acpd_proto::surface::reply::{CreatedShare, ShareInfo};
use acpd_proto::time::Now;
use acpd_runtime::share::{NewShare, ShareStore};
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot, watch};

use crate::auth::devices::Devices;
use crate::auth::identity::Identity;
use crate::auth::sessions::SessionSecret;
use crate::auth::shares::ShareSecret;
use crate::auth::store::{AuthStore, SignedOut};
use crate::auth::stored_list::Unstored;
use crate::auth::tokens;
use crate::auth::tokens::TokensError;
use acpd_runtime::clock::Clock;

/// Requests that may wait for the authentication store.
const GATE_QUEUE: usize = 256;

/// An operation on the store. It returns a callback that runs after the changes are on disk, or could not be stored.
type Job = Box<dyn FnOnce(&mut AuthStore, Now) -> Box<dyn FnOnce(std::io::Result<()>) + Send> + Send>;

/// Limits one sleep, because the user can change the wall clock in the meantime.
const NAP: Duration = Duration::from_mins(1);

/// A handle to the authentication task.
#[derive(Debug, Clone)]
pub struct AuthHandle {
    jobs: mpsc::Sender<Job>,
    data_dir: Arc<Path>,
    devices: watch::Receiver<Arc<Devices>>,
}

/// Says why the token of a device is still valid after the device was signed out.
#[derive(Debug)]
pub struct Unrevoked {
    /// The name of the token.
    pub name: String,
    pub error: TokensError,
}

impl AuthHandle {
    /// Starts the authentication task for `store`, which writes its sessions below `data_dir`.
    pub fn open(store: AuthStore, data_dir: &Path, clock: Clock) -> Self {
        let (jobs, queue) = mpsc::channel(GATE_QUEUE);
        let data_dir: Arc<Path> = data_dir.into();
        let (published, devices) = watch::channel(Arc::new(store.devices(clock.now())));
        let task = Keeper {
            store,
            data_dir: Arc::clone(&data_dir),
            clock,
            devices: published,
        };
        tokio::spawn(task.run(queue));
        Self {
            jobs,
            data_dir,
            devices,
        }
    }

    /// Returns the browsers that receive notifications, and changes of them.
    pub fn devices(&self) -> watch::Receiver<Arc<Devices>> {
        self.devices.clone()
    }

    /// Reloads the issued tokens. If the file cannot be read, the tokens stay as they are.
    pub async fn reload(&self) -> Result<(), TokensError> {
        let data_dir = Arc::clone(&self.data_dir);
        // The task reads the file, so that of two concurrent reloads the later one never applies the older content.
        let reloaded = self.ask(move |store, now| Ok(store.set_keys(tokens::load(&data_dir)?, now)));
        if let Some(ended) = reloaded.await.transpose()?
            && ended > 0
        {
            tracing::info!(ended, "tokens were revoked");
        }
        Ok(())
    }

    /// Pairs the device that shows this ticket: creates its token, and begins its session. Returns `None` if the ticket is of no
    /// pairing that is open. A device for which there is no room can use its ticket again.
    pub async fn pair(
        &self,
        ticket: String,
        secret: SessionSecret,
    ) -> Option<Result<Option<Identity>, TokensError>> {
        let auth = self.clone();
        // To the end, also if the device leaves meanwhile.
        let paired = tokio::spawn(async move { auth.pair_to_the_end(ticket, secret).await });
        paired.await.ok()?
    }

    async fn pair_to_the_end(
        &self,
        ticket: String,
        secret: SessionSecret,
    ) -> Option<Result<Option<Identity>, TokensError>> {
        let shown = ticket.clone();
        // In the task, so that a ticket works once.
        let begun = self.ask(move |store, now| Some((store.begin_pairing(&shown, now)?, now.wall)));
        let Some((device, now)) = begun.await? else {
            return Some(Ok(None));
        };
        let role = device.role;
        // Not in the task: every request waits for it.
        let made = self.change_tokens(move |data_dir| tokens::pair(data_dir, &device, now));
        let name = match made.await {
            Ok(name) => name,
            Err(error) => {
                self.ask(move |store, _| store.release_pairing(&ticket)).await;
                return Some(Err(error));
            }
        };
        let data_dir = Arc::clone(&self.data_dir);
        let (shown, of_device) = (ticket.clone(), name.clone());
        // The task reads the file, as for a reload.
        let ended = self.ask(move |store, now| {
            store.set_keys(tokens::load(&data_dir)?, now);
            Ok::<_, TokensError>(store.finish_pairing(&shown, &of_device, &secret, now))
        });
        let ended = ended.await;
        if let Some(Ok(Some(_))) = &ended {
            tracing::info!(device = %name, %role, "a device was paired");
        } else {
            self.withdraw(ticket, name).await;
        }
        ended
    }

    /// Revokes the token of a device that has got no session: its secret was sent to no client.
    async fn withdraw(&self, ticket: String, name: String) {
        let of_device = name.clone();
        let revoked = self.change_tokens(move |data_dir| tokens::revoke(data_dir, &of_device));
        let withdrawn = match revoked.await {
            Ok(()) => self.reload().await,
            Err(error) => Err(error),
        };
        if let Err(error) = withdrawn {
            tracing::warn!(device = %name, %error, "the token of a device that was not paired may be left");
        }
        self.ask(move |store, _| store.release_pairing(&ticket)).await;
    }

    /// Signs out a device that `by` may see. The token of a paired device is revoked, with all sessions that it has. Returns whether there
    /// is such a device, or `None` while the daemon stops.
    pub async fn sign_out_device(&self, id: String, by: Identity) -> Option<Result<bool, Unrevoked>> {
        let auth = self.clone();
        // To the end, also if the client leaves meanwhile: the device is not listed any more, so nobody could repeat it.
        let signed_out = tokio::spawn(async move { auth.sign_out_to_the_end(id, by).await });
        signed_out.await.ok()?
    }

    async fn sign_out_to_the_end(&self, id: String, by: Identity) -> Option<Result<bool, Unrevoked>> {
        let who = Arc::clone(&by.principal);
        let ended = self.ask(move |store, _| store.sign_out_device(&id, &by)).await?;
        let name = match ended {
            SignedOut::Unknown => return Some(Ok(false)),
            SignedOut::Session => {
                tracing::info!(by = %who, "a device was signed out");
                return Some(Ok(true));
            }
            SignedOut::Paired(name) => name,
        };
        let of_device = name.clone();
        let revoked = self.change_tokens(move |data_dir| tokens::revoke(data_dir, &of_device));
        match revoked.await {
            // It was revoked meanwhile.
            Ok(()) | Err(TokensError::Unknown(_)) => {}
            Err(error) => return Some(Err(Unrevoked { name, error })),
        }
        if let Err(error) = self.reload().await {
            return Some(Err(Unrevoked { name, error }));
        }
        tracing::info!(device = %name, by = %who, "a paired device was signed out");
        Some(Ok(true))
    }

    /// Changes the tokens file beside the task, which must not wait for the disk.
    async fn change_tokens<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Path) -> Result<T, TokensError> + Send + 'static,
    ) -> Result<T, TokensError> {
        let data_dir = Arc::clone(&self.data_dir);
        let changed = tokio::task::spawn_blocking(move || change(&data_dir)).await;
        changed.unwrap_or_else(|error| {
            Err(TokensError::File {
                path: tokens::path(&self.data_dir),
                source: std::io::Error::other(error),
            })
        })
    }

    /// Runs `question` in the authentication task, and returns its result after the changes are on disk. Returns `None`
    /// while the daemon shuts down.
    pub async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut AuthStore, Now) -> T + Send + 'static,
    ) -> Option<T> {
        // Sessions that could not be stored are valid until the daemon exits.
        Some(self.ask_stored(question).await?.0)
    }

    /// Runs `question` in the authentication task, and returns its result with whether links could be stored after it.
    async fn ask_stored<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut AuthStore, Now) -> T + Send + 'static,
    ) -> Option<(T, std::io::Result<()>)> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(|store, now| {
            let reply = question(store, now);
            // The caller may have dropped its future.
            Box::new(|stored| drop(answer.send((reply, stored))))
        });
        self.jobs.send(job).await.ok()?;
        answered.await.ok()
    }
}

impl ShareStore for AuthHandle {
    fn create(&self, share: NewShare) -> BoxFuture<'static, Result<CreatedShare, Failure>> {
        let auth = self.clone();
        Box::pin(async move {
            let secret = ShareSecret::random()
                .map_err(|error| Failure::new(ErrorCode::Internal, format!("no random numbers: {error}")))?;
            let kept = secret.clone();
            let created = auth.ask_stored(move |store, now| store.create_share(share, &kept, now));
            let (created, stored) = created.await.ok_or_else(stopping)?;
            let share = created?;
            if let Err(error) = stored {
                // Nobody has its secret. Without this, it would count towards the limits.
                let id = share.id.clone();
                auth.ask(move |store, now| store.end_shares(|share| share.id == id, now))
                    .await;
                let message = format!("the link could not be stored: {error}");
                return Err(Failure::new(ErrorCode::Storage, message));
            }
            tracing::info!(share = %share.id, thread = %share.thread, by = %share.created_by, "a thread was shared");
            let secret = secret.secret;
            Ok(CreatedShare { share, secret })
        })
    }

    fn list(&self, thread: Option<ThreadId>) -> BoxFuture<'static, Result<Vec<ShareInfo>, Failure>> {
        let auth = self.clone();
        Box::pin(async move {
            let listed = auth.ask(move |store, now| store.list_shares(thread, now));
            listed.await.ok_or_else(stopping)
        })
    }

    fn revoke(&self, share: String) -> BoxFuture<'static, Result<(), Failure>> {
        let auth = self.clone();
        Box::pin(async move {
            let id = share.clone();
            let ended = auth.ask_stored(move |store, now| store.end_shares(|share| share.id == id, now));
            let (ended, stored) = ended.await.ok_or_else(stopping)?;
            if ended == 0 {
                return Err(Failure::not_found(format_args!("link {share:?}")));
            }
            tracing::info!(%share, "a link was revoked");
            stored.map_err(|error| {
                let message = format!(
                    "the link is revoked, but that could not be stored: it is valid again if the daemon restarts: {error}"
                );
                Failure::new(ErrorCode::Storage, message)
            })
        })
    }

    fn forget(&self, thread: ThreadId) -> BoxFuture<'static, ()> {
        let auth = self.clone();
        Box::pin(async move {
            // While the daemon stops, the next start drops the links of threads that do not exist.
            auth.ask(move |store, now| store.end_shares(|share| share.thread == thread, now))
                .await;
        })
    }
}

fn stopping() -> Failure {
    Failure::new(ErrorCode::Overloaded, "the daemon is stopping")
}

/// The task that owns the store.
struct Keeper {
    store: AuthStore,
    data_dir: Arc<Path>,
    clock: Clock,
    devices: watch::Sender<Arc<Devices>>,
}

impl Keeper {
    async fn run(mut self, mut queue: mpsc::Receiver<Job>) {
        loop {
            // A failure is logged. Links are stored again with the next change.
            let _ = self.save().await;
            let nap = self.store.poll_timeout().map(|due| {
                let millis = u64::try_from(due.saturating_sub(self.clock.now().wall)).unwrap_or(0);
                Duration::from_millis(millis).min(NAP)
            });
            let over = async {
                match nap {
                    Some(nap) => tokio::time::sleep(nap).await,
                    None => std::future::pending().await,
                }
            };
            let job = tokio::select! {
                job = queue.recv() => job,
                () = over => {
                    self.correct().await;
                    self.store.handle_timeout(self.clock.now());
                    continue;
                }
            };
            let Some(job) = job else { return };
            let answer = job(&mut self.store, self.clock.now());
            let stored = self.save().await;
            answer(stored);
        }
    }

    /// Lets what began while the clock was ahead last as long as it was meant to. Before a time is known, the clock may be behind.
    async fn correct(&mut self) {
        let now = self.clock.now();
        if !self.clock.is_known() || !self.store.correct(now.wall) {
            return;
        }
        let data_dir = Arc::clone(&self.data_dir);
        let corrected = tokio::task::spawn_blocking(move || tokens::correct(&data_dir, now.wall)).await;
        match corrected {
            Ok(Ok(keys)) => {
                self.store.set_keys(keys, now);
            }
            Ok(Err(error)) => {
                tracing::error!(%error, "tokens that were created while the clock was ahead are valid for longer")
            }
            // The daemon stops.
            Err(_) => {}
        }
    }

    /// Stores what has changed, and publishes the devices. Returns whether the links could be stored.
    async fn save(&mut self) -> std::io::Result<()> {
        if let Some(unstored) = self.store.take_unstored() {
            let devices = Arc::new(self.store.devices(self.clock.now()));
            self.devices.send_if_modified(|known| {
                let is_changed = *known != devices;
                *known = devices;
                is_changed
            });
            let path = unstored.path(&self.data_dir);
            if let Err(error) = write(unstored, &self.data_dir).await {
                // The sessions remain valid until the daemon exits.
                tracing::error!(path = %path.display(), %error, "the sessions of browsers cannot be stored");
            }
        }
        let Some(unstored) = self.store.take_unstored_shares() else {
            return Ok(());
        };
        let path = unstored.path(&self.data_dir);
        let stored = write(unstored, &self.data_dir).await;
        if let Err(error) = &stored {
            self.store.shares_not_stored();
            tracing::error!(path = %path.display(), %error, "the links that share threads cannot be stored");
        }
        stored
    }
}

async fn write(unstored: Unstored, data_dir: &Arc<Path>) -> std::io::Result<()> {
    let data_dir = Arc::clone(data_dir);
    let stored = tokio::task::spawn_blocking(move || unstored.store(&data_dir)).await;
    stored.unwrap_or_else(|error| Err(std::io::Error::other(error)))
}

#[cfg(test)]
mod tests {
    use acpd_files::data_files;
    use acpd_model::Role;

    use super::*;
    use crate::auth::owner_token::Token;
    use crate::auth::sessions::{SessionSecret, Sessions};
    use crate::auth::shares::Shares;
    use crate::auth::store::Source;
    use crate::auth::tokens::{NewDevice, create, load};

    fn at(wall: i64) -> Now {
        Now {
            mono: Duration::from_secs(1),
            wall,
        }
    }

    #[tokio::test]
    async fn expired_sessions_end_without_a_request() {
        let dir = tempfile::tempdir().unwrap();
        let secret = create(dir.path(), "a", Role::Owner, 0, Some(1000)).unwrap();
        let owner = Token::given("a-token-of-some-length").unwrap();
        let mut store = AuthStore::new(
            &owner,
            load(dir.path()).unwrap(),
            Shares::default(),
            Sessions::default(),
            at(1),
        );
        // The session was still valid at this earlier time.
        let identity = store.token(&secret, Source::Socket, at(2)).unwrap();
        let _gate = AuthHandle::open(store, dir.path(), Clock::start());
        identity.ends.cancelled().await;
    }

    #[tokio::test(start_paused = true)]
    async fn sessions_started_while_the_clock_was_ahead_expire_by_the_known_time() {
        const DAY: i64 = 24 * 3600 * 1000;
        const LEAPT: i64 = 400 * DAY;
        let dir = tempfile::tempdir().unwrap();
        let secret = create(dir.path(), "a", Role::Owner, LEAPT, Some(LEAPT + DAY)).unwrap();
        let owner = Token::given("a-token-of-some-length").unwrap();
        let keys = load(dir.path()).unwrap();
        let (shares, sessions) = (Shares::default(), Sessions::default());
        let mut store = AuthStore::new(&owner, keys, shares, sessions, at(LEAPT));
        let token = store.token(&secret, Source::Socket, at(LEAPT)).unwrap();
        let link = ShareSecret::random().unwrap();
        store.create_share(new_share(), &link, at(LEAPT)).unwrap();
        let link = store.token(&link.secret, Source::Socket, at(LEAPT)).unwrap();
        let cookie = SessionSecret::random().unwrap();
        let session = store.begin_session(&cookie, &store.owner(), at(LEAPT)).unwrap();
        let clock = Clock::starting_at(DAY);
        let auth = AuthHandle::open(store, dir.path(), clock);
        // Nothing says that the clock is right: it may be behind.
        tokio::time::sleep(NAP * 3).await;
        assert_eq!(load(dir.path()).unwrap()[0].created_at, LEAPT);
        clock.confirm(clock.host_wall());
        token.ends.cancelled().await;
        assert!(clock.now().wall < 3 * DAY);
        // Another reload of the corrected file ends nothing.
        auth.reload().await.unwrap();
        link.ends.cancelled().await;
        session.ends.cancelled().await;
        assert!(clock.now().wall < 40 * DAY);
    }

    /// Adds a pairing of the owner.
    async fn pairing(auth: &AuthHandle, ticket: &'static str) {
        let added = auth.ask(move |store, now| {
            let device = NewDevice::new("phone", Role::Approver);
            let owner = store.owner();
            store.add_pairing(ticket, owner, device, Duration::from_mins(10), now)
        });
        assert_eq!(added.await, Some(Ok(())));
    }

    #[tokio::test]
    async fn concurrent_uses_of_a_ticket_pair_one_device() {
        let dir = tempfile::tempdir().unwrap();
        let auth = open(dir.path());
        pairing(&auth, "ticket").await;
        let pair = || auth.pair("ticket".to_owned(), SessionSecret::random().unwrap());
        let (one, other) = tokio::join!(pair(), pair());
        let is_paired = |paired: &Option<Result<Option<Identity>, TokensError>>| matches!(paired, Some(Ok(Some(identity))) if &*identity.principal == "phone");
        assert_ne!(is_paired(&one), is_paired(&other));
        assert_eq!(load(dir.path()).unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_device_without_a_session_leaves_no_token() {
        let dir = tempfile::tempdir().unwrap();
        let auth = open(dir.path());
        pairing(&auth, "ticket").await;
        // Another process changes the tokens, so that the device waits.
        let lock = acpd_files::private_file::lock(&tokens::path(dir.path())).unwrap();
        let device = auth.clone();
        let paired = tokio::spawn(async move {
            device
                .pair("ticket".to_owned(), SessionSecret::random().unwrap())
                .await
        });
        let owner = auth.ask(|store, _| store.owner()).await.unwrap();
        // The task answers meanwhile, and the pairing ends while the device uses it.
        let is_used = |store: &mut AuthStore, now| {
            let is_open = store.begin_pairing("ticket", now).is_some();
            if is_open {
                store.release_pairing("ticket");
            }
            !is_open
        };
        while !auth.ask(is_used).await.unwrap() {
            tokio::task::yield_now().await;
        }
        let ended = auth
            .ask(move |store, _| store.end_pairing("ticket", &owner))
            .await;
        assert_eq!(ended, Some(true));
        drop(lock);
        assert!(matches!(paired.await.unwrap(), Some(Ok(None))));
        assert!(load(dir.path()).unwrap().is_empty());
    }

    /// Pairs a device. Returns its identity and the id with which it is listed.
    async fn paired(auth: &AuthHandle) -> (Identity, String) {
        pairing(auth, "ticket").await;
        let paired = auth
            .pair("ticket".to_owned(), SessionSecret::random().unwrap())
            .await;
        let Some(Ok(Some(identity))) = paired else {
            panic!("the device is not paired");
        };
        let id = identity.session.unwrap().0.id();
        (identity, id)
    }

    #[tokio::test]
    async fn a_device_is_signed_out_to_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let auth = open(dir.path());
        let (device, id) = paired(&auth).await;
        let owner = auth.ask(|store, _| store.owner()).await.unwrap();
        // Another process changes the tokens, so that the revocation waits.
        let lock = acpd_files::private_file::lock(&tokens::path(dir.path())).unwrap();
        let mut request = Box::pin(auth.sign_out_device(id, owner));
        tokio::select! {
            biased;
            _ = &mut request => panic!("the revocation did not wait"),
            () = device.ends.cancelled() => {}
        }
        // The client disconnects.
        drop(request);
        drop(lock);
        while !load(dir.path()).unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_token_that_is_not_revoked_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let auth = open(dir.path());
        let (_, id) = paired(&auth).await;
        let owner = auth.ask(|store, _| store.owner()).await.unwrap();
        std::fs::remove_file(tokens::path(dir.path())).unwrap();
        std::fs::create_dir(tokens::path(dir.path())).unwrap();
        let signed_out = auth.sign_out_device(id, owner).await;
        let Some(Err(Unrevoked { name, error })) = signed_out else {
            panic!("{signed_out:?}");
        };
        assert_eq!(name, "phone");
        assert!(matches!(error, TokensError::File { .. }), "{error}");
    }

    #[tokio::test]
    async fn a_device_without_a_token_can_use_its_ticket_again() {
        let dir = tempfile::tempdir().unwrap();
        let auth = open(dir.path());
        pairing(&auth, "ticket").await;
        let pair = || auth.pair("ticket".to_owned(), SessionSecret::random().unwrap());
        std::fs::create_dir(tokens::path(dir.path())).unwrap();
        assert!(matches!(pair().await, Some(Err(TokensError::File { .. }))));
        std::fs::remove_dir(tokens::path(dir.path())).unwrap();
        assert!(matches!(pair().await, Some(Ok(Some(_)))));
    }

    #[tokio::test]
    async fn a_session_is_stored_before_anybody_knows_its_cookie() {
        let dir = tempfile::tempdir().unwrap();
        let owner = Token::given("a-token-of-some-length").unwrap();
        let clock = Clock::start();
        let store = AuthStore::new(
            &owner,
            Vec::new(),
            Shares::default(),
            Sessions::default(),
            clock.now(),
        );
        let auth = AuthHandle::open(store, dir.path(), clock);
        let secret = SessionSecret::random().unwrap();
        let begun = secret.clone();
        let begin =
            move |store: &mut AuthStore, now| store.begin_session(&begun, &store.owner(), now).is_some();
        assert_eq!(auth.ask(begin).await, Some(true));
        let mut again = AuthStore::new(
            &owner,
            Vec::new(),
            Shares::default(),
            Sessions::load(dir.path()),
            clock.now(),
        );
        assert!(again.session(&secret, clock.now()).is_ok());
    }

    fn new_share() -> NewShare {
        NewShare::new(ThreadId(uuid::Uuid::nil()), None, "owner".to_owned(), None).unwrap()
    }

    fn open(data_dir: &Path) -> AuthHandle {
        let owner = Token::given("a-token-of-some-length").unwrap();
        let clock = Clock::start();
        let (shares, sessions) = (Shares::load(data_dir), Sessions::default());
        let store = AuthStore::new(&owner, Vec::new(), shares, sessions, clock.now());
        AuthHandle::open(store, data_dir, clock)
    }

    #[tokio::test]
    async fn a_link_is_stored_before_anybody_knows_its_secret() {
        let dir = tempfile::tempdir().unwrap();
        let auth = open(dir.path());
        let made = auth.create(new_share()).await.unwrap();
        let stored = Shares::load(dir.path()).list(None, made.share.created_at);
        assert_eq!(stored, std::slice::from_ref(&made.share));
        let other = auth.create(new_share()).await.unwrap();
        auth.revoke(made.share.id.clone()).await.unwrap();
        let again = auth.revoke(made.share.id).await.unwrap_err();
        assert_eq!(again.code, ErrorCode::NotFound);
        let stored = Shares::load(dir.path()).list(None, other.share.created_at);
        assert_eq!(stored, std::slice::from_ref(&other.share));
        auth.forget(other.share.thread).await;
        assert_eq!(Shares::load(dir.path()).threads(), []);
    }

    #[tokio::test]
    async fn a_link_that_cannot_be_stored_is_not_made_and_a_revoked_one_ends_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let auth = open(dir.path());
        let made = auth.create(new_share()).await.unwrap();
        // A directory cannot be replaced by a file.
        let file = data_files::SHARES.path(dir.path());
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        let refused = auth.create(new_share()).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Storage);
        let listed = auth.list(None).await.unwrap();
        assert_eq!(listed, std::slice::from_ref(&made.share));
        let secret = made.secret.clone();
        let reader = auth.ask(move |store, now| store.token(&secret, Source::Socket, now));
        let reader = reader.await.unwrap().unwrap();
        let revoked = auth.revoke(made.share.id).await.unwrap_err();
        assert!(revoked.message.contains("if the daemon restarts"), "{revoked}");
        assert!(reader.ends.is_cancelled());
        // The next change stores it.
        std::fs::remove_dir(&file).unwrap();
        auth.list(None).await.unwrap();
        assert_eq!(Shares::load(dir.path()).threads(), []);
    }
}
