//! Tests of many clients on one thread, with everything real but the sockets and the disk: the directory, the
//! thread's task and an agent's process, and the log in memory, which fails when it is told to.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use acpd_log::{EventLog, Fault, Memory};
use acpd_model::event::ClientOrigin;
use acpd_model::{ErrorCode, Event, Limits, Origin, Seq, ThreadId};
use acpd_proto::projection::{Live, Spec, text_block};
use acpd_proto::surface::app::{Subscriber, frames};
use acpd_proto::thread::Command;
use bytes::Bytes;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use crate::agent::config::AgentConfig;
use crate::context::Context;
use crate::feed::snapshot::FollowRequest;
use crate::test_context::context_with_log;
use crate::thread::directory::Directory;
use crate::thread::subscription::{Delivery, FollowEnd, follow};

/// An agent of one turn: words, a thought, tool calls, a plan.
const AGENT: &str = r#"
say() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%s}}\n' "$1"; }
n=0
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  result=
  case "$line" in
    *'"method":"initialize"'*) result='{"protocolVersion":1,"agentCapabilities":{}}' ;;
    *'"method":"session/new"'*) result='{"sessionId":"s"}' ;;
    *'"method":"session/prompt"'*)
      k=0
      while [ $k -lt 25 ]; do
        k=$((k+1)); n=$((n+1))
        say '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"word '$n' "}}'
        say '{"sessionUpdate":"tool_call","toolCallId":"t'$n'","title":"tool '$n'","kind":"other"}'
        say '{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"thought '$n'"}}'
        say '{"sessionUpdate":"tool_call_update","toolCallId":"t'$n'","status":"completed"}'
      done
      say '{"sessionUpdate":"plan","entries":[{"content":"c","priority":"low","status":"pending"}]}'
      result='{"stopReason":"end_turn"}' ;;
  esac
  [ -z "$result" ] || printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// Numbers that look random and are the same in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn pick(&mut self, length: usize) -> usize {
        usize::try_from(self.roll(length as u64)).unwrap()
    }
}

/// A daemon without a door.
struct Stage {
    log: Arc<Memory>,
    context: Context,
    directory: Directory,
    thread: ThreadId,
    place: std::path::PathBuf,
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What is left in the temporary directory harms nobody.
        let _ = std::fs::remove_dir_all(&self.place);
    }
}

impl Stage {
    /// With one thread, whose agent is started with its first turn.
    async fn new(name: &str, limits: Limits) -> Self {
        let place = std::env::temp_dir().join(format!("acpd-many-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&place).unwrap();
        let agent = AgentConfig {
            command: "sh".into(),
            args: vec!["-c".into(), AGENT.into()],
            ..AgentConfig::default()
        };
        let agents = BTreeMap::from([("words".to_owned(), agent)]);
        let log = Arc::new(Memory::new());
        let context = context_with_log(log.clone(), &place, agents, limits);
        let directory = Directory::open(context.clone()).await.unwrap();
        let stage = Self {
            log,
            context,
            directory,
            thread: ThreadId(uuid::Uuid::now_v7()),
            place,
        };
        let spec = Spec {
            agent: "words".into(),
            cwd: stage.place.display().to_string(),
            ..Spec::default()
        };
        let create = Command::Create {
            spec: Box::new(spec),
            name: None,
            project_id: None,
            metadata: None,
        };
        let created = stage
            .directory
            .command(stage.thread, Origin::Daemon, create)
            .await;
        created.unwrap().await.unwrap().unwrap();
        stage
    }

    fn prompt() -> Command {
        Command::StartTurn {
            input: vec![text_block("go on")],
            meta: None,
            client_turn_id: None,
        }
    }

    /// Puts all threads to sleep, and begins anew on the same log.
    async fn restart(&mut self) {
        self.directory.close_within(Duration::from_secs(30)).await;
        self.directory = Directory::open(self.context.clone()).await.unwrap();
    }

    /// Everything that the log holds.
    async fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            let page = self.log.read(self.thread, events.len() as Seq).await.unwrap();
            events.extend(page.events);
            if page.at_end {
                return events;
            }
        }
    }
}

/// A client, which may come and go.
struct Watcher {
    /// What it has seen since it began after `base`, in order.
    seen: Vec<(Seq, Bytes)>,
    base: Seq,
    attached: Option<(mpsc::Receiver<Delivery>, AbortOnDropHandle<FollowEnd>)>,
}

impl Watcher {
    fn cursor(&self) -> Seq {
        self.seen.last().map_or(self.base, |(seq, _)| *seq)
    }

