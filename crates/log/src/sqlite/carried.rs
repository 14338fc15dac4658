//! The agents' processes that a log knows, for a program beside the daemon.
//!
//! In: the path of a database. Out: the memos of threads. Owns: a read-only connection for the time of one query. Never: takes the lock
//! of the database, or delays a writer.

use std::path::Path;

use acpd_model::ThreadId;
use uuid::Uuid;

use super::{files, schema};
use crate::LogError;

/// A thread with a memo about its agent's process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedThread {
    /// The thread.
    pub thread: ThreadId,
    /// The name of its agent.
    pub agent: String,
    /// See [`Append::memo`](crate::Append::memo).
    pub memo: Vec<u8>,
}

/// Reads the threads that have a memo, while a daemon may use the database. Rejects a database that a newer acpd wrote.
pub fn carried_threads(path: &Path) -> Result<Vec<CarriedThread>, LogError> {
    let connection = files::reader(path)?;
    schema::check(&connection, path)?;
    let mut query = connection.prepare(
        "SELECT uuid, agent, memo FROM carried JOIN thread ON thread.id = carried.thread WHERE memo IS NOT NULL",
    )?;
    let rows = query.query_map((), |row| {
        Ok(CarriedThread {
            thread: ThreadId(Uuid::from_bytes(row.get(0)?)),
            agent: row.get(1)?,
            memo: row.get(2)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::sample;
    use crate::{Append, Durability, EventLog, Sqlite};

    #[tokio::test]
    async fn memos_are_read_while_the_log_is_open() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.db");
        assert!(carried_threads(&path).is_err(), "there is no log");
        let log = Sqlite::open(&path, Durability::Process).unwrap();
        let summary = sample::summary("carried", 1);
        let events = [sample::event(1, 10)];
        for number in 1..=3 {
            let append = Append {
                summary: Some(&summary),
                memo: (number > 1).then_some(&b"{}"[..]),
                ..Append::new(sample::thread(number), &events)
            };
            log.store(append).await.unwrap();
        }
        let ended = Append {
            after: 1,
            memo: Some(b""),
            ..Append::new(sample::thread(3), &[])
        };
        log.store(ended).await.unwrap();
        let expected = CarriedThread {
            thread: sample::thread(2),
            agent: summary.agent.clone(),
            memo: b"{}".to_vec(),
        };
        assert_eq!(carried_threads(&path).unwrap(), [expected]);
    }
}
