//! `acpd type`.

use acpd_model::limits::TERMINAL_INPUT_BYTES;
use serde_json::{Value, json};

use crate::cli::TypeArgs;
use crate::client::Client;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::ask::{ask, ask_hidden};
use crate::terminal::input::input;
use crate::terminal::items::short_id;
use crate::terminal::plain::{plain_line, visible_line};
use crate::terminal::print;
use crate::threads::find::find;

/// How many turns are searched for running commands, from the last one.
const TURNS: usize = 20;

const INTERRUPT: &str = "\u{3}";
const END_OF_INPUT: &str = "\u{4}";

/// Types into the terminal of a running command, or ends the command.
pub async fn type_in(settings: &Settings, args: &TypeArgs) -> anyhow::Result<Exit> {
    let mut client = Client::connect(settings, false).await?;
    let id = find(&mut client, &args.thread.thread).await?;
    let command = match &args.terminal {
        Some(terminal) => json!({ "terminalId": terminal, "command": format!("the command in {terminal}") }),
        None => running(&mut client, &id).await?,
    };
    let terminal = command["terminalId"].clone();
    let line = visible_line(command["command"].as_str().unwrap_or("the command"));
    let done = if args.kill {
        let params = json!({ "threadId": id, "terminalId": terminal });
        client.request("thread/terminal/kill", params).await?;
        format!("ending {line}\n")
    } else {
        let is_shown = command["waiting"] == true && command["secret"] != true;
        let text = typed(args, &line, is_shown).await?;
        for part in parts(&text) {
            let params = json!({ "threadId": id, "terminalId": terminal, "text": part });
            client.request("thread/terminal/write", params).await?;
        }
        format!("typed into {line}; follow it: acpd attach {}\n", short_id(&id))
    };
    if args.json {
        print::json(&command.to_string());
    } else {
        print::out(&done);
    }
    Ok(Exit::Success)
}

/// Returns the text in parts that one request may have.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (part, left) = rest.split_at(rest.floor_char_boundary(TERMINAL_INPUT_BYTES));
        rest = left;
        (!part.is_empty()).then_some(part)
    })
}

async fn typed(args: &TypeArgs, line: &str, is_shown: bool) -> anyhow::Result<String> {
    if args.interrupt {
        return Ok(INTERRUPT.to_owned());
    }
    if args.end_of_input {
        return Ok(END_OF_INPUT.to_owned());
    }
    Ok(match args.text.as_deref() {
        Some("-") => input().await?,
        Some(text) => format!("{text}\n"),
        None if is_shown => format!("{}\n", ask(&format!("Input for {line}: ")).await?),
        None => format!(
            "{}\n",
            ask_hidden(&format!("Input for {line}, not shown: ")).await?
        ),
    })
}

/// Returns the command that is meant: the only one that waits for input, else the only one that runs.
async fn running(client: &mut Client, id: &str) -> anyhow::Result<Value> {
    let params = json!({ "threadId": id, "includeTurns": true, "limit": TURNS });
    let read = client.request("thread/read", params).await?;
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let turns = list(&read["thread"], "turns");
    let items = turns.iter().flat_map(|turn| list(turn, "items"));
    let mut all: Vec<Value> = items
        .filter(|item| item["type"] == "terminalCommand" && item["outcome"].is_null())
        .collect();
    if all.iter().filter(|item| item["waiting"] == true).count() == 1 {
        all.retain(|item| item["waiting"] == true);
    }
    match all.len() {
        0 => Err(Exit::NotFound.error(format!(
            "no command of the last {TURNS} turns is running; name the terminal of an older one with --terminal, as \"acpd show --json\" prints it"
        ))),
        1 => Ok(all.remove(0)),
        _ => {
            let text = |item: &Value, key: &str| plain_line(item[key].as_str().unwrap_or_default());
            let each = all.iter().map(|item| {
                format!(
                    "\n  --terminal {}  {}",
                    text(item, "terminalId"),
                    text(item, "command")
                )
            });
            let each: String = each.collect();
            Err(Exit::Usage.error(format!("several commands are running; choose one of:{each}")))
        }
    }
}
