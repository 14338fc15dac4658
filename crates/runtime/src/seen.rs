//! What users have seen, for all of their devices: how far each principal has read each thread, and when a page of the
//! principal was last in front.
//!
//! In: marks and reports of clients. Out: the marks, once they are durable. Owns: one file in the data directory, readable
//! only by its owner and written by one task. Never: takes a mark back, or keeps more than the latest marks of each
//! principal.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use acpd_files::data_files::SEEN;
use acpd_files::{Form, StateFile};
use acpd_model::{ErrorCode, Failure, Millis, ThreadId};
use acpd_proto::surface::reply::{Absence, SeenThread};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};

use crate::clock::Clock;
use crate::host::{Host, blocking};

/// Marks of seen threads that are kept for one principal. Threads that changed before the oldest one count as seen.
const SEEN_THREADS: usize = 1000;
/// Principals whose marks of seen threads are kept.
const SEEN_PRINCIPALS: usize = 128;
/// Largest file of the marks of seen threads, in bytes.
const SEEN_BYTES: u64 = 32 << 20;
/// Marks and reports of clients that may wait for the file of the marks.
const SEEN_REQUESTS: usize = 64;
/// Age of the stored time at which a principal was last in front, in milliseconds, from which on it is stored again.
const SEEN_FRONT_MILLIS: i64 = 60_000;
/// Seconds without a page in front after which a user has been away.
const AWAY_SECS: u64 = 5 * 60;
/// The form of the file.
const FORM: Form = Form {
    versions: &[1],
    bytes: SEEN_BYTES,
    is_pretty: false,
    is_private: true,
};

/// What each principal has seen, by the principal's name.
type SeenBook = BTreeMap<String, Arc<Reader>>;

/// What one principal has seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reader {
    /// Changes of threads until then count as seen.
    since: Millis,
    /// The latest marks. Older ones are below `since`.
    threads: BTreeMap<ThreadId, Millis>,
    /// When a page of the principal was last in front, as far as it is stored.
    #[serde(default)]
    front_at: Millis,
}

impl Reader {
    fn new(since: Millis) -> Self {
        Self {
            since,
            threads: BTreeMap::new(),
            front_at: 0,
        }
    }

    fn seen_at(&self, thread: ThreadId) -> Millis {
        self.threads.get(&thread).copied().unwrap_or(0).max(self.since)
    }

    /// Adds a mark. Returns whether it is later than the one before.
    fn mark(&mut self, SeenThread { thread, seen_at }: SeenThread) -> bool {
        if seen_at <= self.seen_at(thread) {
            return false;
        }
        self.threads.insert(thread, seen_at);
        true
    }

    /// Drops the oldest marks if there are too many: all threads that changed before them count as seen.
    fn bound(&mut self) {
        let surplus = self.threads.len().saturating_sub(SEEN_THREADS);
        if surplus == 0 {
            return;
        }
        let mut times: Vec<Millis> = self.threads.values().copied().collect();
        times.sort_unstable();
        self.since = self.since.max(times[surplus - 1]);
        let since = self.since;
        self.threads.retain(|_, seen_at| *seen_at > since);
    }
}

/// The content of the file.
#[derive(Serialize, Deserialize)]
struct SeenFile {
    principals: BTreeMap<String, Reader>,
}

impl SeenFile {
    fn of(book: SeenBook) -> Self {
        let owned = |(name, reader)| (name, Arc::unwrap_or_clone(reader));
        Self {
            principals: book.into_iter().map(owned).collect(),
        }
    }

    fn into_book(self) -> SeenBook {
        let shared = |(name, reader)| (name, Arc::new(reader));
        self.principals.into_iter().map(shared).collect()
    }
}

/// A change of the marks of one principal.
#[derive(Debug)]
pub struct Marked {
    /// Changes of threads until then count as seen.
    pub since: Millis,
    /// The marks that are later than before.
    pub changed: Vec<SeenThread>,
}

