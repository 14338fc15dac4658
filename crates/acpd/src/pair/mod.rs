//! `acpd pair`: signs in a phone by a QR code.
//!
//! In: where the daemon listens, and what the user names. Out: a code, and what has become of it. Owns: the pairing, until a device has
//! used it. Never: leaves a link that works behind when it is interrupted, or a token that no device has.

mod address;
mod tailscale;

use std::io::IsTerminal;

use acpd_model::limits::{PAIRING_MAX_SECS, PAIRING_MIN_SECS};
use anyhow::bail;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use toml::{Table, Value};

use self::address::Address;
use crate::cli::PairArgs;
use crate::client::local;
use crate::client::pairing::{Created, Outcome, Pairing, Wanted};
use crate::exit::{Exit, sentence};
use crate::settings::Settings;
use crate::terminal::plain::visible_line;
use crate::terminal::print;
use crate::terminal::qr::Qr;
use crate::terminal::time::{duration, span};

/// Runs the command.
pub async fn pair(settings: &Settings, args: &PairArgs) -> anyhow::Result<Exit> {
    let secs = lifetime(&args.ttl)?;
    if settings.remote.is_none() {
        // Its address is known once it runs.
        local::connect(settings).await?;
    }
    let address = Address::of(settings, args).await?;
    // Install the handlers before there is a link that must not stay.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let pairing = create(settings, args, &address, secs).await?;
    let shown = async {
        address.serve().await?;
        let link = format!("{}/#ticket={}", address.url, pairing.ticket);
        show(&link, args, &pairing, &address)
    };
    let ended = tokio::select! {
        shown = shown => shown,
        _ = interrupt.recv() => Ok(Next::Interrupted),
        _ = terminate.recv() => Ok(Next::Interrupted),
        _ = hangup.recv() => Ok(Next::Interrupted),
    };
    let ended = match ended {
        Ok(Next::Leave) => return Ok(Exit::Success),
        Ok(Next::Wait) => tokio::select! {
            outcome = pairing.outcome(settings) => outcome.map(Some),
            _ = interrupt.recv() => Ok(None),
            _ = terminate.recv() => Ok(None),
            _ = hangup.recv() => Ok(None),
        },
        Ok(Next::Interrupted) => Ok(None),
        Err(error) => Err(error),
    };
    match ended {
        Ok(Some(Outcome::Used(name))) => {
            print::hint(&format!(
                "paired {name} as {}; \"acpd token list\" shows it, and \"acpd token revoke {name}\" signs it out",
                args.role
            ));
            Ok(Exit::Success)
        }
        Ok(Some(Outcome::Gone)) => bail!(
            "no device has opened the link within {}; run \"acpd pair\" again for another one",
            span(secs.cast_signed())
        ),
        Ok(Some(Outcome::Stopped)) => {
            bail!("the daemon has stopped, and the link with it; run \"acpd pair\" again for another one")
        }
        Ok(None) => {
            let ended = pairing.end(settings).await?;
            print::hint(&used(&ended).unwrap_or_else(|| "the link no longer works".to_owned()));
            Ok(Exit::Interrupted)
        }
        Err(error) => {
            // What went wrong first is what the user has to know.
            match pairing.end(settings).await {
                Ok(ended) => {
                    if let Some(used) = used(&ended) {
                        print::hint(&used);
                    }
                }
                Err(left) => print::hint(&format!("the link may still work: {}", sentence(&left))),
            }
            Err(error)
        }
    }
}

/// Says that a device has used a link that was to end.
fn used(ended: &Outcome) -> Option<String> {
    let Outcome::Used(name) = ended else {
        return None;
    };
    Some(format!(
        "a device was paired already as {name}: \"acpd token revoke {name}\" signs it out"
    ))
}

/// What follows once the link exists.
enum Next {
    /// The command waits for the device.
    Wait,
    /// The command ends, and the link stays.
    Leave,
    /// The user has ended the command.
    Interrupted,
}

fn lifetime(ttl: &str) -> anyhow::Result<u64> {
    let secs = u64::try_from(duration(ttl)? / 1000).unwrap_or_default();
    if (PAIRING_MIN_SECS..=PAIRING_MAX_SECS).contains(&secs) {
        return Ok(secs);
    }
    Err(Exit::Usage.error(format!(
        "--ttl {ttl} is too long: a link waits for at most {} m",
        PAIRING_MAX_SECS / 60
    )))
}

async fn create(
    settings: &Settings,
    args: &PairArgs,
    address: &Address,
    secs: u64,
) -> anyhow::Result<Pairing> {
    let wanted = Wanted {
        name: &args.name,
        role: args.role,
        secs,
        url: &address.url,
    };
    match Pairing::create(settings, &wanted).await? {
        Created::Pairing(pairing) => Ok(pairing),
        Created::UnknownName(name) => Err(Exit::Failure.error(unknown_name(settings, &name))),
    }
}

