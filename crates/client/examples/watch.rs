//! Follows all threads of a daemon: prints each change of the thread list, and a line for each turn.
//!
//! `cargo run -p acpd-client --example watch`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use acpd_client::protocol::{ListThreads, Notification, ThreadStatus};
use acpd_client::{Client, Error, Options, Update};

/// The status of each thread, by its id.
type Threads = BTreeMap<String, ThreadStatus>;

/// Writes a line for each thread whose status changes, until `is_enough` returns true.
pub async fn watch(
    client: &Client,
    out: &mut impl Write,
    is_enough: impl Fn(&Threads) -> bool,
) -> Result<Threads, Error> {
    let mut updates = client.notifications();
    // Changes that happen while the list is read arrive as notifications.
    client.thread_list_watch().await?;
    let mut threads = list(client).await?;
    for (id, status) in &threads {
        line(out, id, status.as_str());
    }
    while !is_enough(&threads) {
        match updates.next().await {
            Some(Ok(Update::Notification(notification))) => {
                if let Notification::ThreadListChanged(changed) = &**notification {
                    match &changed.thread {
                        Some(thread) if threads.get(&thread.id) == Some(&thread.status) => {}
                        Some(thread) => {
                            line(out, &thread.id, thread.status.as_str());
                            threads.insert(thread.id.clone(), thread.status.clone());
                        }
                        None => {
                            line(out, &changed.thread_id, "deleted");
                            threads.remove(&changed.thread_id);
                        }
                    }
                } else if matches!(&**notification, Notification::ThreadListReset(_)) {
                    threads = list(client).await?;
                }
            }
            // Changes may be missing. If the connection breaks again, another gap follows.
            Some(Ok(Update::Gap)) => match list(client).await {
                Ok(listed) => threads = listed,
                Err(error) if error.is_retryable() => {}
                Err(error) => return Err(error),
            },
            Some(Err(error)) => return Err(error),
            None => break,
        }
    }
    Ok(threads)
}

/// Reads the whole list, page by page.
async fn list(client: &Client) -> Result<Threads, Error> {
    let mut threads = Threads::new();
    let mut params = ListThreads::default();
    loop {
        let page = client.thread_list(&params).await?;
        threads.extend(page.data.into_iter().map(|thread| (thread.id, thread.status)));
        params.cursor = page.next_cursor;
        if params.cursor.is_none() {
            return Ok(threads);
        }
    }
}

fn line(out: &mut impl Write, id: &str, status: &str) {
    // A reader that is gone ends the program by itself.
    drop(writeln!(out, "{id} {status}"));
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let client = Client::connect(Options::own("watch")?).await?;
    watch(&client, &mut io::stdout(), |_| false).await?;
    Ok(())
}
