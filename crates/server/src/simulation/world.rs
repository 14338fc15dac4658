//! The daemon and its clients, and the random steps of a run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use acpd_log::{EventLog, Filter, ListedThread};
use acpd_model::{Event, Limits, ThreadId, ThreadStatus};
use acpd_runtime::clock::Clock;
use acpd_runtime::ids::Ids;
use serde_json::json;
use tokio::time::sleep;

use super::client::{Client, Truth};
use super::daemon::Daemon;
use super::dice::Dice;
use super::editor::Editor;
use super::host::ScriptedHost;
use super::log::SlowLog;

/// The wall-clock time at the start of each run, in milliseconds since the epoch.
const BEGAN: i64 = 1_700_000_000_000;

/// One run of a seed.
pub struct World {
    pub(super) dice: Dice,
    limits: Limits,
    place: PathBuf,
    pub(super) truth: Truth,
    clock: Clock,
    ids: Ids,
    host: ScriptedHost,
    pub(super) daemon: Daemon,
    pub(super) clients: Vec<Client>,
    pub(super) editors: Vec<Editor>,
    pub(super) threads: Vec<String>,
    /// The events of each thread at the last check.
    pub(super) known: BTreeMap<ThreadId, Vec<Event>>,
    /// The messages that ended connections received.
    pub(super) trace: Vec<String>,
    /// The sums of the counters of all daemons of this run.
    happened: BTreeMap<String, f64>,
}

/// The result of a run.
pub struct Report {
    /// The messages to clients with their times, and all events.
    pub trace: Vec<String>,
    /// The counters by name.
    pub happened: BTreeMap<String, f64>,
}