#[derive(Debug)]
enum SeenRequest {
    Mark {
        principal: String,
        threads: Vec<SeenThread>,
        since: Option<Millis>,
        reply: oneshot::Sender<Result<Marked, Failure>>,
    },
    Present {
        principal: String,
        reply: oneshot::Sender<Option<Absence>>,
    },
    Forget(ThreadId),
}

/// Gives access to what users have seen.
#[derive(Debug, Clone)]
pub struct Seen {
    requests: mpsc::Sender<SeenRequest>,
    now: watch::Receiver<Arc<SeenBook>>,
}

impl Seen {
    /// Reads what is stored in a data directory and starts the task that writes it. No other daemon may use the
    /// directory. A file that cannot be read is set aside: all that is lost is what was read.
    pub fn open(host: Arc<dyn Host>, clock: Clock, data_dir: &Path) -> Self {
        let file = file_in(data_dir);
        let stored = file.read_or_set_aside("what users have read is unknown: all threads count as read");
        let book = stored.map(SeenFile::into_book).unwrap_or_default();
        let (book_tx, now) = watch::channel(Arc::new(book.clone()));
        let (requests, requested) = mpsc::channel(SEEN_REQUESTS);
        let keeper = Keeper {
            host,
            clock,
            file,
            book,
            front: BTreeMap::new(),
            book_tx,
        };
        tokio::spawn(keeper.run(requested));
        Self { requests, now }
    }

    /// Returns the time until which changes of each thread count as seen by a principal; `None` for a principal that has
    /// never marked a thread.
    pub fn of(&self, principal: &str) -> Option<impl Fn(ThreadId) -> Millis + use<>> {
        let reader = self.now.borrow().get(principal).cloned()?;
        Some(move |thread| reader.seen_at(thread))
    }

    /// Marks threads as seen. When this returns success, the marks are durable. `since` is where a new principal begins; by
    /// default, it has seen all that has happened.
    pub async fn mark(
        &self,
        principal: String,
        threads: Vec<SeenThread>,
        since: Option<Millis>,
    ) -> Result<Marked, Failure> {
        let (reply, answer) = oneshot::channel();
        let request = SeenRequest::Mark {
            principal,
            threads,
            since,
            reply,
        };
        let stopping = || {
            Failure::new(
                ErrorCode::Internal,
                "the marks were not kept: the daemon is stopping",
            )
        };
        self.requests.send(request).await.map_err(|_| stopping())?;
        answer.await.map_err(|_| stopping())?
    }

    /// Records that a page of the principal is in front. Returns the time in which none was, if that was long.
    pub async fn present(&self, principal: String) -> Option<Absence> {
        let (reply, answer) = oneshot::channel();
        self.requests
            .send(SeenRequest::Present { principal, reply })
            .await
            .ok()?;
        answer.await.ok()?
    }

    /// Drops the marks of a deleted thread. They leave the file with the next change.
    pub async fn forget(&self, thread: ThreadId) {
        // A daemon that stops keeps the marks until they are too old.
        let _ = self.requests.send(SeenRequest::Forget(thread)).await;
    }
}

/// The task that owns the file.
struct Keeper {
    host: Arc<dyn Host>,
    clock: Clock,
    file: StateFile<SeenFile>,
    book: SeenBook,
    /// When a page of each principal was last in front, by the time since the host was started.
    front: BTreeMap<String, Duration>,
    book_tx: watch::Sender<Arc<SeenBook>>,
}

impl Keeper {
    async fn run(mut self, mut requested: mpsc::Receiver<SeenRequest>) {
        let mut requests = Vec::with_capacity(SEEN_REQUESTS);
        while requested.recv_many(&mut requests, SEEN_REQUESTS).await > 0 {
            self.carry_out(&mut requests).await;
        }
    }

