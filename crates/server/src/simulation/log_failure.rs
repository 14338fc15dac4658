//! A log that cannot be written for some time, and one that returns other bytes than it stored.

use std::sync::atomic::Ordering;
use std::time::Duration;

use acpd_log::{EventLog, Fault};
use acpd_model::event::TurnStatus;
use acpd_model::{EventKind, ThreadId, TurnEvent};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::world::World;

impl World {
    /// Lets all appends fail for some time, or loses the answer of one.
    pub(super) async fn fail_the_log(&mut self) {
        const LASTING: [Fault; 5] = [
            Fault::FullDisk,
            Fault::ReadOnly,
            Fault::Busy,
            Fault::Io,
            Fault::Unreachable,
        ];
        let lasting = usize::try_from(self.dice.roll(LASTING.len() as u64 * 2)).unwrap_or_default();
        let Some(fault) = LASTING.get(lasting) else {
            let after = u32::try_from(self.dice.roll(4)).unwrap_or_default();
            return self.truth.memory.inject(Fault::LoseAnswer { after });
        };
        self.truth.memory.inject(*fault);
        sleep(Duration::from_secs(self.dice.roll(100))).await;
        self.truth.memory.heal();
    }

    /// Sends a request of the first client, and returns the response.
    async fn ask(&mut self, method: &'static str, thread: Option<&str>, params: Value) -> Value {
        let client = &mut self.clients[0];
        let id = client.request(method, thread, params).await;
        sleep(Duration::from_millis(500)).await;
        let seen = client.seen();
        let messages = seen.common.messages.iter();
        let mut messages = messages.filter_map(|(_, text)| serde_json::from_str::<Value>(text).ok());
        let answer = messages.find(|message| message["method"].is_null() && message["id"] == id);
        answer.unwrap_or_else(|| panic!("{method} has no response"))
    }

    /// Returns the params of the first client's notifications of a kind.
    fn notified(&self, method: &str) -> Vec<Value> {
        let seen = self.clients[0].seen();
        let messages = seen.common.messages.iter();
        let messages = messages.filter_map(|(_, text)| serde_json::from_str::<Value>(text).ok());
        let mut found: Vec<Value> = messages.filter(|message| message["method"] == method).collect();
        found.iter_mut().map(|message| message["params"].take()).collect()
    }

    async fn only_thread(&mut self) -> String {
        self.connect().await;
        let params = json!({ "agentType": "own", "cwd": std::env::temp_dir() });
        self.clients[0].request("thread/start", None, params).await;
        sleep(Duration::from_secs(5)).await;
        self.list_threads().await;
        self.threads[0].clone()
    }

    async fn listed_entry(&mut self) -> Value {
        let listed = self.ask("thread/list", None, json!({})).await;
        listed["result"]["data"][0].clone()
    }

