use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use acpd_files::StateFile;
use acpd_host::{Program, TerminalSpec, TerminalUpdate};
use acpd_log::{Memory, SharedLog};
use acpd_model::event::TurnStatus;
use acpd_model::{
    Event, EventKind, Limits, Millis, Origin, RequestEvent, RequestId, Seq, ThreadStatus, TurnEvent, TurnId,
    TurnMark, TurnMarks, TurnStep,
};
use acpd_proto::notify::{OutboxRecord, Target, TriggerKind};
use acpd_proto::projection::extract;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};

use super::*;
use crate::clock::Clock;
use crate::context::Context;
use crate::host::{AgentIo, Host, TerminalIo};
use crate::test_context::context_with_log;

/// Records deliveries, and answers them as the test says.
#[derive(Debug, Default)]
struct Receiver {
    ids: Mutex<Vec<String>>,
    is_down: AtomicBool,
    has_bug: AtomicBool,
}

impl Deliver for Receiver {
    fn deliver(&self, _: &str, message: Message) -> BoxFuture<'static, Result<(), DeliveryError>> {
        assert!(!self.has_bug.load(Ordering::Relaxed), "a bug");
        let id = match message {
            Message::Thread(message) => message.delivery.id(),
            Message::Test { id, .. } => id,
        };
        let result = if self.is_down.load(Ordering::Relaxed) {
            Err(DeliveryError::retry("down"))
        } else {
            self.ids.lock().unwrap().push(id);
            Ok(())
        };
        std::future::ready(result).boxed()
    }

    fn kind(&self, _: &str) -> &'static str {
        "test"
    }
}

/// A host that writes files at once, so that a test knows when they are written.
#[derive(Debug)]
struct Disk;

impl Host for Disk {
    fn start_agent(&self, _: &Program) -> Result<AgentIo, Failure> {
        unreachable!("no agent is started")
    }

    fn start_terminal(
        &self,
        _: &TerminalSpec,
        _: mpsc::Sender<TerminalUpdate>,
    ) -> Result<Arc<dyn TerminalIo>, Failure> {
        unreachable!("no terminal is started")
    }

    fn resident_memory(&self, pids: &[u32]) -> Vec<u64> {
        vec![0; pids.len()]
    }

    fn run_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        work();
    }
}

/// A daemon's notifications on a log in memory. Its files outlive a restart.
struct Scene {
    place: TempDir,
    log: SharedLog,
    receiver: Arc<Receiver>,
    clock: Clock,
    context: Context,
    targets: watch::Sender<Arc<Targets>>,
}

fn targets(names: &[&str]) -> Arc<Targets> {
    let target = Target {
        on: TriggerKind::ALL.into_iter().collect(),
        agents: Vec::new(),
        folders: Vec::new(),
        owner: None,
        version: 0,
    };
    Arc::new(Targets {
        targets: names
            .iter()
            .map(|name| ((*name).to_owned(), target.clone()))
            .collect(),
        patience: Duration::from_secs(5),
    })
}

fn started(
    place: &Path,
    log: &SharedLog,
    receiver: &Arc<Receiver>,
    names: &[&str],
    clock: Clock,
) -> (Context, watch::Sender<Arc<Targets>>) {
    let (notifications, inbox) = Notifications::channel(!names.is_empty());
    let agents = BTreeMap::new();
    let mut context = context_with_log(Arc::clone(log), place, agents, Limits::default());
    context.notifications = notifications;
    context.host = Arc::new(Disk);
    context.clock = clock;
    let (targets, targets_now) = watch::channel(targets(names));
    let notifier = Notifier {
        inbox,
        targets: targets_now,
        deliver: Arc::clone(receiver) as Arc<dyn Deliver>,
        data_dir: place.to_owned(),
    };
    tokio::spawn(run(context.clone(), notifier));
    (context, targets)
}

