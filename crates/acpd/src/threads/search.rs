//! `acpd search`.

use acpd_model::text::shorten;
use serde_json::{Value, json};

use crate::cli::SearchArgs;
use crate::client::Client;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::items::short_id;
use crate::terminal::plain::{plain, plain_line};
use crate::terminal::print;
use crate::terminal::table::cut;
use crate::terminal::time::ago;
use crate::threads::find::find;
use crate::threads::list::pages;

/// Prints the results.
pub async fn search(settings: &Settings, args: &SearchArgs) -> anyhow::Result<Exit> {
    let mut client = Client::connect(settings, false).await?;
    let thread = match &args.thread {
        Some(given) => Some(find(&mut client, given).await?),
        None => None,
    };
    let wanted = json!({ "query": args.words.join(" "), "threadId": thread });
    let (hits, more) = pages(&mut client, "thread/search", wanted, args.limit).await?;
    for hit in &hits {
        if args.json {
            print::json(&hit.to_string());
        } else {
            print::out(&entry(hit));
        }
    }
    if hits.is_empty() {
        print::hint("nothing found; every word must occur in one text");
        return Ok(Exit::NotFound);
    }
    if more && !args.json {
        print::hint(&format!(
            "these are the newest {}; --limit shows more",
            hits.len()
        ));
    }
    Ok(Exit::Success)
}

fn entry(hit: &Value) -> String {
    let text = |key: &str| plain_line(hit[key].as_str().unwrap_or_default());
    let pieces = hit["snippet"].as_array().into_iter().flatten();
    let snippet: String = pieces.filter_map(|piece| piece["text"].as_str()).collect();
    let heading = format!(
        "{}  {}  {:<12}  {}",
        short_id(&text("threadId")),
        ago(&hit["ts"]),
        text("kind"),
        shorten(&text("name"), 40)
    );
    let columns = print::width().unwrap_or(usize::MAX);
    let lines = std::iter::once(heading).chain(
        plain(&snippet)
            .lines()
            .map(|line| format!("    {line}"))
            .collect::<Vec<_>>(),
    );
    lines.map(|line| format!("{}\n", cut(&line, columns))).collect()
}
