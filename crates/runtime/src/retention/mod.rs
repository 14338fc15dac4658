//! Retention: removes threads and attachments that exceed the limits of the configuration.
//!
//! In: the limits, the time, and requests of clients. Out: deletions of threads, by way of the thread directory, and removed
//! attachments. Owns: one task, which runs at most one sweep at a time. Never: removes anything without a limit, but files that were
//! attached and not sent; a thread that is in use, or one that was used after the sweep had looked at it; or by itself while the host's
//! clock does not fit to the log.

mod settings;
mod sweep;
#[cfg(test)]
mod tests;
mod trust;

use std::path::PathBuf;
use std::time::Duration;

use acpd_log::Filter;
use acpd_model::{ErrorCode, Failure, Millis, Origin};
use acpd_proto::surface::reply::RetentionReport;
use acpd_proto::surface::request::RunRetention;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::agent::process::sleep_until;
use crate::context::Context;
use crate::host::blocking;
use crate::stored::log_failure;
use crate::thread::directory::Directory;

pub use self::settings::{Age, RetentionSettings, Size};
use self::sweep::{Progress, Sweep};
pub use self::trust::{Held, TrustRecord, path, read, time_of_daemon};
use self::trust::{Look, Trust};

/// Time between the start of the daemon, or a change of the limits, and the next run of retention, in seconds. A wrong limit
/// can be corrected meanwhile.
const RETENTION_DELAY_SECS: u64 = 60;
/// Time between two runs of retention, in seconds.
const RETENTION_INTERVAL_SECS: u64 = 60 * 60;
/// Requests to run retention that wait while it runs.
const RETENTION_REQUESTS: usize = 4;
const DELAY: Duration = Duration::from_secs(RETENTION_DELAY_SECS);
const INTERVAL: Duration = Duration::from_secs(RETENTION_INTERVAL_SECS);

/// A client's request for a sweep.
#[derive(Debug)]
struct Request {
    by: Origin,
    run: RunRetention,
    reply: oneshot::Sender<Result<RetentionReport, Failure>>,
}

/// Gives access to the task that runs sweeps; cheap to clone.
#[derive(Debug, Clone)]
pub struct Retention {
    requests_tx: mpsc::Sender<Request>,
}

impl Retention {
    /// Starts the task with limits that the sender of `settings` replaces. It ends when the last clone is dropped. What it must
    /// remember of the time, it stores in `file`.
    pub fn open(
        directory: Directory,
        context: Context,
        settings: watch::Receiver<RetentionSettings>,
        file: Option<PathBuf>,
    ) -> Self {
        let (requests_tx, requests_rx) = mpsc::channel(RETENTION_REQUESTS);
        let task = Task {
            settings,
            directory,
            context,
            progress: Progress::default(),
            file,
            trust: None,
        };
        tokio::spawn(task.run(requests_rx));
        Self { requests_tx }
    }

    /// Runs a sweep.
    pub async fn run(&self, by: Origin, run: RunRetention) -> Result<RetentionReport, Failure> {
        let (reply, answer) = oneshot::channel();
        let request = Request { by, run, reply };
        self.requests_tx.try_send(request).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Failure::new(
                ErrorCode::Overloaded,
                format!(
                    "retention is running, and {RETENTION_REQUESTS} requests wait for it; try again later"
                ),
            ),
            mpsc::error::TrySendError::Closed(_) => stopping(),
        })?;
        answer.await.map_err(|_| stopping())?
    }
}

fn stopping() -> Failure {
    Failure::new(ErrorCode::Overloaded, "the daemon is stopping")
}

struct Task {
    settings: watch::Receiver<RetentionSettings>,
    directory: Directory,
    context: Context,
    progress: Progress,
    /// Where [`Trust`] is stored.
    file: Option<PathBuf>,
    /// Loaded before the first look.
    trust: Option<Trust>,
}

impl Task {
    async fn run(mut self, mut requests_rx: mpsc::Receiver<Request>) {
        // The first look, and one after a change, are not an hour after another one.
        let (mut next, mut is_hourly) = (Instant::now() + DELAY, false);
        loop {
            // Without limits, the looks are for the file alone.
            let looks = self.settings.borrow_and_update().is_on() || self.file.is_some();
            let due = looks.then_some(next);
            tokio::select! {
                biased;
                request = requests_rx.recv() => {
                    let Some(Request { by, run, reply }) = request else {
                        return;
                    };
                    // A client that has gone does not need the report. What it wanted is done anyway.
                    let _ = reply.send(self.requested(by, run).await);
                }
                () = changed(&mut self.settings) => {
                    next = Instant::now() + DELAY;
                    is_hourly = false;
                }
                () = sleep_until(due) => {
                    self.due(is_hourly).await;
                    next = Instant::now() + INTERVAL;
                    is_hourly = true;
                }
            }
        }
    }

