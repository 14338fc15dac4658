//! Overwrites remains of erased rows in the pages of the database, a bounded number of pages at a time. All functions
//! run inside the transaction of their caller.
//!
//! When `SQLite` divides the rows of some pages anew, it leaves the old bytes in the unused part of each page. A later
//! removal of a row overwrites the row, but not such copies of it. The unused part of a page stays where it is until the
//! page is freed, which overwrites all of it. So one visit to each page after an erasure finds every remain.
use rusqlite::{Connection, OptionalExtension};

/// Pages of the database that one step searches for remains of deleted data.
const LOG_SCRUB_READS: i64 = 256;
/// Pages of the database that one step rewrites without such remains.
const LOG_SCRUB_WRITES: usize = 64;
/// Bytes of the database's header, before the header of the first page.
const DATABASE_HEADER: usize = 100;

/// Place of the size of a page's reserved end, in the database's header.
const RESERVED: usize = 20;

/// The result of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scrubbed {
    /// Nothing was erased since the last visit of all pages.
    Clean,
    /// Some pages were visited.
    Some,
    /// All pages are visited. The write-ahead log may still have old versions of them.
    All,
}

/// Makes the following steps visit every page.
pub(super) fn begin(connection: &Connection) -> rusqlite::Result<()> {
    let pages = page_count(connection)?;
    // Pages before `next` were visited, but before this erasure.
    let going_on = connection
        .prepare_cached("UPDATE page_scrub SET last = ?, again = next - 1")?
        .execute([pages])?;
    if going_on == 0 {
        connection
            .prepare_cached("INSERT INTO page_scrub VALUES (1, ?, 0)")?
            .execute([pages])?;
    }
    Ok(())
}

/// Records that the write-ahead log has no old versions of pages either.
pub(super) fn end(connection: &Connection) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM page_scrub")?.execute(())?;
    Ok(())
}

