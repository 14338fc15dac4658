//! `acpd prune`.

use acpd_client::protocol::{Removal, RetentionLimit, RetentionRun, RunRetention};
use acpd_client::{Client, Error};
use acpd_model::text::shorten;

use crate::cli::PruneArgs;
use crate::client::connect::connect;
use crate::client::whole::Whole;
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
    let client = connect(settings, false).await?;
    if args.confirm_clock {
        let params = RunRetention {
            confirm_clock: Some(true),
            dry_run: Some(true),
        };
        client.retention_run(&params).await?;
        print::hint("the daemon trusts the clock of its host; nothing is removed now");
        return Ok(Exit::Success);
    }
    if args.dry_run {
        let found = run(&client, true).await?;
        show(&found, args.json);
        return Ok(Exit::Success);
    }
    if !args.yes {
        let found = run(&client, true).await?;
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
    let removed = run(&client, false).await?;
    if args.json || is_empty(&removed) {
        show(&removed, args.json);
    } else {
        print::out(&format!("removed {}\n", counted(&removed)));
    }
    Ok(Exit::Success)
}

async fn run(client: &Client, dry_run: bool) -> Result<Whole<RetentionRun>, Error> {
    let params = RunRetention {
        confirm_clock: None,
        dry_run: Some(dry_run),
    };
    client.call("retention/run", &params).await
}

fn is_empty(report: &RetentionRun) -> bool {
    report.threads == 0 && report.attachments == 0
}

fn show(report: &Whole<RetentionRun>, as_json: bool) {
    if as_json {
        return print::json(&report.json.to_string());
    }
    let log = size(report.log_bytes);
    if !report.configured {
        return print::hint(&format!(
            "nothing is ever removed: the configuration has no limit in [retention]; the log takes {log}"
        ));
    }
    let listed = &report.removed;
    if listed.is_empty() {
        print::hint(&format!(
            "nothing exceeds the limits of [retention]; the log takes {log}"
        ));
    } else {
        let rows: Vec<_> = listed.iter().map(row).collect();
        table(["ID", "CHANGED", "SIZE", "LIMIT", "NAME"], &rows);
        let shown = listed.len() as u64;
        let all = report.threads;
        if shown == LISTED {
            print::hint(&format!(
                "these are the first {LISTED}; all threads to remove: {all}"
            ));
        }
        print::hint(&format!("{}; then the log takes {log}", counted(report)));
    }
    match report.kept {
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
fn counted(report: &RetentionRun) -> String {
    let plural = |count: u64, name: &str| match count {
        0 => None,
        1 => Some(format!("1 {name}")),
        count => Some(format!("{count} {name}s")),
    };
    let parts = [
        plural(report.threads, "thread"),
        plural(report.attachments, "attachment"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("{} ({})", parts.join(" and "), size(report.bytes))
}

fn row(removal: &Removal) -> [String; 5] {
    let limit = match removal.limit {
        RetentionLimit::MaxAge => "max_age",
        RetentionLimit::ArchivedMaxAge => "archived_max_age",
        RetentionLimit::MaxSize => "max_size",
        RetentionLimit::AttachmentsMaxAge => "attachments_max_age",
        _ => "-",
    };
    let name = plain_line(removal.name.as_deref().unwrap_or_default());
    [
        short_id(&plain_line(&removal.thread_id)).to_owned(),
        ago(removal.updated_at),
        size(removal.bytes),
        limit.to_owned(),
        shorten(&name, print::width().unwrap_or(NAME_CHARS)),
    ]
}
