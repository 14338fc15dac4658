//! Remembered answers that apply to all threads of an agent.
//!
//! In: changes from any thread, to remember an answer or to revoke one. Out: the answers of an agent, visible to every
//! thread once they are durable. Owns: one file in the data directory, readable only by its owner and written by one
//! task. Never: reports an answer that a power cut could undo, or runs with a file that it cannot read: a remembered
//! denial in it would be lost silently.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use acpd_files::data_files::ANSWERS;
use acpd_files::{Form, StateFile};
use acpd_model::{ErrorCode, Failure};
use acpd_policy::{Remembered, RememberedRule, Scope};
use acpd_proto::thread::{RememberedChange, RememberedOutcome};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};

use crate::host::{Host, blocking};

/// Largest file of the remembered answers for agents, in bytes.
const ANSWERS_BYTES: u64 = 32 << 20;
/// Changes to the remembered answers for agents that may wait to be stored.
const ANSWERS_WAITING: usize = 16;

/// The answers of each agent, by the agent's name.
type AnswerBook = BTreeMap<String, Arc<Remembered>>;

/// The form of the file. A later form has another version, so that an earlier acpd does not read an answer as broader than it is. In
/// version 1, answers had no directory and no arguments.
const FORM: Form = Form {
    versions: &[1, 2],
    bytes: ANSWERS_BYTES,
    is_pretty: true,
    is_private: true,
};

/// The content of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswersFile {
    agents: BTreeMap<String, Remembered>,
}

/// The reason why the remembered answers cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[error(
    "the remembered answers in {path} cannot be used: {reason}; correct the file, or remove it to forget them all"
)]
pub struct AnswersError {
    path: PathBuf,
    reason: String,
}

/// Gives access to the remembered answers. Each clone tracks changes for itself.
#[derive(Debug, Clone)]
pub struct RememberedAnswers {
    orders: mpsc::Sender<ChangeRequest>,
    now: watch::Receiver<Arc<AnswerBook>>,
}

#[derive(Debug)]
struct ChangeRequest {
    agent: String,
    what: RememberedChange,
    reply: oneshot::Sender<RememberedOutcome>,
}

impl RememberedAnswers {
    /// Reads the answers in a data directory and starts the task that writes them. No other daemon may use the directory.
    pub fn open(host: Arc<dyn Host>, data_dir: &Path) -> Result<Self, AnswersError> {
        let file = file_in(data_dir);
        let book = Arc::new(read(&file)?);
        let (changes_tx, now) = watch::channel(book);
        let (orders, ordered) = mpsc::channel(ANSWERS_WAITING);
        tokio::spawn(keep(host, file, changes_tx, ordered));
        Ok(Self { orders, now })
    }

    /// Returns the current answers of an agent and marks them as seen.
    pub fn of(&mut self, agent: &str) -> Arc<Remembered> {
        of(&self.now.borrow_and_update(), agent)
    }

    /// Returns whether the answers changed since the last call of `of`.
    pub fn have_changed(&self) -> bool {
        self.now.has_changed().unwrap_or(false)
    }

    /// Returns the current answers of all agents, by their names.
    pub fn all(&self) -> Vec<(String, Arc<Remembered>)> {
        let book = self.now.borrow();
        book.iter()
            .map(|(agent, answers)| (agent.clone(), Arc::clone(answers)))
            .collect()
    }

    /// Revokes an answer of an agent without one of its threads. When this returns success, the change is durable and visible
    /// to every thread.
    pub async fn revoke(&self, agent: &str, id: u64) -> Result<(), Failure> {
        // No thread waits for the outcome, so it needs no number of a call.
        match self
            .carry_out(agent, RememberedChange::Revoke { call: 0, id })
            .await
        {
            RememberedOutcome::Revoked { result, .. } => result,
            RememberedOutcome::Remembered(result) => result.map(drop),
        }
    }

    /// Applies a change from a thread of `agent`. When this returns success, the change is durable and visible to every thread.
    pub async fn carry_out(&self, agent: &str, what: RememberedChange) -> RememberedOutcome {
        let failed = failing(&what, "the daemon is stopping");
        let (reply, answer) = oneshot::channel();
        let agent = agent.to_owned();
        if self
            .orders
            .send(ChangeRequest { agent, what, reply })
            .await
            .is_err()
        {
            return failed;
        }
        answer.await.unwrap_or(failed)
    }
}

/// Returns an agent's answers in a data directory, for commands that run outside the daemon.
pub fn remembered(data_dir: &Path, agent: &str) -> Result<Arc<Remembered>, AnswersError> {
    Ok(of(&read(&file_in(data_dir))?, agent))
}

