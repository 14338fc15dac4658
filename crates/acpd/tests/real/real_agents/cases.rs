//! The test cases for each agent. A case returns its remarks, or why it failed.

use std::collections::BTreeSet;
use std::time::Duration;

use acpd_fake_model::reply::Reply;
use serde::Deserialize;
use serde_json::json;

use super::agents::Guards;
use super::bench::{Answer, Bench, option};
use super::editor;
use crate::support::{Running, Turn, wait_until};

/// How long `acpd acp-check` may take with an agent: it starts some agents a dozen times, and they need many seconds for each.
const RULES_PATIENCE: Duration = Duration::from_mins(10);

/// A test case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// The agent answers with text.
    Plain,
    /// The agent runs a shell command after permission.
    Shell,
    /// The agent writes a file after permission.
    Write,
    /// The agent's action is refused.
    Refused,
    /// A turn is interrupted while the model sends text.
    Cancel,
    /// The daemon is restarted, and the thread continues.
    GoOn,
    /// An action is always allowed, and done twice.
    Always,
    /// An editor starts the agent, runs a command, refuses and allows an action, and loads the session again.
    Editor,
    /// An editor names an MCP server that it keeps in its own data directory.
    Server,
    /// `acpd acp-check` finds out which rules of ACP it follows.
    Rules,
}

impl Case {
    /// All cases, in the order in which they run.
    pub const ALL: &[Self] = &[
        Self::Plain,
        Self::Shell,
        Self::Write,
        Self::Refused,
        Self::Cancel,
        Self::GoOn,
        Self::Always,
        Self::Editor,
        Self::Server,
        Self::Rules,
    ];

    /// Returns the name in findings and table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "Plain answer",
            Self::Shell => "Shell command",
            Self::Write => "File write",
            Self::Refused => "Refused permission",
            Self::Cancel => "Cancel",
            Self::GoOn => "Resume after a restart",
            Self::Always => "Allowed for good",
            Self::Editor => "In an editor",
            Self::Server => "Server of an editor",
            Self::Rules => "Rules of ACP",
        }
    }

    pub fn play(self, bench: &mut Bench) -> Result<String, String> {
        match self {
            Self::Plain => plain(bench),
            Self::Shell => shell(bench),
            Self::Write => write(bench),
            Self::Refused => refused(bench),
            Self::Cancel => cancel(bench),
            Self::GoOn => go_on(bench),
            Self::Always => always(bench),
            Self::Editor => editor::play(bench),
            Self::Server => {
                editor::name_a_server(bench);
                Ok(String::new())
            }
            Self::Rules => rules(bench),
        }
    }
}

/// Fails with `why` and the outcome of the turn.
fn check(holds: bool, why: &str, turn: &Turn) -> Result<(), String> {
    if holds {
        return Ok(());
    }
    let said = turn.said();
    Err(format!(
        "{why}; the turn ended as {} {:?}, and the agent said {said:?}",
        turn.end,
        turn.methods()
    ))
}

fn asks(asked: usize) -> String {
    let how = if asked > 0 { "asks first" } else { "does not ask" };
    how.to_owned()
}

fn plain(bench: &mut Bench) -> Result<String, String> {
    let (turn, _) = bench
        .talk()
        .turn("say A plain answer, streamed in pieces.", Answer::Accept);
    check(turn.status() == "completed", "it did not complete", &turn)?;
    let said = turn.said();
    check(
        said.contains("A plain answer, streamed in pieces."),
        "the answer is missing",
        &turn,
    )?;
    Ok(String::new())
}

fn shell(bench: &mut Bench) -> Result<String, String> {
    let file = bench.file("ran.txt");
    let script = format!("run echo shell-works > {0}; cat {0}", file.display());
    let (turn, asked) = bench.talk().turn(&script, Answer::Accept);
    check(turn.status() == "completed", "it did not complete", &turn)?;
    let ran = std::fs::read_to_string(&file).unwrap_or_default();
    check(ran == "shell-works\n", "the command did not run", &turn)?;
    check(
        turn.said().contains("done: "),
        "the model did not hear of the result",
        &turn,
    )?;
    check(
        turn.said().contains("shell-works"),
        "the model did not see the output",
        &turn,
    )?;
    if bench.agent.confines_itself() {
        stay(bench)?;
    }
    Ok(asks(asked))
}

/// Runs a command that stays in the agent's own sandbox.
fn stay(bench: &mut Bench) -> Result<(), String> {
    let file = bench.file("stayed.txt");
    let script = format!("stay echo stayed-inside > {0}; cat {0}", file.display());
    let (turn, asked) = bench.talk().turn(&script, Answer::Decline);
    let ran = std::fs::read_to_string(&file).unwrap_or_default();
    check(
        ran == "stayed-inside\n" && turn.said().contains("stayed-inside"),
        "the command did not run in the agent's own sandbox",
        &turn,
    )?;
    check(
        asked == 0,
        "it asks for a command that stays in the workspace",
        &turn,
    )
}