    /// Begins after `cursor`; answers the thread as it was then.
    async fn attach(&mut self, stage: &Stage, cursor: Seq) -> Box<Live> {
        self.attached = None;
        self.base = self.base.min(cursor);
        self.seen.retain(|(seq, _)| *seq <= cursor);
        let snapshot = stage.directory.subscribe(stage.thread).await.unwrap();
        let live = snapshot.live.clone();
        let to_follow = FollowRequest {
            thread: stage.thread,
            cursor,
            snapshot,
            attachment: None,
        };
        let (deliver, deliveries) = mpsc::channel(stage.context.limits.outbound_queue);
        let someone = Subscriber {
            who: ClientOrigin {
                principal: "someone".into(),
                client: "test".into(),
            },
            may_answer: false,
        };
        let task = follow(
            stage.directory.clone(),
            stage.context.clone(),
            to_follow,
            stage.context.subscribers.join(stage.thread, someone, false),
            0,
            deliver,
        );
        self.attached = Some((deliveries, AbortOnDropHandle::new(tokio::spawn(task))));
        live
    }

    fn take(&mut self, delivery: &Delivery) {
        // What is only shown has no number, and is in no log.
        let new = delivery
            .batch
            .frames
            .iter()
            .filter(|frame| frame.seq >= delivery.from);
        let new = new.filter(|frame| frame.seq > 0);
        self.seen.extend(new.map(|frame| (frame.seq, frame.text.clone())));
    }

    /// Takes what is there, up to so many deliveries.
    fn read(&mut self, most: u64) {
        for _ in 0..most {
            let next = self
                .attached
                .as_mut()
                .map(|(deliveries, _)| deliveries.try_recv());
            match next {
                Some(Ok(delivery)) => self.take(&delivery),
                Some(Err(mpsc::error::TryRecvError::Disconnected)) => self.attached = None,
                Some(Err(mpsc::error::TryRecvError::Empty)) | None => return,
            }
        }
    }

    /// Reads until it has seen `last`.
    async fn read_until(&mut self, last: Seq) {
        while self.cursor() < last {
            let (deliveries, _) = self.attached.as_mut().expect("it is attached");
            let delivery = tokio::time::timeout(Duration::from_secs(30), deliveries.recv()).await;
            let delivery = delivery.expect("more comes").expect("it is followed to the end");
            self.take(&delivery);
        }
    }
}

/// Clients come, go, stop reading and come back at any cursor; the thread lags them, dies of a failing log, sleeps
/// over a restart. In the end each has seen what the log holds, byte for byte, in order, once; and what it was told
/// of the thread when it came is what the log gave at that moment. Answers the numbers that were counted.
async fn anything_may_happen(seed: u64) -> BTreeMap<String, u64> {
    let mut dice = Dice(seed);
    let limits = Limits {
        live_batches: 1 + dice.pick(3),
        outbound_queue: 1 + dice.pick(2),
        agent_exit_grace_secs: 1,
        ..Limits::default()
    };
    let mut stage = Stage::new(&seed.to_string(), limits).await;
    let mut watchers: Vec<Watcher> = Vec::new();
    let mut moments: Vec<Box<Live>> = Vec::new();
    for _ in 0..80 {
        match dice.roll(20) {
            0..=2 => {
                // A thread that dies of its log, or sleeps, answers nobody; then nothing was begun.
                let begun = stage
                    .directory
                    .command(stage.thread, Origin::Daemon, Stage::prompt());
                drop(begun.await);
            }
            3 | 4 => watchers.push(Watcher {
                seen: Vec::new(),
                base: Seq::MAX,
                attached: None,
            }),
            5..=7 if !watchers.is_empty() => {
                let watcher = dice.pick(watchers.len());
                let watcher = &mut watchers[watcher];
                let last = stage.log.last_seq(stage.thread).await.unwrap();
                let cursor = match watcher.cursor().min(last) {
                    cursor if dice.roll(3) > 0 => cursor,
                    cursor => dice.roll(cursor + 1),
                };
                moments.push(watcher.attach(&stage, cursor).await);
            }
            8 if !watchers.is_empty() => {
                let watcher = dice.pick(watchers.len());
                watchers[watcher].attached = None;
            }
            9 => stage.log.inject(Fault::FailAppend {
                after: u32::try_from(dice.roll(12)).unwrap(),
            }),
            10 if dice.roll(4) == 0 => stage.restart().await,
            _ if !watchers.is_empty() => {
                let watcher = dice.pick(watchers.len());
                watchers[watcher].read(dice.roll(6));
                // The others get on: the agent's process, the thread, those who follow.
                tokio::time::sleep(Duration::from_millis(dice.roll(3))).await;
            }
            _ => tokio::task::yield_now().await,
        }
    }
    // The last failures that were ordered strike here; then the thread comes to rest.
    loop {
        let rest = stage
            .directory
            .command(stage.thread, Origin::Daemon, Stage::prompt())
            .await;
        if matches!(rest.unwrap().await, Ok(Ok(_))) && settled(&stage).await {
            break;
        }
    }
    let events = stage.events().await;
    let last = events.last().unwrap().seq;
    let whole: Vec<_> = frames(&stage.thread.to_string(), &events)
        .into_iter()
        .map(|frame| (frame.seq, frame.text))
        .collect();
    for watcher in &mut watchers {
        let cursor = watcher.cursor().min(last);
        moments.push(watcher.attach(&stage, cursor).await);
        watcher.read_until(last).await;
        let from = whole.partition_point(|(seq, _)| *seq <= watcher.base);
        assert_eq!(
            watcher.seen.len(),
            whole.len() - from,
            "seed {seed}: something is missing, or twice"
        );
        for (seen, told) in watcher.seen.iter().zip(&whole[from..]) {
            assert_eq!(seen, told, "seed {seed}");
        }
    }
    for live in moments {
        let mut folded = Live::new(stage.thread);
        let before = events.iter().take_while(|event| event.seq <= live.last_seq);
        for event in before {
            folded.fold(event);
        }
        assert_eq!(folded, *live, "seed {seed}: the view at event {}", live.last_seq);
    }
    stage.directory.close_within(Duration::from_secs(30)).await;
    let text = stage.context.metrics.text();
    let numbers = text.lines().filter_map(|line| line.split_once(' '));
    numbers
        .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
        .collect()
}

