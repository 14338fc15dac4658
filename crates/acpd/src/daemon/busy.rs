//! What a stop of the daemon would interrupt, and whether the user wants that.
//!
//! In: the daemon's list of active threads, the options of the command, and the user's answer. Out: a decision. Never: stops the
//! daemon, or keeps it from accepting turns.

use std::io::IsTerminal;
use std::time::Duration;

use acpd_client::protocol::{ListThreads, ListedStatus, ThreadStatus, ThreadSummary};
use acpd_client::{Client, Error};
use acpd_model::limits::REACH_SECS;
use acpd_model::text::shorten;
use anyhow::Context;
use tokio::time::{sleep, timeout};

use crate::cli::StopArgs;
use crate::client::connect::connect_running;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::ask;
use crate::terminal::items::short_id;
use crate::terminal::plain::plain_line;
use crate::terminal::print;
use crate::terminal::progress::Progress;
use crate::threads::list::listed;

/// Active threads that are counted. With more, the numbers are lower bounds.
const COUNTED: usize = 200;

/// Threads that are named.
const NAMED: usize = 5;

/// Length of a printed name, in characters.
const NAME_CHARS: usize = 60;

/// Time between two looks at a daemon that is to become idle. The requests of one look stay far below the limit of a connection.
const LOOK: Duration = Duration::from_secs(1);

/// Time for the daemon to list its active threads.
const REACH: Duration = Duration::from_secs(REACH_SECS);

/// The question on a terminal.
const QUESTION: &str = "Stop it when they have ended (wait), at once (now), or not at all (no)? [no] ";

/// What the daemon does for its users.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Busy {
    /// Turns that run and wait for no answer.
    turns: u64,
    /// Questions that wait for an answer.
    questions: u64,
    /// Whether there may be more than was counted.
    is_more: bool,
    /// The first threads, a line each.
    threads: Vec<String>,
}

impl Busy {
    /// Counts in a list of active threads. Those that are being deleted or have failed lose nothing by a stop.
    fn of(threads: &[ThreadSummary], is_more: bool) -> Self {
        let mut busy = Self {
            is_more,
            ..Self::default()
        };
        for thread in threads {
            match thread.status {
                ThreadStatus::Running => busy.turns += 1,
                ThreadStatus::Waiting => {
                    let more = thread.question.as_ref().map_or(0, |question| question.more);
                    busy.questions = busy.questions.saturating_add(1).saturating_add(more);
                }
                _ => continue,
            }
            if busy.threads.len() < NAMED {
                busy.threads.push(line(thread));
            }
        }
        busy
    }

    fn is_idle(&self) -> bool {
        self.turns == 0 && self.questions == 0
    }

    /// Returns the numbers: `1 turn runs, 4 questions wait`.
    fn words(&self) -> String {
        let counted = |count: u64, one: &str, many: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {many}")),
        };
        let parts = [
            counted(self.turns, "turn runs", "turns run"),
            counted(self.questions, "question waits", "questions wait"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let at_least = if self.is_more { "at least " } else { "" };
        format!("{at_least}{}", parts.join(", "))
    }

    /// Returns the numbers with the first threads.
    fn in_lines(&self) -> String {
        let mut text = format!("{}:\n", self.words());
        for thread in &self.threads {
            text.push_str(&format!("  {thread}\n"));
        }
        if self.is_more || self.threads.len() == NAMED {
            text.push_str("  \"acpd threads --status active\" lists all\n");
        }
        text
    }
}

fn line(thread: &ThreadSummary) -> String {
    let name = plain_line(thread.name.as_deref().unwrap_or_default());
    format!(
        "{}  {}  {}",
        short_id(&plain_line(&thread.id)),
        plain_line(thread.status.as_str()),
        shorten(&name, NAME_CHARS)
    )
}

/// Returns whether the daemon may be stopped now. Without a terminal to ask on, an option decides.
pub async fn may_stop(settings: &Settings, args: &StopArgs) -> anyhow::Result<bool> {
    if args.now {
        return Ok(true);
    }
    let unknown = "acpd cannot tell what the daemon runs, so it was not stopped; --now stops it all the same";
    let connecting = {
        let _progress = Progress::begin("asking the daemon what it runs");
        connect_running(settings, false).await.context(unknown)?
    };
    // It has ended meanwhile.
    let Some(client) = connecting else {
        return Ok(true);
    };
    let busy = count(&client).await.context(unknown)?;
    if busy.is_idle() {
        return Ok(true);
    }
    if args.when_idle {
        wait(&client, busy).await?;
        return Ok(true);
    }
    if args.json || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(Exit::Usage.error(format!(
            "the daemon was not stopped, because that would interrupt its work; --when-idle waits until it has ended, --now stops \
             the daemon at once; {}",
            busy.in_lines().trim_end()
        )));
    }
    print::err(&busy.in_lines());
    match ask::repeat_until(QUESTION, choice).await? {
        Choice::Wait => wait(&client, busy).await.map(|()| true),
        Choice::Now => Ok(true),
        Choice::No => Ok(false),
    }
}

