//! `acpd send` and `acpd interrupt`.

use acpd_client::Client;
use acpd_client::protocol::{
    AcpObject, Delivery, ItemObject, MessageType, Thread, ThreadReadParams, Turn, TurnInterruptParams,
    TurnStartParams, TurnStartedResult, TurnStatus, TurnSteerParams, TurnSteered, Words,
};
use serde_json::{Value, json};

use crate::cli::{InterruptArgs, SendArgs};
use crate::client::REPLACES_NO_TURNS;
use crate::client::connect::connect;
use crate::client::whole::Whole;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::items::short_id;
use crate::terminal::print;
use crate::terminal::progress::Progress;
use crate::threads::attachments::Attachments;
use crate::threads::find::{find_thread, named, read_thread};
use crate::threads::options;
use crate::threads::prompt::read_prompt;

/// Sends a prompt to a thread, without following the turn.
pub async fn send(settings: &Settings, args: &SendArgs) -> anyhow::Result<Exit> {
    options::check(&args.session)?;
    let text = read_prompt(&args.prompt).await?;
    let client = connect(settings, false).await?;
    let server = client.ready().await?;
    if args.replace.is_some() && !server.capabilities.replaces_turns {
        return Err(Exit::Failure.error(REPLACES_NO_TURNS));
    }
    let id = find_thread(&client, &args.thread.thread).await?;
    let room = server.limits.message_bytes.try_into().unwrap_or(usize::MAX);
    let files = Attachments::read(&args.attach, &text, room).await?;
    let mut progress = Progress::begin("sending");
    if let Some(turn) = &args.replace
        && (args.session.is_any() || !args.attach.is_empty())
    {
        check_replaces(&client, &id, turn).await?;
    }
    if args.session.is_any() {
        let thread = read_thread(&client, id.clone()).await?;
        options::set(&client, &thread, &args.session).await?;
    }
    let attached = files.send(settings, &id).await?;
    let sent = if args.steer {
        Sent::steered(&client, &id, &text, attached).await
    } else {
        let params = TurnStartParams {
            input: Some(attached),
            replaces_turn_id: args.replace.clone(),
            text: Some(text),
            thread_id: id.clone(),
            ..TurnStartParams::default()
        };
        Sent::started(&client, &params).await
    };
    progress.end();
    let sent = sent?;
    if args.json {
        print::json(&sent.json.to_string());
        return Ok(Exit::Success);
    }
    let id = short_id(&id);
    let done = match (sent.is_queued, args.steer) {
        (true, true) => "queued, since the agent takes no messages in a running turn",
        (true, false) => "queued",
        (false, true) => "added to the running turn",
        (false, false) => "started",
    };
    let turn = sent.turn.as_deref().unwrap_or("the prompt");
    print::out(&format!("{turn} {done}; follow it: acpd attach {id}\n"));
    Ok(Exit::Success)
}

/// What became of a prompt.
struct Sent {
    /// Id of its turn.
    turn: Option<String>,
    is_queued: bool,
    /// The daemon's result.
    json: Value,
}

impl Sent {
    /// Sends the prompt as a turn.
    async fn started(client: &Client, params: &TurnStartParams) -> anyhow::Result<Self> {
        let sent: Whole<TurnStartedResult> = client.call("turn/start", params).await?;
        let Whole { known, json } = sent;
        Ok(Self {
            is_queued: known.turn.status == TurnStatus::Queued,
            turn: known.turn.id,
            json,
        })
    }

    /// Adds the prompt to the running turn.
    async fn steered(
        client: &Client,
        id: &str,
        text: &str,
        attached: Vec<AcpObject>,
    ) -> anyhow::Result<Self> {
        let text = AcpObject::from_iter([
            ("type".to_owned(), json!("text")),
            ("text".to_owned(), json!(text)),
        ]);
        let content = std::iter::once(text).chain(attached).collect();
        let params = TurnSteerParams {
            content: Words::List(content),
            thread_id: id.to_owned(),
            turn_id: None,
        };
        let sent: Whole<TurnSteered> = client.call("turn/steer", &params).await?;
        let Whole { known, json } = sent;
        Ok(Self {
            is_queued: known.delivery == Delivery::Queued,
            turn: Some(known.turn_id),
            json,
        })
    }
}

