//! `acpd threads`.

use std::collections::BTreeMap;

use acpd_model::text::shorten;
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::cli::ThreadsArgs;
use crate::client::Client;
use crate::exit::Exit;
use crate::settings::{Settings, home};
use crate::terminal::folders::shortened;
use crate::terminal::items::short_id;
use crate::terminal::plain::plain_line;
use crate::terminal::print;
use crate::terminal::table::table;
use crate::terminal::time::ago;

/// Maximum number of threads or results on a page of the daemon.
pub const PAGE: usize = 100;

/// Maximum number of columns of a folder. A narrow terminal has room for less.
const FOLDER_COLUMNS: usize = 40;

/// Number of threads up to which they are counted: each page is a request, and a connection may send only so many.
const COUNTED: usize = 20 * PAGE;

/// Length of a printed name, in characters, where there is no terminal that limits it.
const NAME_CHARS: usize = 60;

/// Lists threads.
pub async fn threads(settings: &Settings, args: &ThreadsArgs) -> anyhow::Result<Exit> {
    let cwd = match (&args.cwd, &settings.remote) {
        (Some(dir), None) => Some(std::path::absolute(dir)?),
        (dir, _) => dir.clone(),
    };
    let status = args.status.and_then(|status| status.to_possible_value());
    let wanted = json!({
        "archived": args.archived,
        "pinned": args.pinned.then_some(true),
        "agentType": args.agent,
        "cwd": cwd,
        "status": status.map(|status| status.get_name().to_owned()),
    });
    let mut client = Client::connect(settings, false).await?;
    if args.limit == 0 && !args.json {
        let (count, more) = count(&mut client, wanted).await?;
        let at_least = if more { "more than " } else { "" };
        let plural = if count == 1 { "" } else { "s" };
        print::hint(&format!("{at_least}{count} thread{plural}; --limit shows them"));
        return Ok(Exit::Success);
    }
    let (mut threads, more) = pages(&mut client, "thread/list", wanted, args.limit).await?;
    if args.json {
        for thread in &mut threads {
            thread["unread"] = json!(is_unread(thread));
            print::json(&thread.to_string());
        }
        return Ok(Exit::Success);
    }
    if threads.is_empty() {
        print::hint(if args.is_narrowed() {
            "no thread matches"
        } else {
            "no threads yet; start one: acpd run \"what does this project do?\""
        });
        return Ok(Exit::Success);
    }
    // The home directory of a remote daemon's user is unknown.
    let home = match settings.remote {
        Some(_) => None,
        None => home().ok().and_then(|home| home.to_str().map(str::to_owned)),
    };
    let room = print::width().map_or(FOLDER_COLUMNS, |columns| (columns / 4).clamp(12, FOLDER_COLUMNS));
    let folders = shortened(threads.iter().map(folder), home.as_deref(), room);
    let rows = threads.iter().map(|thread| row(thread, &folders));
    if threads.iter().any(|thread| !marks(thread).is_empty()) {
        let marked: Vec<_> = rows
            .zip(&threads)
            .map(|([id, status, changed, agent, folder, name], thread)| {
                [id, status, marks(thread), changed, agent, folder, name]
            })
            .collect();
        table(
            ["ID", "STATUS", "MARKS", "CHANGED", "AGENT", "FOLDER", "NAME"],
            &marked,
        );
    } else {
        let rows: Vec<_> = rows.collect();
        table(["ID", "STATUS", "CHANGED", "AGENT", "FOLDER", "NAME"], &rows);
    }
    if more {
        print::hint(&format!(
            "these are the last {}; --limit shows more",
            threads.len()
        ));
    }
    Ok(Exit::Success)
}

impl ThreadsArgs {
    fn is_narrowed(&self) -> bool {
        self.archived || self.pinned || self.agent.is_some() || self.cwd.is_some() || self.status.is_some()
    }
}

/// Reads pages until there are `limit` entries. Returns whether there are more.
pub async fn pages(
    client: &mut Client,
    method: &str,
    mut params: Value,
    limit: usize,
) -> anyhow::Result<(Vec<Value>, bool)> {
    let mut found = Vec::new();
    while found.len() < limit {
        params["limit"] = json!((limit - found.len()).min(PAGE));
        let mut page = client.request(method, params.clone()).await?;
        if let Some(entries) = page["data"].as_array_mut() {
            found.append(entries);
        }
        params["cursor"] = page["nextCursor"].take();
        if params["cursor"].is_null() {
            return Ok((found, false));
        }
    }
    Ok((found, true))
}

/// Counts threads, up to [`COUNTED`]. Returns whether there are more.
pub async fn count(client: &mut Client, wanted: Value) -> anyhow::Result<(usize, bool)> {
    let (found, more) = pages(client, "thread/list", wanted, COUNTED).await?;
    Ok((found.len(), more))
}

fn folder(thread: &Value) -> &str {
    thread["cwd"].as_str().unwrap_or_default()
}

fn row(thread: &Value, folders: &BTreeMap<&str, String>) -> [String; 6] {
    let text = |key: &str| plain_line(thread[key].as_str().unwrap_or_default());
    [
        short_id(&text("id")).to_owned(),
        status(thread).to_owned(),
        ago(&thread["updatedAt"]),
        text("agentType"),
        folders.get(folder(thread)).cloned().unwrap_or_default(),
        shorten(&text("name"), print::width().unwrap_or(NAME_CHARS)),
    ]
}

/// Returns whether the thread has changed since the user last saw it, on any device. A running turn is no change yet.
fn is_unread(thread: &Value) -> bool {
    let seen = thread["seenAt"].as_u64();
    thread["status"] != "running" && seen.is_some_and(|seen| thread["updatedAt"].as_u64() > Some(seen))
}

/// Returns the words that mark a thread in the list.
fn marks(thread: &Value) -> String {
    let marks = [
        (thread["pinned"] == true, "pinned"),
        (is_unread(thread), "unread"),
    ];
    let marks = marks.into_iter().filter(|(is_set, _)| *is_set);
    marks.map(|(_, mark)| mark).collect::<Vec<_>>().join(", ")
}

/// Returns what a thread is doing, or that its last turn failed.
pub fn status(thread: &Value) -> &str {
    match (thread["status"].as_str(), thread["lastTurnStatus"].as_str()) {
        (Some("idle"), Some("failed")) => "failed",
        (status, _) => status.unwrap_or("-"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_unread_if_it_changed_after_it_was_seen() {
        let unread = |status: &str, updated_at: u64, seen_at: Value| {
            is_unread(&json!({ "status": status, "updatedAt": updated_at, "seenAt": seen_at }))
        };
        assert!(unread("idle", 2, json!(1)));
        assert!(unread("waiting", 2, json!(1)));
        assert!(!unread("running", 2, json!(1)));
        assert!(!unread("idle", 2, json!(2)));
        assert!(!unread("idle", 2, Value::Null), "the user has never used a list");
        assert!(!is_unread(&json!({})));
    }

    #[test]
    fn marks_are_words() {
        let marked = |pinned: bool, seen_at: u64| {
            marks(&json!({ "status": "idle", "pinned": pinned, "updatedAt": 2, "seenAt": seen_at }))
        };
        assert_eq!(marked(false, 2), "");
        assert_eq!(marked(true, 2), "pinned");
        assert_eq!(marked(true, 1), "pinned, unread");
    }
}
