//! `acpd open`: the web UI in a browser, signed in.

use std::ffi::OsString;
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context;
use hyper::Request;

use crate::answer::{granted, short};
use crate::background;
use crate::cli::OpenArgs;
use crate::print;
use crate::reach::{self, reach};
use crate::settings::Settings;

/// Prints a link that signs one browser in, and opens it.
pub async fn open(settings: &Settings, args: &OpenArgs) -> anyhow::Result<ExitCode> {
    // Reached first: that starts the daemon, which then says where a browser finds it.
    let reached = reach(settings).await?;
    let name = reached.name.clone();
    let request = Request::post("/api/tickets").body(String::new())?;
    let answer = granted(reach::ask(reached, request).await?, &name).await?;
    let told = short(answer.into_body()).await?.unwrap_or_default();
    let ticket = told["ticket"]
        .as_str()
        .with_context(|| format!("{name} gave no ticket"))?;
    let url = background::url(&settings.daemon.data_dir)?;
    let link = format!("{url}/#ticket={ticket}");
    print::out(&format!("{link}\n"));
    let secs = told["expiresInSecs"].as_u64().unwrap_or_default();
    let hint = format!("acpd: the link signs one browser in, within {secs} seconds\n");
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
