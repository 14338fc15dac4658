//! `acpd open`: opens the web UI in a browser, signed in.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use acpd_files::private_file;
use acpd_server::auth::Holder;
use anyhow::Context;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::OpenArgs;
use crate::client::ticket;
use crate::client::ticket::{Ticket, escaped};
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::print;

/// Prints a link that signs in one browser, and opens it.
pub async fn open(settings: &Settings, args: &OpenArgs) -> anyhow::Result<Exit> {
    let holder = if args.other_device {
        Holder::Anyone
    } else {
        Holder::SameUser
    };
    let ticket = ticket::fetch(settings, holder).await?;
    let link = format!("{}/#ticket={}", ticket.url, ticket.secret);
    if args.json {
        print::json(&json!({ "link": link, "secs": ticket.secs }).to_string());
        return Ok(Exit::Success);
    }
    print::out(&format!("{link}\n"));
    let hint = format!("the link signs one browser in, within {} seconds", ticket.secs);
    match opener().filter(|_| !args.print && !args.other_device) {
        None => print::hint(&hint),
        Some(opener) => show(settings, &opener, &link, &ticket, &hint).await?,
    }
    Ok(Exit::Success)
}

/// Returns the program that opens a page. Over SSH and in containers there is usually none.
pub fn opener() -> Option<OsString> {
    let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    match given("BROWSER") {
        Some(browser) => Some(browser),
        None if cfg!(target_os = "macos") => Some("open".into()),
        None if given("DISPLAY").or(given("WAYLAND_DISPLAY")).is_some() => Some("xdg-open".into()),
        None => None,
    }
}

/// Opens the link in a browser through a page file. Returns when the link's ticket is used or has expired.
async fn show(
    settings: &Settings,
    opener: &OsStr,
    link: &str,
    ticket: &Ticket,
    hint: &str,
) -> anyhow::Result<()> {
    // Install the handlers before there is a file to remove.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let page = Page::write(&settings.daemon.data_dir, link)?;
    let quiet = Stdio::null;
    let started = Command::new(opener)
        .arg(page.url())
        .stdin(quiet())
        .stdout(quiet())
        .stderr(quiet())
        .spawn();
    if started.is_err() {
        print::err(hint);
        return Ok(());
    }
    let patience = tokio::time::sleep(Duration::from_secs(ticket.secs));
    tokio::select! {
        used = ticket.used(settings) => used?,
        () = patience => {}
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

/// A page that redirects to a link, in a file that only this user can read. Dropping it removes the file. All users of
/// the host could read the link if it were a program argument.
struct Page(PathBuf);

impl Page {
    fn write(data_dir: &Path, link: &str) -> anyhow::Result<Self> {
        let name = format!("open-{}.html", std::process::id());
        let link = link
            .replace('&', "&amp;")
            .replace('"', "&quot;")
            .replace('<', "&lt;");
        let page = format!(
            "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>acpd</title>\n\
             <meta http-equiv=\"refresh\" content=\"0;url={link}\">\n<a href=\"{link}\">Open acpd</a>\n"
        );
        // Sandboxed browsers can most likely read this directory.
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let runtime = runtime.filter(|folder| folder.is_absolute());
        if let Some(folder) = runtime {
            let path = folder.join(format!("acpd-{name}"));
            if private_file::replace(&path, page.as_bytes()).is_ok() {
                return Ok(Self(path));
            }
        }
        let path = data_dir.join(name);
        private_file::replace(&path, page.as_bytes())
            .with_context(|| format!("the page for the browser, {}, cannot be written", path.display()))?;
        Ok(Self(path))
    }

    fn url(&self) -> String {
        format!("file://{}", escaped(self.0.as_os_str().as_bytes(), b"/"))
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // A file that remains is harmless: its ticket was used, or expires soon.
        let _ = std::fs::remove_file(&self.0);
    }
}