impl World {
    /// Starts a daemon on an empty log.
    pub async fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let place = std::env::temp_dir().join(format!("acpd-sim-{}-{seed}", std::process::id()));
        // Removes the files of an earlier run.
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir_all(place.join("work")).unwrap();
        let limits = Limits {
            thread_commands: usize::try_from(2 + dice.roll(30)).unwrap(),
            live_batches: usize::try_from(1 + dice.roll(4)).unwrap(),
            outbound_queue: usize::try_from(1 + dice.roll(3)).unwrap(),
            agents: usize::try_from(1 + dice.roll(8)).unwrap(),
            cancel_secs: 5,
            agent_exit_grace_secs: 1,
            agent_idle_secs: 60,
            ..Limits::default()
        };
        let truth = Truth::new();
        let (clock, ids) = (Clock::starting_at(BEGAN), Ids::Counted(Arc::default()));
        let host = ScriptedHost::new(dice.split());
        let log = SlowLog::new(truth.clone(), dice.split());
        let daemon = Daemon::start(log, &limits, clock, &ids, &host, &place).await;
        Self {
            dice,
            limits,
            place,
            truth,
            clock,
            ids,
            host,
            daemon,
            clients: Vec::new(),
            editors: Vec::new(),
            threads: Vec::new(),
            known: BTreeMap::new(),
            trace: Vec::new(),
            happened: BTreeMap::new(),
        }
    }

    /// Runs the steps, and checks the invariants after each.
    pub async fn run(&mut self, steps: u32) {
        for _ in 0..steps {
            self.step().await;
            sleep(Duration::from_millis(self.dice.roll(50))).await;
            self.check().await;
        }
        self.rest().await;
    }

    /// Returns the messages to clients, the stored events, and the counters of all daemons.
    pub fn into_report(mut self) -> Report {
        Report {
            trace: std::mem::take(&mut self.trace),
            happened: std::mem::take(&mut self.happened),
        }
    }

    async fn step(&mut self) {
        self.leave_ended();
        if self.dice.happens(25) {
            return self.step_of_editor().await;
        }
        if self.dice.happens(10) {
            return self.change_history().await;
        }
        match self.dice.roll(100) {
            0..8 => self.connect().await,
            8..16 => self.start_thread().await,
            16..40 => self.with_thread("turn/start", json!({ "text": "go" })).await,
            40..46 => self.interrupt().await,
            46..60 => self.answer().await,
            60..68 => self.resume().await,
            68..71 => self.with_thread("thread/unsubscribe", json!({})).await,
            71..74 => {
                self.with_thread("turn/steer", json!({ "text": "and this" }))
                    .await
            }
            74..76 => {
                self.with_thread("thread/name/set", json!({ "name": "a name" }))
                    .await
            }
            76..78 => self.with_thread("thread/archive", json!({})).await,
            78..80 => self.with_thread("thread/unarchive", json!({})).await,
            80..83 => self.toggle_reading(),
            83..85 => self.break_off(),
            85..87 => self.host.kill_one(&mut self.dice),
            87..89 => {
                let after = u32::try_from(1 + self.dice.roll(12)).unwrap();
                let kind = usize::from(self.dice.happens(20));
                self.daemon.log.failing[kind].store(after, Ordering::Relaxed);
            }
            89..92 => {
                let delay = self.dice.roll(3) * 20;
                self.daemon.log.delay.store(delay, Ordering::Relaxed);
            }
            92..94 => self.garbage().await,
            94 => sleep(Duration::from_secs(self.dice.roll(100))).await,
            95 => self.fail_the_log().await,
            96 => self.restart().await,
            97 => self.crash().await,
            98 => sleep(Duration::from_hours(1)).await,
            _ => self.flood().await,
        }
    }

    pub(super) async fn connect(&mut self) {
        if self.clients.len() < 5 {
            let io = self.daemon.connect(&self.limits);
            self.clients.push(Client::connect(io, self.truth.clone()).await);
        }
    }

    pub(super) fn client(&mut self) -> Option<&mut Client> {
        let sides = self.clients.len() as u64;
        let at = (sides > 0).then(|| self.dice.roll(sides))?;
        self.clients.get_mut(usize::try_from(at).ok()?)
    }

    async fn start_thread(&mut self) {
        let agent = if self.dice.happens(60) { "own" } else { "shared" };
        let params = json!({ "agentType": agent, "cwd": self.place.join("work") });
        if self.threads.len() < 4
            && let Some(client) = self.client()
        {
            client.request("thread/start", None, params).await;
            sleep(Duration::from_millis(1)).await;
        }
        self.list_threads().await;
    }

    async fn with_thread(&mut self, method: &'static str, params: serde_json::Value) {
        let thread = self.dice.pick(&self.threads);
        if let (Some(thread), Some(client)) = (thread, self.client()) {
            client.request(method, Some(&thread), params).await;
        }
    }

    /// Interrupts a turn, and checks that the daemon responds whatever else happens.
    async fn interrupt(&mut self) {
        let thread = self.dice.pick(&self.threads);
        let slow = Duration::from_millis(10 * self.daemon.log.delay.load(Ordering::Relaxed));
        let (Some(thread), Some(client)) = (thread, self.client()) else {
            return;
        };
        let id = client.request("turn/interrupt", Some(&thread), json!({})).await;
        let is_reading = client.is_reading();
        sleep(Duration::from_secs(1) + slow).await;
        let seen = client.seen();
        assert!(
            !is_reading || seen.common.is_closed || !seen.pending.contains_key(&id),
            "an interrupt was not answered within a second"
        );
    }

    async fn answer(&mut self) {
        let (last, yes) = (self.dice.happens(70), self.dice.happens(50));
        let again = self.dice.happens(10);
        let Some(client) = self.client() else { return };
        let question = {
            let mut seen = client.seen();
            if last {
                seen.questions.pop()
            } else {
                seen.questions.first().cloned()
            }
        };
        if let Some(question) = question {
            client.answer(&question, yes).await;
            if again {
                client.answer(&question, !yes).await;
            }
        }
    }

    async fn resume(&mut self) {
        let Some(thread) = self.dice.pick(&self.threads) else {
            return;
        };
        // The thread may have been deleted since the last check.
        let last = self.truth.memory.last_seq(thread.parse().unwrap()).await;
        let last = last.unwrap_or_default();
        let after = self.dice.roll(last + 1);
        if let Some(client) = self.client() {
            client
                .request("thread/resume", Some(&thread), json!({ "after": after }))
                .await;
        }
    }

    fn toggle_reading(&mut self) {
        if let Some(client) = self.client() {
            let reads = client.is_reading();
            client.read(!reads);
        }
    }

    fn break_off(&mut self) {
        if !self.clients.is_empty() {
            let sides = self.clients.len() as u64;
            let at = usize::try_from(self.dice.roll(sides)).unwrap();
            self.leave(at);
        }
    }

    pub(super) async fn connect_editor(&mut self) {
        let io = self.daemon.connect_editor(&self.limits);
        let cwd = self.place.join("work").display().to_string();
        let editor = Editor::connect(io, self.truth.began, &cwd).await;
        self.editors.push(editor);
    }

    async fn step_of_editor(&mut self) {
        if self.editors.is_empty() || self.editors.len() < 3 && self.dice.happens(10) {
            return self.connect_editor().await;
        }
        let sides = self.editors.len() as u64;
        let at = usize::try_from(self.dice.roll(sides)).unwrap();
        let editor = &mut self.editors[at];
        match self.dice.roll(100) {
            0..55 => editor.prompt().await,
            55..65 => editor.cancel().await,
            65..90 => editor.answer(usize::from(self.dice.happens(50))).await,
            90..96 => editor.read(!editor.is_reading()),
            _ => self.leave_editor(at),
        }
    }

    pub(super) fn leave_editor(&mut self, at: usize) {
        let editor = self.editors.remove(at);
        let seen = editor.seen();
        assert_eq!(seen.common.fault, None);
        for reason in ["cancelled", "end_turn"] {
            let is_end = |text: &str| text.contains(&format!("\"stopReason\":\"{reason}\""));
            let ends = seen
                .common
                .messages
                .iter()
                .filter(|(_, text)| is_end(text))
                .count();
            let count = self
                .happened
                .entry(format!("editors' prompts: {reason}"))
                .or_default();
            *count += u32::try_from(ends).map_or(0.0, f64::from);
        }
        let messages = seen
            .common
            .messages
            .iter()
            .map(|(at, text)| format!("{at} {text}"));
        self.trace.extend(messages);
    }

    async fn garbage(&mut self) {
        let lines = [
            "{",
            "[]",
            "null",
            "{\"id\":{}}",
            "{\"jsonrpc\":\"2.0\",\"id\":7777777}",
            "\u{fffd}",
        ];
        let line = self.dice.pick(&lines).unwrap();
        if let Some(client) = self.client() {
            client.line(line).await;
        }
    }

    async fn flood(&mut self) {
        if let Some(client) = self.client() {
            for _ in 0..80 {
                client.request("thread/list", None, json!({})).await;
            }
        }
    }

    /// Shuts the daemon down, and starts the next one.
    pub(super) async fn restart(&mut self) {
        self.daemon.stop().await;
        self.come_back().await;
    }

    /// Kills the daemon. Nothing of it is stored or sent any more.
    async fn crash(&mut self) {
        self.daemon.log.is_dead.store(true, Ordering::Relaxed);
        self.host.kill_all();
        self.come_back().await;
    }

    async fn come_back(&mut self) {
        self.count();
        while !self.clients.is_empty() {
            self.leave(0);
        }
        while !self.editors.is_empty() {
            self.leave_editor(0);
        }
        let log = SlowLog::new(self.truth.clone(), self.dice.split());
        self.daemon = Daemon::start(log, &self.limits, self.clock, &self.ids, &self.host, &self.place).await;
    }

    /// Adds the counters of a daemon that ends.
    pub(super) fn count(&mut self) {
        let metrics = self.daemon.service.context.metrics.text();
        let counters = metrics.lines().filter_map(|line| line.rsplit_once(' '));
        for (name, value) in counters {
            if let Ok(value) = value.parse::<f64>() {
                *self.happened.entry(name.to_owned()).or_default() += value;
            }
        }
    }

    pub(super) fn leave_ended(&mut self) {
        while let Some(at) = self
            .clients
            .iter()
            .position(|client| client.seen().common.is_closed)
        {
            self.leave(at);
        }
        while let Some(at) = self
            .editors
            .iter()
            .position(|editor| editor.seen().common.is_closed)
        {
            self.leave_editor(at);
        }
    }

    pub(super) fn leave(&mut self, at: usize) {
        let client = self.clients.remove(at);
        self.check_client(&client);
        let seen = client.seen();
        let messages = seen
            .common
            .messages
            .iter()
            .map(|(at, text)| format!("{at} {text}"));
        self.trace.extend(messages);
    }

    /// Updates the list of threads.
    pub(super) async fn list_threads(&mut self) {
        let listed = self.listed().await;
        self.threads = listed.iter().map(|listed| listed.thread.to_string()).collect();
        self.threads.sort();
        for listed in listed {
            assert!(
                !self.truth.is_deleted(listed.thread),
                "{} came back",
                listed.thread
            );
        }
    }

    pub(super) async fn busy_threads(&self) -> Vec<String> {
        let listed = self.listed().await.into_iter();
        let busy = listed.filter(|listed| listed.summary.status != ThreadStatus::Idle);
        busy.map(|listed| listed.thread.to_string()).collect()
    }

    pub(super) async fn listed(&self) -> Vec<ListedThread> {
        self.truth
            .memory
            .list(Filter::default(), None, 100)
            .await
            .unwrap()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // Files that stay in the temporary directory do no harm.
        let _ = std::fs::remove_dir_all(&self.place);
    }
}
