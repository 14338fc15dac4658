use std::collections::BTreeSet;

use acpd_model::TurnId;
use acpd_model::limits::NOTIFICATIONS_WAITING;
use uuid::Uuid;

use super::*;

const START: Millis = 1_700_000_000_000;

/// An outbox with a clock that is moved by hand.
struct Scene {
    outbox: Outbox,
    now: Now,
}

fn target(on: &[TriggerKind]) -> Target {
    Target {
        on: on.iter().copied().collect(),
        agents: Vec::new(),
        folders: Vec::new(),
        owner: None,
        version: 0,
    }
}

fn targets(names: &[&str]) -> BTreeMap<String, Target> {
    let all = |name: &&str| ((*name).to_owned(), target(&TriggerKind::ALL));
    names.iter().map(all).collect()
}

fn thread(number: u128) -> ThreadId {
    ThreadId(Uuid::from_u128(number))
}

impl Scene {
    fn new(names: &[&str]) -> Self {
        let now = Now {
            mono: Duration::from_secs(1),
            wall: START,
        };
        let mut outbox = Outbox::new(now);
        outbox.set_targets(targets(names), Duration::from_secs(5));
        Self { outbox, now }
    }

    fn pass(&mut self, time: Duration) {
        self.now.mono += time;
        self.now.wall += millis(time);
    }

    fn ended(&mut self, thread_number: u128, seq: Seq) -> Trigger {
        let trigger = Trigger {
            thread: thread(thread_number),
            kind: TriggerKind::Done,
            subject: Subject::Turn(TurnId(u32::try_from(seq).unwrap())),
            seq,
            at: self.now.wall,
        };
        self.outbox.handle_ended(trigger, &Summary::default());
        trigger
    }

    fn asked(&mut self, number: u32) -> RequestId {
        let request = RequestId {
            thread: thread(1),
            number,
        };
        let trigger = Trigger {
            thread: thread(1),
            kind: TriggerKind::Waiting,
            subject: Subject::Question(request),
            seq: u64::from(number),
            at: self.now.wall,
        };
        self.outbox.handle_asked(trigger, &Summary::default(), self.now);
        request
    }

    /// Returns the targets and events of all deliveries that may begin now.
    fn deliveries(&mut self) -> Vec<(String, Seq)> {
        let next = || self.outbox.poll_delivery(self.now);
        std::iter::from_fn(next)
            .map(|delivery| (delivery.target, delivery.trigger.seq))
            .collect()
    }

    fn result(&mut self, target: &str, result: Result<(), DeliveryError>) {
        self.outbox.handle_result(target, result, self.now);
    }

    /// Moves time to the next deadline.
    fn wait(&mut self) {
        let next = self
            .outbox
            .poll_timeout()
            .expect("there is something to wait for");
        self.pass(next.saturating_sub(self.now.mono));
    }

    fn gave_up(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.outbox.poll_gave_up())
            .map(|gave_up| gave_up.reason)
            .collect()
    }
}

fn to(target: &str, seq: Seq) -> (String, Seq) {
    (target.to_owned(), seq)
}

#[test]
fn a_slow_target_delays_no_other_and_each_has_one_delivery_at_a_time() {
    let mut scene = Scene::new(&["fast", "slow"]);
    scene.ended(1, 1);
    scene.ended(1, 2);
    assert_eq!(scene.deliveries(), [to("fast", 1), to("slow", 1)]);
    scene.result("fast", Ok(()));
    assert_eq!(scene.deliveries(), [to("fast", 2)]);
    scene.result("fast", Ok(()));
    assert!(scene.deliveries().is_empty());
    scene.result("slow", Ok(()));
    assert_eq!(scene.deliveries(), [to("slow", 2)]);
    scene.result("slow", Ok(()));
    assert_eq!(scene.outbox.counts(), Counts::default());
    assert_eq!(scene.outbox.poll_timeout(), None);
}

#[test]
fn a_repeated_event_is_one_notification() {
    let mut scene = Scene::new(&["a"]);
    let trigger = scene.ended(1, 7);
    scene.outbox.handle_ended(trigger, &Summary::default());
    scene.ended(1, 3);
    assert_eq!(scene.outbox.counts().waiting, 1);
    scene.ended(2, 3);
    assert_eq!(
        scene.outbox.counts().waiting,
        2,
        "threads number their events alone"
    );
}

