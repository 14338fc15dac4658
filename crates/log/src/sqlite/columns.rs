//! Reads columns that several queries return.

use acpd_model::{RawJson, Seq, Summary, ThreadId, without_content};
use rusqlite::Row;

use crate::LogError;

pub(super) fn seq(row: &Row<'_>, column: usize) -> Result<Seq, LogError> {
    let seq: i64 = row.get(column)?;
    Seq::try_from(seq).map_err(|_| LogError::Damaged(format!("a row has the number {seq}")))
}

/// Reads a summary from a column, and its metadata from the next one.
pub(super) fn read_summary(row: &Row<'_>, column: usize, thread: ThreadId) -> Result<Summary, LogError> {
    let damaged = |error: serde_json::Error| {
        let what = without_content(&error);
        LogError::Damaged(format!("thread {thread}, its summary: {what}"))
    };
    let json = row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?;
    let mut summary: Summary = serde_json::from_str(json).map_err(damaged)?;
    let metadata = row.get_ref(column + 1)?.as_str_or_null();
    if let Some(metadata) = metadata.map_err(rusqlite::Error::from)? {
        summary.metadata = Some(RawJson::parse(metadata).map_err(damaged)?);
    }
    Ok(summary)
}