    /// Carries out requests, with one write of the file for all of them.
    async fn carry_out(&mut self, requests: &mut Vec<SeenRequest>) {
        let mut next = self.book.clone();
        let mut marked = Vec::new();
        let mut present = Vec::new();
        let mut is_due = false;
        for request in requests.drain(..) {
            match request {
                SeenRequest::Mark {
                    principal,
                    threads,
                    since,
                    reply,
                } => {
                    let now = self.clock.now().wall;
                    is_due |= !next.contains_key(&principal);
                    let begin = since.map_or(now, |since| since.clamp(0, now));
                    let reader = entry(&mut next, principal, begin);
                    let changed: Vec<_> = threads.into_iter().filter(|seen| reader.mark(*seen)).collect();
                    reader.bound();
                    is_due |= !changed.is_empty();
                    let since = reader.since;
                    marked.push((reply, Marked { since, changed }));
                }
                SeenRequest::Present { principal, reply } => {
                    let (away, is_old) = self.arrive(&mut next, &principal);
                    is_due |= is_old;
                    present.push((reply, away));
                }
                SeenRequest::Forget(thread) => {
                    for reader in next.values_mut() {
                        if reader.threads.contains_key(&thread) {
                            Arc::make_mut(reader).threads.remove(&thread);
                        }
                    }
                }
            }
        }
        let stored = if is_due { self.write(&next).await } else { Ok(()) };
        if stored.is_ok() {
            self.book = next;
            self.book_tx.send_replace(Arc::new(self.book.clone()));
        }
        // A client that has gone needs no answer.
        for (reply, away) in present {
            let _ = reply.send(away);
        }
        for (reply, done) in marked {
            let _ = reply.send(stored.clone().map(|()| done));
        }
    }

    /// Records that a page of the principal is in front. Returns the time in which the principal was away, and whether what
    /// the file says is old.
    fn arrive(&mut self, book: &mut SeenBook, principal: &str) -> (Option<Absence>, bool) {
        let (now, boot) = (self.clock.now().wall, self.clock.since_boot());
        let stored = book.get(principal).map_or(0, |reader| reader.front_at);
        let before = match self.front.insert(principal.to_owned(), boot) {
            // This clock counts while the host sleeps, and nobody sets it.
            Some(before) => Some(boot.saturating_sub(before)),
            // An earlier daemon recorded it.
            None if stored > 0 => {
                let passed = u64::try_from(now.saturating_sub(stored)).unwrap_or(0);
                Some(Duration::from_millis(passed))
            }
            None => None,
        };
        // A principal begins with its first marks.
        let reader = book.get_mut(principal);
        let old = reader.filter(|reader| now.saturating_sub(reader.front_at).abs() >= SEEN_FRONT_MILLIS);
        let is_old = old.is_some();
        if let Some(reader) = old {
            Arc::make_mut(reader).front_at = now;
        }
        while self.front.len() > SEEN_PRINCIPALS {
            // The least recently reported.
            let oldest = self.front.iter().min_by_key(|(_, at)| **at);
            let Some(oldest) = oldest.map(|(principal, _)| principal.clone()) else {
                break;
            };
            self.front.remove(&oldest);
        }
        let away = before.filter(|gap| *gap >= Duration::from_secs(AWAY_SECS));
        let away = away.map(|gap| Absence {
            since: now.saturating_sub(i64::try_from(gap.as_millis()).unwrap_or(i64::MAX)),
            until: now,
        });
        (away, is_old)
    }

    async fn write(&self, book: &SeenBook) -> Result<(), Failure> {
        let (file, book) = (self.file.clone(), book.clone());
        let written = blocking(&*self.host, move || Ok(file.write(&SeenFile::of(book)))).await?;
        written.map_err(|error| {
            tracing::error!(path = %self.file.path().display(), %error, "what users have read could not be kept");
            Failure::new(ErrorCode::Internal, format!("the marks were not kept: {error}"))
        })
    }
}

