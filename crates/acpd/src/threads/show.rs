//! `acpd show`.

use std::process::ExitCode;

use anyhow::bail;
use serde_json::{Value, json};

use crate::cli::ShowArgs;
use crate::client::Client;
use crate::settings::Settings;
use crate::terminal::plain::plain;
use crate::terminal::print;
use crate::terminal::render::command_line;
use crate::threads::list::when;

/// Prints a thread.
pub async fn show(settings: &Settings, args: &ShowArgs) -> anyhow::Result<ExitCode> {
    let mut client = Client::connect(settings, false).await?;
    let id = find(&mut client, &args.thread).await?;
    let mut cursor = Value::Null;
    let mut turns = Vec::new();
    let mut thread;
    loop {
        let params = json!({ "threadId": id, "includeTurns": true, "cursor": cursor, "limit": 200 });
        thread = client.request("thread/read", params).await?["thread"].take();
        let page = thread["turns"].as_array().cloned().unwrap_or_default();
        turns = joined(page, turns);
        cursor = thread["cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    thread["turns"] = turns.into();
    if args.json {
        print::json(&format!("{thread:#}"));
    } else {
        print::out(&whole(&thread));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the turns of a page and of the page after it. A turn that is too large for one page is on both.
fn joined(mut page: Vec<Value>, mut later: Vec<Value>) -> Vec<Value> {
    if let (Some(begin), Some(end)) = (page.last_mut(), later.first_mut())
        && begin["id"] == end["id"]
    {
        let mut items = begin["items"].as_array().cloned().unwrap_or_default();
        items.append(end["items"].as_array_mut().unwrap_or(&mut Vec::new()));
        end["items"] = items.into();
        page.pop();
    }
    page.append(&mut later);
    page
}

/// Returns the full id of a thread. `given` is a full id or the end of one.
pub async fn find(client: &mut Client, given: &str) -> anyhow::Result<String> {
    if given.len() == 36 {
        return Ok(given.to_owned());
    }
    let mut found = Vec::new();
    for archived in [false, true] {
        let mut cursor = Value::Null;
        loop {
            let params = json!({ "cursor": cursor, "archived": archived });
            let page = client.request("thread/list", params).await?;
            let ids = page["data"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|thread| thread["id"].as_str());
            found.extend(ids.filter(|id| id.ends_with(given)).map(str::to_owned));
            cursor = page["nextCursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
    }
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => bail!("no thread's id ends with {given:?}; see acpd threads"),
        n => bail!("{n} threads' ids end with {given:?}; give more of it"),
    }
}

fn whole(thread: &Value) -> String {
    let text = |key: &str| plain(thread[key].as_str().unwrap_or_default());
    let mut out = format!(
        "{}\n{}  {}  {}  {}\n\n",
        text("name"),
        text("id"),
        text("agentType"),
        text("cwd"),
        when(&thread["createdAt"])
    );
    for turn in thread["turns"].as_array().into_iter().flatten() {
        for item in turn["items"].as_array().into_iter().flatten() {
            out.push_str(&one_item(item));
        }
        let status = turn["status"].as_str().unwrap_or("?");
        let why = turn["error"].as_str().or(turn["stopReason"].as_str()).map(plain);
        out.push_str(&format!(
            "— {} {status}{}\n\n",
            turn["id"].as_str().unwrap_or_default(),
            why.map(|w| format!(": {w}")).unwrap_or_default()
        ));
    }
    out
}

fn one_item(item: &Value) -> String {
    let text = |key: &str| plain(item[key].as_str().unwrap_or_default());
    match item["type"].as_str() {
        Some("userMessage") => format!("> {}\n\n", text("text").replace('\n', "\n> ")),
        Some("agentMessage") => format!("{}\n\n", text("text")),
        Some("agentThought") => format!("(thinks) {}\n\n", text("text")),
        Some("toolCall") => {
            let title = plain(item["toolCall"]["title"].as_str().unwrap_or("tool call"));
            format!("● {title} [{}]\n\n", text("status"))
        }
        Some("fileChange") if text("diff").is_empty() => format!("{}\n", text("path")),
        Some("fileChange") => format!("{}\n", text("diff")),
        Some("terminalCommand") => {
            let cut = if item["outputBlob"].is_string() {
                "(only the end of its output)\n"
            } else {
                ""
            };
            format!("$ {}\n{cut}{}\n", command_line(item), text("output"))
        }
        _ => String::new(),
    }
}