fn write(bench: &mut Bench) -> Result<String, String> {
    let file = bench.file("made.txt");
    let script = format!("write {} made by a script", file.display());
    let (turn, asked) = bench.talk().turn(&script, Answer::Accept);
    check(turn.status() == "completed", "it did not complete", &turn)?;
    let made = std::fs::read_to_string(&file).unwrap_or_default();
    check(
        made.trim_end() == "made by a script",
        "the file was not written",
        &turn,
    )?;
    check(
        turn.said().contains("done: "),
        "the model did not hear of the result",
        &turn,
    )?;
    Ok(asks(asked))
}

/// A subagent runs a command after permission, which the user gives in the thread of its parent.
pub fn delegate(bench: &mut Bench) {
    let file = bench.file("delegated.txt");
    let script = format!("delegate run truncate -s 1 {}", file.display());
    let (turn, asked) = bench.talk().turn(&script, Answer::Accept);
    let ended = (turn.status(), asked, file.exists());
    assert_eq!(
        ended,
        ("completed", 1, true),
        "{:?} {:?}",
        turn.methods(),
        turn.said()
    );
}

/// The agent of a fork remembers the conversation, while the process of the origin runs and has another turn.
pub fn fork(bench: &mut Bench) {
    let talk = bench.talk();
    let (turn, _) = talk.turn("say Something to remember.", Answer::Accept);
    assert_eq!(turn.status(), "completed");
    let forked = talk
        .client
        .call("thread/fork", &json!({ "threadId": talk.thread }));
    assert_eq!(forked["fidelity"], "exact", "{forked}");
    let (turn, _) = talk.turn("say Only in the origin.", Answer::Accept);
    assert_eq!(turn.status(), "completed");
    let fork = forked["thread"]["id"].as_str().expect("it has an id");
    fork.clone_into(&mut talk.thread);
    let (turn, _) = talk.turn("recall", Answer::Accept);
    let said = turn.said();
    assert!(said.contains("say Something to remember."), "{said:?}");
    assert!(!said.contains("Only in the origin"), "{said:?}");
}

fn refused(bench: &mut Bench) -> Result<String, String> {
    let file = bench.file("refused.txt");
    let script = bench.agent.guarded(&file);
    let guards = bench.agent.guards;
    let talk = bench.talk();
    let (turn, asked) = talk.turn(&script, Answer::Decline);
    if matches!(guards, Guards::Nothing) {
        check(asked == 0, "it asks", &turn)?;
        return Ok(asks(asked));
    }
    check(asked > 0, "it did not ask", &turn)?;
    check(!file.exists(), "it ran what was refused", &turn)?;
    check(turn.status() != "failed", "a refusal is no failure", &turn)?;
    let note = match turn.status() {
        "completed" => "continues without",
        _ => "ends the turn",
    };
    let (turn, _) = talk.turn("say Still here.", Answer::Accept);
    check(
        turn.said().contains("Still here."),
        "the thread is of no use any more",
        &turn,
    )?;
    Ok(note.to_owned())
}

fn cancel(bench: &mut Bench) -> Result<String, String> {
    let talk = bench.talk();
    let turn = talk.client.start(&talk.thread, "slow 2400");
    talk.client
        .until(|message| message.method == "item/agentMessage/delta");
    talk.client.call(
        "turn/interrupt",
        &json!({ "threadId": talk.thread, "turnId": turn }),
    );
    let turn = talk.client.finish(&talk.thread, &turn);
    check(turn.status() == "interrupted", "it was not interrupted", &turn)?;
    let (turn, _) = talk.turn("say Still here.", Answer::Accept);
    check(
        turn.said().contains("Still here."),
        "the thread is of no use any more",
        &turn,
    )?;
    wait_until("the agent stops listening to the model", || {
        let seen = bench.model.seen();
        seen.iter()
            .any(|seen| seen.cut && matches!(seen.reply, Some(Reply::Text { slow: true, .. })))
    });
    Ok(String::new())
}

fn go_on(bench: &mut Bench) -> Result<String, String> {
    let (turn, _) = bench.talk().turn("say Something to remember.", Answer::Accept);
    check(turn.status() == "completed", "it did not complete", &turn)?;
    bench.restart();
    let talk = bench.reconnect();
    let (turn, _) = talk.turn("recall", Answer::Accept);
    check(turn.status() == "completed", "it did not complete", &turn)?;
    let mut bound = talk
        .client
        .seen
        .iter()
        .filter(|message| message.params["agent"].is_object());
    let how = bound
        .next_back()
        .map(|bound| bound.params["agent"]["how"].clone())
        .unwrap_or_default();
    check(how != "new", "it began a new session", &turn)?;
    check(
        turn.said().contains("say Something to remember."),
        "it has forgotten what was said before",
        &turn,
    )?;
    let again = talk.client.seen.iter().any(|message| {
        message.method == "item/completed" && message.params["text"] == "Something to remember."
    });
    check(!again, "what was said before is in the thread twice", &turn)?;
    Ok(format!("session/{}", how.as_str().unwrap_or("?")))
}

