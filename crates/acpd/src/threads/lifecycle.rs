//! `acpd pin`, `unpin`, `archive`, `unarchive`, `delete`, `move`, `add-dir` and `rename`.

use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

use crate::cli::{AddDirArgs, DeleteArgs, MoveArgs, RenameArgs, ThreadArgs};
use crate::client::Client;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::confirm::confirm;
use crate::terminal::items::short_id;
use crate::terminal::plain::plain_line;
use crate::terminal::print;
use crate::threads::find::find;
use crate::threads::run::directory;

/// Least number of characters of an id that name a thread to delete.
const DELETED_ID_CHARS: usize = 8;

/// Pins a thread, or removes its pin.
pub async fn pin(settings: &Settings, args: &ThreadArgs, pinned: bool) -> anyhow::Result<Exit> {
    let mut client = Client::connect(settings, false).await?;
    let id = named(&mut client, &args.thread.thread).await?["id"].take();
    client
        .request("thread/pin/set", json!({ "threadId": id, "pinned": pinned }))
        .await?;
    let thread = summary(&mut client, &id).await?;
    Ok(report(
        &thread,
        if pinned { "pinned" } else { "unpinned" },
        args.json,
    ))
}

/// Archives a thread.
pub async fn archive(settings: &Settings, args: &ThreadArgs) -> anyhow::Result<Exit> {
    let mut client = Client::connect(settings, false).await?;
    let thread = named(&mut client, &args.thread.thread).await?;
    client
        .request("thread/archive", json!({ "threadId": thread["id"] }))
        .await?;
    Ok(report(&thread, "archived", args.json))
}

/// Unarchives a thread.
pub async fn unarchive(settings: &Settings, args: &ThreadArgs) -> anyhow::Result<Exit> {
    let mut client = Client::connect(settings, false).await?;
    let thread = named(&mut client, &args.thread.thread).await?;
    client
        .request("thread/unarchive", json!({ "threadId": thread["id"] }))
        .await?;
    Ok(report(&thread, "unarchived", args.json))
}

/// Deletes a thread and its log, after asking.
pub async fn delete(settings: &Settings, args: &DeleteArgs) -> anyhow::Result<Exit> {
    let given = args.thread.trim();
    let is_id = given.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    if is_id && given.len() < DELETED_ID_CHARS {
        return Err(Exit::Usage.error(format!(
            "{given:?} is too short to delete a thread: give at least {DELETED_ID_CHARS} characters of its id"
        )));
    }
    let mut client = Client::connect(settings, false).await?;
    let thread = named(&mut client, given).await?;
    if !args.yes {
        let turns = thread["turnCount"].as_u64().unwrap_or_default();
        let plural = if turns == 1 { "" } else { "s" };
        let question = format!("Delete {} with {turns} turn{plural}, for good?", title(&thread));
        if !confirm(&question).await? {
            print::hint("not deleted");
            return Ok(Exit::Failure);
        }
    }
    client
        .request("thread/delete", json!({ "threadId": thread["id"] }))
        .await?;
    Ok(report(&thread, "deleted", args.json))
}

/// Renames a thread.
pub async fn rename(settings: &Settings, args: &RenameArgs) -> anyhow::Result<Exit> {
    let mut client = Client::connect(settings, false).await?;
    let thread = named(&mut client, &args.thread.thread).await?;
    let id = thread["id"].clone();
    client
        .request("thread/name/set", json!({ "threadId": id, "name": args.name }))
        .await?;
    let renamed = summary(&mut client, &id).await?;
    let done = match &args.name {
        Some(_) => "renamed",
        None => "has the agent's title again",
    };
    Ok(report(&renamed, done, args.json))
}

/// Lets a thread work in another directory.
pub async fn set_directory(settings: &Settings, args: &MoveArgs) -> anyhow::Result<Exit> {
    let cwd = directory(settings, args.directory.as_deref(), "name")?;
    let more = args.add_dir.iter();
    let more = more.map(|dir| directory(settings, Some(dir), "set --add-dir to"));
    let more: Vec<_> = more.collect::<Result<_, _>>()?;
    let mut client = Client::connect(settings, false).await?;
    let id = named(&mut client, &args.thread.thread).await?["id"].take();
    let mut params = json!({ "threadId": id, "cwd": cwd });
    if args.only || !more.is_empty() {
        params["additionalDirectories"] = json!(more);
    }
    client.request("thread/directories/set", params).await?;
    let moved = summary(&mut client, &id).await?;
    let place = plain_line(moved["cwd"].as_str().unwrap_or_default());
    Ok(report(&moved, &format!("works in {place}"), args.json))
}

/// Opens a further directory for a thread.
pub async fn add_directory(settings: &Settings, args: &AddDirArgs) -> anyhow::Result<Exit> {
    let directory = if settings.remote.is_some() {
        args.directory.clone()
    } else {
        // Links stay in it: the daemon refuses them, and says where they lead. An agent may have made one.
        without_dots(&std::path::absolute(&args.directory)?)
    };
    let mut client = Client::connect(settings, false).await?;
    let mut before = named(&mut client, &args.thread.thread).await?;
    let id = before["id"].take();
    client
        .request(
            "thread/directories/add",
            json!({ "threadId": id, "directory": directory }),
        )
        .await?;
    let thread = summary(&mut client, &id).await?;
    let place = plain_line(&directory.to_string_lossy());
    let more = "additionalDirectories";
    let done = if thread[more] == before[more] {
        format!("may use {place} already: one of its directories contains it")
    } else {
        format!("may use {place}; its agent starts anew with the next prompt")
    };
    Ok(report(&thread, &done, args.json))
}

/// Resolves `.` and `..` of an absolute path by its names alone.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

async fn named(client: &mut Client, given: &str) -> anyhow::Result<Value> {
    let id = find(client, given).await?;
    summary(client, &json!(id)).await
}

async fn summary(client: &mut Client, id: &Value) -> anyhow::Result<Value> {
    let mut read = client.request("thread/read", json!({ "threadId": id })).await?;
    Ok(read["thread"].take())
}

/// Returns a thread's name in quotes and its short id.
pub fn title(thread: &Value) -> String {
    let text = |key: &str| plain_line(thread[key].as_str().unwrap_or_default());
    let id = text("id");
    match &*text("name") {
        "" => short_id(&id).to_owned(),
        name => format!("{name:?} ({})", short_id(&id)),
    }
}

fn report(thread: &Value, done: &str, as_json: bool) -> Exit {
    if as_json {
        print::json(&thread.to_string());
    } else {
        print::out(&format!("{} {done}\n", title(thread)));
    }
    Exit::Success
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_resolved_by_name() {
        for (path, plain) in [
            ("/", "/"),
            ("/..", "/"),
            ("/a/./b/", "/a/b"),
            ("/a/link/../b", "/a/b"),
            ("/a/../../b", "/b"),
        ] {
            assert_eq!(without_dots(Path::new(path)), Path::new(plain), "{path}");
        }
    }
}
