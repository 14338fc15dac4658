//! `acpd share`: links with which anyone can read one thread.

use acpd_client::Client;
use acpd_client::protocol::{ListShares, RevokeShare, ThreadShare, ThreadShareCreateParams};
use serde::Deserialize;
use serde_json::json;

use crate::cli::{ShareCommand, ShareCreateArgs, ShareListArgs, ShareRevokeArgs};
use crate::client::connect::connect;
use crate::client::local;
use crate::client::whole::{Page, Whole};
use crate::exit::Exit;
use crate::remote::origin::Origin;
use crate::settings::Settings;
use crate::terminal::items::short_id;
use crate::terminal::plain::plain_line;
use crate::terminal::print;
use crate::terminal::table::table;
use crate::terminal::time::{ago, duration, when};
use crate::threads::find::find_thread;

/// Runs an `acpd share` command.
pub async fn share(settings: &Settings, command: &ShareCommand) -> anyhow::Result<Exit> {
    let client = connect(settings, false).await?;
    match command {
        ShareCommand::Create(args) => create(settings, &client, args).await?,
        ShareCommand::List(args) => list(&client, args).await?,
        ShareCommand::Revoke(args) => revoke(&client, args).await?,
    }
    Ok(Exit::Success)
}

/// A new link.
#[derive(Deserialize)]
struct Created {
    share: Whole<ThreadShare>,
    secret: String,
}

async fn create(settings: &Settings, client: &Client, args: &ShareCreateArgs) -> anyhow::Result<()> {
    // An address that is none fails before there is a link.
    let url = address_of_readers(settings, args.url.as_deref())?;
    let thread = find_thread(client, &args.thread.thread).await?;
    let expires = args.expires.as_deref().map(duration).transpose()?;
    let params = ThreadShareCreateParams {
        expires_in_secs: expires.and_then(|millis| (millis / 1000).try_into().ok()),
        name: args.name.clone(),
        thread_id: thread,
    };
    let created: Created = client.call("thread/share/create", &params).await?;
    let Created { share, secret } = created;
    let link = format!("{url}/#share={secret}");
    // Alone on standard output, so that it can be piped.
    if args.json {
        let mut line = share.json.clone();
        line["link"] = json!(link);
        line["secret"] = json!(secret);
        print::json(&line.to_string());
    } else {
        print::out(&format!("{link}\n"));
    }
    if !print::has_reader() {
        revoke_share(client, &share.id).await?;
        anyhow::bail!("the link could not be printed, so it was revoked again");
    }
    print::hint(&format!(
        "anyone with this link can read the thread until {}; it is shown only now. To revoke it: acpd share revoke {}",
        when(share.expires_at),
        plain_line(&share.id),
    ));
    if args.url.is_none() && Origin::parse(&url).is_some_and(|origin| origin.is_loopback()) {
        print::hint(&format!(
            "only this computer can open a link that begins with {url}; for other readers, name the address at which they reach \
             the daemon with --url"
        ));
    }
    Ok(())
}

/// Returns the address with which a link begins, without a slash at its end.
fn address_of_readers(settings: &Settings, named: Option<&str>) -> anyhow::Result<String> {
    if let Some(named) = named {
        return Ok(Origin::named(named)?.to_string());
    }
    // The configuration is about the daemon of this host.
    if let Some(remote) = &settings.remote {
        return Ok(remote.url());
    }
    match &settings.daemon.notifications.url {
        Some(url) => Ok(url.trim_end_matches('/').to_owned()),
        None => local::url(&settings.daemon.data_dir),
    }
}

async fn list(client: &Client, args: &ShareListArgs) -> anyhow::Result<()> {
    let thread_id = match &args.thread {
        Some(thread) => Some(find_thread(client, thread).await?),
        None => None,
    };
    let params = ListShares { thread_id };
    let listed: Page<Whole<ThreadShare>> = client.call("thread/share/list", &params).await?;
    let shares = listed.data;
    if args.json {
        for share in &shares {
            print::json(&share.json.to_string());
        }
    } else if shares.is_empty() {
        print::hint("no thread is shared");
    } else {
        let rows: Vec<_> = shares.iter().map(|share| row(share)).collect();
        table(["ID", "THREAD", "NAME", "BY", "CREATED", "EXPIRES"], &rows);
    }
    Ok(())
}

fn row(share: &ThreadShare) -> [String; 6] {
    [
        plain_line(&share.id),
        short_id(&plain_line(&share.thread_id)).to_owned(),
        plain_line(share.name.as_deref().unwrap_or_default()),
        plain_line(&share.created_by),
        ago(share.created_at),
        when(share.expires_at),
    ]
}

async fn revoke(client: &Client, args: &ShareRevokeArgs) -> anyhow::Result<()> {
    revoke_share(client, &args.id).await?;
    if args.json {
        print::json(&json!({ "id": args.id }).to_string());
    } else {
        let id = plain_line(&args.id);
        print::out(&format!("{id} is revoked, and its connections have ended\n"));
    }
    Ok(())
}

async fn revoke_share(client: &Client, id: &str) -> anyhow::Result<()> {
    let params = RevokeShare {
        share_id: id.to_owned(),
    };
    client.thread_share_revoke(&params).await?;
    Ok(())
}
