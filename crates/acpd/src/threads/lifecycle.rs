//! `acpd archive`, `unarchive`, `delete` and `rename`.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::{RenameArgs, ThreadArgs};
use crate::client::Client;
use crate::settings::Settings;
use crate::terminal::print;
use crate::threads::show::find;

/// Archives a thread.
pub async fn archive(settings: &Settings, args: &ThreadArgs) -> anyhow::Result<ExitCode> {
    tell(settings, &args.thread, "thread/archive", json!({}), "archived").await
}

/// Unarchives a thread.
pub async fn unarchive(settings: &Settings, args: &ThreadArgs) -> anyhow::Result<ExitCode> {
    tell(
        settings,
        &args.thread,
        "thread/unarchive",
        json!({}),
        "unarchived",
    )
    .await
}

/// Deletes a thread and its log.
pub async fn delete(settings: &Settings, args: &ThreadArgs) -> anyhow::Result<ExitCode> {
    tell(settings, &args.thread, "thread/delete", json!({}), "deleted").await
}

/// Renames a thread.
pub async fn rename(settings: &Settings, args: &RenameArgs) -> anyhow::Result<ExitCode> {
    let params = json!({ "name": args.name });
    tell(settings, &args.thread, "thread/name/set", params, "renamed").await
}

async fn tell(
    settings: &Settings,
    given: &str,
    method: &str,
    mut params: Value,
    done: &str,
) -> anyhow::Result<ExitCode> {
    let mut client = Client::connect(settings, false).await?;
    let id = find(&mut client, given).await?;
    params["threadId"] = json!(id);
    client.request(method, params).await?;
    print::out(&format!("{id}  {done}\n"));
    Ok(ExitCode::SUCCESS)
}
