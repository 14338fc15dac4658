//! The thread that a user names.

use acpd_client::protocol::{ListThreads, Thread, ThreadReadParams, ThreadSummary};
use acpd_client::{Client, Error};
use acpd_model::ThreadId;
use acpd_model::similar::nearest;
use serde::Deserialize;

use crate::client::whole::Whole;
use crate::exit::Exit;
use crate::terminal::items::short_id;
use crate::terminal::plain::plain_line;
use crate::threads::list::PAGE;

/// Number of threads that an error lists.
const LISTED: usize = 5;

/// The name of the thread that changed last.
const LAST: &str = "@last";

/// Returns the full id of a thread. `given` is the beginning or end of an id, a name, or `@last`.
pub async fn find_thread(client: &Client, given: &str) -> anyhow::Result<String> {
    let given = given.trim();
    if let Ok(whole) = given.parse::<ThreadId>() {
        return Ok(whole.to_string());
    }
    if given == LAST {
        let last = last_thread(client).await?;
        return last.ok_or_else(|| Exit::NotFound.error("there are no threads yet"));
    }
    if given.is_empty() {
        return Err(Exit::NotFound.error("the name of the thread is empty"));
    }
    let is_id = given.len() <= 36 && given.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    if is_id && given.bytes().any(|byte| byte != b'-') {
        let by_id = ListThreads {
            id_part: Some(given.to_owned()),
            ..ListThreads::default()
        };
        let found = matching(client, &by_id).await?;
        if !found.is_empty() {
            return only(given, &found);
        }
    }
    let by_name = ListThreads {
        search_term: Some(given.to_owned()),
        ..ListThreads::default()
    };
    let similar = matching(client, &by_name).await?;
    let wanted = given.to_lowercase();
    let is_named = |thread: &&ThreadSummary| {
        let name = thread.name.as_deref();
        name.is_some_and(|name| name.to_lowercase() == wanted)
    };
    let named: Vec<ThreadSummary> = similar.iter().filter(is_named).cloned().collect();
    match (named.is_empty(), similar.is_empty()) {
        (false, _) => only(given, &named),
        (true, true) => Err(unknown(client, given).await?),
        (true, false) => Err(Exit::NotFound.error(format!(
            "no thread has the id or the name {given:?}; similar names:\n{}",
            listed(&similar)
        ))),
    }
}

/// Returns the thread that changed last.
pub async fn last_thread(client: &Client) -> anyhow::Result<Option<String>> {
    let newest = ListThreads {
        limit: Some(1),
        ..ListThreads::default()
    };
    let threads = client.thread_list(&newest).await?.data;
    Ok(threads.into_iter().next().map(|thread| thread.id))
}

/// Returns the error for a thread that does not exist, with a similar one of the last changed threads.
async fn unknown(client: &Client, given: &str) -> anyhow::Result<anyhow::Error> {
    let whole_page = ListThreads {
        limit: Some(PAGE as u64),
        ..ListThreads::default()
    };
    let threads = matching(client, &whole_page).await?;
    let names = threads.iter().filter_map(|thread| thread.name.as_deref());
    let names = names.chain(threads.iter().map(|thread| short_id(&thread.id)));
    let similar = nearest(given, names.chain(std::iter::once(LAST)));
    let advice = match similar {
        Some(similar) => format!("did you mean {:?}?", plain_line(similar)),
        None => "\"acpd threads\" lists them".to_owned(),
    };
    Ok(Exit::NotFound.error(format!("no thread has the id or the name {given:?}; {advice}")))
}

/// Returns the first page of matching threads, then of archived ones.
async fn matching(client: &Client, filter: &ListThreads) -> anyhow::Result<Vec<ThreadSummary>> {
    let mut found = Vec::new();
    for archived in [false, true] {
        let params = ListThreads {
            archived: Some(archived),
            ..filter.clone()
        };
        found.extend(client.thread_list(&params).await?.data);
    }
    Ok(found)
}

fn only(given: &str, found: &[ThreadSummary]) -> anyhow::Result<String> {
    match found {
        [thread] => Ok(thread.id.clone()),
        several => Err(Exit::NotFound.error(format!(
            "{given:?} matches {} threads; give more of the id:\n{}",
            several.len(),
            listed(several)
        ))),
    }
}

fn listed(threads: &[ThreadSummary]) -> String {
    let mut lines: Vec<String> = threads
        .iter()
        .take(LISTED)
        .map(|thread| {
            let name = thread.name.as_deref().unwrap_or_default();
            format!("  {}  {}", thread.id, plain_line(name))
        })
        .collect();
    if threads.len() > LISTED {
        lines.push("  …".to_owned());
    }
    lines.join("\n")
}

/// Returns the thread that a user names, as [`find_thread`] finds it, without its turns.
pub async fn named(client: &Client, given: &str) -> anyhow::Result<Whole<Thread>> {
    let id = find_thread(client, given).await?;
    Ok(read_thread(client, id).await?)
}

/// The result of `thread/read`.
#[derive(Deserialize)]
struct Found {
    thread: Whole<Thread>,
}

/// Returns the thread with a full id, without its turns.
pub async fn read_thread(client: &Client, id: String) -> Result<Whole<Thread>, Error> {
    let params = ThreadReadParams {
        thread_id: id,
        ..ThreadReadParams::default()
    };
    let found: Found = client.call("thread/read", &params).await?;
    Ok(found.thread)
}
