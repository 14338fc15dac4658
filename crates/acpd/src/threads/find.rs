//! The thread that a user names.

use acpd_model::ThreadId;
use acpd_model::similar::nearest;
use serde_json::{Value, json};

use crate::client::Client;
use crate::exit::Exit;
use crate::terminal::items::short_id;
use crate::terminal::plain::plain_line;
use crate::threads::list::PAGE;

/// Number of threads that an error lists.
const LISTED: usize = 5;

/// The name of the thread that changed last.
const LAST: &str = "@last";

/// Returns the full id of a thread. `given` is the beginning or end of an id, a name, or `@last`.
pub async fn find(client: &mut Client, given: &str) -> anyhow::Result<String> {
    let given = given.trim();
    if let Ok(whole) = given.parse::<ThreadId>() {
        return Ok(whole.to_string());
    }
    if given == LAST {
        let last = last(client).await?;
        return last.ok_or_else(|| Exit::NotFound.error("there are no threads yet"));
    }
    if given.is_empty() {
        return Err(Exit::NotFound.error("the name of the thread is empty"));
    }
    let is_id = given.len() <= 36 && given.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    if is_id && given.bytes().any(|byte| byte != b'-') {
        let found = matching(client, &json!({ "idPart": given })).await?;
        if !found.is_empty() {
            return only(given, &found);
        }
    }
    let similar = matching(client, &json!({ "searchTerm": given })).await?;
    let wanted = given.to_lowercase();
    let is_named = |thread: &&Value| {
        thread["name"]
            .as_str()
            .is_some_and(|name| name.to_lowercase() == wanted)
    };
    let named: Vec<Value> = similar.iter().filter(is_named).cloned().collect();
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
pub async fn last(client: &mut Client) -> anyhow::Result<Option<String>> {
    let page = client.request("thread/list", json!({ "limit": 1 })).await?;
    Ok(page["data"][0]["id"].as_str().map(str::to_owned))
}

/// Returns the error for a thread that does not exist, with a similar one of the last changed threads.
async fn unknown(client: &mut Client, given: &str) -> anyhow::Result<anyhow::Error> {
    let threads = matching(client, &json!({ "limit": PAGE })).await?;
    let texts = |key: &'static str| threads.iter().filter_map(move |thread| thread[key].as_str());
    let names = texts("name").chain(texts("id").map(short_id));
    let similar = nearest(given, names.chain(std::iter::once(LAST)));
    let advice = match similar {
        Some(similar) => format!("did you mean {:?}?", plain_line(similar)),
        None => "\"acpd threads\" lists them".to_owned(),
    };
    Ok(Exit::NotFound.error(format!("no thread has the id or the name {given:?}; {advice}")))
}

/// Returns the first page of matching threads, then of archived ones.
async fn matching(client: &mut Client, filter: &Value) -> anyhow::Result<Vec<Value>> {
    let mut found = Vec::new();
    for archived in [false, true] {
        let mut params = filter.clone();
        params["archived"] = json!(archived);
        let mut page = client.request("thread/list", params).await?;
        if let Some(threads) = page["data"].as_array_mut() {
            found.append(threads);
        }
    }
    Ok(found)
}

fn only(given: &str, found: &[Value]) -> anyhow::Result<String> {
    match found {
        [thread] => Ok(thread["id"].as_str().unwrap_or_default().to_owned()),
        several => Err(Exit::NotFound.error(format!(
            "{given:?} matches {} threads; give more of the id:\n{}",
            several.len(),
            listed(several)
        ))),
    }
}

fn listed(threads: &[Value]) -> String {
    let mut lines: Vec<String> = threads
        .iter()
        .take(LISTED)
        .map(|thread| {
            let text = |key: &str| thread[key].as_str().unwrap_or_default();
            format!("  {}  {}", text("id"), plain_line(text("name")))
        })
        .collect();
    if threads.len() > LISTED {
        lines.push("  …".to_owned());
    }
    lines.join("\n")
}
