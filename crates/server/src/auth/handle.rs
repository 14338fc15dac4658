//! The task that owns the [`AuthStore`], and stores its sessions on disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use acpd_model::limits::GATE_QUEUE;
use acpd_proto::time::Now;
use tokio::sync::{mpsc, oneshot};

use crate::auth::sessions::Sessions;
use crate::auth::store::AuthStore;
use crate::auth::tokens;
use crate::auth::tokens::TokensError;
use acpd_runtime::clock::Clock;

/// An operation on the store. It returns a callback that runs after the changes are on disk.
type Job = Box<dyn FnOnce(&mut AuthStore, Now) -> Box<dyn FnOnce() + Send> + Send>;

/// Limits one sleep, because the user can change the wall clock in the meantime.
const NAP: Duration = Duration::from_mins(1);

/// A handle to the authentication task.
#[derive(Debug, Clone)]
pub struct AuthHandle {
    jobs: mpsc::Sender<Job>,
    data_dir: Arc<Path>,
}

impl AuthHandle {
    /// Starts the authentication task for `store`, which writes its sessions below `data_dir`.
    pub fn open(store: AuthStore, data_dir: &Path, clock: Clock) -> Self {
        let (jobs, queue) = mpsc::channel(GATE_QUEUE);
        tokio::spawn(keep(store, queue, Sessions::path(data_dir), clock));
        let data_dir = data_dir.into();
        Self { jobs, data_dir }
    }

    /// Reloads the issued tokens. If the file cannot be read, the tokens stay as they are.
    pub async fn reload(&self) -> Result<(), TokensError> {
        let data_dir = Arc::clone(&self.data_dir);
        // The task reads the file, so that of two concurrent reloads the later one never applies the older content.
        let reloaded = self.ask(move |store, _| Ok(store.set_keys(tokens::load(&data_dir)?)));
        if let Some(ended) = reloaded.await.transpose()?
            && ended > 0
        {
            tracing::info!(ended, "tokens were revoked");
        }
        Ok(())
    }

    /// Runs `question` in the authentication task, and returns its result after the changes are on disk. Returns `None`
    /// while the daemon shuts down.
    pub async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut AuthStore, Now) -> T + Send + 'static,
    ) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(|store, now| {
            let reply = question(store, now);
            // The caller may have dropped its future.
            Box::new(|| drop(answer.send(reply)))
        });
        self.jobs.send(job).await.ok()?;
        answered.await.ok()
    }
}

async fn keep(mut store: AuthStore, mut queue: mpsc::Receiver<Job>, path: PathBuf, clock: Clock) {
    loop {
        save(&mut store, &path).await;
        let nap = store.poll_timeout().map(|due| {
            let millis = u64::try_from(due.saturating_sub(clock.now().wall)).unwrap_or(0);
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
                store.handle_timeout(clock.now());
                continue;
            }
        };
        let Some(job) = job else { return };
        let answer = job(&mut store, clock.now());
        save(&mut store, &path).await;
        answer();
    }
}

async fn save(store: &mut AuthStore, path: &std::path::Path) {
    let Some(bytes) = store.take_unstored() else {
        return;
    };
    let place = path.to_owned();
    let stored = tokio::task::spawn_blocking(move || Sessions::store(&place, &bytes)).await;
    if let Err(error) = stored.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
        // The sessions remain valid until the daemon exits.
        tracing::error!(path = %path.display(), %error, "the sessions of browsers cannot be stored");
    }
}

#[cfg(test)]
mod tests {
    use acpd_model::Role;

    use super::*;
    use crate::auth::owner_token::Token;
    use crate::auth::sessions::SessionSecret;
    use crate::auth::store::Source;
    use crate::auth::tokens::{create, load};

    fn at(wall: i64) -> Now {
        Now {
            mono: Duration::from_secs(1),
            wall,
        }
    }

    #[tokio::test]
    async fn what_is_over_ends_without_being_asked_about() {
        let dir = tempfile::tempdir().unwrap();
        let secret = create(dir.path(), "a", Role::Owner, 0, Some(1000)).unwrap();
        let owner = Token::given("a-token-of-some-length").unwrap();
        let mut store = AuthStore::new(&owner, load(dir.path()).unwrap(), Sessions::default(), at(1));
        // The session was still valid at this earlier time.
        let identity = store.token(&secret, Source::Socket, at(2)).unwrap();
        let _gate = AuthHandle::open(store, dir.path(), Clock::start());
        identity.ends.cancelled().await;
    }

    #[tokio::test]
    async fn a_session_is_stored_before_anybody_knows_its_cookie() {
        let dir = tempfile::tempdir().unwrap();
        let owner = Token::given("a-token-of-some-length").unwrap();
        let clock = Clock::start();
        let store = AuthStore::new(&owner, Vec::new(), Sessions::default(), clock.now());
        let auth = AuthHandle::open(store, dir.path(), clock);
        let secret = SessionSecret::random().unwrap();
        let begun = secret.clone();
        let begin =
            move |store: &mut AuthStore, now| store.begin_session(&begun, &store.owner(), now).is_some();
        assert_eq!(auth.ask(begin).await, Some(true));
        let mut again = AuthStore::new(&owner, Vec::new(), Sessions::load(dir.path()), clock.now());
        assert!(again.session(&secret, clock.now()).is_ok());
    }
}
