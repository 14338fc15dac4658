//! Work that reads much of the log, on threads of its own.
//!
//! In: futures. Out: their results. Owns: the threads. Never: runs what waits for the network, a process or the time.
//!
//! Reading a page and folding its events takes a thread for milliseconds. On the threads that carry updates from agents to
//! clients, a client's many reads would take turns with these, and an update would wait behind all of them at each of its
//! steps. On threads of its own, the system gives each its share.

use std::future::pending;
use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio_util::task::AbortOnDropHandle;

/// Runs work that takes long; cheap to clone.
#[derive(Debug, Clone)]
pub struct Bulk(Option<Arc<Threads>>);

/// The threads end when this is dropped, without waiting for their work.
#[derive(Debug)]
struct Threads(Option<Runtime>);

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Bulk {
    /// Starts threads for half of the machine's processors. Returns an error if the system refuses.
    pub fn start() -> std::io::Result<Self> {
        let processors = available_parallelism().map_or(1, NonZero::get);
        let runtime = Builder::new_multi_thread()
            .worker_threads((processors / 2).max(1))
            .thread_name("bulk")
            .build()?;
        Ok(Self(Some(Arc::new(Threads(Some(runtime))))))
    }

    /// Runs work in the current runtime, for tests that move time by hand.
    pub fn here() -> Self {
        Self(None)
    }

    /// Runs work to its end. The work is dropped with the returned future.
    pub async fn run<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        let own = self.0.as_ref().and_then(|threads| threads.0.as_ref());
        let handle = own.map_or_else(Handle::current, |runtime| runtime.handle().clone());
        let task = AbortOnDropHandle::new(handle.spawn(work));
        match task.await.map_err(tokio::task::JoinError::try_into_panic) {
            Ok(result) => result,
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            // The runtime has ended, and this task with it.
            Err(Err(_)) => pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn long_work_takes_no_thread_of_the_runtime() {
        let bulk = Bulk::start().unwrap();
        let name = bulk.run(async { std::thread::current().name().map(str::to_owned) });
        assert_eq!(name.await.as_deref(), Some("bulk"));
        // The only thread of this runtime continues while the work has not returned.
        let (returns_tx, returns_rx) = std::sync::mpsc::channel();
        let work = bulk.run(async move { returns_rx.recv() });
        let release = async { returns_tx.send(7).unwrap() };
        assert_eq!(tokio::join!(work, release), (Ok(7), ()));
    }

    #[tokio::test]
    async fn long_work_ends_with_its_caller() {
        for bulk in [Bulk::start().unwrap(), Bulk::here()] {
            let (held_tx, held_rx) = oneshot::channel::<()>();
            let (began_tx, began_rx) = oneshot::channel();
            let work = bulk.run(async move {
                began_tx.send(()).unwrap();
                pending::<()>().await;
                drop(held_tx);
            });
            tokio::select! {
                () = work => panic!("it never ends"),
                began = began_rx => began.unwrap(),
            }
            assert!(held_rx.await.is_err());
        }
    }
}