fn always(bench: &mut Bench) -> Result<String, String> {
    let file = bench.file("always.txt");
    let script = bench.agent.guarded(&file);
    let guards = bench.agent.guards;
    let talk = bench.talk();
    let (turn, asked) = talk.turn(&script, Answer::Always);
    if matches!(guards, Guards::Nothing) {
        check(asked == 0, "it asks", &turn)?;
        return Ok(asks(asked));
    }
    check(asked > 0, "it did not ask", &turn)?;
    check(file.exists(), "what was allowed was not done", &turn)?;
    let question = turn.messages.iter().find(|message| message.is_question());
    let question = &question.expect("it asked").params;
    let Some(chosen) = option(&question["options"], "allow_always") else {
        return Ok("offers no such answer".to_owned());
    };
    let mut passed_on = question["agentRemembers"].as_array().into_iter().flatten();
    let warned = passed_on.any(|option| option == chosen);
    let list = json!({ "threadId": talk.thread });
    let kept = talk.client.call("policy/remembered/list", &list)["data"] != json!([]);
    check(
        warned || kept,
        "acpd keeps no rule and did not say so in the question",
        &turn,
    )?;
    if !kept {
        let notices = turn.of("thread/notice");
        let mut notices = notices
            .iter()
            .filter(|notice| notice.params["code"] == "notRemembered");
        let told = notices.any(|notice| {
            notice
                .text("message")
                .contains("the agent may remember this answer itself")
        });
        check(told, "acpd keeps no rule, and no notice says so", &turn)?;
    }
    if !warned {
        for path in bench.agent.answers {
            let path = bench.setting.work.with_file_name(path);
            let rules = std::fs::read_to_string(&path).unwrap_or_default();
            let fault = format!("it keeps a rule of its own in {}", path.display());
            check(!rules.contains("truncate"), &fault, &turn)?;
        }
    }
    std::fs::remove_file(&file).expect("it is there");
    let (turn, asked) = bench.talk().turn(&script, Answer::Decline);
    if !kept && asked > 0 {
        return Ok("nothing remembers it".to_owned());
    }
    check(asked == 0, "a person was asked again", &turn)?;
    check(file.exists(), "it was not done again", &turn)?;
    let decided = turn.of("serverRequest/resolved");
    let by_policy = decided
        .first()
        .is_some_and(|decided| decided.params["by"]["kind"] == "policy");
    check(
        by_policy || warned,
        "the agent remembers it, and acpd did not say so",
        &turn,
    )?;
    let which = if by_policy { "acpd" } else { "only the agent" };
    Ok(format!("{which} remembers it"))
}

/// Checks the agent without a daemon. The rules that it violates do not fail the case: the table names them.
fn rules(bench: &mut Bench) -> Result<String, String> {
    let (agent, setting) = (bench.agent, &bench.setting);
    let mut command = bench.daemon.place.command(&["acp-check", "--json"]);
    command
        .args(["--prompt", "say ok", "--long-prompt", "slow 2400", "--"])
        .args(agent.command())
        .envs(agent.variables(setting))
        .current_dir(&setting.work);
    let run = Running::start(&mut command).finish_within(RULES_PATIENCE);
    let report: Report =
        serde_json::from_str(&run.stdout).map_err(|error| format!("{error}: {}", run.stderr))?;
    let of = |verdict: &'static str| report.rows.iter().filter(move |row| row.verdict == verdict);
    let versions: BTreeSet<_> = of("ok").map(|row| row.version).collect();
    if versions.is_empty() {
        return Err(format!("nothing could be checked: {}", run.stderr));
    }
    let versions: Vec<_> = versions
        .iter()
        .map(|version| format!("version {version}"))
        .collect();
    let violated: BTreeSet<_> = of("violated")
        .map(|row| format!("`{}` of {}", row.rule, row.method))
        .collect();
    let violated: Vec<_> = violated.into_iter().collect();
    Ok(match &violated[..] {
        [] => versions.join(" and "),
        _ => format!("{}, without {}", versions.join(" and "), violated.join(", ")),
    })
}

/// What `acpd acp-check --json` prints.
#[derive(Deserialize)]
struct Report {
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    version: u16,
    method: String,
    rule: String,
    verdict: String,
}
