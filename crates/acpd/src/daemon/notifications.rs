//! `acpd notifications`.

use acpd_client::protocol::{
    NotificationListParams, NotificationTarget, NotificationTest, TestNotifications,
};

use crate::cli::{NotificationsCommand, NotificationsListArgs, NotificationsTestArgs};
use crate::client::connect::connect;
use crate::client::whole::{Page, Whole};
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
    let client = connect(settings, false).await?;
    let params = NotificationListParams::default();
    let found: Page<Whole<NotificationTarget>> = client.call("notification/list", &params).await?;
    let targets = found.data;
    if args.json {
        for target in &targets {
            print::json(&target.json.to_string());
        }
    } else if targets.is_empty() {
        print::hint("no target is configured; docs/notifications.md shows how to add one");
    } else {
        let rows: Vec<_> = targets.iter().map(|target| row(target)).collect();
        table(["TARGET", "TYPE", "USER", "WAITING", "LAST ERROR"], &rows);
    }
    Ok(Exit::Success)
}

fn row(target: &NotificationTarget) -> [String; 5] {
    let text = |value: Option<&str>| plain_line(value.unwrap_or("-"));
    [
        plain_line(&target.name),
        plain_line(&target.r#type),
        text(target.principal.as_deref()),
        target.waiting.to_string(),
        text(target.error.as_deref()),
    ]
}

/// Sends a test notification. Fails if a target does.
async fn test(settings: &Settings, args: &NotificationsTestArgs) -> anyhow::Result<Exit> {
    let client = connect(settings, false).await?;
    let params = TestNotifications {
        target: args.target.clone(),
    };
    let mut progress = Progress::begin("sending");
    let tested = client.call("notification/test", &params).await;
    progress.end();
    let tested: Page<Whole<NotificationTest>> = tested?;
    let tests = tested.data;
    let is_failed = tests.iter().any(|test| test.error.is_some());
    if args.json {
        for test in &tests {
            print::json(&test.json.to_string());
        }
    } else if tests.is_empty() {
        print::hint("no target is configured; docs/notifications.md shows how to add one");
    } else {
        for test in &tests {
            let name = plain_line(&test.name);
            let result = test.error.as_deref().map_or_else(
                || "delivered".to_owned(),
                |error| format!("failed: {}", plain_line(error)),
            );
            print::out(&format!("{name}: {result}\n"));
        }
    }
    Ok(if is_failed { Exit::Failure } else { Exit::Success })
}