#[test]
fn a_failed_delivery_is_repeated_with_the_same_id_until_it_succeeds() {
    let mut scene = Scene::new(&["a"]);
    scene.ended(1, 1);
    let mut ids = BTreeSet::new();
    for _ in 0..8 {
        let delivery = scene.outbox.poll_delivery(scene.now).expect("it is due");
        ids.insert(delivery.id());
        scene.result("a", Err(DeliveryError::retry("refused")));
        assert!(scene.deliveries().is_empty(), "it pauses first");
        scene.wait();
    }
    assert_eq!(scene.outbox.states()[0].failures, 8);
    assert_eq!(scene.outbox.states()[0].error.as_deref(), Some("refused"));
    assert_eq!(
        ids.into_iter().collect::<Vec<_>>(),
        ["ntf_00000000000000000000000000000001_turn_1_done_a"]
    );
    assert_eq!(scene.deliveries(), [to("a", 1)]);
    scene.result("a", Ok(()));
    assert_eq!(scene.outbox.counts(), Counts::default());
    assert_eq!(scene.outbox.states()[0].error, None);
    assert!(scene.gave_up().is_empty());
}

#[test]
fn the_receiver_can_ask_for_a_longer_pause_but_not_for_an_endless_one() {
    for (asked, expected) in [(600, 600), (u64::MAX, 3_600)] {
        let mut scene = Scene::new(&["a"]);
        scene.ended(1, 1);
        scene.deliveries();
        let error = DeliveryError {
            retry_after: Some(Duration::from_secs(asked)),
            ..DeliveryError::retry("busy")
        };
        scene.result("a", Err(error));
        scene.pass(Duration::from_secs(expected - 1));
        assert!(scene.deliveries().is_empty());
        scene.pass(Duration::from_secs(1));
        assert_eq!(scene.deliveries(), [to("a", 1)]);
    }
}

#[test]
fn it_gives_up_after_a_day_or_when_the_receiver_never_accepts() {
    let mut scene = Scene::new(&["a"]);
    scene.ended(1, 1);
    scene.deliveries();
    scene.result("a", Err(DeliveryError::last("the answer is 410")));
    assert_eq!(scene.gave_up(), ["the answer is 410"]);
    assert_eq!(scene.outbox.counts().waiting, 0);

    // Nobody misses the notifications of a target that has ended.
    scene.ended(2, 1);
    scene.wait();
    assert_eq!(scene.deliveries().len(), 1);
    scene.result("a", Err(DeliveryError::gone("it has ended")));
    assert!(scene.gave_up().is_empty());
    assert_eq!(scene.outbox.counts().waiting, 0);

    let mut scene = Scene::new(&["a"]);
    scene.ended(1, 2);
    scene.wait();
    let mut attempts = 0;
    while scene.deliveries() == [to("a", 2)] {
        scene.result("a", Err(DeliveryError::retry("refused")));
        attempts += 1;
        scene.wait();
    }
    assert_eq!(scene.outbox.counts().waiting, 0);
    assert_eq!(scene.gave_up(), ["not delivered within 24 hours: refused"]);
    assert!((20..60).contains(&attempts), "{attempts}");
}

#[test]
fn a_refused_notification_leaves_its_place_to_the_others() {
    let mut scene = Scene::new(&["a"]);
    scene.ended(1, 1);
    scene.ended(2, 2);
    assert_eq!(scene.deliveries(), [to("a", 1)]);
    scene.result("a", Err(DeliveryError::retry("not this one")));
    scene.wait();
    assert_eq!(scene.deliveries(), [to("a", 2)]);
}

#[test]
fn a_question_is_sent_once_it_is_old_enough_and_only_while_it_is_open() {
    let mut scene = Scene::new(&["a"]);
    let answered = scene.asked(1);
    scene.asked(2);
    scene.pass(Duration::from_millis(4_999));
    assert!(scene.deliveries().is_empty());
    scene.outbox.handle_closed(answered);
    scene.pass(Duration::from_millis(1));
    assert_eq!(scene.deliveries(), [to("a", 2)]);
    // The receiver is down, and meanwhile the question is answered.
    scene.outbox.handle_closed(RequestId {
        thread: thread(1),
        number: 2,
    });
    scene.result("a", Err(DeliveryError::retry("down")));
    scene.pass(Duration::from_hours(2));
    assert!(scene.deliveries().is_empty());
    assert_eq!(scene.outbox.counts().waiting, 0);
    assert!(scene.gave_up().is_empty());
}

#[test]
fn a_question_that_waits_in_a_queue_leaves_it_when_it_is_answered() {
    let mut scene = Scene::new(&["a"]);
    let request = scene.asked(5);
    scene.ended(9, 1);
    assert_eq!(scene.deliveries(), [to("a", 1)]);
    scene.wait();
    assert!(scene.deliveries().is_empty(), "the other is still on its way");
    assert_eq!(scene.outbox.counts().waiting, 2);
    scene.outbox.handle_closed(request);
    assert_eq!(scene.outbox.counts().waiting, 1);
}

#[test]
fn only_a_changed_target_is_tried_at_once() {
    let mut scene = Scene::new(&["a"]);
    scene.ended(1, 1);
    scene.deliveries();
    scene.result("a", Err(DeliveryError::retry("busy")));
    // Another device has come.
    scene.outbox.set_targets(targets(&["a", "b"]), Duration::ZERO);
    assert!(scene.deliveries().is_empty());
    let mut corrected = targets(&["a", "b"]);
    corrected.get_mut("a").expect("there is one").version = 1;
    scene.outbox.set_targets(corrected, Duration::ZERO);
    assert_eq!(scene.deliveries(), [to("a", 1)]);
}

