//! `acpd open`: the web UI in a browser, signed in.

use std::ffi::OsString;
use std::process::{Command, ExitCode, Stdio};

use crate::cli::OpenArgs;
use crate::settings::Settings;
use crate::{print, ticket};

/// Prints a link that signs one browser in, and opens it.
pub async fn open(settings: &Settings, args: &OpenArgs) -> anyhow::Result<ExitCode> {
    let ticket = ticket::fetch(settings).await?;
    let link = format!("{}/#ticket={}", ticket.url, ticket.secret);
    print::out(&format!("{link}\n"));
    let hint = format!(
        "acpd: the link signs one browser in, within {} seconds\n",
        ticket.secs
    );
    if args.print || !show(&link) {
        print::err(&hint);
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether a browser was started: over SSH and in containers there is mostly none.
fn show(link: &str) -> bool {
    let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let opener: OsString = match given("BROWSER") {
        Some(browser) => browser,
        None if cfg!(target_os = "macos") => "open".into(),
        None if given("DISPLAY").or(given("WAYLAND_DISPLAY")).is_some() => "xdg-open".into(),
        None => return false,
    };
    let quiet = Stdio::null;
    let started = Command::new(opener)
        .arg(link)
        .stdin(quiet())
        .stdout(quiet())
        .stderr(quiet())
        .spawn();
    started.is_ok()
}