fn of(book: &AnswerBook, agent: &str) -> Arc<Remembered> {
    let known = book.get(agent).cloned();
    known.unwrap_or_else(|| Arc::new(Remembered::for_agent()))
}

fn file_in(data_dir: &Path) -> StateFile<AnswersFile> {
    StateFile::new(ANSWERS.path(data_dir), &FORM)
}

/// Returns the outcome that reports a failed change.
fn failing(what: &RememberedChange, why: &str) -> RememberedOutcome {
    let failure = Failure::new(ErrorCode::Internal, format!("the answer was not kept: {why}"));
    match what {
        RememberedChange::Remember { .. } => RememberedOutcome::Remembered(Err(failure)),
        RememberedChange::Revoke { call, id } => RememberedOutcome::Revoked {
            call: *call,
            id: *id,
            result: Err(failure),
        },
    }
}

async fn keep(
    host: Arc<dyn Host>,
    file: StateFile<AnswersFile>,
    changes_tx: watch::Sender<Arc<AnswerBook>>,
    mut ordered: mpsc::Receiver<ChangeRequest>,
) {
    while let Some(ChangeRequest { agent, what, reply }) = ordered.recv().await {
        let before = Arc::clone(&changes_tx.borrow());
        let mut answers = Remembered::clone(&of(&before, &agent));
        let failed = |why: &str| failing(&what, why);
        let outcome = apply(&mut answers, &what);
        let changed = before.get(&agent).map(AsRef::as_ref) != Some(&answers);
        let outcome = if changed && is_done(&outcome) {
            let mut book = AnswerBook::clone(&before);
            book.insert(agent, Arc::new(answers));
            let book = Arc::new(book);
            let (to, kept) = (file.clone(), Arc::clone(&book));
            let write = move || Ok(write(&to, &kept));
            match blocking(&*host, write).await {
                Ok(Ok(())) => {
                    changes_tx.send_replace(book);
                    outcome
                }
                Ok(Err(error)) => {
                    tracing::error!(path = %file.path().display(), %error, "an answer could not be kept");
                    failed(&error.to_string())
                }
                Err(_) => failed("the file could not be written"),
            }
        } else {
            outcome
        };
        // A thread that has gone does not wait for the outcome; its change applies all the same.
        let _ = reply.send(outcome);
    }
}

fn apply(answers: &mut Remembered, what: &RememberedChange) -> RememberedOutcome {
    match what {
        RememberedChange::Remember { request, allow } => {
            let known: Vec<u64> = answers.iter().map(|rule| rule.id).collect();
            let ids = answers.remember(request, *allow, Scope::Agent);
            let new = |rule: &&RememberedRule| !known.contains(&rule.id);
            let result = ids.map(|_| answers.iter().filter(new).cloned().collect());
            RememberedOutcome::Remembered(result.map_err(|error| Failure::invalid_params(error.to_string())))
        }
        RememberedChange::Revoke { call, id } => RememberedOutcome::Revoked {
            call: *call,
            id: *id,
            result: match answers.revoke(*id) {
                Some(_) => Ok(()),
                None => Err(Failure::not_found(format!("remembered answer {id}"))),
            },
        },
    }
}

fn is_done(outcome: &RememberedOutcome) -> bool {
    match outcome {
        RememberedOutcome::Remembered(result) => result.is_ok(),
        RememberedOutcome::Revoked { result, .. } => result.is_ok(),
    }
}

fn read(file: &StateFile<AnswersFile>) -> Result<AnswerBook, AnswersError> {
    let fail = |reason: String| AnswersError {
        path: file.path().to_owned(),
        reason,
    };
    let content = file.read().map_err(|error| fail(error.to_string()))?;
    let Some(AnswersFile { agents }) = content else {
        return Ok(AnswerBook::new());
    };
    let not_ours = |answers: &Remembered| answers.iter().any(|rule| rule.scope != Scope::Agent);
    if agents.values().any(not_ours) {
        return Err(fail("it has an answer whose scope is not \"agent\"".to_owned()));
    }
    let narrowed = |(agent, answers): (String, Remembered)| {
        let (answers, asked_again) = answers.narrowed();
        if asked_again > 0 {
            tracing::warn!(
                agent,
                asked_again,
                "remembered answers of an earlier version name no directory or no arguments"
            );
        }
        (agent, Arc::new(answers))
    };
    Ok(agents.into_iter().map(narrowed).collect())
}

