use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use acpd_host::{ProcessExit, Program, StderrTail, TerminalSpec, TerminalUpdate};
use acpd_log::conformance::sample;
use acpd_log::{Append, Memory};
use acpd_model::ErrorCode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use super::*;
use crate::host::{AgentProcess, TerminalIo};

const MEMO: &str = r#"{"session":"s-1","nextId":3,"nextCall":1,"capabilities":0}"#;
const GRACE: Duration = Duration::from_secs(1);

fn row(v: u32, hold: &Hold, unsent: &str) -> Vec<u8> {
    let hold = serde_json::to_string(hold).unwrap();
    let unsent = serde_json::to_string(unsent).unwrap();
    format!(
        r#"{{"v":{v},"hold":{hold},"terminals":[{{"id":"term_1","limit":1}}],"connection":{{"out_mark":7,"unsent":{unsent},"memo":{MEMO}}},"thread":{{"session":{{}}}}}}"#
    )
    .into_bytes()
}

#[test]
fn a_row_is_read_as_it_was_written() {
    let hold = Hold::new();
    let new = RowRef::of_new(&hold);
    assert!(!new.is_resumable());
    assert!(matches!(decode(&new.encode().unwrap()), Err(CarryError::NotOpen)));

    let part = RawJson::parse(format!(r#"{{"out_mark":7,"memo":{MEMO}}}"#)).unwrap();
    let thread = RawJson::parse(r#"{"session":{}}"#).unwrap();
    let owed = [
        OwedCommand::Notify {
            method: "_x".into(),
            params: Some(RawJson::parse(r#"{"a":1.10}"#).unwrap()),
        },
        OwedCommand::CancelSubagent {
            session: "s-2".into(),
        },
        OwedCommand::CloseSession {
            ask: 5,
            session: "s-3".into(),
        },
    ];
    let terminals = [("term_1", 0), ("term_2", 9)].map(|(id, seen)| TerminalHold {
        id: id.into(),
        limit: 1000,
        seen,
    });
    let whole = RowRef {
        connection: Some(&part),
        owed: &owed,
        terminals: &terminals,
        thread: Some(&thread),
        ..RowRef::of_new(&hold)
    };
    assert!(whole.is_resumable());
    let read = decode(&whole.encode().unwrap()).unwrap();
    assert_eq!((read.hold, read.part), (hold, part));
    assert_eq!((read.connection.out_mark, &*read.connection.unsent), (7, ""));
    assert_eq!((&read.owed[..], &read.terminals[..]), (&owed[..], &terminals[..]));
    for owed in read.owed {
        assert_eq!(OwedCommand::of(&owed.clone().into_command()), Some(owed));
    }
}

#[test]
fn a_row_that_cannot_be_read_is_not_continued() {
    let hold = Hold::new();
    let other = decode(&row(CARRY_VERSION + 1, &hold, ""));
    assert!(matches!(other, Err(CarryError::Version(2))), "{other:?}");
    // Whatever else another version has.
    let other = decode(br#"{"v":900,"hold":7}"#);
    assert!(matches!(other, Err(CarryError::Version(900))), "{other:?}");
    let whole = row(CARRY_VERSION, &hold, "a\n");
    assert!(decode(&whole).is_ok());
    for end in 0..whole.len() {
        assert!(decode(&whole[..end]).is_err(), "{end}");
    }
    assert!(decode(b"\xff").is_err() && decode(b"").is_err() && decode(b"{}").is_err());
}

#[test]
fn lines_that_waited_for_the_journal_are_written_once() {
    let divided = |unsent, journal: &[u8]| divide(unsent, journal);
    let pair = |sent: &[u8], rest: &[u8]| Some((sent.to_vec(), rest.to_vec()));
    assert_eq!(divided("", b""), pair(b"", b""));
    assert_eq!(divided("", b"later\n"), pair(b"later\n", b""));
    assert_eq!(divided("a\nb\n", b""), pair(b"", b"a\nb\n"));
    assert_eq!(divided("a\nb\n", b"a\n"), pair(b"", b"b\n"));
    assert_eq!(divided("a\nb\n", b"a\nb\n"), pair(b"", b""));
    assert_eq!(divided("a\nb\n", b"a\nb\nlater\n"), pair(b"later\n", b""));
    assert_eq!(divided("a\nb\n", b"c\n"), None);
    assert_eq!(divided("a\nb\n", b"a\nc\n"), None);
}

/// A host with one shim, which records what becomes of its agent.
#[derive(Debug, Default)]
struct OneShim {
    /// Lines in the journal behind the mark of the row.
    journal: Vec<u8>,
    is_gone: AtomicBool,
    attached: AtomicUsize,
    ended: Arc<AtomicUsize>,
    left: Arc<AtomicUsize>,
    /// The shims of terminals that were attached and dropped.
    dropped: Mutex<Vec<String>>,
}

#[derive(Debug)]
struct Journal(Vec<u8>);

impl HeldIo for Journal {
    fn acknowledge(&self, _: u64) {}

    fn journal_end(&self) -> u64 {
        7 + self.0.len() as u64
    }

    fn sent_since(&self, mark: u64) -> io::Result<Vec<u8>> {
        assert_eq!(mark, 7);
        Ok(self.0.clone())
    }

    fn forget(&self, _: u64) {}
}

struct Counted {
    ended: Arc<AtomicUsize>,
    left: Arc<AtomicUsize>,
}

impl AgentProcess for Counted {
    fn gone(&mut self) -> BoxFuture<'_, ()> {
        std::future::pending().boxed()
    }

    fn stop(self: Box<Self>, _: Duration) -> BoxFuture<'static, ProcessExit> {
        self.ended.fetch_add(1, Ordering::Relaxed);
        let exit = ProcessExit {
            reason: "it ended".into(),
            code: Some(0),
            by_itself: true,
            stderr: String::new(),
        };
        std::future::ready(exit).boxed()
    }

    fn leave(self: Box<Self>, orphan: Duration) {
        assert!(orphan > Duration::ZERO);
        self.left.fetch_add(1, Ordering::Relaxed);
    }
}

impl Host for OneShim {
    fn start_agent(&self, _: &Program, _: Option<&Hold>) -> Result<AgentIo, Failure> {
        unreachable!("no agent is started")
    }

    fn attach_agent(&self, _: &Hold, cursor: u64) -> Result<AgentIo, Failure> {
        assert_eq!(cursor, 70);
        self.attached.fetch_add(1, Ordering::Relaxed);
        if self.is_gone.load(Ordering::Relaxed) {
            return Err(Failure::new(ErrorCode::NotFound, "the shim is gone"));
        }
        Ok(AgentIo {
            id: Some(1),
            stdin: None,
            stdout: Box::new(tokio::io::empty()),
            stderr: StderrTail::default(),
            process: Box::new(Counted {
                ended: Arc::clone(&self.ended),
                left: Arc::clone(&self.left),
            }),
            held: Some(Box::new(Journal(self.journal.clone()))),
        })
    }

    fn start_terminal(
        &self,
        _: &TerminalSpec,
        _: Option<&Hold>,
        _: mpsc::Sender<TerminalUpdate>,
    ) -> Result<Arc<dyn TerminalIo>, Failure> {
        unreachable!("no terminal is started")
    }

    fn attach_terminal(
        &self,
        hold: &Hold,
        _: usize,
        _: u64,
        _: mpsc::Sender<TerminalUpdate>,
    ) -> Result<Arc<dyn TerminalIo>, Failure> {
        self.dropped.lock().unwrap().push(hold.shim.clone());
        Err(Failure::new(ErrorCode::NotFound, "it ends"))
    }

    fn resident_memory(&self, pids: &[u32]) -> Vec<u64> {
        vec![0; pids.len()]
    }

    fn run_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        work();
    }
}

/// A log with one thread that has this row, and a host with the journal of its agent.
async fn stage(memo: &[u8], journal: &[u8]) -> (SharedLog, Arc<OneShim>, ThreadId) {
    let log: SharedLog = Arc::new(Memory::new());
    let thread = sample::thread(1);
    let summary = sample::summary("carried", 1);
    let events = sample::run(1..=1, 10);
    log.store(Append {
        summary: Some(&summary),
        cursor: Some(70),
        memo: Some(memo),
        ..Append::new(thread, &events)
    })
    .await
    .unwrap();
    let host = OneShim {
        journal: journal.to_vec(),
        ..OneShim::default()
    };
    (log, Arc::new(host), thread)
}

async fn attach(log: &SharedLog, host: &Arc<OneShim>) -> CarriedThreads {
    let host: Arc<dyn Host> = host.clone();
    CarriedThreads::attach(log, &host, GRACE).await.unwrap()
}

async fn take(carried: &CarriedThreads, thread: ThreadId, log: &SharedLog, host: &Arc<OneShim>) -> Taken {
    let host: Arc<dyn Host> = host.clone();
    carried.take(thread, log, &host, GRACE).await.unwrap()
}

fn count(number: &AtomicUsize) -> usize {
    number.load(Ordering::Relaxed)
}

#[tokio::test]
async fn an_attached_agent_is_taken_once_and_may_be_given_back() {
    let hold = Hold::new();
    let (log, host, thread) = stage(&row(CARRY_VERSION, &hold, "a\nb\n"), b"a\n").await;
    let carried = attach(&log, &host).await;
    assert_eq!(
        (carried.marks(), carried.threads()),
        (vec![hold.mark], vec![thread])
    );
    assert_eq!(carried.shims(), std::slice::from_ref(&hold.shim));
    let taken = take(&carried, thread, &log, &host).await;
    let Taken::Agent(agent) = &taken else {
        panic!("it is not attached")
    };
    assert_eq!((agent.cursor, agent.out_mark), (70, 7));
    assert_eq!((&*agent.sent, &*agent.unsent), (&b""[..], &b"b\n"[..]));
    assert!(matches!(
        take(&carried, thread, &log, &host).await,
        Taken::Nothing
    ));
    carried.give_back(thread, taken);
    assert!(matches!(
        take(&carried, thread, &log, &host).await,
        Taken::Agent(_)
    ));
    assert_eq!((count(&host.attached), count(&host.ended)), (1, 0));
}

#[tokio::test]
async fn agents_that_no_thread_has_end_with_their_terminals_when_the_daemon_leaves_none() {
    let hold = Hold::new();
    for is_attached in [true, false] {
        let (log, host, thread) = stage(&row(CARRY_VERSION, &hold, ""), b"").await;
        let carried = if is_attached {
            attach(&log, &host).await
        } else {
            CarriedThreads::default()
        };
        if !is_attached {
            carried.left(thread);
        }
        let its_host: Arc<dyn Host> = host.clone();
        carried.end(&log, &its_host, GRACE).await;
        assert_eq!((count(&host.ended), count(&host.left)), (1, 0));
        let terminal = hold.of_terminal("term_1").shim;
        assert_eq!(*host.dropped.lock().unwrap(), [terminal]);
    }
}

#[tokio::test]
async fn agents_that_no_thread_has_taken_are_left_to_the_next_daemon() {
    let (log, host, _) = stage(&row(CARRY_VERSION, &Hold::new(), ""), b"").await;
    let carried = attach(&log, &host).await;
    drop(carried.clone());
    assert_eq!(count(&host.left), 0);
    drop(carried);
    assert_eq!((count(&host.left), count(&host.ended)), (1, 0));
}

#[tokio::test]
async fn an_agent_whose_work_cannot_be_continued_is_ended_and_its_row_removed() {
    for (memo, journal, attached, ended) in [
        (row(CARRY_VERSION + 1, &Hold::new(), ""), &b""[..], 0, 0),
        (RowRef::of_new(&Hold::new()).encode().unwrap(), b"", 0, 0),
        // The journal is that of another row.
        (row(CARRY_VERSION, &Hold::new(), "a\n"), b"b\n", 1, 1),
    ] {
        let (log, host, thread) = stage(&memo, journal).await;
        let carried = attach(&log, &host).await;
        assert_eq!((carried.marks(), carried.threads()), (vec![], vec![thread]));
        tokio::task::yield_now().await;
        assert_eq!((count(&host.attached), count(&host.ended)), (attached, ended));
        assert_eq!(
            host.dropped.lock().unwrap().len(),
            ended,
            "its terminal ends with it"
        );
        assert!(matches!(take(&carried, thread, &log, &host).await, Taken::Lost));
    }
}

#[tokio::test]
async fn an_agent_that_its_thread_left_is_attached_when_the_thread_is_loaded_again() {
    let hold = Hold::new();
    let (log, host, thread) = stage(&row(CARRY_VERSION, &hold, ""), b"later\n").await;
    let carried = CarriedThreads::default();
    assert!(matches!(
        take(&carried, thread, &log, &host).await,
        Taken::Nothing
    ));
    carried.left(thread);
    let Taken::Agent(agent) = take(&carried, thread, &log, &host).await else {
        panic!("it is not attached")
    };
    assert_eq!(&*agent.sent, b"later\n");
    assert!(host.dropped.lock().unwrap().is_empty());
    carried.left(thread);
    host.is_gone.store(true, Ordering::Relaxed);
    assert!(matches!(take(&carried, thread, &log, &host).await, Taken::Lost));
    // Nothing else would end it before its limit.
    let terminal = hold.of_terminal("term_1").shim;
    assert_eq!(*host.dropped.lock().unwrap(), [terminal]);
}