/// Says how the daemon comes to accept a name. The configuration is the user's, so this command does not change it.
fn unknown_name(settings: &Settings, name: &str) -> String {
    let restart = settings.own_command("restart");
    if settings.remote.is_some() {
        return format!(
            "the daemon does not accept the name {name} yet. Add it to the configuration on its host:\n\n  [server]\n{}\nThen run \
             \"acpd restart\" there, and this command again",
            hosts(&[], name)
        );
    }
    let file = visible_line(&settings.config_path.display().to_string());
    let known = &settings.daemon.server.hosts;
    if known.iter().any(|host| host.eq_ignore_ascii_case(name)) {
        return format!(
            "the daemon does not accept the name {name} yet, but {file} has it since the daemon started: run \"{restart}\", \
             and this command again"
        );
    }
    let text = settings.config_file.as_ref().map(std::fs::read_to_string);
    // The command has read it to come here.
    let text = text.map(Result::unwrap_or_default);
    format!(
        "the daemon does not accept the name {name} yet. {}\nThen run \"{restart}\", and this command again",
        change(&file, text.as_deref(), known, name)
    )
}

/// Says how a configuration file, which has this text and these names if it exists, comes to have another name.
fn change(file: &str, text: Option<&str>, known: &[String], name: &str) -> String {
    let line = hosts(known, name);
    let Some(text) = text else {
        return format!("Create {file} with these lines:\n\n  [server]\n{line}");
    };
    // A second table of that name would be a mistake, however the first one is written.
    if toml::from_str::<Table>(&format!("{text}\n[server]\n{line}")).is_ok() {
        return format!("Add these lines to the end of {file}:\n\n  [server]\n{line}");
    }
    let is_section = |line: &str| {
        let found = toml::from_str::<Table>(line).unwrap_or_default();
        let server = found.get("server").and_then(Value::as_table);
        line.trim_start().starts_with('[') && server.is_some_and(Table::is_empty)
    };
    if text.lines().any(is_section) {
        format!("Set this in the section [server] of {file}:\n\n{line}")
    } else {
        format!("Set this in the table server of {file}, where its other settings are:\n\n{line}")
    }
}

/// Returns the line of a configuration with these names and a new one.
fn hosts(known: &[String], name: &str) -> String {
    let all: Vec<&str> = known.iter().map(String::as_str).chain([name]).collect();
    format!("  hosts = {all:?}\n")
}

/// Prints the link, with its code on a terminal that has room for it.
fn show(link: &str, args: &PairArgs, pairing: &Pairing, address: &Address) -> anyhow::Result<Next> {
    if args.json {
        let line = json!({ "link": link, "name": args.name, "role": args.role, "secs": pairing.secs });
        print::json(&line.to_string());
    } else {
        let stdout = std::io::stdout();
        let code = Qr::of(link).filter(|code| {
            stdout.is_terminal() && print::width().is_some_and(|columns| columns >= code.width())
        });
        let code = code.map(|code| code.text(print::has_colors(&stdout)));
        print::out(&format!("{}{link}\n", code.unwrap_or_default()));
    }
    if !print::has_reader() {
        bail!("the link could not be printed, so it no longer works");
    }
    if address.is_clear_text() {
        print::hint("this address has no TLS: the network sees the link and all that the device receives");
    }
    let time = span(pairing.secs.cast_signed());
    if args.json {
        return Ok(Next::Leave);
    }
    print::hint(&format!(
        "open it on the device within {time}: it signs in one device with the role {}; Ctrl-C ends it",
        args.role
    ));
    Ok(Next::Wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_gets_one_section_with_all_names() {
        let none: &[String] = &[];
        let known: &[String] = &["old.example".to_owned()];
        let lines = "\n\n  [server]\n  hosts = [\"new.example\"]\n";
        for (text, known, said) in [
            (None, none, format!("Create c.toml with these lines:{lines}")),
            (
                Some("listen = \"127.0.0.1:1\"\n# [server]\n"),
                none,
                format!("Add these lines to the end of c.toml:{lines}"),
            ),
            (
                Some("[server] # as it was written\n#hosts = []\n"),
                none,
                "Set this in the section [server] of c.toml:\n\n  hosts = [\"new.example\"]\n".to_owned(),
            ),
            (
                Some("[ \"server\" ]\nhosts = [\"old.example\"]\n"),
                known,
                "Set this in the section [server] of c.toml:\n\n  hosts = [\"old.example\", \"new.example\"]\n"
                    .to_owned(),
            ),
            (
                Some("server = { hosts = [\"old.example\"] }\n"),
                known,
                "Set this in the table server of c.toml, where its other settings are:\n\n  hosts = [\"old.example\", \
                 \"new.example\"]\n"
                    .to_owned(),
            ),
            (
                Some("server.insecure_listen = true\n[agents.a]\ncommand = \"a\"\n"),
                none,
                "Set this in the table server of c.toml, where its other settings are:\n\n  hosts = [\"new.example\"]\n"
                    .to_owned(),
            ),
            // Such a section may follow.
            (
                Some("[server.tls]\nname = \"\"\"\n[server]\n\"\"\""),
                none,
                format!("Add these lines to the end of c.toml:{lines}"),
            ),
        ] {
            assert_eq!(change("c.toml", text, known, "new.example"), said);
        }
    }

    #[test]
    fn a_link_waits_for_minutes() {
        for (ttl, secs) in [("1m", 60), ("10m", 600), ("1h", 3600)] {
            assert_eq!(lifetime(ttl).unwrap(), secs, "{ttl}");
        }
        for ttl in ["", "0m", "61m", "2h", "30d", "9999999w", "10"] {
            assert_eq!(Exit::of(&lifetime(ttl).unwrap_err()), Exit::Usage, "{ttl}");
        }
    }
}