/// Returns what the principal has seen. A new principal has seen all until `begin`, and takes the place of the one that was
/// longest away if there are too many.
fn entry(book: &mut SeenBook, principal: String, begin: Millis) -> &mut Reader {
    if !book.contains_key(&principal) && book.len() >= SEEN_PRINCIPALS {
        let oldest = book.iter().min_by_key(|(_, reader)| reader.front_at);
        if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
            book.remove(&oldest);
        }
    }
    let reader = book
        .entry(principal)
        .or_insert_with(|| Arc::new(Reader::new(begin)));
    Arc::make_mut(reader)
}

fn file_in(data_dir: &Path) -> StateFile<SeenFile> {
    StateFile::new(SEEN.path(data_dir), &FORM)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::host::local::LocalHost;

    const BEGAN: Millis = 1_700_000_000_000;
    const MINUTE: Duration = Duration::from_mins(1);

    fn thread(number: u128) -> ThreadId {
        ThreadId(uuid::Uuid::from_u128(number))
    }

    fn stored(data_dir: &Path) -> SeenBook {
        file_in(data_dir).read().unwrap().unwrap().into_book()
    }

    fn open(place: &tempfile::TempDir, clock: Clock) -> Seen {
        Seen::open(Arc::new(LocalHost), clock, place.path())
    }

    fn mark(number: u128, seen_at: Millis) -> SeenThread {
        let thread = thread(number);
        SeenThread { thread, seen_at }
    }

    async fn marked(seen: &Seen, principal: &str, marks: &[SeenThread]) -> Vec<SeenThread> {
        let marked = seen.mark(principal.to_owned(), marks.to_vec(), Some(10)).await;
        marked.unwrap().changed
    }

    #[tokio::test]
    async fn marks_are_of_one_principal_and_only_rise() {
        let place = tempfile::tempdir().unwrap();
        let seen = open(&place, Clock::starting_at(BEGAN));
        assert!(
            seen.of("ann").is_none(),
            "a principal without marks has no unread threads"
        );
        assert_eq!(
            marked(&seen, "ann", &[mark(1, 50), mark(2, 5)]).await,
            [mark(1, 50)]
        );
        assert_eq!(
            marked(&seen, "ann", &[mark(1, 40)]).await,
            [],
            "it does not go back"
        );
        assert!(seen.of("bob").is_none());
        let of_ann = seen.of("ann").unwrap();
        assert_eq!([1, 2].map(|number| of_ann(thread(number))), [50, 10]);
        // A later daemon knows it, and where the principal began does not change.
        drop(seen);
        let seen = open(&place, Clock::starting_at(BEGAN));
        let later = seen.mark("ann".to_owned(), Vec::new(), Some(3)).await.unwrap();
        assert_eq!(later.since, 10);
        assert_eq!(seen.of("ann").unwrap()(thread(1)), 50);
        seen.forget(thread(1)).await;
        marked(&seen, "ann", &[mark(3, 60)]).await;
        assert_eq!(seen.of("ann").unwrap()(thread(1)), 10, "it was deleted");
        let text = std::fs::read_to_string(place.path().join("seen.json")).unwrap();
        assert!(!text.contains(&thread(1).to_string()), "{text}");
    }

    #[tokio::test]
    async fn a_principal_that_begins_has_seen_nothing_of_the_future() {
        let place = tempfile::tempdir().unwrap();
        let seen = open(&place, Clock::starting_at(BEGAN));
        for (name, since) in [("default", None), ("future", Some(Millis::MAX))] {
            let marked = seen.mark(name.to_owned(), Vec::new(), since).await.unwrap();
            assert!(
                (BEGAN..BEGAN + 60_000).contains(&marked.since),
                "{}",
                marked.since
            );
        }
        let past = seen.mark("past".to_owned(), Vec::new(), Some(Millis::MIN)).await;
        assert_eq!(past.unwrap().since, 0);
    }

    #[tokio::test]
    async fn the_oldest_of_too_many_marks_count_as_seen() {
        let place = tempfile::tempdir().unwrap();
        let seen = open(&place, Clock::starting_at(BEGAN));
        let most = u128::try_from(SEEN_THREADS).unwrap();
        let marks: Vec<_> = (1..=most + 5)
            .map(|number| mark(number, 100 + i64::try_from(number).unwrap()))
            .collect();
        assert_eq!(marked(&seen, "ann", &marks).await.len(), marks.len());
        let of_ann = seen.of("ann").unwrap();
        assert_eq!(of_ann(thread(1)), 105);
        assert_eq!(of_ann(thread(6)), 106);
        let (book, most) = (stored(place.path()), SEEN_THREADS);
        assert!(book["ann"].threads.len() <= most);
        for number in 0..SEEN_PRINCIPALS + 3 {
            marked(&seen, &format!("p{number}"), &[mark(1, 50)]).await;
        }
        let book = stored(place.path());
        assert_eq!(book.len(), SEEN_PRINCIPALS);
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_was_away_if_no_page_was_in_front_for_long() {
        let place = tempfile::tempdir().unwrap();
        let clock = Clock::starting_at(BEGAN);
        let seen = open(&place, clock);
        let present = async |name: &str| seen.present(name.to_owned()).await;
        assert_eq!(present("ann").await, None, "a first visit has missed nothing");
        // One device after the other is in front.
        for _ in 0..10 {
            tokio::time::advance(MINUTE).await;
            assert_eq!(present("ann").await, None);
        }
        let left = clock.now().wall;
        tokio::time::advance(MINUTE * 7).await;
        assert_eq!(present("bob").await, None, "another user");
        let (since, until) = (left, clock.now().wall);
        assert_eq!(present("ann").await, Some(Absence { since, until }));
        assert_eq!(present("ann").await, None, "only the page that arrived first");
    }

    #[tokio::test(start_paused = true)]
    async fn an_absence_outlives_the_daemon() {
        let place = tempfile::tempdir().unwrap();
        let clock = Clock::starting_at(BEGAN);
        let seen = open(&place, clock);
        marked(&seen, "ann", &[]).await;
        seen.present("ann".to_owned()).await;
        let left = clock.now().wall;
        drop(seen);
        let seen = open(&place, clock);
        tokio::time::advance(MINUTE * 2).await;
        assert_eq!(seen.present("ann".to_owned()).await, None);
        drop(seen);
        tokio::time::advance(MINUTE * 60).await;
        let seen = open(&place, clock);
        let Absence { since, .. } = seen.present("ann".to_owned()).await.unwrap();
        assert!((left..=left + 120_000).contains(&since), "{}", since - left);
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_read_is_set_aside() {
        let place = tempfile::tempdir().unwrap();
        for content in ["", "{}", "[1]", r#"{"version":9,"principals":{}}"#] {
            file_in(place.path()).store(content.as_bytes()).unwrap();
            let seen = open(&place, Clock::starting_at(BEGAN));
            assert!(seen.of("ann").is_none());
            assert_eq!(marked(&seen, "ann", &[mark(1, 50)]).await, [mark(1, 50)]);
            assert_eq!(stored(place.path())["ann"].seen_at(thread(1)), 50);
            let aside = std::fs::read_to_string(place.path().join("seen.json.damaged"));
            assert_eq!(aside.unwrap(), content);
        }
    }

    #[tokio::test]
    async fn the_file_is_read_in_its_form() {
        let place = tempfile::tempdir().unwrap();
        for front in ["", r#","frontAt":7"#] {
            let text = format!(
                r#"{{"version":1,"principals":{{"ann":{{"since":5,"threads":{{"{}":50}}{front}}}}}}}{}"#,
                thread(1),
                "\n"
            );
            file_in(place.path()).store(text.as_bytes()).unwrap();
            let seen = open(&place, Clock::starting_at(BEGAN));
            let of_ann = seen.of("ann").unwrap();
            assert_eq!((of_ann(thread(1)), of_ann(thread(2))), (50, 5));
        }
    }
}
