//! `acpd prune`.

use acpd_model::text::shorten;
use serde_json::{Value, json};

use crate::cli::PruneArgs;
use crate::client::Client;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::amounts::size;
use crate::terminal::confirm::confirm;
use crate::terminal::items::short_id;
use crate::terminal::plain::plain_line;
use crate::terminal::print;
use crate::terminal::table::table;
use crate::terminal::time::ago;

/// Length of a printed name, in characters, where there is no terminal that limits it.
const NAME_CHARS: usize = 60;

/// Removes what exceeds the limits of the configuration, after asking.
pub async fn prune(settings: &Settings, args: &PruneArgs) -> anyhow::Result<Exit> {
    let mut client = Client::connect(settings, false).await?;
    if args.confirm_clock {
        let params = json!({ "dryRun": true, "confirmClock": true });
        let _: Value = client.request("retention/run", params).await?;
        print::hint("the daemon trusts the clock of its host; nothing is removed now");
        return Ok(Exit::Success);
    }
    if args.dry_run {
        let found = run(&mut client, true).await?;
        show(&found, args.json);
        return Ok(Exit::Success);
    }
    if !args.yes {
        let found = run(&mut client, true).await?;
        if is_empty(&found) {
            show(&found, args.json);
            return Ok(Exit::Success);
        }
        if !args.json {
            show(&found, false);
        }
        if !confirm(&format!("Remove {}, for good?", counted(&found))).await? {
            print::hint("nothing removed");
            return Ok(Exit::Failure);
        }
    }
    let removed = run(&mut client, false).await?;
    if args.json || is_empty(&removed) {
        show(&removed, args.json);
    } else {
        print::out(&format!("removed {}\n", counted(&removed)));
    }
    Ok(Exit::Success)
}

async fn run(client: &mut Client, dry_run: bool) -> anyhow::Result<Value> {
    client
        .request("retention/run", json!({ "dryRun": dry_run }))
        .await
}

fn number(report: &Value, key: &str) -> u64 {
    report[key].as_u64().unwrap_or_default()
}

fn is_empty(report: &Value) -> bool {
    number(report, "threads") + number(report, "attachments") == 0
}

fn show(report: &Value, as_json: bool) {
    if as_json {
        return print::json(&report.to_string());
    }
    let log = size(number(report, "logBytes"));
    if report["configured"] != true {
        return print::hint(&format!(
            "nothing is ever removed: the configuration has no limit in [retention]; the log takes {log}"
        ));
    }
    let listed = report["removed"].as_array().map_or(&[][..], Vec::as_slice);
    if listed.is_empty() {
        print::hint(&format!(
            "nothing exceeds the limits of [retention]; the log takes {log}"
        ));
    } else {
        let rows: Vec<_> = listed.iter().map(row).collect();
        table(["ID", "CHANGED", "SIZE", "LIMIT", "NAME"], &rows);
        let shown = listed.len() as u64;
        let all = number(report, "threads");
        if shown == LISTED {
            print::hint(&format!(
                "these are the first {LISTED}; all threads to remove: {all}"
            ));
        }
        print::hint(&format!("{}; then the log takes {log}", counted(report)));
    }
    match number(report, "kept") {
        0 => {}
        1 => print::hint("1 more thread exceeds a limit and stays, because it is in use or cannot be read"),
        kept => print::hint(&format!(
            "{kept} more threads exceed a limit and stay, because they are in use or cannot be read"
        )),
    }
}

/// Entries that the daemon lists at most.
const LISTED: u64 = acpd_model::limits::RETENTION_LISTED as u64;

/// Returns what a report counts: `3 threads and 2 attachments, 40 MiB`.
fn counted(report: &Value) -> String {
    let plural = |key: &str, name: &str| match number(report, key) {
        0 => None,
        1 => Some(format!("1 {name}")),
        count => Some(format!("{count} {name}s")),
    };
    let parts = [plural("threads", "thread"), plural("attachments", "attachment")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("{} ({})", parts.join(" and "), size(number(report, "bytes")))
}

fn row(removal: &Value) -> [String; 5] {
    let text = |key: &str| plain_line(removal[key].as_str().unwrap_or_default());
    let limit = match removal["limit"].as_str() {
        Some("maxAge") => "max_age",
        Some("archivedMaxAge") => "archived_max_age",
        Some("maxSize") => "max_size",
        Some("attachmentsMaxAge") => "attachments_max_age",
        _ => "-",
    };
    [
        short_id(&text("threadId")).to_owned(),
        ago(&removal["updatedAt"]),
        size(number(removal, "bytes")),
        limit.to_owned(),
        shorten(&text("name"), print::width().unwrap_or(NAME_CHARS)),
    ]
}