impl Scene {
    fn new(names: &[&str]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let log: SharedLog = Arc::new(Memory::new());
        let receiver = Arc::<Receiver>::default();
        let clock = Clock::starting_at(1_700_000_000_000);
        let (context, targets) = started(place.path(), &log, &receiver, names, clock);
        Self {
            place,
            log,
            receiver,
            clock,
            context,
            targets,
        }
    }

    fn thread(&self) -> ThreadId {
        self.context.ids.thread()
    }

    fn now(&self) -> Millis {
        self.context.clock.now().wall
    }

    /// Stores the end of a turn in the log, and says nothing.
    async fn store(&self, thread: ThreadId, seq: Seq, status: TurnStatus) -> Event {
        let event = Event {
            seq,
            at: self.now(),
            turn: Some(TurnId(u32::try_from(seq).unwrap())),
            by: Origin::Agent,
            kind: EventKind::Turn(TurnEvent::Settled {
                status,
                stop_reason: Some("end_turn".to_owned()),
                error: None,
                started_at: Some(1),
                usage: None,
                changes: None,
                plan: None,
                plans: None,
                permitted: 0,
                waited_ms: 0,
            }),
            raw: None,
            raw_params: None,
            repeats_id: false,
            translated: false,
            lane: None,
        };
        self.append(thread, &event, ThreadStatus::Idle).await;
        event
    }

    async fn append(&self, thread: ThreadId, event: &Event, status: ThreadStatus) {
        let summary = Summary {
            agent: "fake".to_owned(),
            cwd: "/work".to_owned(),
            status,
            created_at: 1,
            updated_at: event.at,
            ..Summary::default()
        };
        let events = std::slice::from_ref(event);
        let turn = event.turn.unwrap();
        let settled = TurnMark {
            turn,
            step: TurnStep::Settled,
            seq: event.seq,
        };
        let marks = TurnMarks {
            turns: matches!(event.kind, EventKind::Turn(TurnEvent::Settled { .. }))
                .then_some(settled)
                .into_iter()
                .collect(),
            ..TurnMarks::default()
        };
        let extract = acpd_model::Extract {
            marks,
            ..extract(events)
        };
        self.log
            .append_with(thread, events, Some(&summary), &extract)
            .await
            .unwrap();
    }

    /// Stores the end of a turn as a thread does.
    async fn end(&self, thread: ThreadId, seq: Seq) {
        let event = self.store(thread, seq, TurnStatus::Completed).await;
        self.context.notifications.stored(thread, &[event]);
        self.settle().await;
    }

    /// Stores a question as a thread does.
    async fn ask(&self, thread: ThreadId, seq: Seq) -> RequestId {
        let request = RequestId { thread, number: 1 };
        let kind = EventKind::Request(RequestEvent::InputRequested {
            request,
            message: "which?".to_owned(),
            call: None,
        });
        self.report(thread, seq, kind, ThreadStatus::Waiting).await;
        request
    }

    async fn report(&self, thread: ThreadId, seq: Seq, kind: EventKind, status: ThreadStatus) {
        let event = Event {
            seq,
            at: self.now(),
            turn: Some(TurnId(1)),
            by: Origin::Agent,
            kind,
            raw: None,
            raw_params: None,
            repeats_id: false,
            translated: false,
            lane: None,
        };
        self.append(thread, &event, status).await;
        self.context.notifications.stored(thread, &[event]);
        self.settle().await;
    }

    /// Lets the task do all that it can do at this time.
    async fn settle(&self) {
        for _ in 0..50 {
            self.context.notifications.states().await.unwrap();
            tokio::task::yield_now().await;
        }
    }

    async fn waiting(&self) -> usize {
        let states = self.context.notifications.states().await.unwrap();
        states.iter().map(|(state, _)| state.waiting).sum()
    }

    fn ids(&self) -> Vec<String> {
        std::mem::take(&mut *self.receiver.ids.lock().unwrap())
    }