/// Waits until no turn runs and none waits; `false` if the thread died instead.
async fn settled(stage: &Stage) -> bool {
    loop {
        let Ok(snapshot) = stage.directory.subscribe(stage.thread).await else {
            return false;
        };
        let mut batches = snapshot.batches;
        if snapshot.live.turn.is_none() {
            return true;
        }
        // Whatever comes, or the thread's end, is a reason to look again.
        let _ = batches.recv().await;
    }
}

#[tokio::test]
async fn whatever_happens_every_client_sees_what_the_log_holds() {
    let mut happened: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 0..12 {
        for (name, value) in anything_may_happen(seed).await {
            *happened.entry(name).or_default() += value;
        }
    }
    for name in [
        "acpd_client_catch_ups_total",
        "acpd_client_missed_batches_total",
        "acpd_threads_woken_total",
        "acpd_turns_total{status=\"completed\"}",
        "acpd_turns_total{status=\"failed\"}",
    ] {
        assert!(happened[name] > 0, "{name}: that never happened: {happened:#?}");
    }
    assert_eq!(happened["acpd_threads_awake"], 0, "all are asleep");
    assert_eq!(happened["acpd_agents_running"], 0);
}

#[tokio::test]
async fn a_client_hears_that_its_thread_cannot_be_read() {
    let stage = Stage::new("unreadable", Limits::default()).await;
    let mut watcher = Watcher {
        seen: Vec::new(),
        base: 0,
        attached: None,
    };
    stage.log.inject(Fault::FailRead { after: 0 });
    watcher.attach(&stage, 0).await;
    let (_deliveries, task) = watcher.attached.take().unwrap();
    assert_eq!(task.await.unwrap(), FollowEnd::Lost);
}

#[tokio::test]
async fn a_thread_with_too_much_to_do_says_so_and_answers_what_it_took() {
    const ROOM: usize = 4;
    let limits = Limits {
        thread_commands: ROOM,
        ..Limits::default()
    };
    let stage = Stage::new("full", limits).await;
    stage.log.hold();
    let policy = || Command::SetPolicy(None);
    let mut taken = Vec::new();
    let refused = loop {
        match stage
            .directory
            .command(stage.thread, Origin::Daemon, policy())
            .await
        {
            Ok(answer) => taken.push(answer),
            Err(failure) => break failure,
        }
        // The thread takes what it can before the next one comes; the last it takes is stored for ever.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    };
    assert_eq!(refused.code, ErrorCode::Overloaded);
    assert_eq!((refused.code.rpc(), refused.code.retryable()), (-32001, true));
    assert!(taken.len() >= ROOM, "{}", taken.len());
    stage.log.release();
    for answer in taken {
        answer.await.unwrap().unwrap();
    }
    let again = stage
        .directory
        .command(stage.thread, Origin::Daemon, policy())
        .await;
    again.unwrap().await.unwrap().unwrap();
}
