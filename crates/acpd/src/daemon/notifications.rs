//! `acpd notifications`.

use serde_json::{Value, json};

use crate::cli::{NotificationsCommand, NotificationsListArgs, NotificationsTestArgs};
use crate::client::Client;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::plain::plain_line;
use crate::terminal::print;
use crate::terminal::progress::Progress;
use crate::terminal::table::table;

/// Runs an `acpd notifications` command.
pub async fn notifications(settings: &Settings, command: &NotificationsCommand) -> anyhow::Result<Exit> {
    match command {
        NotificationsCommand::List(args) => list(settings, args).await,
        NotificationsCommand::Test(args) => test(settings, args).await,
    }
}

async fn list(settings: &Settings, args: &NotificationsListArgs) -> anyhow::Result<Exit> {
    let mut client = Client::connect(settings, false).await?;
    let found = client.request("notification/list", json!({})).await?;
    let targets = found["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    if args.json {
        for target in targets {
            print::json(&target.to_string());
        }
    } else if targets.is_empty() {
        print::hint("no target is configured; docs/notifications.md shows how to add one");
    } else {
        let rows: Vec<_> = targets.iter().map(row).collect();
        table(["TARGET", "TYPE", "USER", "WAITING", "LAST ERROR"], &rows);
    }
    Ok(Exit::Success)
}

fn row(target: &Value) -> [String; 5] {
    let text = |key: &str| plain_line(target[key].as_str().unwrap_or("-"));
    let waiting = target["waiting"].as_u64().unwrap_or_default();
    [
        text("name"),
        text("type"),
        text("principal"),
        waiting.to_string(),
        text("error"),
    ]
}

/// Sends a test notification. Fails if a target does.
async fn test(settings: &Settings, args: &NotificationsTestArgs) -> anyhow::Result<Exit> {
    let mut client = Client::connect(settings, false).await?;
    let mut progress = Progress::begin("sending");
    let tested = client
        .request("notification/test", json!({ "target": args.target }))
        .await;
    progress.end();
    let tested = tested?;
    let tests = tested["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_failed = tests.iter().any(|test| !test["error"].is_null());
    if args.json {
        for test in tests {
            print::json(&test.to_string());
        }
    } else if tests.is_empty() {
        print::hint("no target is configured; docs/notifications.md shows how to add one");
    } else {
        for test in tests {
            let name = plain_line(test["name"].as_str().unwrap_or_default());
            let result = test["error"].as_str().map_or_else(
                || "delivered".to_owned(),
                |error| format!("failed: {}", plain_line(error)),
            );
            print::out(&format!("{name}: {result}\n"));
        }
    }
    Ok(if is_failed { Exit::Failure } else { Exit::Success })
}
