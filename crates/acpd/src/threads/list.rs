//! `acpd threads`.

use std::process::ExitCode;

use acpd_model::text::shorten;
use serde_json::{Value, json};

use crate::cli::ThreadsArgs;
use crate::client::Client;
use crate::settings::Settings;
use crate::terminal::plain::plain;
use crate::terminal::print;

/// Lists threads.
pub async fn threads(settings: &Settings, args: &ThreadsArgs) -> anyhow::Result<ExitCode> {
    let mut client = Client::connect(settings, false).await?;
    let mut wanted = args.limit;
    let mut cursor = Value::Null;
    while wanted > 0 {
        let page = client
            .request(
                "thread/list",
                json!({ "limit": wanted.min(100), "cursor": cursor, "archived": args.archived }),
            )
            .await?;
        let threads = page["data"].as_array().cloned().unwrap_or_default();
        for thread in &threads {
            show(thread, args.json);
        }
        wanted -= threads.len().min(wanted);
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show(thread: &Value, as_json: bool) {
    if as_json {
        print::json(&thread.to_string());
        return;
    }
    let text = |key: &str| plain(thread[key].as_str().unwrap_or_default());
    let status = match (text("status").as_str(), thread["lastTurnStatus"].as_str()) {
        ("idle", Some("failed")) => "failed".to_owned(),
        (status, _) => status.to_owned(),
    };
    let name = shorten(&text("name"), 60);
    print::out(&format!(
        "{}  {:<7}  {}  {:<12}  {name}\n",
        text("id"),
        status,
        when(&thread["updatedAt"]),
        text("agentType")
    ));
}

/// Formats milliseconds since the epoch in the host's time zone.
pub fn when(millis: &Value) -> String {
    let time = millis
        .as_i64()
        .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    match time {
        Some(time) => time
            .to_zoned(jiff::tz::TimeZone::system())
            .strftime("%Y-%m-%d %H:%M")
            .to_string(),
        None => "-".to_owned(),
    }
}