/// Visits the next pages.
pub(super) fn step(connection: &Connection) -> rusqlite::Result<Scrubbed> {
    let due = connection
        .prepare_cached("SELECT next, last, again FROM page_scrub")?
        .query_row((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((next, last, again)) = due else {
        return Ok(Scrubbed::Clean);
    };
    let pages = page_count(connection)?;
    let last: i64 = pages.min(last);
    if next > last && again == 0 {
        return Ok(Scrubbed::All);
    }
    let (next, last, again): (i64, i64, i64) = if next > last {
        (1, again, 0)
    } else {
        (next, last, again)
    };
    let end = last.min(next + LOG_SCRUB_READS - 1);
    let maps = PointerMaps::read(connection)?;
    let (mut at, mut written) = (next, 0);
    while at <= end && written < LOG_SCRUB_WRITES {
        if !maps.contain(at) && scrub(connection, at, pages)? {
            written += 1;
        }
        at += 1;
    }
    connection
        .prepare_cached("UPDATE page_scrub SET next = ?, last = ?, again = ?")?
        .execute((at, last, again))?;
    Ok(Scrubbed::Some)
}

/// The pages that only record which page refers to each page. Databases that can shrink have them.
///
/// <https://www.sqlite.org/fileformat.html#pointer_map_or_ptrmap_pages>
#[derive(Debug, Clone, Copy)]
struct PointerMaps {
    /// Distance of two such pages. 0 if there are none.
    distance: i64,
    /// The page that `SQLite` leaves out for its locks.
    lock_page: i64,
}

impl PointerMaps {
    fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let number = |sql| -> rusqlite::Result<i64> {
            connection.prepare_cached(sql)?.query_row((), |row| row.get(0))
        };
        let page_size = number("PRAGMA page_size")?;
        let reserved = connection
            .prepare_cached("SELECT data FROM sqlite_dbpage WHERE pgno = 1")?
            .query_row((), |row| Ok(row.get_ref(0)?.as_blob()?.get(RESERVED).copied()))?;
        let usable = page_size - i64::from(reserved.unwrap_or(0));
        Ok(Self {
            distance: if number("PRAGMA auto_vacuum")? == 0 {
                0
            } else {
                usable / 5 + 1
            },
            lock_page: (1 << 30) / page_size + 1,
        })
    }

    fn contain(self, page: i64) -> bool {
        if self.distance == 0 || page < 2 {
            return false;
        }
        let map = (page - 2) / self.distance * self.distance + 2;
        let map = if map == self.lock_page { map + 1 } else { map };
        map == page
    }
}

/// Overwrites the unused parts of a page. Returns whether they had content.
fn scrub(connection: &Connection, number: i64, pages: i64) -> rusqlite::Result<bool> {
    let cleaned = connection
        .prepare_cached("SELECT data FROM sqlite_dbpage WHERE pgno = ?")?
        .query_row([number], |row| {
            let page = row.get_ref(0)?.as_blob()?;
            Ok(cleaned(page, number, pages))
        })?;
    let Some(cleaned) = cleaned else {
        return Ok(false);
    };
    connection
        .prepare_cached("UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?")?
        .execute((cleaned, number))?;
    Ok(true)
}

/// Returns the page with zeroes in its unused parts, or `None` if they are zero, or if this is not a page of a b-tree.
///
/// All other pages begin with zeroes or with the number of another page. A page of a b-tree that could also be read as
/// such a number is left as it is. That needs a database of more than 128 GiB for the inner pages of indexes, and of more
/// than 640 GiB for pages with rows.
fn cleaned(page: &[u8], number: i64, pages: i64) -> Option<Vec<u8>> {
    let at_start = if number == 1 { DATABASE_HEADER } else { 0 };
    let link = u32::from_be_bytes(page.get(..4)?.try_into().ok()?);
    if i64::from(link) <= pages {
        return None;
    }
    let field = |offset: usize| -> Option<usize> {
        let bytes = page.get(offset..offset + 2)?;
        Some(usize::from(u16::from_be_bytes(bytes.try_into().ok()?)))
    };
    let header = match page.get(at_start)? {
        2 | 5 => 12,
        10 | 13 => 8,
        _ => return None,
    };
    let gap_start = at_start + header + 2 * field(at_start + 3)?;
    let gap_end = match field(at_start + 5)? {
        0 => 1 << 16,
        end => end,
    };
    let mut unused = Vec::new();
    unused.push(gap_start..gap_end);
    let mut block = field(at_start + 1)?;
    let mut before = gap_end;
    while block != 0 {
        // Blocks are in their order. Anything else is damage, and not for this code to change.
        if block < before {
            return None;
        }
        before = block + field(block + 2)?;
        unused.push(block + 4..before);
        block = field(block)?;
    }
    let dirty = |range: &std::ops::Range<usize>| {
        page.get(range.clone())
            .map(|bytes| bytes.iter().any(|byte| *byte != 0))
    };
    if !unused
        .iter()
        .map(dirty)
        .collect::<Option<Vec<_>>>()?
        .contains(&true)
    {
        return None;
    }
    let mut cleaned = page.to_vec();
    for range in unused {
        cleaned[range].fill(0);
    }
    Some(cleaned)
}

fn page_count(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("PRAGMA page_count")?
        .query_row((), |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "xylophagous";

    /// Creates a database where `SQLite` has left copies of removed rows.
    fn with_remains(auto_vacuum: &str) -> Connection {
        let database = Connection::open_in_memory().unwrap();
        database.pragma_update(None, "auto_vacuum", auto_vacuum).unwrap();
        database.pragma_update(None, "secure_delete", true).unwrap();
        database
            .execute_batch(
                "CREATE TABLE page_scrub (next INTEGER PRIMARY KEY, last INTEGER NOT NULL, again INTEGER NOT NULL);
                 CREATE TABLE text (id INTEGER PRIMARY KEY, body TEXT)",
            )
            .unwrap();
        add_remains(&database);
        assert!(remains(&database) > 0, "SQLite leaves nothing behind");
        database
    }

    /// Rows that are inserted in no order make `SQLite` divide its pages anew.
    fn add_remains(database: &Connection) {
        database.execute_batch("BEGIN").unwrap();
        let mut id: i64 = 1;
        for _ in 0..20_000 {
            id = id * 7919 % 1_000_003;
            let word = if id % 2 == 0 { "ordinary" } else { SECRET };
            let body = word.repeat(1 + usize::try_from(id % 50).unwrap());
            database
                .execute("INSERT OR IGNORE INTO text VALUES (?, ?)", (id, body))
                .unwrap();
        }
        database
            .execute("DELETE FROM text WHERE id % 2 <> 0", ())
            .unwrap();
        database.execute_batch("COMMIT").unwrap();
    }

    /// Returns how often the removed text is in the pages.
    fn remains(database: &Connection) -> usize {
        let mut pages = database.prepare("SELECT data FROM sqlite_dbpage").unwrap();
        pages
            .query_map((), |row| row.get::<_, Vec<u8>>(0))
            .unwrap()
            .map(|page| memchr::memmem::find_iter(&page.unwrap(), SECRET).count())
            .sum()
    }

    fn visit_all(database: &Connection) {
        while step(database).unwrap() == Scrubbed::Some {}
        end(database).unwrap();
    }

    fn rows(database: &Connection) -> (String, i64, i64) {
        let sound = database
            .query_row("PRAGMA integrity_check", (), |row| row.get(0))
            .unwrap();
        let (rows, bytes) = database
            .query_row("SELECT count(*), sum(length(body)) FROM text", (), |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .unwrap();
        (sound, rows, bytes)
    }

    #[test]
    fn copies_of_removed_rows_are_overwritten() {
        for auto_vacuum in ["NONE", "INCREMENTAL"] {
            let database = with_remains(auto_vacuum);
            assert_eq!(step(&database).unwrap(), Scrubbed::Clean, "nothing was erased");
            let before = rows(&database);
            assert_eq!(before.0, "ok");
            begin(&database).unwrap();
            visit_all(&database);
            assert_eq!(remains(&database), 0);
            assert_eq!(rows(&database), before);
            assert_eq!(step(&database).unwrap(), Scrubbed::Clean);
        }
    }

    #[test]
    fn an_erasure_during_a_visit_makes_it_return_to_the_first_pages() {
        let database = with_remains("INCREMENTAL");
        begin(&database).unwrap();
        for _ in 0..3 {
            assert_eq!(step(&database).unwrap(), Scrubbed::Some);
        }
        let visited: i64 = database
            .query_row("SELECT next - 1 FROM page_scrub", (), |row| row.get(0))
            .unwrap();
        assert!(
            visited < page_count(&database).unwrap(),
            "all {visited} pages are visited"
        );
        database.execute("DELETE FROM text", ()).unwrap();
        add_remains(&database);
        begin(&database).unwrap();
        visit_all(&database);
        assert_eq!(remains(&database), 0);
        assert_eq!(rows(&database).0, "ok");
    }

    #[test]
    fn other_pages_stay_as_they_are() {
        // The start of a page of rows, as the content of a page that continues a large row.
        let mut page = vec![7; 4096];
        page[..8].copy_from_slice(&[13, 0, 0, 0, 1, 15, 0, 0]);
        assert!(cleaned(&page, 2, 1000).is_some());
        let pages = i64::from(u32::from_be_bytes([13, 0, 0, 0]));
        assert_eq!(cleaned(&page, 2, pages), None);
        page[0] = 0;
        assert_eq!(cleaned(&page, 2, 1000), None);
    }

    #[test]
    fn damaged_pages_stay_as_they_are() {
        let mut page = vec![7; 4096];
        for (header, why) in [
            ([13, 0, 0, 255, 255, 15, 0, 0], "more rows than fit"),
            ([13, 0, 9, 0, 1, 15, 0, 0], "a free block before the rows"),
            ([13, 15, 250, 0, 1, 15, 0, 0], "a free block beyond the page"),
            ([13, 0, 0, 0, 1, 0, 1, 0], "rows before the header"),
            ([13, 0, 0, 0, 1, 255, 0, 0], "rows beyond the page"),
        ] {
            page[..8].copy_from_slice(&header);
            assert_eq!(cleaned(&page, 2, 1000), None, "{why}");
        }
        assert_eq!(cleaned(&page[..3], 2, 1000), None);
    }
}
