//! Sweeps of a real directory on an in-memory log. Time is moved by hand.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use acpd_log::{EventLog, Fault, Memory, SharedLog, blob_id};
use acpd_model::event::{ThreadCreated, TurnStatus};
use acpd_model::{
    BlobId, ErrorCode, Event, EventKind, Extract, Limits, Millis, Origin, RawJson, Summary, ThreadEvent,
    ThreadId, ThreadStatus, TurnEvent, TurnId,
};
use acpd_proto::surface::contract::Lane;
use acpd_proto::surface::reply::RetentionLimit::{ArchivedMaxAge, AttachmentsMaxAge, MaxAge, MaxSize};
use acpd_proto::surface::reply::{RetentionLimit, RetentionReport};
use acpd_proto::surface::request::RunRetention;
use acpd_proto::thread::{Change, Command, LastUse};
use tokio::sync::watch;

use super::{Age, DELAY, INTERVAL, Retention, RetentionSettings, Size, TrustRecord, path, read, trust};
use crate::clock::Clock;
use crate::context::Context;
use crate::test_context::context_with_log;
use crate::thread::directory::Directory;

const DAY: Millis = 24 * 60 * 60 * 1000;
const NOW: Millis = 1000 * DAY;

struct Stage {
    log: Arc<Memory>,
    context: Context,
    directory: Directory,
    retention: Retention,
    settings: watch::Sender<RetentionSettings>,
    place: tempfile::TempDir,
}

impl Stage {
    async fn new(settings: RetentionSettings) -> Self {
        Self::after(TrustRecord::default(), settings).await
    }

    /// A daemon that starts with what an earlier one has stored.
    async fn after(stored: TrustRecord, settings: RetentionSettings) -> Self {
        let place = tempfile::tempdir().unwrap();
        trust::write(&path(place.path()), stored).unwrap();
        let log = Arc::new(Memory::new());
        let shared: SharedLog = log.clone();
        let mut context = context_with_log(shared, place.path(), BTreeMap::new(), Limits::default());
        let (settings, retention) = watch::channel(settings);
        context.clock = Clock::starting_at(NOW);
        if let Some(known) = stored.known_at {
            context.clock.confirm(known);
        }
        let directory = Directory::open(context.clone()).await.unwrap();
        let retention = Retention::open(
            directory.clone(),
            context.clone(),
            retention,
            Some(path(place.path())),
        );
        Self {
            log,
            context,
            directory,
            retention,
            settings,
            place,
        }
    }