    fn set_down(&self, is_down: bool) {
        self.receiver.is_down.store(is_down, Ordering::Relaxed);
    }

    /// Ends the task as a crash does, or properly, and starts another on the same log and files.
    async fn restart(&mut self, names: &[&str]) {
        let (context, targets) = started(self.place.path(), &self.log, &self.receiver, names, self.clock);
        (self.context, self.targets) = (context, targets);
        self.settle().await;
    }

    fn file(&self) -> StateFile<OutboxRecord> {
        file::file_in(self.place.path())
    }
}

fn id(thread: ThreadId, turn: u32, target: &str) -> String {
    format!("ntf_{}_turn_{turn}_done_{target}", thread.0.simple())
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_ends_is_delivered_to_every_target_once() {
    let scene = Scene::new(&["a", "b"]);
    let thread = scene.thread();
    scene.end(thread, 1).await;
    assert_eq!(scene.ids(), [id(thread, 1, "a"), id(thread, 1, "b")]);
    scene.end(thread, 2).await;
    assert_eq!(scene.ids(), [id(thread, 2, "a"), id(thread, 2, "b")]);
    assert_eq!(scene.waiting().await, 0);
}

#[tokio::test(start_paused = true)]
async fn waiting_notifications_survive_a_crash_and_are_delivered_once() {
    let mut scene = Scene::new(&["a"]);
    scene.set_down(true);
    let thread = scene.thread();
    scene.end(thread, 1).await;
    assert_eq!(scene.waiting().await, 1);
    scene.restart(&["a"]).await;
    assert_eq!(scene.waiting().await, 1);
    assert!(scene.ids().is_empty());
    scene.set_down(false);
    tokio::time::sleep(Duration::from_secs(10)).await;
    scene.settle().await;
    assert_eq!(scene.ids(), [id(thread, 1, "a")]);
    scene.restart(&["a"]).await;
    assert!(
        scene.ids().is_empty(),
        "the log is read from where it was considered"
    );
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_was_stored_just_before_a_crash_is_found_in_the_log() {
    let mut scene = Scene::new(&["a"]);
    let [known, new] = [scene.thread(), scene.thread()];
    scene.end(known, 1).await;
    scene.ids();
    // The log has it, and the task never received it.
    scene.store(known, 2, TurnStatus::Completed).await;
    scene.store(new, 1, TurnStatus::Completed).await;
    scene.restart(&["a"]).await;
    let found: BTreeSet<_> = scene.ids().into_iter().collect();
    assert_eq!(found, BTreeSet::from([id(known, 2, "a"), id(new, 1, "a")]));
}

#[tokio::test(start_paused = true)]
async fn facts_that_found_no_room_are_read_from_the_log() {
    let scene = Scene::new(&["a"]);
    let thread = scene.thread();
    scene.end(thread, 1).await;
    scene.ids();
    scene.store(thread, 2, TurnStatus::Completed).await;
    scene.context.notifications.miss();
    scene.settle().await;
    assert_eq!(scene.ids(), [id(thread, 2, "a")]);
}

#[tokio::test(start_paused = true)]
async fn a_question_is_delivered_after_some_seconds_unless_it_is_answered() {
    let scene = Scene::new(&["a"]);
    let [answered, open] = [scene.thread(), scene.thread()];
    let request = scene.ask(answered, 1).await;
    scene.ask(open, 1).await;
    let reason = "gone".to_owned();
    let closed = EventKind::Request(RequestEvent::Voided { request, reason });
    scene.report(answered, 2, closed, ThreadStatus::Running).await;
    assert!(scene.ids().is_empty());
    tokio::time::sleep(Duration::from_secs(6)).await;
    scene.settle().await;
    let expected = format!("ntf_{}_req_1_waiting_a", open.0.simple());
    assert_eq!(scene.ids(), [expected]);
}

#[tokio::test(start_paused = true)]
async fn a_bug_of_a_sender_is_a_failed_delivery() {
    let scene = Scene::new(&["a"]);
    scene.receiver.has_bug.store(true, Ordering::Relaxed);
    let thread = scene.thread();
    scene.end(thread, 1).await;
    assert_eq!(scene.waiting().await, 1);
    scene.receiver.has_bug.store(false, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(10)).await;
    scene.settle().await;
    assert_eq!(scene.ids(), [id(thread, 1, "a")]);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_thread_takes_its_notifications_along() {
    let scene = Scene::new(&["a"]);
    scene.set_down(true);
    let thread = scene.thread();
    scene.end(thread, 1).await;
    scene.log.delete(thread).await.unwrap();
    scene.set_down(false);
    tokio::time::sleep(Duration::from_secs(10)).await;
    scene.settle().await;
    assert!(scene.ids().is_empty());
    assert_eq!(scene.waiting().await, 0);
}

#[tokio::test(start_paused = true)]
async fn without_targets_there_is_no_file_and_later_targets_receive_nothing_of_the_past() {
    let mut scene = Scene::new(&[]);
    let thread = scene.thread();
    scene.end(thread, 1).await;
    assert!(!scene.file().path().exists());
    tokio::time::advance(Duration::from_secs(1)).await;
    scene.targets.send_replace(targets(&["a"]));
    scene.settle().await;
    assert!(scene.ids().is_empty());
    scene.restart(&["a"]).await;
    assert!(scene.ids().is_empty());
    scene.set_down(true);
    scene.end(thread, 2).await;
    assert!(scene.file().path().exists());
    scene.targets.send_replace(targets(&[]));
    scene.settle().await;
    assert!(
        !scene.file().path().exists(),
        "a removed target drops what waits for it"
    );
    assert_eq!(scene.waiting().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_closed_task_has_stored_everything() {
    let scene = Scene::new(&["a"]);
    scene.set_down(true);
    let thread = scene.thread();
    let event = scene.store(thread, 1, TurnStatus::Completed).await;
    scene.context.notifications.stored(thread, &[event]);
    scene.context.notifications.close().await;
    let record = scene.file().read().unwrap().expect("it is stored");
    assert_eq!(record.waiting.len(), 1);
    assert!(scene.context.notifications.states().await.is_err());
    // A second call finds no task.
    scene.context.notifications.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_damaged_file_is_set_aside() {
    let mut scene = Scene::new(&["a"]);
    scene.end(scene.thread(), 1).await;
    assert!(scene.file().read().unwrap().is_some());
    for damaged in [
        r#"{"version":"#,
        r#"{"version":2,"since":0,"threads":{},"waiting":[]}"#,
    ] {
        scene.file().store(damaged.as_bytes()).unwrap();
        scene.restart(&["a"]).await;
        assert!(scene.file().read().unwrap().is_some());
        let aside = std::fs::read_to_string(scene.place.path().join("notifications.json.damaged"));
        assert_eq!(aside.unwrap(), damaged);
    }
}

#[tokio::test(start_paused = true)]
async fn a_test_reports_each_target_and_an_unknown_one_by_name() {
    let scene = Scene::new(&["a", "b"]);
    let tested = |target: Option<&str>| scene.context.notifications.test(target.map(str::to_owned));
    let both = tested(None).await.unwrap();
    assert_eq!(
        both.iter().map(|tested| &*tested.target).collect::<Vec<_>>(),
        ["a", "b"]
    );
    assert!(both.iter().all(|tested| tested.error.is_none()));
    scene.set_down(true);
    let one = tested(Some("b")).await.unwrap();
    assert_eq!(one[0].error.as_deref(), Some("down"));
    let unknown = tested(Some("c")).await.unwrap_err().message;
    assert_eq!(
        unknown,
        "notification target \"c\" (known are a, b) does not exist"
    );
}
