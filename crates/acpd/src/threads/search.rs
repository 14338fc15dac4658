//! `acpd search`.

use acpd_client::protocol::{SearchThreads, TextFound};
use acpd_model::text::shorten;

use crate::cli::SearchArgs;
use crate::client::connect::connect;
use crate::client::whole::Whole;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::items::short_id;
use crate::terminal::plain::{plain, plain_line};
use crate::terminal::print;
use crate::terminal::table::cut;
use crate::terminal::time::ago;
use crate::threads::find::find_thread;
use crate::threads::list::pages;

/// Prints the results.
pub async fn search(settings: &Settings, args: &SearchArgs) -> anyhow::Result<Exit> {
    let client = connect(settings, false).await?;
    let thread_id = match &args.thread {
        Some(given) => Some(find_thread(&client, given).await?),
        None => None,
    };
    let wanted = SearchThreads {
        query: args.words.join(" "),
        thread_id,
        ..SearchThreads::default()
    };
    let found = pages(args.limit, async |limit, cursor| {
        let params = SearchThreads {
            limit: Some(limit),
            cursor,
            ..wanted.clone()
        };
        client.call("thread/search", &params).await
    });
    let (hits, more): (Vec<Whole<TextFound>>, bool) = found.await?;
    for hit in &hits {
        if args.json {
            print::json(&hit.json.to_string());
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

fn entry(hit: &TextFound) -> String {
    let snippet: String = hit.snippet.iter().map(|piece| piece.text.as_str()).collect();
    let heading = format!(
        "{}  {}  {:<12}  {}",
        short_id(&plain_line(&hit.thread_id)),
        ago(hit.ts),
        plain_line(hit.kind.as_str()),
        shorten(&plain_line(hit.name.as_deref().unwrap_or_default()), 40)
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