/// Replaces the file as a whole; returns once the new content survives a power cut.
fn write(file: &StateFile<AnswersFile>, book: &AnswerBook) -> std::io::Result<()> {
    let own = |(agent, answers): (&String, &Arc<Remembered>)| (agent.clone(), Remembered::clone(answers));
    let agents = book.iter().map(own).collect();
    file.write(&AnswersFile { agents })
        .map_err(|error| match error.kind() {
            ErrorKind::FileTooLarge => std::io::Error::other(format!(
                "all answers together are more than {ANSWERS_BYTES} bytes; take some back first"
            )),
            _ => error,
        })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use acpd_policy::{AGENT_IDS, Request};

    use super::*;
    use crate::host::local::LocalHost;

    /// A directory that is removed on drop.
    struct TestDir(PathBuf);

    impl TestDir {
        fn new(name: &str) -> Self {
            let place = std::env::temp_dir().join(format!("acpd-answers-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&place).unwrap();
            Self(place)
        }
    }

    impl Drop for TestDir {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn remember(line: &str) -> RememberedChange {
        RememberedChange::Remember {
            request: Box::new(Request::command_line(line, "/w")),
            allow: true,
        }
    }

    fn rules(answers: &Remembered) -> Vec<(u64, String)> {
        answers
            .iter()
            .map(|rule| (rule.id, rule.rule.to_string()))
            .collect()
    }

    #[tokio::test]
    async fn a_reported_change_is_durable_and_visible_to_all() {
        let place = TestDir::new("durable");
        let one = RememberedAnswers::open(Arc::new(LocalHost), &place.0).unwrap();
        let mut other = one.clone();
        assert!(other.of("a").iter().next().is_none());
        assert!(!other.have_changed());
        let outcome = one.carry_out("a", remember("git push")).await;
        let RememberedOutcome::Remembered(Ok(new)) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(new[0].id, AGENT_IDS + 1);
        assert!(other.have_changed());
        let expected = [(AGENT_IDS + 1, "Bash(git push)".to_owned())];
        assert_eq!(rules(&other.of("a")), expected);
        assert!(other.of("b").iter().next().is_none(), "another agent's");
        assert_eq!(rules(&remembered(&place.0, "a").unwrap()), expected);
        let mode = file_in(&place.0).path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        // Remembering the same answer again changes nothing.
        let outcome = one.carry_out("a", remember("git push")).await;
        assert_eq!(outcome, RememberedOutcome::Remembered(Ok(Vec::new())));
        assert!(!other.have_changed());
        one.carry_out("a", remember("git pull")).await;
        let (call, id) = (7, AGENT_IDS + 2);
        let outcome = other.carry_out("a", RememberedChange::Revoke { call, id }).await;
        let result = Ok(());
        assert_eq!(outcome, RememberedOutcome::Revoked { call, id, result });
        let outcome = one.carry_out("b", RememberedChange::Revoke { call, id }).await;
        let RememberedOutcome::Revoked {
            result: Err(failure), ..
        } = outcome
        else {
            panic!("{outcome:?}")
        };
        assert_eq!(failure.code, ErrorCode::NotFound);
        // A later daemon never uses an id again.
        drop((one, other));
        let mut later = RememberedAnswers::open(Arc::new(LocalHost), &place.0).unwrap();
        assert_eq!(rules(&later.of("a")), expected);
        later.carry_out("a", remember("make")).await;
        assert_eq!(rules(&later.of("a"))[1], (AGENT_IDS + 3, "Bash(make)".to_owned()));
    }

    /// The file dates from a version in which an answer applied in every directory and for all arguments.
    #[tokio::test]
    async fn answers_of_an_earlier_version_are_never_wider_than_now() {
        let place = TestDir::new("earlier");
        let rule = |id: u64, allow: bool, rule: &str| {
            format!(r#"{{"id":{id},"scope":"agent","allow":{allow},"rule":"{rule}"}}"#)
        };
        let written = [
            rule(4_294_967_297, true, "Bash(git push)"),
            rule(4_294_967_298, true, "mcp__gh__api"),
            rule(4_294_967_299, true, "Tool(spawn)"),
            rule(4_294_967_300, true, "Edit(/w/a)"),
            rule(4_294_967_301, false, "Bash(rm x)"),
            rule(4_294_967_302, false, "mcp__gh__delete"),
            rule(4_294_967_303, true, "Move(/w/a)"),
            // The input alone does not identify the call.
            format!(
                r#"{{"id":4294967304,"scope":"agent","allow":true,"rule":"Edit(/w/b)","arguments":"{}"}}"#,
                acpd_model::BlobId::of(b"{}")
            ),
        ];
        let text = format!(
            r#"{{"version":1,"agents":{{"a":{{"lastId":4294967304,"rules":[{}]}}}}}}"#,
            written.join(",")
        );
        file_in(&place.0).store(text.as_bytes()).unwrap();
        let mut answers = RememberedAnswers::open(Arc::new(LocalHost), &place.0).unwrap();
        let kept: Vec<_> = rules(&answers.of("a"))
            .into_iter()
            .map(|(_, rule)| rule)
            .collect();
        assert_eq!(kept, ["Edit(/w/a)", "Bash(rm x)", "mcp__gh__delete"]);
        // The rewritten file must not be readable by an earlier version, which knows no directories.
        answers.carry_out("a", remember("git push")).await;
        let text = std::fs::read_to_string(file_in(&place.0).path()).unwrap();
        assert!(
            text.contains(r#""version": 2"#) && text.contains(r#""cwd": "/w""#),
            "{text}"
        );
        drop(answers);
        let mut later = RememberedAnswers::open(Arc::new(LocalHost), &place.0).unwrap();
        assert_eq!(rules(&later.of("a")).last().unwrap().0, AGENT_IDS + 9);
    }

    #[tokio::test]
    async fn the_file_is_read_and_written_in_its_form() {
        let place = TestDir::new("form");
        let text = r#"{
  "version": 2,
  "agents": {
    "a": {
      "lastId": 4294967297,
      "rules": [
        {
          "id": 4294967297,
          "scope": "agent",
          "allow": true,
          "rule": "Bash(git push)",
          "cwd": "/w"
        }
      ]
    }
  }
}
"#;
        file_in(&place.0).store(text.as_bytes()).unwrap();
        let mut answers = RememberedAnswers::open(Arc::new(LocalHost), &place.0).unwrap();
        assert_eq!(
            rules(&answers.of("a")),
            [(4_294_967_297, "Bash(git push)".to_owned())]
        );
        write(&file_in(&place.0), &answers.now.borrow()).unwrap();
        assert_eq!(std::fs::read_to_string(file_in(&place.0).path()).unwrap(), text);
    }

    #[tokio::test]
    async fn answers_are_listed_and_revoked_without_a_thread() {
        let place = TestDir::new("listed");
        let mut answers = RememberedAnswers::open(Arc::new(LocalHost), &place.0).unwrap();
        assert!(answers.all().is_empty());
        answers.carry_out("b", remember("make")).await;
        answers.carry_out("a", remember("git push")).await;
        let listed = |answers: &RememberedAnswers| -> Vec<(String, usize)> {
            let all = answers.all().into_iter();
            all.map(|(agent, answers)| (agent, answers.iter().count()))
                .collect()
        };
        assert_eq!(listed(&answers), [("a".to_owned(), 1), ("b".to_owned(), 1)]);
        for (agent, id) in [("a", AGENT_IDS + 9), ("nobody", AGENT_IDS + 1), ("a", 1)] {
            let failure = answers.revoke(agent, id).await.unwrap_err();
            assert_eq!(failure.code, ErrorCode::NotFound, "{agent} {id}");
        }
        answers.revoke("a", AGENT_IDS + 1).await.unwrap();
        assert!(answers.of("a").iter().next().is_none());
        assert!(remembered(&place.0, "a").unwrap().iter().next().is_none());
        assert_eq!(listed(&answers)[1], ("b".to_owned(), 1));
    }

    #[tokio::test]
    async fn answers_that_cannot_be_stored_do_not_apply() {
        let place = TestDir::new("full");
        let mut answers = RememberedAnswers::open(Arc::new(LocalHost), &place.0).unwrap();
        std::fs::create_dir(file_in(&place.0).path()).unwrap();
        let outcome = answers.carry_out("a", remember("git push")).await;
        let RememberedOutcome::Remembered(Err(failure)) = outcome else {
            panic!("{outcome:?}")
        };
        assert!(failure.message.contains("was not kept"), "{failure}");
        assert!(answers.of("a").iter().next().is_none());
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_read_is_not_taken_for_an_empty_one() {
        let place = TestDir::new("broken");
        for text in [
            "",
            "{",
            r#"{"version":3,"agents":{}}"#,
            r#"{"version":1,"agents":{"a":{"lastId":1,"rules":[{"id":1,"scope":"thread","allow":true,"rule":"Bash"}]}}}"#,
            r#"{"version":1,"agents":{"a":{"lastId":1,"rules":[{"id":1,"scope":"agent","allow":true,"rule":"Bash("}]}}}"#,
        ] {
            file_in(&place.0).store(text.as_bytes()).unwrap();
            let error = RememberedAnswers::open(Arc::new(LocalHost), &place.0)
                .unwrap_err()
                .to_string();
            assert!(error.contains("answers.json cannot be used"), "{error}");
        }
    }
}