/// Fails if no prompt can take the place of a turn's now. The daemon refuses it as well, but options and files would be there already.
async fn check_replaces(client: &Client, id: &str, turn: &str) -> anyhow::Result<()> {
    let mut cursor = None;
    loop {
        let params = ThreadReadParams {
            cursor,
            include_turns: Some(true),
            limit: None,
            thread_id: id.to_owned(),
        };
        let thread = client.thread_read(&params).await?.thread;
        if is_busy(&thread) {
            let id = short_id(id);
            return Err(Exit::Failure.error(format!(
                "a turn runs or is queued: interrupt it first, with \"acpd interrupt {id}\", or wait for it"
            )));
        }
        if turns(&thread).any(|found| found.id.as_deref() == Some(turn)) {
            return Ok(());
        }
        cursor = thread.cursor;
        if cursor.is_none() {
            return Err(Exit::NotFound.error(format!(
                "{turn} is not part of the conversation: \"acpd show {}\" prints the names of its turns",
                short_id(id)
            )));
        }
    }
}

/// Returns whether a turn of the thread is queued, or one runs that a prompt began, on this page. One that the agent began by itself
/// ends for the prompt.
fn is_busy(thread: &Thread) -> bool {
    let is_prompted = |turn: &Turn| {
        let mut items = turn.items.iter().flatten();
        // An agent sends its subagents messages as well.
        items.any(|item| {
            item.lane.is_none()
                && matches!(&item.object, ItemObject::Message(message) if message.r#type == MessageType::UserMessage)
        })
    };
    let is_running = |turn: &Turn| turn.id.is_some() && turn.id == thread.turn_id;
    !thread.queued_turn_ids.is_empty() || turns(thread).any(|turn| is_running(turn) && is_prompted(turn))
}

/// Returns the turns on a page of a thread.
fn turns(thread: &Thread) -> impl Iterator<Item = &Turn> {
    thread.turns.iter().flatten()
}

/// Interrupts the running turn of a thread.
pub async fn interrupt(settings: &Settings, args: &InterruptArgs) -> anyhow::Result<Exit> {
    let client = connect(settings, false).await?;
    let thread = named(&client, &args.thread.thread).await?;
    let Some(turn) = &thread.turn_id else {
        return Err(Exit::NotFound.error("no turn of the thread is running"));
    };
    let params = TurnInterruptParams {
        thread_id: thread.id.clone(),
        turn_id: Some(turn.clone()),
        ..TurnInterruptParams::default()
    };
    client.turn_interrupt(&params).await?;
    if args.json {
        print::json(&thread.json.to_string());
    } else {
        print::out(&format!("interrupting {turn}\n"));
    }
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_busy_with_prompts_only() {
        let thread = |queued: Value, running: Value, kind: &str| -> Thread {
            let item = |kind: &str| match kind {
                "told" => json!({ "itemId": "item_1", "type": "userMessage", "lane": "lane_1" }),
                kind => json!({ "itemId": "item_1", "type": kind }),
            };
            let turns = json!([
                { "id": "turn_1", "status": "completed", "items": [item("userMessage")] },
                { "id": "turn_2", "status": "running", "items": [item(kind)] },
                { "status": "completed", "items": [item("userMessage")] },
                { "id": "turn_3", "status": "completed" },
            ]);
            let thread = json!({
                "id": "t", "agentType": "demo", "cwd": "/", "status": "idle", "archived": false, "createdAt": 1, "updatedAt": 1,
                "additionalDirectories": [], "latestSeq": 1, "pendingRequestIds": [], "turnCount": 3,
                "queuedTurnIds": queued, "turnId": running, "turns": turns,
            });
            serde_json::from_value(thread).unwrap()
        };
        for (thread, expected) in [
            (thread(json!([]), Value::Null, "userMessage"), false),
            (thread(json!([]), json!("turn_2"), "userMessage"), true),
            // The agent began it.
            (thread(json!([]), json!("turn_2"), "agentMessage"), false),
            (thread(json!([]), json!("turn_2"), "newer"), false),
            (thread(json!([]), json!("turn_2"), "told"), false),
            (thread(json!(["turn_3"]), Value::Null, "userMessage"), true),
        ] {
            assert_eq!(is_busy(&thread), expected, "{thread:?}");
        }
    }
}
