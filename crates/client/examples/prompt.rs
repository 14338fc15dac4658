//! Runs one prompt, asks about each permission request, and prints the answer.
//!
//! `cargo run -p acpd-client --example prompt -- "Show me what you can do"`, beside a daemon such as `acpd serve --demo`.

use std::io::{self, Write};

use acpd_client::protocol::{AnswerInput, Approval, Approve, Notification, StartThread, TurnStatus};
use acpd_client::{Client, Error, Follow, Options};

/// Starts a thread with a prompt, writes the agent's answer to `out`, and returns the status of the turn. `allows` decides about
/// permission requests.
pub async fn prompt(
    client: &Client,
    thread: &StartThread,
    allows: impl Fn(&Approval) -> bool,
    out: &mut impl Write,
) -> Result<TurnStatus, Error> {
    let started = client.thread_start(thread).await?;
    let mut events = client.follow(&started.thread.id, Follow::all()).await?;
    while let Some(event) = events.next().await {
        match event? {
            // Text that a closed pipe does not take is lost, and the turn runs all the same.
            Notification::ItemAgentMessageDelta(delta) => drop(out.write_all(delta.text.as_bytes())),
            Notification::ItemCommandExecutionRequestApproval(question)
            | Notification::ItemFileChangeRequestApproval(question)
            | Notification::ItemPermissionsRequestApproval(question) => {
                let answer = Approve {
                    approved: Some(allows(&question)),
                    request_id: question.request_id,
                    ..Approve::default()
                };
                ignore_answered(client.item_approve(&answer).await)?;
            }
            Notification::ItemToolRequestUserInput(question) => {
                let answer = AnswerInput {
                    dismissed: true,
                    request_id: question.request_id,
                    ..AnswerInput::default()
                };
                ignore_answered(client.item_answer(&answer).await)?;
            }
            Notification::TurnCompleted(completed) => return Ok(completed.turn.status),
            _ => {}
        }
    }
    // The thread was deleted, or the client closed.
    Err(Error::Closed)
}

/// Another client, or the policy, may have answered first.
fn ignore_answered<T>(outcome: Result<T, Error>) -> Result<(), Error> {
    match outcome {
        Err(error) if !matches!(error.code(), "not_found" | "already_resolved") => Err(error),
        _ => Ok(()),
    }
}

/// Asks the user in the terminal.
fn ask(question: &Approval) -> bool {
    eprint!("\n{} [y/N] ", question.title);
    let mut line = String::new();
    io::stdin().read_line(&mut line).is_ok() && line.trim().eq_ignore_ascii_case("y")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    let text = if text.is_empty() {
        "Show me what you can do".to_owned()
    } else {
        text
    };
    let client = Client::connect(Options::own("prompt")?).await?;
    let thread = StartThread {
        agent_type: "demo".to_owned(),
        cwd: std::env::current_dir()?.display().to_string(),
        text: Some(text),
        ..StartThread::default()
    };
    let status = prompt(&client, &thread, ask, &mut io::stdout()).await?;
    println!("\nthe turn is {status}");
    Ok(())
}
