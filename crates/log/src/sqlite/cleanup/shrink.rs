//! Returns free pages to the file system, a bounded number at a time. All functions run inside the transaction of their
//! caller.
//!
//! Only for databases that record which page refers to each page. [`files`](super::super::files) creates such databases.
use rusqlite::Connection;

/// Free pages of the database that one step returns to the file system.
const LOG_SHRINK_PAGES: i64 = 64;
/// Free pages of the database that are kept for new data.
const LOG_FREE_PAGES: i64 = 1024;

/// Returns some free pages. Returns whether there were more than are kept for new data.
///
/// This moves pages with all their remains of erased rows, so no page may wait for its visit.
pub(super) fn step(connection: &Connection) -> rusqlite::Result<bool> {
    let number =
        |sql| -> rusqlite::Result<i64> { connection.prepare_cached(sql)?.query_row((), |row| row.get(0)) };
    if number("PRAGMA auto_vacuum")? == 0 || number("PRAGMA freelist_count")? <= LOG_FREE_PAGES {
        return Ok(false);
    }
    let mut vacuum = connection.prepare_cached(&format!("PRAGMA incremental_vacuum({LOG_SHRINK_PAGES})"))?;
    let mut moved = vacuum.query(())?;
    while moved.next()?.is_some() {}
    Ok(true)
}