    /// Fills the disk while a turn runs and another one is queued, and makes room again.
    pub(super) async fn fill_the_disk_in_a_turn(&mut self) {
        let thread = self.only_thread().await;
        for _ in 0..2 {
            let client = &mut self.clients[0];
            client
                .request("turn/start", Some(&thread), json!({ "text": "go" }))
                .await;
        }
        while self.busy_threads().await.is_empty() {
            sleep(Duration::from_millis(1)).await;
        }
        self.truth.memory.inject(Fault::FullDisk);
        self.ask("thread/list/watch", None, json!({})).await;
        sleep(Duration::from_secs(2)).await;

        let entry = self.listed_entry().await;
        assert_eq!(entry["status"], "failed", "{entry}");
        assert!(
            entry["error"].as_str().unwrap().contains("disk is full"),
            "{entry}"
        );
        let read = self
            .ask("thread/read", Some(&thread), json!({ "includeTurns": true }))
            .await;
        assert_eq!(read["result"]["thread"]["status"], "failed", "{read}");
        let resumed = self
            .ask("thread/resume", Some(&thread), json!({ "after": 0 }))
            .await;
        assert_eq!(resumed["result"]["thread"]["status"], "failed", "{resumed}");
        let refused = self
            .ask("turn/start", Some(&thread), json!({ "text": "more" }))
            .await;
        assert_eq!(refused["error"]["data"]["code"], "storage", "{refused}");
        assert_eq!(refused["error"]["data"]["retryable"], true, "{refused}");
        assert_eq!(
            self.notified("thread/log/changed").len(),
            2,
            "one for each subscription"
        );

        sleep(Duration::from_mins(2)).await;
        let before = self.daemon.log.appends.load(Ordering::Relaxed);
        sleep(Duration::from_mins(10)).await;
        let tried = self.daemon.log.appends.load(Ordering::Relaxed) - before;
        assert!((9..=11).contains(&tried), "{tried} attempts in ten minutes");

        self.truth.memory.inject(Fault::Busy);
        sleep(Duration::from_mins(2)).await;
        let entry = self.listed_entry().await;
        assert!(entry["error"].as_str().unwrap().contains("locked"), "{entry}");
        let told = self.notified("thread/log/changed").pop().unwrap();
        assert!(told["error"].as_str().unwrap().contains("locked"), "{told}");

        self.truth.memory.heal();
        sleep(Duration::from_mins(2)).await;
        self.check().await;
        let events = &self.known[&thread.parse::<ThreadId>().unwrap()];
        let settled: Vec<_> = events
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::Turn(TurnEvent::Settled { status, error, .. }) => Some((*status, error.clone())),
                _ => None,
            })
            .collect();
        assert_eq!(settled[0].0, TurnStatus::Failed);
        let error = format!("{:?}", settled[0].1);
        assert!(
            error.contains("the log could not be written: database or disk is full"),
            "{error}"
        );
        let started = events
            .iter()
            .filter(|event| matches!(event.kind, EventKind::Turn(TurnEvent::Started { .. })));
        assert_eq!(started.count(), 2, "the queued turn ran as well");
        let last = events.last().unwrap().seq;
        assert_eq!(self.clients[0].seen().streams.last().unwrap().last(), last);
        let changes = self.notified("thread/log/changed");
        assert!(changes.last().unwrap()["error"].is_null(), "{changes:?}");
        assert_ne!(self.listed_entry().await["status"], "failed");
        self.rest().await;
    }

    /// Damages the last event of a thread.
    pub(super) async fn damage_the_end_of_a_thread(&mut self) {
        let thread = self.only_thread().await;
        self.run_turn(&thread).await;
        self.ask("thread/name/set", Some(&thread), json!({ "name": "a name" }))
            .await;
        self.restart().await;
        let id: ThreadId = thread.parse().unwrap();
        let last = self.truth.memory.last_seq(id).await.unwrap();
        let (first, last) = self.truth.memory.damage(id, last).unwrap();
        self.connect().await;

        let read = self
            .ask("thread/read", Some(&thread), json!({ "includeTurns": true }))
            .await;
        let found = &read["result"]["thread"];
        assert_eq!(found["status"], "failed", "{read}");
        assert_eq!(found["turns"].as_array().unwrap().len(), 1, "{read}");
        let lost = format!("events {first} to {last} of thread {thread} cannot be read");
        assert!(found["error"].as_str().unwrap().contains(&lost), "{read}");
        let resumed = self
            .ask("thread/resume", Some(&thread), json!({ "after": 0 }))
            .await;
        assert_eq!(resumed["result"]["thread"]["status"], "failed", "{resumed}");
        let damaged = self.notified("thread/log/damaged");
        assert_eq!(damaged.len(), 1);
        assert_eq!(
            (&damaged[0]["firstSeq"], &damaged[0]["seq"]),
            (&json!(first), &json!(last))
        );
        let seen = self.clients[0].seen().streams.last().unwrap().events.len();
        assert_eq!(
            u64::try_from(seen).unwrap(),
            first,
            "all events before the damage, and the notice"
        );

        let refused = self
            .ask("turn/start", Some(&thread), json!({ "text": "go" }))
            .await;
        assert_eq!(refused["error"]["data"]["code"], "conflict", "{refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("read-only") && message.contains(&lost),
            "{message}"
        );
        assert_eq!(self.listed_entry().await["status"], "failed");
        let forked = self.ask("thread/fork", Some(&thread), json!({})).await;
        assert_eq!(forked["result"]["thread"]["turnCount"], 1, "{forked}");
        let deleted = self.ask("thread/delete", Some(&thread), json!({})).await;
        assert!(deleted["error"].is_null(), "{deleted}");
        self.list_threads().await;
        assert_eq!(self.threads.len(), 1, "the fork is left");
        self.daemon.stop().await;
    }

    /// Damages the first event of a thread that has a snapshot behind it.
    pub(super) async fn damage_the_beginning_of_a_thread(&mut self) {
        let thread = self.only_thread().await;
        for _ in 0..20 {
            self.run_turn(&thread).await;
        }
        self.restart().await;
        let id: ThreadId = thread.parse().unwrap();
        let (_, last) = self.truth.memory.damage(id, 1).unwrap();
        self.connect().await;
        let resumed = self
            .ask("thread/resume", Some(&thread), json!({ "after": 0 }))
            .await;
        assert_eq!(resumed["result"]["thread"]["status"], "idle", "{resumed}");
        let damaged = self.notified("thread/log/damaged");
        assert_eq!(damaged.len(), 1);
        assert_eq!(damaged[0]["seq"], last);
        let started = self
            .ask("turn/start", Some(&thread), json!({ "text": "go" }))
            .await;
        assert!(started["error"].is_null(), "{started}");
        self.daemon.stop().await;
    }

    /// Runs a turn to its end.
    async fn run_turn(&mut self, thread: &str) {
        self.ask("turn/start", Some(thread), json!({ "text": "go" }))
            .await;
        for _ in 0..100 {
            if self.busy_threads().await.is_empty() {
                return;
            }
            self.ask("turn/interrupt", Some(thread), json!({})).await;
            sleep(Duration::from_secs(10)).await;
        }
        panic!("the turn does not end");
    }
}
