//! `acpd type`.

use acpd_client::Client;
use acpd_client::protocol::{
    Item, ItemObject, ThreadReadParams, ThreadTerminalKillParams, ThreadTerminalWriteParams,
};
use acpd_model::limits::TERMINAL_INPUT_BYTES;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cli::TypeArgs;
use crate::client::connect::connect;
use crate::client::whole::Whole;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::ask::{ask, ask_hidden};
use crate::terminal::input::input;
use crate::terminal::items::short_id;
use crate::terminal::plain::{plain_line, visible_line};
use crate::terminal::print;
use crate::threads::find::find_thread;

/// How many turns are searched for running commands, from the last one.
const TURNS: u64 = 20;

const INTERRUPT: &str = "\u{3}";
const END_OF_INPUT: &str = "\u{4}";

/// A command that runs in a terminal.
struct Running {
    terminal: String,
    /// Its program, as far as it is known.
    command: Option<String>,
    is_waiting: bool,
    /// Whether its terminal does not show what is typed.
    is_secret: bool,
    /// The command's item, for `--json`.
    json: Value,
}

impl Running {
    /// Returns the command in a terminal that the user names.
    fn named(terminal: &str) -> Self {
        let command = format!("the command in {terminal}");
        Self {
            json: json!({ "terminalId": terminal, "command": command }),
            terminal: terminal.to_owned(),
            command: Some(command),
            is_waiting: false,
            is_secret: false,
        }
    }

    /// Returns the command of an item, if it is one that runs.
    fn of(item: Whole<Item>) -> Option<Self> {
        let Whole { known, json } = item;
        let (ItemObject::TerminalCommand(command), None) = (known.object, known.outcome) else {
            return None;
        };
        Some(Self {
            terminal: command.terminal_id,
            command: command.command,
            is_waiting: command.waiting == Some(true),
            is_secret: command.secret == Some(true),
            json,
        })
    }
}

/// Types into the terminal of a running command, or ends the command.
pub async fn type_in(settings: &Settings, args: &TypeArgs) -> anyhow::Result<Exit> {
    let client = connect(settings, false).await?;
    let id = find_thread(&client, &args.thread.thread).await?;
    let command = match &args.terminal {
        Some(terminal) => Running::named(terminal),
        None => running(&client, &id).await?,
    };
    let line = visible_line(command.command.as_deref().unwrap_or("the command"));
    let done = if args.kill {
        let params = ThreadTerminalKillParams {
            terminal_id: command.terminal.clone(),
            thread_id: id,
        };
        client.thread_terminal_kill(&params).await?;
        format!("ending {line}\n")
    } else {
        let is_shown = command.is_waiting && !command.is_secret;
        let text = typed(args, &line, is_shown).await?;
        for part in parts(&text) {
            let params = ThreadTerminalWriteParams {
                terminal_id: command.terminal.clone(),
                text: part.to_owned(),
                thread_id: id.clone(),
            };
            client.thread_terminal_write(&params).await?;
        }
        format!("typed into {line}; follow it: acpd attach {}\n", short_id(&id))
    };
    if args.json {
        print::json(&command.json.to_string());
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

/// The result of `thread/read` with turns.
#[derive(Deserialize)]
struct Found {
    thread: Turns,
}

#[derive(Deserialize)]
struct Turns {
    #[serde(default)]
    turns: Vec<Items>,
}

#[derive(Deserialize)]
struct Items {
    #[serde(default)]
    items: Vec<Whole<Item>>,
}

/// Returns the command that is meant: the only one that waits for input, else the only one that runs.
async fn running(client: &Client, id: &str) -> anyhow::Result<Running> {
    let params = ThreadReadParams {
        cursor: None,
        include_turns: Some(true),
        limit: Some(TURNS),
        thread_id: id.to_owned(),
    };
    let found: Found = client.call("thread/read", &params).await?;
    let items = found.thread.turns.into_iter().flat_map(|turn| turn.items);
    only(items)
}

fn only(items: impl Iterator<Item = Whole<Item>>) -> anyhow::Result<Running> {
    let mut all: Vec<Running> = items.filter_map(Running::of).collect();
    if all.iter().filter(|command| command.is_waiting).count() == 1 {
        all.retain(|command| command.is_waiting);
    }
    match all.len() {
        0 => Err(Exit::NotFound.error(format!(
            "no command of the last {TURNS} turns is running; name the terminal of an older one with --terminal, as \"acpd show --json\" prints it"
        ))),
        1 => Ok(all.remove(0)),
        _ => {
            let each = all.iter().map(|command| {
                format!(
                    "\n  --terminal {}  {}",
                    plain_line(&command.terminal),
                    plain_line(command.command.as_deref().unwrap_or_default())
                )
            });
            let each: String = each.collect();
            Err(Exit::Usage.error(format!("several commands are running; choose one of:{each}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the items of a page with commands, each with these members.
    fn commands(all: &[Value]) -> impl Iterator<Item = Whole<Item>> {
        let items = all.iter().zip(1..).map(|(members, number)| {
            let mut item = json!({ "itemId": format!("item_{number}"), "type": "terminalCommand", "terminalId": format!("term_{number}") });
            for (key, value) in members.as_object().unwrap() {
                item[key] = value.clone();
            }
            item
        });
        let turns = json!([{ "status": "completed" }, { "items": items.collect::<Vec<_>>() }]);
        let found: Found = serde_json::from_value(json!({ "thread": { "turns": turns } })).unwrap();
        found.thread.turns.into_iter().flat_map(|turn| turn.items)
    }

    #[test]
    fn the_command_is_the_only_one_that_waits_or_runs() {
        let runs = json!({ "command": "sleep" });
        let waits = json!({ "command": "read", "waiting": true, "secret": true, "newer": [1] });
        let ended = json!({ "command": "ls", "outcome": "completed" });
        let other = json!({ "type": "toolCall", "title": "x" });
        let found = only(commands(&[ended.clone(), other.clone(), runs.clone()])).unwrap();
        assert_eq!(
            (&*found.terminal, found.command.as_deref()),
            ("term_3", Some("sleep"))
        );
        assert!(!found.is_waiting && !found.is_secret);
        let found = only(commands(&[runs.clone(), waits.clone(), json!({})])).unwrap();
        assert_eq!(found.terminal, "term_2");
        assert!(found.is_waiting && found.is_secret);
        assert_eq!(found.json["newer"], json!([1]));
        for (items, exit) in [
            (vec![], Exit::NotFound),
            (vec![ended, other], Exit::NotFound),
            (vec![waits.clone(), waits], Exit::Usage),
            (vec![runs, json!({})], Exit::Usage),
        ] {
            let error = only(commands(&items)).map(drop).unwrap_err();
            assert_eq!(Exit::of(&error), exit, "{error}");
        }
    }
}
