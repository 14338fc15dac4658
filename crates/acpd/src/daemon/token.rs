//! `acpd token`: manages access tokens in the token file of the data directory. A running daemon applies changes
//! immediately.

use std::time::{SystemTime, UNIX_EPOCH};

use acpd_runtime::retention;
use acpd_server::auth::Holder;
use acpd_server::auth::tokens::{self, TokensError};
use acpd_server::net::unix_socket;
use anyhow::bail;
use hyper::Request;
use serde_json::json;

use crate::cli::{TokenCommand, TokenCreateArgs, TokenRevokeArgs, TokenTicketArgs};
use crate::client::local::make_data_dir;
use crate::client::patience::Patience;
use crate::client::reach::{Reached, ask};
use crate::client::ticket;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::print;
use crate::terminal::table::table;
use crate::terminal::time::{ago, duration, when};

/// Runs an `acpd token` command.
pub async fn token(settings: &Settings, command: &TokenCommand) -> anyhow::Result<Exit> {
    match command {
        TokenCommand::Create(args) => create(settings, args).await?,
        TokenCommand::List(args) => list(settings, args.json)?,
        TokenCommand::Revoke(args) => revoke(settings, args).await?,
        TokenCommand::Ticket(args) => ticket(settings, args).await?,
    }
    Ok(Exit::Success)
}

async fn create(settings: &Settings, args: &TokenCreateArgs) -> anyhow::Result<()> {
    let data_dir = &settings.daemon.data_dir;
    make_data_dir(data_dir)?;
    let now = now(settings);
    let expires_at = match &args.expires {
        Some(text) => Some(now.saturating_add(duration(text)?)),
        None => None,
    };
    let secret = tokens::create(data_dir, &args.name, args.role, now, expires_at)?;
    notify_daemon(settings).await;
    // Alone on standard output, so that it can be piped.
    if args.json {
        let token = json!({ "name": args.name, "role": args.role, "expiresAt": expires_at, "token": secret });
        print::json(&token.to_string());
    } else {
        print::out(&format!("{secret}\n"));
    }
    if !print::has_reader() {
        tokens::revoke(data_dir, &args.name)?;
        notify_daemon(settings).await;
        bail!("the token could not be printed, so it was revoked again");
    }
    let until = expires_at
        .map(|end| format!(", until {}", when(end)))
        .unwrap_or_default();
    print::hint(&format!(
        "{} is {}{until}; the token is shown only now: set ACPD_TOKEN to it, or send it as \"Authorization: Bearer TOKEN\"",
        args.name, args.role
    ));
    Ok(())
}

fn list(settings: &Settings, as_json: bool) -> anyhow::Result<()> {
    let now = now(settings);
    let tokens = tokens::load(&settings.daemon.data_dir)?;
    if !as_json && tokens.is_empty() {
        print::hint("no tokens except the owner's token in the data directory");
        return Ok(());
    }
    if !as_json {
        let rows: Vec<_> = tokens.iter().map(|token| row(token, now)).collect();
        table(["NAME", "ROLE", "CREATED", "EXPIRES"], &rows);
        return Ok(());
    }
    for token in tokens {
        let is_expired = is_expired(&token, now);
        let tokens::IssuedToken {
            name,
            role,
            created_at,
            expires_at,
            paired,
            ..
        } = token;
        let line = json!({
            "name": name, "role": role, "createdAt": created_at, "expiresAt": expires_at, "expired": is_expired,
            "paired": paired,
        });
        print::json(&line.to_string());
    }
    Ok(())
}

fn row(token: &tokens::IssuedToken, now: i64) -> [String; 4] {
    let end = token.expires_at.map(when);
    let end = match end {
        None => "never".to_owned(),
        Some(end) if is_expired(token, now) => format!("{end} (expired)"),
        Some(end) => end,
    };
    [
        token.name.clone(),
        token.role.name().to_owned(),
        ago(token.created_at),
        end,
    ]
}

fn is_expired(token: &tokens::IssuedToken, now: i64) -> bool {
    token.expires_at.is_some_and(|end| end <= now)
}

async fn revoke(settings: &Settings, args: &TokenRevokeArgs) -> anyhow::Result<()> {
    tokens::revoke(&settings.daemon.data_dir, &args.name).map_err(|error| match error {
        TokensError::Unknown(_) => {
            Exit::NotFound.error(format!("{error}; \"acpd token list\" shows those that there are"))
        }
        error => error.into(),
    })?;
    let is_notified = notify_daemon(settings).await;
    if args.json {
        print::json(&json!({ "name": args.name, "disconnected": is_notified }).to_string());
    } else {
        let ended = if is_notified {
            ", and its connections have ended"
        } else {
            ""
        };
        print::out(&format!("{} is revoked{ended}\n", args.name));
    }
    Ok(())
}

async fn ticket(settings: &Settings, args: &TokenTicketArgs) -> anyhow::Result<()> {
    let ticket = ticket::fetch(settings, Holder::Anyone).await?;
    let address = ticket.editor_address(args.agent.as_deref());
    if args.json {
        print::json(&json!({ "address": address, "secs": ticket.secs }).to_string());
        return Ok(());
    }
    print::out(&format!("{address}\n"));
    print::hint(&format!(
        "the address opens one connection, within {} seconds",
        ticket.secs
    ));
    Ok(())
}

/// Makes a running daemon reload the file; returns whether it did. A daemon that was not reached notices the change
/// soon.
async fn notify_daemon(settings: &Settings) -> bool {
    let Ok(wire) = unix_socket::connect(&settings.daemon.data_dir).await else {
        return false;
    };
    // As this user, not with the role of ACPD_TOKEN.
    let reached = Reached {
        wire: Box::new(wire),
        host: "localhost".to_owned(),
        name: "the daemon".to_owned(),
        authorization: None,
        patience: Patience::silent(),
    };
    let Ok(request) = Request::post("/api/tokens/reload").body(String::new()) else {
        return false;
    };
    ask(reached, request)
        .await
        .is_ok_and(|answer| answer.status().is_success())
}

/// Returns the time by which the daemon judges tokens. While it does not follow the clock of the host, that is exact to an hour.
fn now(settings: &Settings) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let host = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
    retention::time_of_daemon(&retention::path(&settings.daemon.data_dir), host)
}
