//! Responses to callers when a thread is overloaded or its log fails. All components are real except for the in-memory log.

use std::collections::BTreeMap;
use std::sync::Arc;

use acpd_log::{Fault, Memory};
use acpd_model::{ErrorCode, Limits, Origin, ThreadId};
use acpd_proto::agent::{AgentRequest, ElicitationModes};
use acpd_proto::projection::Spec;
use acpd_proto::thread::Command;

use crate::agent::config::AgentConfig;
use crate::test_context::context_with_log;
use crate::thread::directory::Directory;

/// An agent that opens a session and does nothing else.
const AGENT: &str = r#"
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case "$line" in
    *'"method":"initialize"'*) result='{"protocolVersion":1,"agentCapabilities":{}}' ;;
    *'"method":"session/new"'*) result='{"sessionId":"s"}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// A daemon without connections, and one thread.
struct Stage {
    log: Arc<Memory>,
    directory: Directory,
    thread: ThreadId,
    _place: tempfile::TempDir,
}

impl Stage {
    /// Creates the thread. Its agent is never started.
    async fn new(limits: Limits) -> Self {
        let place = tempfile::tempdir().unwrap();
        let agent = AgentConfig {
            command: "sh".into(),
            args: vec!["-c".into(), AGENT.into()],
            ..AgentConfig::default()
        };
        let agents = BTreeMap::from([("quiet".to_owned(), agent)]);
        let log = Arc::new(Memory::new());
        let context = context_with_log(log.clone(), place.path(), agents, limits);
        let directory = Directory::open(context.clone()).await.unwrap();
        let thread = context.ids.thread();
        let spec = Spec {
            agent: "quiet".into(),
            cwd: place.path().display().to_string(),
            ..Spec::default()
        };
        let create = Command::Create {
            spec: Box::new(spec),
            name: None,
            project_id: None,
            metadata: None,
            elicitation: ElicitationModes::ALL,
            config_options: Vec::new(),
        };
        let created = directory.command(thread, Origin::Daemon, create).await;
        created.unwrap().await.unwrap().unwrap();
        Self {
            log,
            directory,
            thread,
            _place: place,
        }
    }
}

#[tokio::test]
async fn a_thread_with_too_much_to_do_says_so_and_answers_what_it_took() {
    const ROOM: usize = 4;
    let limits = Limits {
        thread_commands: ROOM,
        ..Limits::default()
    };
    let stage = Stage::new(limits).await;
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
        // The thread accepts as many commands as it can before the next one arrives; storing the last one never finishes.
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

#[tokio::test]
async fn a_request_that_left_before_the_log_failed_is_not_said_to_be_undone() {
    let stage = Stage::new(Limits::default()).await;
    #[expect(
        clippy::async_yields_async,
        reason = "a command is sent now and answered later"
    )]
    let send = async |command| {
        let sent = stage.directory.command(stage.thread, Origin::Daemon, command);
        sent.await.unwrap()
    };
    let request = AgentRequest::Extension {
        method: "_x".into(),
        params: None,
    };
    let left = send(Command::AgentRequest(request)).await;
    // It is carried out before the next one is answered.
    send(Command::Remembered).await.await.unwrap().unwrap();
    stage.log.inject(Fault::FullDisk);
    let undone = send(Command::SetPolicy(None)).await.await.unwrap().unwrap_err();
    assert_eq!((undone.code, undone.code.retryable()), (ErrorCode::Storage, true));
    assert!(undone.message.starts_with("nothing was done: "), "{undone}");
    let left = left.await.unwrap().unwrap_err();
    assert_eq!((left.code, left.code.retryable()), (ErrorCode::Internal, false));
    assert!(left.message.starts_with("it is not known whether"), "{left}");
    stage.log.heal();
    send(Command::SetPolicy(None)).await.await.unwrap().unwrap();
}