    /// Stores a thread that was last used this many days ago.
    async fn thread(&self, days: i64, change: impl FnOnce(&mut Summary)) -> ThreadId {
        let at = NOW - days * DAY;
        let mut summary = Summary {
            agent: "none".into(),
            cwd: "/".into(),
            created_at: at,
            updated_at: at,
            ..Summary::default()
        };
        change(&mut summary);
        let at = summary.updated_at;
        let thread = self.context.ids.thread();
        let mut kinds = vec![
            EventKind::Thread(ThreadEvent::Created(Box::new(ThreadCreated {
                agent: "none".into(),
                cwd: "/".into(),
                name: None,
                project_id: None,
                metadata: None,
                additional_directories: Vec::new(),
                real_directories: Vec::new(),
                mcp_servers: Vec::new(),
                meta: None,
                members: None,
                system_prompt: None,
                session_id: None,
            }))),
            EventKind::Turn(TurnEvent::Queued {
                client_turn_id: None,
                input: vec![RawJson::parse(r#"{"type":"text","text":"x"}"#).unwrap()],
                meta: None,
            }),
            EventKind::Turn(TurnEvent::Started {
                client_turn_id: None,
                imported: false,
            }),
        ];
        let runs = summary.status.is_active();
        if !runs {
            kinds.push(EventKind::Turn(TurnEvent::Settled {
                status: TurnStatus::Completed,
                stop_reason: Some("end_turn".into()),
                error: None,
                started_at: None,
                usage: None,
                changes: None,
                plan: None,
                plans: None,
                permitted: 0,
                waited_ms: 0,
            }));
        }
        if summary.archived {
            kinds.push(EventKind::Thread(ThreadEvent::Archived {}));
        }
        let events: Vec<Event> = kinds
            .into_iter()
            .zip(1..)
            .map(|(kind, seq)| Event {
                seq,
                at,
                turn: matches!(seq, 2..=4).then_some(TurnId(1)),
                by: Origin::Daemon,
                kind,
                raw: None,
                raw_params: None,
                repeats_id: false,
                translated: false,
                lane: None,
            })
            .collect();
        self.log
            .append_with(thread, &events, Some(&summary), &Extract::default())
            .await
            .unwrap();
        thread
    }

    async fn blob(&self, thread: ThreadId, content: &[u8]) -> BlobId {
        self.log.put_blob(thread, content.to_vec()).await.unwrap()
    }

    async fn run(&self, dry_run: bool) -> RetentionReport {
        let run = RunRetention {
            dry_run,
            confirm_clock: false,
        };
        self.retention.run(Origin::Daemon, run).await.unwrap()
    }

    /// Returns what the next daemon will know.
    fn known(&self) -> Option<Millis> {
        read(&path(self.place.path())).unwrap().unwrap().known_at
    }

    async fn exists(&self, thread: ThreadId) -> bool {
        self.log.summary(thread).await.is_ok()
    }

    async fn has(&self, blob: BlobId) -> bool {
        self.log.blob(blob).await.unwrap().is_some()
    }
}

fn age(text: &str) -> Age {
    Age::parse(text).unwrap()
}

fn ids(report: &RetentionReport) -> Vec<(ThreadId, RetentionLimit)> {
    report
        .removed
        .iter()
        .map(|removal| (removal.thread, removal.limit))
        .collect()
}

/// Checks that a dry run removes nothing, and says what the run afterwards removes.
async fn removes(stage: &Stage, expected: &[(ThreadId, RetentionLimit)]) -> RetentionReport {
    let before = stage.log.usage().await.unwrap();
    let planned = stage.run(true).await;
    assert_eq!(
        stage.log.usage().await.unwrap(),
        before,
        "a dry run removes nothing"
    );
    assert_eq!(ids(&planned), expected);
    let removed = stage.run(false).await;
    assert!(planned.dry_run && !removed.dry_run);
    let planned = RetentionReport {
        dry_run: false,
        ..planned
    };
    assert_eq!(planned, removed);
    assert_eq!(stage.log.usage().await.unwrap().remaining(), removed.log_bytes);
    assert_eq!(stage.run(false).await.removed, [], "nothing is left to remove");
    removed
}

#[tokio::test(start_paused = true)]
async fn without_limits_nothing_is_removed() {
    let stage = Stage::new(RetentionSettings::default()).await;
    let thread = stage.thread(900, |_| {}).await;
    let report = stage.run(false).await;
    assert!(!report.configured && report.removed.is_empty(), "{report:?}");
    tokio::time::sleep(INTERVAL * 50).await;
    assert!(stage.exists(thread).await);
}

#[tokio::test(start_paused = true)]
async fn threads_are_removed_by_their_age() {
    let stage = Stage::new(RetentionSettings {
        max_age: Some(age("90d")),
        archived_max_age: Some(age("30d")),
        ..RetentionSettings::default()
    })
    .await;
    let archive = |summary: &mut Summary| summary.archived = true;
    let old = stage.thread(91, |_| {}).await;
    let older = stage.thread(200, |_| {}).await;
    let archived = stage.thread(31, archive).await;
    let kept = [
        stage.thread(90, |_| {}).await,
        stage.thread(31, |_| {}).await,
        stage.thread(29, archive).await,
        stage.thread(0, |_| {}).await,
    ];
    let report = removes(
        &stage,
        &[(older, MaxAge), (old, MaxAge), (archived, ArchivedMaxAge)],
    )
    .await;
    assert_eq!((report.threads, report.kept, report.attachments), (3, 0, 0));
    for thread in kept {
        assert!(stage.exists(thread).await);
    }
    // Archived threads may also be kept for longer.
    stage.settings.send_replace(RetentionSettings {
        max_age: Some(age("1d")),
        archived_max_age: Some(age("1000d")),
        ..RetentionSettings::default()
    });
    removes(&stage, &[(kept[0], MaxAge), (kept[1], MaxAge)]).await;
    assert!(stage.exists(kept[2]).await);
}

#[tokio::test(start_paused = true)]
async fn threads_are_removed_until_the_log_has_its_size() {
    let stage = Stage::new(RetentionSettings {
        max_age: Some(age("300d")),
        max_size: Size::parse("2 MiB"),
        ..RetentionSettings::default()
    })
    .await;
    let mut threads = Vec::new();
    for days in [400, 40, 30, 20, 2, 0] {
        let thread = stage.thread(days, |_| {}).await;
        stage
            .blob(thread, &vec![u8::try_from(days % 250).unwrap(); 1 << 20])
            .await;
        threads.push(thread);
    }
    let expected = [
        (threads[0], MaxAge),
        (threads[1], MaxSize),
        (threads[2], MaxSize),
        (threads[3], MaxSize),
        (threads[4], MaxSize),
    ];
    // Events take some bytes beside the two blobs of 1 MiB, so one thread more than four is too much.
    let report = removes(&stage, &expected).await;
    assert_eq!(report.threads, 5);
    // What was used within a day stays, however large it is.
    stage.blob(threads[5], &vec![7; 5 << 20]).await;
    let report = stage.run(false).await;
    assert_eq!(report.removed, []);
    assert!(report.log_bytes > 6 << 20);
    assert_eq!(stage.log.usage().await.unwrap().remaining(), report.log_bytes);
}

#[tokio::test(start_paused = true)]
async fn attachments_are_removed_and_their_threads_stay() {
    let stage = Stage::new(RetentionSettings {
        attachments_max_age: Some(age("10d")),
        ..RetentionSettings::default()
    })
    .await;
    let (old, new) = (stage.thread(11, |_| {}).await, stage.thread(9, |_| {}).await);
    let shared = stage.blob(old, b"shared").await;
    stage.blob(new, b"shared").await;
    let mut many = Vec::new();
    for number in 0..600_u32 {
        many.push(stage.blob(old, &number.to_be_bytes()).await);
    }
    let report = removes(&stage, &[(old, AttachmentsMaxAge)]).await;
    assert_eq!((report.threads, report.attachments, report.bytes), (0, 600, 2400));
    assert!(stage.exists(old).await && stage.has(shared).await);
    for blob in many {
        assert!(!stage.has(blob).await);
    }
    // The other thread becomes old as well, and then nothing needs the shared one.
    tokio::time::sleep(Duration::from_hours(48)).await;
    assert!(!stage.has(shared).await);
}

#[tokio::test(start_paused = true)]
async fn a_thread_in_use_stays() {
    let stage = Stage::new(RetentionSettings {
        max_age: Some(age("1d")),
        max_size: Size::parse("1 MiB"),
        attachments_max_age: Some(age("1d")),
        archived_max_age: None,
    })
    .await;
    let followed = stage.thread(100, |_| {}).await;
    let blob = stage.blob(followed, &vec![1; 2 << 20]).await;
    let snapshot = stage.directory.subscribe(followed, Lane::App).await.unwrap();
    let forgotten = stage.thread(50, |_| {}).await;
    // Loaded, without a subscriber.
    stage.directory.look(forgotten).await.unwrap();
    for dry_run in [true, false] {
        let report = stage.run(dry_run).await;
        assert_eq!(ids(&report), [(forgotten, MaxAge)]);
        // Once because of its age, and once because of its attachment.
        assert_eq!(report.kept, if dry_run { 1 } else { 2 });
    }
    assert!(stage.exists(followed).await && stage.has(blob).await);
    drop(snapshot);
    tokio::task::yield_now().await;
    assert_eq!(ids(&stage.run(false).await), [(followed, MaxAge)]);
    let gone = stage.directory.look(followed).await.unwrap_err();
    assert_eq!(gone.code, ErrorCode::NotFound);
}

#[tokio::test(start_paused = true)]
async fn a_thread_that_runs_is_not_even_asked() {
    let stage = Stage::new(RetentionSettings {
        max_age: Some(age("1d")),
        ..RetentionSettings::default()
    })
    .await;
    for status in [ThreadStatus::Running, ThreadStatus::Waiting] {
        let thread = stage.thread(100, |summary| summary.status = status).await;
        let report = stage.run(false).await;
        assert_eq!((report.threads, report.kept), (0, 0), "{status:?}");
        assert!(stage.exists(thread).await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_thread_that_was_used_after_the_sweep_saw_it_stays() {
    let stage = Stage::new(RetentionSettings::default()).await;
    let thread = stage.thread(100, |_| {}).await;
    let last = LastUse {
        updated_at: NOW - 100 * DAY,
        archived: false,
        check_only: false,
    };
    for other in [
        LastUse {
            updated_at: last.updated_at - 1,
            ..last
        },
        LastUse {
            archived: true,
            ..last
        },
    ] {
        let refused = stage.directory.delete_unused(thread, Origin::Daemon, other).await;
        assert_eq!(refused.unwrap_err().code, ErrorCode::Conflict, "{other:?}");
    }
    // An archived thread that was taken back is in a different list.
    let archive = Command::Change(Change::Archive);
    let done = stage.directory.command(thread, Origin::Daemon, archive).await;
    done.unwrap().await.unwrap().unwrap();
    let refused = stage.directory.delete_unused(thread, Origin::Daemon, last).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::Conflict);
    let last = LastUse {
        archived: true,
        ..last
    };
    stage
        .directory
        .delete_unused(thread, Origin::Daemon, last)
        .await
        .unwrap();
    assert!(!stage.exists(thread).await);
    let gone = stage.directory.delete_unused(thread, Origin::Daemon, last).await;
    assert_eq!(gone.unwrap_err().code, ErrorCode::NotFound);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_opens_a_thread_meanwhile_has_it_or_it_is_gone() {
    let (mut opened, mut gone) = (0, 0);
    // How many steps the sweep takes depends on the threads that read and write, which a busy host runs later.
    for steps in (0..60).chain((1..=200).map(|more| more * 100)) {
        if steps > 60 && gone > 0 {
            break;
        }
        let stage = Stage::new(RetentionSettings {
            max_age: Some(age("1d")),
            ..RetentionSettings::default()
        })
        .await;
        let thread = stage.thread(2, |_| {}).await;
        let retention = stage.retention.clone();
        let sweep = tokio::spawn(async move { retention.run(Origin::Daemon, RunRetention::default()).await });
        for _ in 0..steps {
            tokio::task::yield_now().await;
        }
        let snapshot = stage.directory.subscribe(thread, Lane::App).await;
        let report = sweep.await.unwrap().unwrap();
        match &snapshot {
            Ok(_) => {
                assert_eq!((report.threads, report.kept), (0, 1), "after {steps} steps");
                assert!(stage.exists(thread).await, "after {steps} steps");
                opened += 1;
            }
            Err(failure) => {
                assert_eq!(
                    failure.code,
                    ErrorCode::NotFound,
                    "after {steps} steps: {failure}"
                );
                assert_eq!(report.threads, 1, "after {steps} steps");
                assert!(!stage.exists(thread).await, "after {steps} steps");
                gone += 1;
            }
        }
    }
    assert!(opened > 0 && gone > 0, "{opened} {gone}");
}

#[tokio::test(start_paused = true)]
async fn it_runs_a_minute_after_the_start_and_then_every_hour() {
    let stage = Stage::new(RetentionSettings {
        max_age: Some(age("10d")),
        ..RetentionSettings::default()
    })
    .await;
    stage.thread(0, |_| {}).await;
    let first = stage.thread(11, |_| {}).await;
    let second = stage
        .thread(10, |summary| summary.updated_at += 30 * 60 * 1000)
        .await;
    let shortly = Duration::from_secs(1);
    tokio::time::sleep(DELAY.saturating_sub(shortly)).await;
    assert!(stage.exists(first).await);
    tokio::time::sleep(2 * shortly).await;
    assert!(!stage.exists(first).await && stage.exists(second).await);
    tokio::time::sleep(INTERVAL.saturating_sub(4 * shortly)).await;
    assert!(stage.exists(second).await, "it became old in the meantime");
    tokio::time::sleep(5 * shortly).await;
    assert!(!stage.exists(second).await);
    let metrics = stage.context.metrics.text();
    assert!(metrics.contains("acpd_retention_threads_total 2"), "{metrics}");
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_leaps_removes_nothing_until_a_client_confirms_the_time() {
    let limits = RetentionSettings {
        max_age: Some(age("10d")),
        ..RetentionSettings::default()
    };
    for days in [400, -400] {
        let stage = Stage::new(limits.clone()).await;
        let newest = stage.thread(days, |_| {}).await;
        let old = stage.thread(days.abs() + 20, |_| {}).await;
        tokio::time::sleep(INTERVAL * 30).await;
        assert!(stage.exists(newest).await && stage.exists(old).await, "{days}");
        let file = path(stage.place.path());
        let held = read(&file).unwrap().unwrap().held.expect("doctor reads it there");
        assert_eq!(held.known, NOW - days * DAY);
        // A dry run confirms nothing, and the sweep of a client does.
        assert_eq!(stage.run(true).await.threads, if days > 0 { 2 } else { 1 });
        tokio::time::sleep(INTERVAL * 2).await;
        assert!(stage.exists(old).await, "{days}");
        stage.run(false).await;
        assert!(!stage.exists(old).await, "{days}");
        assert_eq!(stage.exists(newest).await, days < 0);
        assert_eq!(read(&file).unwrap().unwrap().held, None);
        let older = stage.thread(20, |_| {}).await;
        tokio::time::sleep(INTERVAL * 2).await;
        assert!(!stage.exists(older).await, "confirmed once, it continues: {days}");
    }
}

/// The record of a daemon that knew the time `known`.
fn known(known: Millis) -> TrustRecord {
    TrustRecord {
        trusted_at: Some(known),
        known_at: Some(known),
        ..TrustRecord::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_time_is_known_from_the_second_look_on() {
    let stage = Stage::new(RetentionSettings::default()).await;
    stage.thread(0, |_| {}).await;
    tokio::time::sleep(DELAY * 2).await;
    assert_eq!(stage.known(), None);
    tokio::time::sleep(INTERVAL).await;
    assert!(stage.known() > Some(NOW));
}

#[tokio::test(start_paused = true)]
async fn a_daemon_that_runs_shortly_after_a_weekend_leaves_what_is_known() {
    let stage = Stage::after(known(NOW - 3 * DAY), RetentionSettings::default()).await;
    stage.thread(0, |_| {}).await;
    for time in [DELAY * 2, INTERVAL * 3] {
        tokio::time::sleep(time).await;
        assert_eq!(stage.known(), Some(NOW - 3 * DAY));
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_behind_is_followed_after_six_hours() {
    let stage = Stage::after(known(NOW + 365 * DAY), RetentionSettings::default()).await;
    tokio::time::sleep(DELAY * 2 + INTERVAL * 5).await;
    assert!(stage.context.clock.behind() >= 364 * DAY);
    assert!(stage.known() >= Some(NOW + 365 * DAY));
    tokio::time::sleep(INTERVAL).await;
    assert_eq!(stage.context.clock.behind(), 0);
    assert!(stage.known() < Some(NOW + DAY));
}

#[tokio::test(start_paused = true)]
async fn a_client_confirms_the_clock_without_removing_anything() {
    let limits = RetentionSettings {
        max_age: Some(age("10d")),
        ..RetentionSettings::default()
    };
    let stage = Stage::after(known(NOW + 365 * DAY), limits).await;
    let old = stage.thread(20, |_| {}).await;
    stage.run(true).await;
    assert!(stage.context.clock.behind() > 0);
    let run = RunRetention {
        dry_run: true,
        confirm_clock: true,
    };
    stage.retention.run(Origin::Daemon, run).await.unwrap();
    assert_eq!(stage.context.clock.behind(), 0);
    assert!(stage.known() < Some(NOW + DAY));
    assert!(stage.exists(old).await);
}

#[tokio::test(start_paused = true)]
async fn a_changed_limit_has_a_minute_to_be_corrected() {
    let stage = Stage::new(RetentionSettings::default()).await;
    stage.thread(0, |_| {}).await;
    let thread = stage.thread(11, |_| {}).await;
    tokio::time::sleep(INTERVAL * 3).await;
    let wrong = RetentionSettings {
        max_age: Some(age("1d")),
        ..RetentionSettings::default()
    };
    stage.settings.send_replace(wrong.clone());
    tokio::time::sleep(DELAY / 2).await;
    stage.settings.send_replace(RetentionSettings::default());
    tokio::time::sleep(INTERVAL * 3).await;
    assert!(stage.exists(thread).await);
    stage.settings.send_replace(wrong);
    tokio::time::sleep(DELAY * 2).await;
    assert!(!stage.exists(thread).await);
}

#[tokio::test(start_paused = true)]
async fn a_failing_log_stops_the_sweep_and_the_next_one_continues() {
    let stage = Stage::new(RetentionSettings {
        max_age: Some(age("10d")),
        ..RetentionSettings::default()
    })
    .await;
    let mut threads = Vec::new();
    for days in 20..30 {
        threads.push(stage.thread(days, |_| {}).await);
    }
    stage.log.inject(Fault::FullDisk);
    let failed = stage
        .retention
        .run(Origin::Daemon, RunRetention::default())
        .await
        .unwrap_err();
    assert_eq!(failed.code, ErrorCode::Storage, "{failed}");
    for thread in &threads {
        assert!(stage.exists(*thread).await);
    }
    stage.log.heal();
    // A thread whose log has failed waits a moment before it is loaded again.
    tokio::time::sleep(INTERVAL * 2).await;
    for thread in &threads {
        assert!(!stage.exists(*thread).await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_removed_attachment_differs_from_an_unknown_one() {
    let stage = Stage::new(RetentionSettings {
        attachments_max_age: Some(age("1d")),
        ..RetentionSettings::default()
    })
    .await;
    let thread = stage.thread(2, |_| {}).await;
    let blob = stage.blob(thread, b"content").await;
    stage.run(false).await;
    assert_eq!(stage.log.is_removed(blob).await, Ok(true));
    assert_eq!(stage.log.is_removed(blob_id(b"other")).await, Ok(false));
}

#[tokio::test(start_paused = true)]
async fn a_stopped_daemon_removes_nothing() {
    let stage = Stage::new(RetentionSettings {
        max_age: Some(age("1d")),
        ..RetentionSettings::default()
    })
    .await;
    let thread = stage.thread(2, |_| {}).await;
    stage.directory.close_within(Duration::from_secs(1)).await;
    assert!(
        stage
            .retention
            .run(Origin::Daemon, RunRetention::default())
            .await
            .is_err()
    );
    assert!(stage.exists(thread).await);
}
