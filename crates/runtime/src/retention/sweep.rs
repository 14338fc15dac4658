//! One sweep: finds what exceeds the limits, the longest unused first, and removes it.

use std::time::Duration;

use acpd_log::{Lacking, ListCursor, LogError, Measure, Unused, UnusedPage, UnusedThread};
use acpd_model::limits::{BLOBS_REMOVED, RETENTION_LISTED};
use acpd_model::{ErrorCode, Failure, Millis, Origin, Summary, ThreadId};
use acpd_proto::surface::reply::{Removal, RetentionLimit, RetentionReport};
use acpd_proto::thread::LastUse;

use super::RetentionSettings;
use crate::context::Context;
use crate::stored::log_failure;
use crate::thread::directory::Directory;

/// Age, in milliseconds, below which no thread is removed because of the size of the log.
const RETENTION_SIZE_AGE_MILLIS: i64 = 24 * 60 * 60 * 1000;
/// Threads that one look for unused threads returns.
const RETENTION_PAGE: usize = 32;
/// The pause between two pages of threads while no client waits.
const PAUSE: Duration = Duration::from_millis(100);

/// What sweeps remember for the next one. Losing it costs time only.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The position up to which no thread has attachments to remove. A thread that is used moves behind it.
    attachments: Option<ListCursor>,
}

/// One sweep.
pub(super) struct Sweep<'a> {
    pub context: &'a Context,
    pub directory: &'a Directory,
    pub settings: &'a RetentionSettings,
    /// Requests the deletions.
    pub by: Origin,
    /// Whether to pause for other work.
    pub slowly: bool,
    pub now: Millis,
    pub progress: &'a mut Progress,
    pub report: RetentionReport,
    /// The last thread that a dry run would remove because of the size.
    pub planned_until: Option<(Millis, ThreadId)>,
}

