//! `acpd attach`: a thread, live in a terminal.
//!
//! In: keys, and a thread of the daemon. Out: the picture of the thread, and the user's prompts and answers. Owns: the
//! terminal while it runs. Never: keeps the agent from going on when the user leaves.
//!
//! `state` is a machine without IO; `driver` connects it with the terminal (`screen`), the daemon (`link`) and the
//! picture (`view`). `conversation` is what the state holds of the thread.

mod conversation;
mod driver;
mod link;
mod screen;
mod state;
mod view;

use std::io::IsTerminal;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use acpd_client::Client;
use acpd_client::protocol::ThreadStartParams;
use anyhow::Context;

use self::link::Link;
use self::screen::Screen;
use self::state::{App, End};
use self::view::theme::Theme;
use crate::cli::AttachArgs;
use crate::client::connect::connect_with;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::items::short_id;
use crate::terminal::plain::plain;
use crate::terminal::print;
use crate::threads::default_agent::default_agent;
use crate::threads::find::{find_thread, last_thread};
use crate::threads::prompt::directory;

/// Follows a thread in the terminal until the user detaches.
pub async fn attach(settings: &Settings, args: &AttachArgs) -> anyhow::Result<Exit> {
    check_terminal(args.thread.as_deref())?;
    let client = connect_with(settings, |options| options.approvals(true).reconnect(true)).await?;
    let (id, picks) = match &args.thread {
        Some(given) => (find_thread(&client, given).await?, false),
        // The list to pick from is shown over the last thread.
        None => match (args.new, last_thread(&client).await?) {
            (false, Some(id)) => (id, true),
            _ => (start(settings, &client, args).await?, false),
        },
    };
    let (mut link, abilities, resumed) = Link::open(client, &id).await?;
    let size = crossterm::terminal::size().context("the size of the terminal cannot be read")?;
    let mut app = App::new(&resumed, abilities, seed(), size);
    drop(resumed);
    if picks {
        app.pick_thread(Instant::now());
    }
    let theme = Theme::new(print::has_colors(&std::io::stdout()));
    let end = {
        let mut screen = Screen::enter().context("the terminal cannot be used")?;
        driver::run(&mut app, &mut screen, theme, &mut link).await
    }?;
    match end {
        End::Detached => {
            let what = if app.head.is_running() {
                "; the turn keeps running"
            } else {
                ""
            };
            let far = settings
                .remote
                .as_ref()
                .map(|remote| format!(" --connect {}", remote.url()));
            print::hint(&format!(
                "detached{what}; come back: {} {}{}",
                settings.own_command("attach"),
                short_id(&app.thread),
                far.unwrap_or_default()
            ));
            Ok(Exit::Success)
        }
        End::Failed(why) => Err(Exit::NotFound.error(plain(&why))),
    }
}

/// Starts a thread that the arguments describe; returns its id.
async fn start(settings: &Settings, client: &Client, args: &AttachArgs) -> anyhow::Result<String> {
    let cwd = directory(settings, args.cwd.as_deref(), "set --cwd to")?;
    let agent = match &args.agent {
        Some(agent) => agent.clone(),
        None => default_agent(client, settings).await?,
    };
    let params = ThreadStartParams {
        agent_type: agent,
        cwd,
        ..ThreadStartParams::default()
    };
    Ok(client.thread_start(&params).await?.thread.id)
}

/// Fails unless the terminal can show a picture.
fn check_terminal(thread: Option<&str>) -> anyhow::Result<()> {
    let thread = thread.unwrap_or("@last");
    let instead =
        format!("\"acpd show {thread}\" prints the thread, and \"acpd run -t {thread}\" sends a prompt");
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(Exit::Usage.error(format!("acpd attach needs a terminal: {instead}")));
    }
    if std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb") {
        return Err(Exit::Usage.error(format!(
            "acpd attach needs a terminal that can move its cursor, and TERM says that this one cannot: {instead}"
        )));
    }
    Ok(())
}

/// Returns a text that no other client has.
fn seed() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("attach-{}-{}", std::process::id(), now.as_nanos())
}
