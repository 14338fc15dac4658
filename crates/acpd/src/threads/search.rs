//! `acpd search`.

use std::process::ExitCode;

use acpd_model::text::shorten;
use serde_json::{Value, json};

use crate::cli::SearchArgs;
use crate::client::Client;
use crate::settings::Settings;
use crate::terminal::plain::plain;
use crate::terminal::print;
use crate::threads::list::when;

/// Prints the results. Fails if there are none, like grep.
pub async fn search(settings: &Settings, args: &SearchArgs) -> anyhow::Result<ExitCode> {
    let mut client = Client::connect(settings, false).await?;
    let query = args.words.join(" ");
    let mut wanted = args.limit;
    let mut cursor = Value::Null;
    let mut found = false;
    while wanted > 0 {
        let params = json!({
            "query": query, "limit": wanted.min(100), "cursor": cursor, "threadId": args.thread,
        });
        let page = client.request("thread/search", params).await?;
        let hits = page["data"].as_array().cloned().unwrap_or_default();
        for hit in &hits {
            found = true;
            show(hit, args.json);
        }
        wanted -= hits.len().min(wanted);
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    Ok(if found {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn show(hit: &Value, as_json: bool) {
    if as_json {
        print::json(&hit.to_string());
        return;
    }
    let text = |key: &str| plain(hit[key].as_str().unwrap_or_default());
    let name = shorten(&text("name"), 40);
    let pieces = hit["snippet"].as_array().into_iter().flatten();
    let snippet: String = pieces.filter_map(|piece| piece["text"].as_str()).collect();
    print::out(&format!(
        "{}  {}  {:<12}  {name}\n    {}\n",
        text("threadId"),
        when(&hit["ts"]),
        text("kind"),
        plain(&snippet)
    ));
}