impl Sweep<'_> {
    /// Removes all that exceeds the limits. What was removed before a failure is in the report.
    pub async fn run(&mut self) -> Result<(), Failure> {
        for archived in [false, true] {
            if let Some((before, limit)) = self.age_limit(archived) {
                self.by_age(archived, before, limit).await?;
            }
        }
        self.by_size().await?;
        self.attachments().await
    }

    /// Returns the time before which threads are too old, and the setting that says so.
    fn age_limit(&self, archived: bool) -> Option<(Millis, RetentionLimit)> {
        let RetentionSettings {
            max_age,
            archived_max_age,
            ..
        } = self.settings;
        match (archived, archived_max_age, max_age) {
            (true, Some(age), _) => Some((age.before(self.now), RetentionLimit::ArchivedMaxAge)),
            (_, _, Some(age)) => Some((age.before(self.now), RetentionLimit::MaxAge)),
            _ => None,
        }
    }

    fn is_too_old(&self, summary: &Summary) -> bool {
        let limit = self.age_limit(summary.archived);
        limit.is_some_and(|(before, _)| summary.updated_at < before)
    }

    async fn by_age(&mut self, archived: bool, before: Millis, limit: RetentionLimit) -> Result<(), Failure> {
        let mut wanted = Unused {
            before,
            archived: Some(archived),
            after: None,
            measure: Measure::Thread,
        };
        loop {
            let page = self.page(wanted).await?;
            for found in page.threads {
                self.remove(found, limit).await?;
            }
            if !self.follows(page.next, &mut wanted).await {
                return Ok(());
            }
        }
    }

    async fn by_size(&mut self) -> Result<(), Failure> {
        let usage = self
            .context
            .log
            .usage()
            .await
            .map_err(|error| log_failure(&error))?;
        let mut bytes = usage.remaining();
        if self.report.dry_run {
            bytes = bytes.saturating_sub(self.report.bytes);
        }
        self.report.log_bytes = bytes;
        let Some(most) = self.settings.max_size else {
            return Ok(());
        };
        let mut wanted = Unused {
            before: self.now.saturating_sub(RETENTION_SIZE_AGE_MILLIS),
            archived: None,
            after: None,
            measure: Measure::Thread,
        };
        while self.report.log_bytes > most.bytes() {
            let page = self.page(wanted).await?;
            for found in page.threads {
                if self.report.log_bytes <= most.bytes() {
                    return Ok(());
                }
                // It is in use, or a dry run has counted it.
                if self.is_too_old(&found.summary) {
                    continue;
                }
                let (place, bytes) = ((found.summary.updated_at, found.thread), found.bytes);
                if self.remove(found, RetentionLimit::MaxSize).await? {
                    self.report.log_bytes = self.report.log_bytes.saturating_sub(bytes);
                    self.planned_until = Some(place);
                }
            }
            if !self.follows(page.next, &mut wanted).await {
                return Ok(());
            }
        }
        Ok(())
    }

    async fn attachments(&mut self) -> Result<(), Failure> {
        let Some(age) = self.settings.attachments_max_age else {
            return Ok(());
        };
        // While it is unknown which threads need a blob, none is removed.
        let backlog = self.context.log.backlog(Lacking::Texts, None).await;
        if backlog.map_err(|error| log_failure(&error))?.is_some() {
            return Ok(());
        }
        let mut wanted = Unused {
            before: age.before(self.now),
            archived: None,
            after: self.progress.attachments,
            measure: Measure::Blobs,
        };
        let mut all_done = true;
        loop {
            let page = self.page(wanted).await?;
            for found in page.threads {
                let place = ListCursor {
                    updated_at: found.summary.updated_at,
                    thread: found.thread,
                };
                all_done &= self.remove_attachments(found, wanted.before).await?;
                if all_done && !self.report.dry_run {
                    self.progress.attachments = Some(place);
                }
            }
            if all_done && !self.report.dry_run {
                self.progress.attachments = page.next.or(self.progress.attachments);
            }
            if !self.follows(page.next, &mut wanted).await {
                return Ok(());
            }
        }
    }

    async fn page(&self, wanted: Unused) -> Result<UnusedPage, Failure> {
        let page = self.context.log.unused(wanted, RETENTION_PAGE).await;
        page.map_err(|error| log_failure(&error))
    }

    /// Moves on to the next page, if there is one.
    async fn follows(&self, next: Option<ListCursor>, wanted: &mut Unused) -> bool {
        wanted.after = next;
        if next.is_some() && self.slowly {
            tokio::time::sleep(PAUSE).await;
        }
        next.is_some()
    }

    /// Removes a thread, unless it is in use. Returns whether it is removed.
    async fn remove(&mut self, found: UnusedThread, limit: RetentionLimit) -> Result<bool, Failure> {
        let check_only = self.report.dry_run;
        let removed = self.ask(&found, check_only).await?;
        if removed {
            self.report.threads += 1;
            self.note(found, limit);
        }
        Ok(removed)
    }

    /// Removes the attachments of a thread, unless it is in use. Returns whether none is left to be removed.
    async fn remove_attachments(&mut self, found: UnusedThread, before: Millis) -> Result<bool, Failure> {
        let is_planned = Some((found.summary.updated_at, found.thread)) <= self.planned_until;
        if self.report.dry_run && (is_planned || self.is_too_old(&found.summary)) {
            return Ok(true);
        }
        if !self.ask(&found, true).await? {
            return Ok(false);
        }
        if !self.report.dry_run {
            for _ in 0..found.blobs.div_ceil(u64::from(BLOBS_REMOVED)) {
                match self.context.log.remove_blobs(found.thread, before).await {
                    Ok(()) => {}
                    Err(LogError::NoSuchThread(_)) => return Ok(true),
                    Err(error) => return Err(log_failure(&error)),
                }
            }
        }
        self.report.attachments += found.blobs;
        self.report.log_bytes = self.report.log_bytes.saturating_sub(found.bytes);
        self.note(found, RetentionLimit::AttachmentsMaxAge);
        Ok(true)
    }

    /// Has the thread deleted if nothing uses it, or only checks that. Returns whether nothing uses it.
    async fn ask(&mut self, found: &UnusedThread, check_only: bool) -> Result<bool, Failure> {
        let last = LastUse {
            updated_at: found.summary.updated_at,
            archived: found.summary.archived,
            check_only,
        };
        let asked = self
            .directory
            .delete_unused(found.thread, self.by.clone(), last)
            .await;
        match asked {
            Ok(()) => Ok(true),
            // A client has deleted it meanwhile.
            Err(failure) if failure.code == ErrorCode::NotFound => Ok(false),
            Err(failure) if self.directory.is_stopping() => Err(failure),
            Err(failure) if matches!(failure.code, ErrorCode::Conflict | ErrorCode::Overloaded) => {
                tracing::debug!(thread = %found.thread, reason = %failure, "retention keeps a thread");
                self.report.kept += 1;
                Ok(false)
            }
            Err(failure) => Err(failure),
        }
    }

    fn note(&mut self, found: UnusedThread, limit: RetentionLimit) {
        self.report.bytes += found.bytes;
        if self.report.removed.len() < RETENTION_LISTED {
            self.report.removed.push(Removal {
                thread: found.thread,
                name: found.summary.name,
                updated_at: found.summary.updated_at,
                limit,
                bytes: found.bytes,
            });
        }
    }
}
