//! `acpd send` and `acpd interrupt`.

use serde_json::{Value, json};

use crate::cli::{InterruptArgs, SendArgs};
use crate::client::{Client, REPLACES_NO_TURNS};
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::items::short_id;
use crate::terminal::print;
use crate::terminal::progress::Progress;
use crate::threads::attachments::Attachments;
use crate::threads::find::find;
use crate::threads::options;
use crate::threads::run::read_prompt;

/// Sends a prompt to a thread, without following the turn.
pub async fn send(settings: &Settings, args: &SendArgs) -> anyhow::Result<Exit> {
    options::check(&args.session)?;
    let text = read_prompt(&args.prompt).await?;
    let mut client = Client::connect(settings, false).await?;
    if args.replace.is_some() && !client.replaces_turns() {
        return Err(Exit::Failure.error(REPLACES_NO_TURNS));
    }
    let id = find(&mut client, &args.thread.thread).await?;
    let files = Attachments::read(&args.attach, &text, client.message_bytes()).await?;
    let mut progress = Progress::begin("sending");
    if let Some(turn) = &args.replace
        && (args.session.is_any() || !args.attach.is_empty())
    {
        check_replaces(&mut client, &id, turn).await?;
    }
    if args.session.is_any() {
        let read = client.request("thread/read", json!({ "threadId": id })).await?;
        options::apply(&mut client, &read["thread"], &args.session).await?;
    }
    let mut attached = files.send(settings, &id).await?;
    let (method, params) = if args.steer {
        attached.insert(0, json!({ "type": "text", "text": text }));
        ("turn/steer", json!({ "threadId": id, "content": attached }))
    } else {
        let mut params = json!({ "threadId": id, "text": text, "input": attached });
        if let Some(turn) = &args.replace {
            params["replacesTurnId"] = json!(turn);
        }
        ("turn/start", params)
    };
    let sent = client.request(method, params).await;
    progress.end();
    let sent = sent?;
    if args.json {
        print::json(&sent.to_string());
        return Ok(Exit::Success);
    }
    let (id, turn) = (short_id(&id), turn_of(&sent));
    let is_queued = sent["delivery"] == "queued" || sent["turn"]["status"] == "queued";
    let done = match (is_queued, args.steer) {
        (true, true) => "queued, since the agent takes no messages in a running turn",
        (true, false) => "queued",
        (false, true) => "added to the running turn",
        (false, false) => "started",
    };
    print::out(&format!("{turn} {done}; follow it: acpd attach {id}\n"));
    Ok(Exit::Success)
}

/// Fails if no prompt can take the place of a turn's now. The daemon refuses it as well, but options and files would be there already.
async fn check_replaces(client: &mut Client, id: &str, turn: &str) -> anyhow::Result<()> {
    let mut cursor = Value::Null;
    loop {
        let params = json!({ "threadId": id, "includeTurns": true, "cursor": cursor });
        let read = client.request("thread/read", params).await?;
        let thread = &read["thread"];
        if is_busy(thread) {
            let id = short_id(id);
            return Err(Exit::Failure.error(format!(
                "a turn runs or is queued: interrupt it first, with \"acpd interrupt {id}\", or wait for it"
            )));
        }
        if turns(thread).any(|found| found["id"] == turn) {
            return Ok(());
        }
        cursor = thread["cursor"].clone();
        if cursor.is_null() {
            return Err(Exit::NotFound.error(format!(
                "{turn} is not part of the conversation: \"acpd show {}\" prints the names of its turns",
                short_id(id)
            )));
        }
    }
}

/// Returns whether a turn of the thread is queued, or one runs that a prompt began, on this page. One that the agent began by itself
/// ends for the prompt.
fn is_busy(thread: &Value) -> bool {
    let queued = thread["queuedTurnIds"].as_array();
    let running = &thread["turnId"];
    let is_prompted = |turn: &Value| {
        let mut items = turn["items"].as_array().into_iter().flatten();
        items.any(|item| item["type"] == "userMessage")
    };
    queued.is_some_and(|queued| !queued.is_empty())
        || turns(thread).any(|turn| turn["id"] == *running && !running.is_null() && is_prompted(turn))
}

/// Returns the turns on a page of a thread.
fn turns(thread: &Value) -> impl Iterator<Item = &Value> {
    thread["turns"].as_array().into_iter().flatten()
}

fn turn_of(sent: &Value) -> &str {
    let turn = sent["turn"]["id"].as_str().or(sent["turnId"].as_str());
    turn.unwrap_or("the prompt")
}

/// Interrupts the running turn of a thread.
pub async fn interrupt(settings: &Settings, args: &InterruptArgs) -> anyhow::Result<Exit> {
    let mut client = Client::connect(settings, false).await?;
    let id = find(&mut client, &args.thread.thread).await?;
    let thread = client.request("thread/read", json!({ "threadId": id })).await?;
    let turn = &thread["thread"]["turnId"];
    if turn.is_null() {
        return Err(Exit::NotFound.error("no turn of the thread is running"));
    }
    client
        .request("turn/interrupt", json!({ "threadId": id, "turnId": turn }))
        .await?;
    if args.json {
        print::json(&thread["thread"].to_string());
    } else {
        print::out(&format!("interrupting {}\n", turn.as_str().unwrap_or_default()));
    }
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_busy_with_prompts_only() {
        let thread = |queued: Value, running: Value, kind: &str| {
            let turns = json!([
                { "id": "turn_1", "items": [{ "type": "userMessage" }] },
                { "id": "turn_2", "items": [{ "type": kind }] },
                { "items": [{ "type": "userMessage" }] },
            ]);
            json!({ "queuedTurnIds": queued, "turnId": running, "turns": turns })
        };
        for (thread, expected) in [
            (thread(json!([]), Value::Null, "userMessage"), false),
            (thread(json!([]), json!("turn_2"), "userMessage"), true),
            // The agent began it.
            (thread(json!([]), json!("turn_2"), "agentMessage"), false),
            (thread(json!(["turn_3"]), Value::Null, "userMessage"), true),
            (json!({}), false),
        ] {
            assert_eq!(is_busy(&thread), expected, "{thread}");
        }
    }
}