    /// Runs the sweep that a client requested.
    async fn requested(&mut self, by: Origin, run: RunRetention) -> Result<RetentionReport, Failure> {
        // A client that removes something confirms the time by which that is too old.
        if run.confirm_clock || !run.dry_run {
            let newest = self.newest().await?;
            let clock = self.context.clock;
            if run.confirm_clock {
                let now = clock.host_wall();
                self.trust().await.know(now);
                clock.confirm(now);
            }
            self.trust().await.confirm(clock.now().wall, newest);
            self.store_trust().await;
        }
        self.sweep(by, run.dry_run, false).await
    }

    /// Looks whether the clock fits to the log, and if so runs the sweep that is due, if there are limits. The next look tries again.
    async fn due(&mut self, is_hourly: bool) {
        let is_on = self.settings.borrow().is_on();
        let newest = match self.newest().await {
            Ok(newest) => newest,
            Err(failure) => {
                if is_on {
                    tracing::warn!(error = %failure, "retention did not start; it tries again in an hour");
                }
                return;
            }
        };
        let clock = self.context.clock;
        let look = Look {
            now: clock.host_wall(),
            at: clock.since_boot(),
            is_hourly,
            ahead: (clock.behind() > 0).then(|| clock.now().wall),
        };
        let trust = self.trust().await;
        // Without limits there is nothing to hold.
        let is_right = (is_on || trust.fits(look.now, newest))
            && trust.check(look.now, newest, is_hourly).is_none()
            && trust.is_settled();
        if trust.learn(look, is_right) {
            clock.confirm(look.now);
        }
        self.store_trust().await;
        if is_right {
            self.context.attachments.sweep(&self.context.log).await;
        }
        if is_on && is_right {
            // The sweep has logged why it failed.
            let _ = self.sweep(Origin::Daemon, false, true).await;
        }
    }

    /// Returns when the newest event was stored.
    async fn newest(&self) -> Result<Option<Millis>, Failure> {
        let newest = self.context.log.list(Filter::default(), None, 1).await;
        let newest = newest.map_err(|error| log_failure(&error))?;
        Ok(newest.first().map(|listed| listed.summary.updated_at))
    }

    async fn trust(&mut self) -> &mut Trust {
        let loaded = match self.trust.take() {
            Some(trust) => trust,
            None => {
                let file = self.file.clone();
                let loaded = blocking(&*self.context.host, move || Ok(Trust::load(file))).await;
                loaded.unwrap_or_else(|_| Trust::load(None))
            }
        };
        self.trust.insert(loaded)
    }

    async fn store_trust(&mut self) {
        let Some((path, record)) = self.trust().await.unstored() else {
            return;
        };
        let store = move || {
            trust::write(&path, record).map_err(|error| {
                Failure::new(
                    ErrorCode::Storage,
                    format!("{} cannot be written: {error}", path.display()),
                )
            })
        };
        if let Err(error) = blocking(&*self.context.host, store).await {
            tracing::warn!(%error, "after a restart, retention compares the clock with the log alone");
        }
    }

    /// Runs a sweep and logs what it removed. `slowly` leaves pauses for other work.
    async fn sweep(&mut self, by: Origin, dry_run: bool, slowly: bool) -> Result<RetentionReport, Failure> {
        let settings = self.settings.borrow().clone();
        let mut sweep = Sweep {
            context: &self.context,
            directory: &self.directory,
            settings: &settings,
            by,
            slowly,
            now: self.context.clock.now().wall,
            progress: &mut self.progress,
            report: RetentionReport {
                configured: settings.is_on(),
                dry_run,
                ..RetentionReport::default()
            },
            planned_until: None,
        };
        let ended = sweep.run().await;
        let report = sweep.report;
        if !dry_run {
            self.context.metrics.retained(&report);
            log(&report, &ended, &settings);
        }
        ended.map(|()| report)
    }
}

fn log(report: &RetentionReport, ended: &Result<(), Failure>, settings: &RetentionSettings) {
    let RetentionReport {
        threads,
        attachments,
        bytes,
        kept,
        log_bytes,
        ..
    } = report;
    if threads + attachments > 0 {
        tracing::info!(threads, attachments, bytes, kept, "retention removed old data");
    } else {
        tracing::debug!(kept, "retention found nothing to remove");
    }
    match (ended, settings.max_size) {
        (Err(failure), _) => {
            tracing::warn!(error = %failure, "retention stopped early; it tries again in an hour")
        }
        (Ok(()), Some(most)) if *log_bytes > most.bytes() => tracing::warn!(
            log_bytes,
            "the log is larger than retention.max_size, {most}: all other threads are in use, or were used within a day"
        ),
        (Ok(()), _) => {}
    }
}

/// Waits until the settings change. Settings that cannot change are waited for forever.
async fn changed(settings: &mut watch::Receiver<RetentionSettings>) {
    if settings.changed().await.is_err() {
        std::future::pending().await
    }
}
