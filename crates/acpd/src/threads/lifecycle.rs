//! `acpd pin`, `unpin`, `archive`, `unarchive`, `delete`, `move`, `add-dir` and `rename`.

use std::path::{Component, Path, PathBuf};

use acpd_client::protocol::{
    Thread, ThreadArchiveParams, ThreadDeleteParams, ThreadDirectoriesAddParams, ThreadDirectoriesSetParams,
    ThreadNameSetParams, ThreadPinSetParams, ThreadUnarchiveParams,
};

use crate::cli::{AddDirArgs, DeleteArgs, MoveArgs, RenameArgs, ThreadArgs};
use crate::client::connect::connect;
use crate::client::whole::Whole;
use crate::exit::Exit;
use crate::path_text::path_text;
use crate::settings::Settings;
use crate::terminal::confirm::confirm;
use crate::terminal::items::short_id;
use crate::terminal::plain::plain_line;
use crate::terminal::print;
use crate::threads::find::{named, read_thread};
use crate::threads::prompt::directory;

/// Least number of characters of an id that name a thread to delete.
const DELETED_ID_CHARS: usize = 8;

/// Pins a thread, or removes its pin.
pub async fn pin(settings: &Settings, args: &ThreadArgs, pinned: bool) -> anyhow::Result<Exit> {
    let client = connect(settings, false).await?;
    let id = named(&client, &args.thread.thread).await?.known.id;
    let params = ThreadPinSetParams {
        pinned,
        place: None,
        thread_id: id.clone(),
    };
    client.thread_pin_set(&params).await?;
    let thread = read_thread(&client, id).await?;
    Ok(report(
        &thread,
        if pinned { "pinned" } else { "unpinned" },
        args.json,
    ))
}

/// Archives a thread.
pub async fn archive(settings: &Settings, args: &ThreadArgs) -> anyhow::Result<Exit> {
    let client = connect(settings, false).await?;
    let thread = named(&client, &args.thread.thread).await?;
    let thread_id = thread.id.clone();
    client.thread_archive(&ThreadArchiveParams { thread_id }).await?;
    Ok(report(&thread, "archived", args.json))
}

/// Unarchives a thread.
pub async fn unarchive(settings: &Settings, args: &ThreadArgs) -> anyhow::Result<Exit> {
    let client = connect(settings, false).await?;
    let thread = named(&client, &args.thread.thread).await?;
    let thread_id = thread.id.clone();
    client
        .thread_unarchive(&ThreadUnarchiveParams { thread_id })
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
    let client = connect(settings, false).await?;
    let thread = named(&client, given).await?;
    if !args.yes {
        let turns = thread.turn_count;
        let plural = if turns == 1 { "" } else { "s" };
        let question = format!("Delete {} with {turns} turn{plural}, for good?", title(&thread));
        if !confirm(&question).await? {
            print::hint("not deleted");
            return Ok(Exit::Failure);
        }
    }
    let thread_id = thread.id.clone();
    client.thread_delete(&ThreadDeleteParams { thread_id }).await?;
    Ok(report(&thread, "deleted", args.json))
}

/// Renames a thread.
pub async fn rename(settings: &Settings, args: &RenameArgs) -> anyhow::Result<Exit> {
    let client = connect(settings, false).await?;
    let id = named(&client, &args.thread.thread).await?.known.id;
    let params = ThreadNameSetParams {
        name: args.name.clone(),
        thread_id: id.clone(),
    };
    client.thread_name_set(&params).await?;
    let renamed = read_thread(&client, id).await?;
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
    let more: Vec<String> = more.collect::<anyhow::Result<_>>()?;
    let client = connect(settings, false).await?;
    let id = named(&client, &args.thread.thread).await?.known.id;
    let params = ThreadDirectoriesSetParams {
        additional_directories: (args.only || !more.is_empty()).then_some(more),
        cwd,
        thread_id: id.clone(),
    };
    client.thread_directories_set(&params).await?;
    let moved = read_thread(&client, id).await?;
    let place = plain_line(&moved.cwd);
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
    let directory = path_text(&directory)?;
    let client = connect(settings, false).await?;
    let before = named(&client, &args.thread.thread).await?.known;
    let place = plain_line(&directory);
    let params = ThreadDirectoriesAddParams {
        directory,
        thread_id: before.id.clone(),
    };
    client.thread_directories_add(&params).await?;
    let thread = read_thread(&client, before.id).await?;
    let done = if thread.additional_directories == before.additional_directories {
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

/// Returns a thread's name in quotes and its short id.
fn title(thread: &Thread) -> String {
    let id = plain_line(&thread.id);
    match &*plain_line(thread.name.as_deref().unwrap_or_default()) {
        "" => short_id(&id).to_owned(),
        name => format!("{name:?} ({})", short_id(&id)),
    }
}

fn report(thread: &Whole<Thread>, done: &str, as_json: bool) -> Exit {
    if as_json {
        print::json(&thread.json.to_string());
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