#[test]
fn a_removed_target_drops_what_waits_for_it() {
    let mut scene = Scene::new(&["a", "b"]);
    scene.ended(1, 1);
    scene.outbox.take_record();
    scene.outbox.set_targets(targets(&["b"]), Duration::ZERO);
    assert_eq!(scene.deliveries(), [to("b", 1)]);
    let record = scene.outbox.take_record().expect("the record has changed");
    assert_eq!(record.waiting.len(), 1);
    scene.result("a", Ok(()));
    assert_eq!(scene.outbox.counts().waiting, 1);
}

#[test]
fn kinds_and_filters_decide_who_receives_it() {
    let mut scene = Scene::new(&[]);
    let all = BTreeMap::from([
        ("done".to_owned(), target(&[TriggerKind::Done])),
        ("failed".to_owned(), target(&[TriggerKind::Failed])),
    ]);
    scene.outbox.set_targets(all, Duration::ZERO);
    scene.asked(1);
    scene.ended(1, 4);
    assert_eq!(scene.deliveries(), [to("done", 4)]);
}

#[test]
fn a_restart_continues_with_what_waited_but_not_with_questions() {
    let mut scene = Scene::new(&["a", "b"]);
    scene.ended(1, 1);
    scene.ended(2, 5);
    scene.asked(1);
    scene.wait();
    scene.deliveries();
    scene.result("b", Ok(()));
    let record = scene.outbox.take_record().expect("there is a record");
    assert_eq!(scene.outbox.take_record(), None, "nothing has changed since");
    let json = serde_json::to_string(&record).expect("it can be written");
    let record: OutboxRecord = serde_json::from_str(&json).expect("it can be read");
    let mut again = Outbox::restore(record, targets(&["a", "b", "new"]), scene.now);
    assert_eq!(again.considered(thread(1)), 1);
    assert_eq!(again.considered(thread(3)), 0);
    assert_eq!(again.counts().waiting, 3, "two for a, one for b");
    let first = again.poll_delivery(scene.now).expect("it is sent at once");
    assert_eq!((first.target.as_str(), first.trigger.seq), ("a", 1));
}

#[test]
fn waiting_notifications_are_bounded_per_target_and_in_total() {
    let mut scene = Scene::new(&["a"]);
    for seq in 1..=(NOTIFICATIONS_WAITING as u64 + 10) {
        scene.ended(1, seq);
        scene.pass(Duration::from_millis(1));
    }
    assert_eq!(scene.outbox.counts().waiting, NOTIFICATIONS_WAITING);
    assert_eq!(scene.gave_up().len(), 10);
    assert_eq!(scene.deliveries(), [to("a", 11)], "the oldest made room");

    let names: Vec<String> = (0..20).map(|name| format!("t{name}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut scene = Scene::new(&names);
    for seq in 1..=200 {
        scene.ended(1, seq);
    }
    assert_eq!(scene.outbox.counts().waiting, NOTIFICATIONS_WAITING_ALL);
}

#[test]
fn considered_events_are_kept_for_an_hour_and_of_a_bounded_number_of_threads() {
    let mut scene = Scene::new(&["a"]);
    scene.ended(1, 1);
    scene.pass(NOTIFICATIONS_MEMORY.saturating_sub(Duration::from_millis(1)));
    scene.ended(2, 1);
    assert_eq!(scene.outbox.since(), START);
    assert_eq!(scene.outbox.considered(thread(1)), 1);
    scene.pass(Duration::from_secs(1));
    scene.ended(3, 1);
    assert!(scene.outbox.since() > START);
    assert_eq!(scene.outbox.considered(thread(1)), 0);
    for number in 10..(10 + NOTIFICATIONS_THREADS as u128 + 5) {
        scene.pass(Duration::from_millis(1));
        scene.ended(number, 1);
    }
    let record = scene.outbox.take_record().expect("there is a record");
    assert_eq!(record.threads.len(), NOTIFICATIONS_THREADS);
    assert!(
        record
            .threads
            .values()
            .all(|considered| considered.at >= record.since)
    );
}

#[test]
fn a_clock_that_is_set_back_loses_no_event() {
    let mut scene = Scene::new(&["a"]);
    scene.ended(1, 1);
    scene.now.wall -= millis(Duration::from_hours(48));
    scene.ended(1, 2);
    let record = scene.outbox.take_record().expect("there is a record");
    assert!(record.since <= scene.now.wall);
    assert_eq!(record.threads[&thread(1)].seq, 2);
    assert_eq!(record.waiting.len(), 2);
}