/// The user's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Wait,
    Now,
    No,
}

/// Reads an answer. `n` means no, as in other questions.
fn choice(typed: &str) -> Result<Choice, String> {
    match &*typed.trim().to_lowercase() {
        "wait" | "w" => Ok(Choice::Wait),
        "now" => Ok(Choice::Now),
        "no" | "n" | "" => Ok(Choice::No),
        _ => Err("type wait, now or no".to_owned()),
    }
}

/// Waits until nothing runs or waits. Ctrl-C ends the command meanwhile, and the daemon stays as it is.
async fn wait(client: &Client, mut busy: Busy) -> anyhow::Result<()> {
    print::hint(&format!(
        "waiting until nothing runs or waits; the daemon keeps accepting turns, and Ctrl-C leaves it as it is; {}",
        busy.in_lines().trim_end()
    ));
    let progress = Progress::begin(&busy.words());
    while !busy.is_idle() {
        sleep(LOOK).await;
        let now = count(client)
            .await
            .context("acpd stopped waiting, and has not stopped the daemon")?;
        if now != busy {
            busy = now;
            progress.set(&busy.words());
        }
    }
    Ok(())
}

/// Counts what the daemon does.
async fn count(client: &Client) -> anyhow::Result<Busy> {
    let active = ListThreads {
        status: Some(ListedStatus::Active),
        ..ListThreads::default()
    };
    let listed = timeout(REACH, listed(client, &active, COUNTED));
    let Ok(listed) = listed.await else {
        return Err(Error::Silent { silence: REACH }.into());
    };
    let (threads, is_more) = listed?;
    Ok(Busy::of(&threads, is_more))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn thread(status: &str, more: u64) -> ThreadSummary {
        let thread = json!({
            "agentType": "demo",
            "cwd": "/",
            "archived": false,
            "createdAt": 1,
            "updatedAt": 1,
            "turnCount": 1,
            "id": "0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4",
            "status": status,
            "name": "fix the parser\u{1b}[2J",
            "question": { "requestId": "req_1", "title": "?", "type": "permission", "more": more },
        });
        serde_json::from_value(thread).unwrap()
    }

    #[test]
    fn turns_and_questions_are_counted_and_named() {
        let idle = Busy::of(&[thread("deleting", 0), thread("failed", 0)], false);
        assert!(idle.is_idle(), "{idle:?}");
        let one = Busy::of(&[thread("running", 0)], false);
        assert_eq!(one.words(), "1 turn runs");
        let some = Busy::of(
            &[thread("running", 0), thread("waiting", 2), thread("waiting", 0)],
            false,
        );
        assert_eq!(some.words(), "1 turn runs, 4 questions wait");
        let lines = some.in_lines();
        assert!(lines.contains("  waiting  fix the parser"), "{lines}");
        assert!(
            !lines.contains('\u{1b}') && !lines.contains("lists all"),
            "{lines}"
        );
    }

    #[test]
    fn more_threads_than_are_counted_are_a_lower_bound() {
        let many: Vec<ThreadSummary> = (0..COUNTED).map(|_| thread("waiting", u64::MAX)).collect();
        let busy = Busy::of(&many, true);
        assert_eq!(busy.words(), format!("at least {} questions wait", u64::MAX));
        assert_eq!(busy.in_lines().lines().count(), 1 + NAMED + 1);
    }

    #[test]
    fn only_whole_words_stop_at_once() {
        for (typed, expected) in [
            ("wait", Ok(Choice::Wait)),
            (" W ", Ok(Choice::Wait)),
            ("Now", Ok(Choice::Now)),
            ("", Ok(Choice::No)),
            ("n", Ok(Choice::No)),
            ("y", Err(())),
            ("yes", Err(())),
        ] {
            assert_eq!(choice(typed).map_err(|_| ()), expected, "{typed}");
        }
    }
}
