//! `acpd threads`.

use std::collections::BTreeMap;

use acpd_client::protocol::{ListThreads, ListedStatus, ThreadStatus, ThreadSummary, TurnStatus};
use acpd_client::{Client, Error};
use acpd_model::text::shorten;
use clap::ValueEnum;
use serde_json::json;

use crate::cli::ThreadsArgs;
use crate::client::connect::connect;
use crate::client::whole::{Page, Whole};
use crate::exit::Exit;
use crate::path_text::path_text;
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
    let wanted = ListThreads {
        archived: Some(args.archived),
        pinned: args.pinned.then_some(true),
        agent_type: args.agent.clone(),
        cwd: cwd.as_deref().map(path_text).transpose()?,
        status: status.map(|status| ListedStatus::from(status.get_name())),
        ..ListThreads::default()
    };
    let client = connect(settings, false).await?;
    if args.limit == 0 && !args.json {
        let (count, more) = count(&client, &wanted).await?;
        let at_least = if more { "more than " } else { "" };
        let plural = if count == 1 { "" } else { "s" };
        print::hint(&format!("{at_least}{count} thread{plural}; --limit shows them"));
        return Ok(Exit::Success);
    }
    let listed = pages(args.limit, async |limit, cursor| {
        let params = page_of(&wanted, limit, cursor);
        client.call("thread/list", &params).await
    });
    let (threads, more): (Vec<Whole<ThreadSummary>>, bool) = listed.await?;
    if args.json {
        for thread in threads {
            let unread = is_unread(&thread);
            let mut line = thread.json;
            line["unread"] = json!(unread);
            print::json(&line.to_string());
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
    let folders = shortened(
        threads.iter().map(|thread| thread.cwd.as_str()),
        home.as_deref(),
        room,
    );
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

/// Reads pages until there are `limit` entries. `page` requests one of at most so many, after a cursor. Returns whether there are more.
pub async fn pages<T>(
    limit: usize,
    page: impl AsyncFn(u64, Option<String>) -> Result<Page<T>, Error>,
) -> anyhow::Result<(Vec<T>, bool)> {
    let mut found = Vec::new();
    let mut cursor = None;
    while found.len() < limit {
        let size = (limit - found.len()).min(PAGE);
        let next = page(size.try_into().unwrap_or(u64::MAX), cursor).await?;
        found.extend(next.data);
        cursor = next.next_cursor;
        if cursor.is_none() {
            return Ok((found, false));
        }
    }
    Ok((found, true))
}

/// Reads up to `limit` threads. Returns whether there are more.
pub async fn listed(
    client: &Client,
    wanted: &ListThreads,
    limit: usize,
) -> anyhow::Result<(Vec<ThreadSummary>, bool)> {
    pages(limit, async |limit, cursor| {
        let params = page_of(wanted, limit, cursor);
        client.thread_list(&params).await.map(Page::from)
    })
    .await
}

fn page_of(wanted: &ListThreads, limit: u64, cursor: Option<String>) -> ListThreads {
    ListThreads {
        limit: Some(limit),
        cursor,
        ..wanted.clone()
    }
}

/// Counts threads, up to [`COUNTED`]. Returns whether there are more.
pub async fn count(client: &Client, wanted: &ListThreads) -> anyhow::Result<(usize, bool)> {
    let (found, more) = listed(client, wanted, COUNTED).await?;
    Ok((found.len(), more))
}

fn row(thread: &ThreadSummary, folders: &BTreeMap<&str, String>) -> [String; 6] {
    [
        short_id(&plain_line(&thread.id)).to_owned(),
        status_of(&thread.status, thread.last_turn_status.as_ref()).to_owned(),
        ago(thread.updated_at),
        plain_line(&thread.agent_type),
        folders.get(thread.cwd.as_str()).cloned().unwrap_or_default(),
        shorten(
            &plain_line(thread.name.as_deref().unwrap_or_default()),
            print::width().unwrap_or(NAME_CHARS),
        ),
    ]
}

/// Returns whether the thread has changed since the user last saw it, on any device. A running turn does not count yet.
fn is_unread(thread: &ThreadSummary) -> bool {
    thread.status != ThreadStatus::Running && thread.seen_at.is_some_and(|seen| thread.updated_at > seen)
}

/// Returns the words that mark a thread in the list.
fn marks(thread: &ThreadSummary) -> String {
    let marks = [
        (thread.pinned == Some(true), "pinned"),
        (is_unread(thread), "unread"),
    ];
    let marks = marks.into_iter().filter(|(is_set, _)| *is_set);
    marks.map(|(_, mark)| mark).collect::<Vec<_>>().join(", ")
}

/// Returns what a thread is doing, or that its last turn failed.
pub fn status_of<'a>(status: &'a ThreadStatus, last_turn: Option<&TurnStatus>) -> &'a str {
    match (status, last_turn) {
        (ThreadStatus::Idle, Some(TurnStatus::Failed)) => "failed",
        (status, _) => status.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Returns a thread with these members.
    fn thread(members: &Value) -> ThreadSummary {
        let mut thread = json!({
            "id": "t", "agentType": "demo", "cwd": "/", "status": "idle", "archived": false, "createdAt": 1, "updatedAt": 2, "turnCount": 0,
        });
        for (key, value) in members.as_object().unwrap() {
            thread[key] = value.clone();
        }
        serde_json::from_value(thread).unwrap()
    }

    #[test]
    fn a_thread_is_unread_if_it_changed_after_it_was_seen() {
        let unread = |status: &str, updated_at: u64, seen_at: Value| {
            is_unread(&thread(
                &json!({ "status": status, "updatedAt": updated_at, "seenAt": seen_at }),
            ))
        };
        assert!(unread("idle", 2, json!(1)));
        assert!(unread("waiting", 2, json!(1)));
        assert!(!unread("running", 2, json!(1)));
        assert!(!unread("idle", 2, json!(2)));
        assert!(!unread("idle", 2, Value::Null), "the user has never used a list");
        assert!(!is_unread(&thread(&json!({}))));
    }

    #[test]
    fn marks_are_words() {
        let marked =
            |pinned: bool, seen_at: u64| marks(&thread(&json!({ "pinned": pinned, "seenAt": seen_at })));
        assert_eq!(marked(false, 2), "");
        assert_eq!(marked(true, 2), "pinned");
        assert_eq!(marked(true, 1), "pinned, unread");
    }

    #[test]
    fn a_failed_turn_is_a_status_and_a_newer_word_stays() {
        let word = |members: Value| {
            let thread = thread(&members);
            status_of(&thread.status, thread.last_turn_status.as_ref()).to_owned()
        };
        assert_eq!(word(json!({ "lastTurnStatus": "failed" })), "failed");
        assert_eq!(
            word(json!({ "status": "running", "lastTurnStatus": "failed" })),
            "running"
        );
        assert_eq!(word(json!({ "status": "dreaming" })), "dreaming");
    }

    #[tokio::test]
    async fn pages_are_read_until_there_are_enough() {
        // Three pages of two.
        let page = async |limit: u64, cursor: Option<String>| {
            let at: u64 = cursor.map_or(0, |cursor| cursor.parse().unwrap());
            let end = (at + limit.min(2)).min(5);
            Ok::<_, Error>(Page {
                data: (at..end).collect(),
                next_cursor: (end < 5).then(|| end.to_string()),
            })
        };
        for (limit, expected) in [
            (0, (vec![], true)),
            (1, (vec![0], true)),
            (3, (vec![0, 1, 2], true)),
            (usize::MAX, (vec![0, 1, 2, 3, 4], false)),
        ] {
            assert_eq!(pages(limit, &page).await.unwrap(), expected, "{limit}");
        }
    }
}
