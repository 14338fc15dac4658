//! `acpd share`: links with which anyone can read one thread.

use serde_json::{Value, json};

use crate::cli::{ShareCommand, ShareCreateArgs, ShareListArgs, ShareRevokeArgs};
use crate::client::Client;
use crate::client::local;
use crate::exit::Exit;
use crate::remote::origin::Origin;
use crate::settings::Settings;
use crate::terminal::items::short_id;
use crate::terminal::plain::plain_line;
use crate::terminal::print;
use crate::terminal::table::table;
use crate::terminal::time::{ago, duration, when};
use crate::threads::find::find;

/// Runs an `acpd share` command.
pub async fn share(settings: &Settings, command: &ShareCommand) -> anyhow::Result<Exit> {
    let mut client = Client::connect(settings, false).await?;
    match command {
        ShareCommand::Create(args) => create(settings, &mut client, args).await?,
        ShareCommand::List(args) => list(&mut client, args).await?,
        ShareCommand::Revoke(args) => revoke(&mut client, args).await?,
    }
    Ok(Exit::Success)
}

async fn create(settings: &Settings, client: &mut Client, args: &ShareCreateArgs) -> anyhow::Result<()> {
    // An address that is none fails before there is a link.
    let url = address_of_readers(settings, args.url.as_deref())?;
    let thread = find(client, &args.thread.thread).await?;
    let mut params = json!({ "threadId": thread });
    if let Some(expires) = &args.expires {
        params["expiresInSecs"] = json!(duration(expires)? / 1000);
    }
    if let Some(name) = &args.name {
        params["name"] = json!(name);
    }
    let created = client.request("thread/share/create", params).await?;
    let (share, secret) = (&created["share"], created["secret"].as_str().unwrap_or_default());
    let link = format!("{url}/#share={secret}");
    // Alone on standard output, so that it can be piped.
    if args.json {
        let mut line = share.clone();
        line["link"] = json!(link);
        line["secret"] = json!(secret);
        print::json(&line.to_string());
    } else {
        print::out(&format!("{link}\n"));
    }
    if !print::has_reader() {
        client
            .request("thread/share/revoke", json!({ "shareId": share["id"] }))
            .await?;
        anyhow::bail!("the link could not be printed, so it was revoked again");
    }
    print::hint(&format!(
        "anyone with this link can read the thread until {}; it is shown only now. To revoke it: acpd share revoke {}",
        when(&share["expiresAt"]),
        plain_line(share["id"].as_str().unwrap_or_default()),
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

async fn list(client: &mut Client, args: &ShareListArgs) -> anyhow::Result<()> {
    let mut params = json!({});
    if let Some(thread) = &args.thread {
        params["threadId"] = json!(find(client, thread).await?);
    }
    let mut listed = client.request("thread/share/list", params).await?;
    let shares = listed["data"]
        .as_array_mut()
        .map(std::mem::take)
        .unwrap_or_default();
    if args.json {
        for share in &shares {
            print::json(&share.to_string());
        }
    } else if shares.is_empty() {
        print::hint("no thread is shared");
    } else {
        let rows: Vec<_> = shares.iter().map(row).collect();
        table(["ID", "THREAD", "NAME", "BY", "CREATED", "EXPIRES"], &rows);
    }
    Ok(())
}

fn row(share: &Value) -> [String; 6] {
    let text = |key: &str| plain_line(share[key].as_str().unwrap_or_default());
    [
        text("id"),
        short_id(&text("threadId")).to_owned(),
        text("name"),
        text("createdBy"),
        ago(&share["createdAt"]),
        when(&share["expiresAt"]),
    ]
}

async fn revoke(client: &mut Client, args: &ShareRevokeArgs) -> anyhow::Result<()> {
    client
        .request("thread/share/revoke", json!({ "shareId": args.id }))
        .await?;
    if args.json {
        print::json(&json!({ "id": args.id }).to_string());
    } else {
        let id = plain_line(&args.id);
        print::out(&format!("{id} is revoked, and its connections have ended\n"));
    }
    Ok(())
}
