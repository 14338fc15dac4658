//! `acpd answer`.

use serde_json::{Value, json};

use crate::cli::{AnswerArgs, Permissions};
use crate::client::{Client, Incoming, Received};
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::print;
use crate::terminal::questions::{Questions, chosen, is_permission, shown};
use crate::threads::find::{find, short_id};

/// Answers the oldest open question of a thread, or shows it.
pub async fn answer(settings: &Settings, args: &AnswerArgs) -> anyhow::Result<Exit> {
    let mut client = Client::connect(settings, true).await?;
    let id = find(&mut client, &args.thread.thread).await?;
    let (request, incoming) = oldest(&mut client, &id).await?;
    let question = incoming.params["requestId"].clone();
    let result = match &args.option {
        Some(option) if is_permission(&incoming) => chosen(&incoming.params, option)?,
        Some(_) => {
            return Err(Exit::Usage.error(format!(
                "the agent asks for information; answer on a terminal: acpd answer {}",
                short_id(&id)
            )));
        }
        None if args.json => {
            print::json(&incoming.params.to_string());
            return Ok(Exit::Success);
        }
        None if !Questions::has_terminal() => {
            print::out(&shown(&incoming));
            return Ok(Exit::Success);
        }
        None => {
            let mut questions = Questions::new(Permissions::Ask);
            questions.add(request.clone(), incoming);
            tokio::select! {
                (_, result) = questions.next() => result,
                resolved = resolved(&mut client, &question) => {
                    resolved?;
                    questions.settled(&question);
                    return Ok(Exit::Failure);
                }
            }
        }
    };
    client.respond(&request, &result).await?;
    let resolved = resolved(&mut client, &question).await?;
    report(&resolved, args.json);
    Ok(Exit::Success)
}

/// Returns the oldest open question of a thread, which the daemon sends to a new subscriber.
async fn oldest(client: &mut Client, id: &str) -> anyhow::Result<(Value, Incoming)> {
    let resume = json!({ "threadId": id, "limit": 1, "startAgent": false });
    let resumed = client.request("thread/resume", resume).await?;
    let oldest = resumed["thread"]["pendingRequestIds"][0].clone();
    if oldest.is_null() {
        return Err(Exit::NotFound.error("the thread has no open question"));
    }
    loop {
        let Received::Message(incoming) = client.next().await? else {
            continue;
        };
        if incoming.method == "serverRequest/resolved" && incoming.params["requestId"] == oldest {
            return Err(Exit::NotFound.error("the question was answered a moment ago"));
        }
        if let Some(request) = incoming
            .id
            .clone()
            .filter(|_| incoming.params["requestId"] == oldest)
        {
            return Ok((request, incoming));
        }
    }
}

/// Waits until a question is resolved, and returns how.
async fn resolved(client: &mut Client, question: &Value) -> anyhow::Result<Value> {
    loop {
        if let Received::Message(incoming) = client.next().await?
            && incoming.method == "serverRequest/resolved"
            && incoming.params["requestId"] == *question
        {
            return Ok(incoming.params);
        }
    }
}

fn report(resolved: &Value, as_json: bool) {
    if as_json {
        print::json(&resolved.to_string());
    } else {
        print::out("answered\n");
    }
}
