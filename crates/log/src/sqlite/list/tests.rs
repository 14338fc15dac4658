//! Lists along indices and by packed rows.

use acpd_model::{Millis, Summary};

use super::*;
use crate::append::Append;
use crate::conformance::sample;
use crate::sqlite::change::{Batch, Change};
use crate::sqlite::schema;
use crate::sqlite::store::Store;

const THREADS: u64 = 300;

/// Each thread is a different combination of what filters compare.
fn summary(number: u64) -> Summary {
    let one_of = |divisor: u64, values: &[&'static str]| {
        let count = u64::try_from(values.len()).unwrap();
        let index = usize::try_from(number / divisor % count).unwrap();
        values[index]
    };
    let updated_at = Millis::try_from(number * 7 % 50).unwrap();
    Summary {
        agent: one_of(2, &["one", "other"]).into(),
        cwd: one_of(4, &["/a", "/b", "/c"]).into(),
        status: match number % 11 {
            0 => ThreadStatus::Running,
            1 => ThreadStatus::Waiting,
            2 => ThreadStatus::Deleting,
            _ => ThreadStatus::Idle,
        },
        last_turn: [None, Some(TurnStatus::Failed), Some(TurnStatus::Completed)]
            [usize::try_from(number % 3).unwrap()],
        session_id: (!number.is_multiple_of(5)).then(|| one_of(5, &["s-1", "s-2", "s-3"]).into()),
        archived: number % 2 == 1,
        pinned: number % 6 < 2,
        ..sample::summary(
            one_of(1, &["Fix ÄRGER", "fix it", "", "日本語 x", "s-1"]),
            updated_at,
        )
    }
}

fn store() -> Store {
    let mut connection = Connection::open_in_memory().unwrap();
    schema::migrate(&mut connection).unwrap();
    Store::new(connection)
}

fn append(store: &mut Store, thread: ThreadId, seq: u64, summary: &Summary) {
    let events = [sample::event(seq, 10)];
    let batch = Batch::new(&Append {
        summary: Some(summary),
        ..Append::new(thread, &events)
    });
    let answers = store.store([Change::Append(batch.unwrap())].iter()).unwrap();
    assert_eq!(answers, [Ok(())]);
}

/// Returns filters with one condition, for every kind of condition.
fn conditions() -> Vec<Filter> {
    let mut conditions = Vec::new();
    let mut add = |change: &dyn Fn(&mut Filter)| {
        let mut filter = Filter::default();
        change(&mut filter);
        conditions.push(filter);
    };
    for is in [true, false] {
        add(&|filter| filter.archived = Some(is));
        add(&|filter| filter.active = Some(is));
        add(&|filter| filter.pinned = Some(is));
    }
    for status in [ThreadStatus::Idle, ThreadStatus::Running, ThreadStatus::Deleting] {
        add(&|filter| filter.status = Some(status));
    }
    for status in [TurnStatus::Failed, TurnStatus::Completed, TurnStatus::Limited] {
        add(&|filter| filter.last_turn = Some(status));
    }
    for text in ["one", "/b", "s-2", "none"] {
        add(&|filter| filter.agent = Some(text.into()));
        add(&|filter| filter.cwd = Some(text.into()));
        add(&|filter| filter.session_id = Some(text.into()));
    }
    for text in ["ärg", "i", "", "本語", "none"] {
        add(&|filter| filter.search = Some(text.into()));
    }
    conditions
}

fn pairs() -> Vec<Filter> {
    let conditions = conditions();
    let with = |one| conditions.iter().map(move |other| sample::both(one, other));
    let pairs = conditions.iter().flat_map(with);
    std::iter::once(Filter::default()).chain(pairs).collect()
}

/// Compares pages of every pair of filters with what the summaries say.
fn check(store: &Store, threads: &[(ThreadId, Summary)]) {
    let mut sorted = threads.to_vec();
    sorted.sort_by_key(|(thread, summary)| std::cmp::Reverse((summary.updated_at, *thread)));
    for filter in pairs() {
        let listed = sorted
            .iter()
            .filter(|(thread, summary)| filter.admits(*thread, summary));
        let expected: Vec<ThreadId> = listed.map(|(thread, _)| *thread).collect();
        for (passed_over, limit) in [(0, 7), (0, usize::MAX), (3, 40), (usize::MAX, 40)] {
            let mut found = Vec::new();
            let mut cursor = None;
            loop {
                let page = list_within(store.connection(), &filter, cursor, limit, passed_over).unwrap();
                found.extend(page.iter().map(|listed| listed.thread));
                cursor = page.last().map(|last| ListCursor {
                    updated_at: last.summary.updated_at,
                    thread: last.thread,
                });
                if page.len() < limit {
                    break;
                }
            }
            assert_eq!(
                found, expected,
                "{filter:?}, {passed_over} passed over, {limit} a page"
            );
        }
    }
}

#[test]
fn a_list_is_the_same_along_an_index_and_by_packed_rows() {
    let mut store = store();
    let mut threads: Vec<_> = (0..THREADS)
        .map(|number| (sample::thread(number), summary(number)))
        .collect();
    for (thread, summary) in &threads {
        append(&mut store, *thread, 1, summary);
    }
    check(&store, &threads);

    for (number, (thread, changed)) in (0..).zip(&mut threads).step_by(3) {
        *changed = summary(number + 1);
        append(&mut store, *thread, 2, changed);
    }
    for thread in 100..230 {
        let deleted = Change::Delete(sample::thread(thread));
        assert_eq!(store.store([deleted].iter()).unwrap(), [Ok(())]);
    }
    threads.drain(100..230);
    check(&store, &threads);
    let made = packed_rows(&store);
    blocks::make_all(store.connection()).unwrap();
    assert_eq!(packed_rows(&store), made);
}

fn packed_rows(store: &Store) -> Vec<(i64, Vec<u8>)> {
    let mut rows = store
        .connection()
        .prepare("SELECT block, body FROM thread_block")
        .unwrap();
    let rows = rows.query_map((), |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_damaged_packed_row_is_made_anew() {
    let mut store = store();
    let threads: Vec<_> = (0..100)
        .map(|number| (sample::thread(number), summary(number)))
        .collect();
    for (thread, summary) in &threads {
        append(&mut store, *thread, 1, summary);
    }
    let damage = "UPDATE thread_block SET body = x'01ff00'";
    store.connection().execute_batch(damage).unwrap();
    let nothing = Filter {
        search: Some("nothing".into()),
        ..Filter::default()
    };
    let refused = list_within(store.connection(), &nothing, None, 1, 0);
    assert!(matches!(refused, Err(LogError::Damaged(_))), "{refused:?}");
    for number in [0, 99] {
        let (thread, summary) = &threads[number];
        append(&mut store, *thread, 2, summary);
    }
    check(&store, &threads);
}

/// Walks are neither scans nor sorted. A walk compares as much as its index can.
#[test]
fn every_list_is_a_walk_along_an_index() {
    let mut store = store();
    append(&mut store, sample::thread(1), 1, &summary(1));
    let mut plans = std::collections::BTreeSet::new();
    for filter in pairs() {
        let index = Index::of(&filter);
        let statement = format!("EXPLAIN QUERY PLAN {}", index.statement(filter.archived));
        let mut plan = store.connection().prepare(&statement).unwrap();
        let read = |row: &rusqlite::Row<'_>| row.get::<_, String>("detail");
        let steps = match index.key(&filter) {
            Some(key) => plan.query_map((0, 0, key), read),
            None => plan.query_map((0, 0), read),
        };
        let steps: Vec<String> = steps.unwrap().collect::<Result<_, _>>().unwrap();
        let is_bad = |step: &String| step.contains("SCAN") || step.contains("B-TREE");
        assert!(!steps.iter().any(is_bad), "{filter:?}: {steps:?}");
        plans.extend(steps.into_iter().filter(|step| step.contains("INDEX")));
    }
    let expected = [
        "SEARCH thread USING COVERING INDEX thread_active ((updated_at,uuid)<(?,?))",
        "SEARCH thread USING COVERING INDEX thread_agent (archived=? AND agent=? AND (updated_at,uuid)<(?,?))",
        "SEARCH thread USING COVERING INDEX thread_cwd (archived=? AND cwd=? AND (updated_at,uuid)<(?,?))",
        "SEARCH thread USING COVERING INDEX thread_listed (archived=? AND (updated_at,uuid)<(?,?))",
        "SEARCH thread USING INDEX thread_failed (archived=? AND (updated_at,uuid)<(?,?))",
        "SEARCH thread USING INDEX thread_session (session_id=? AND (updated_at,uuid)<(?,?))",
    ];
    assert_eq!(plans.into_iter().collect::<Vec<_>>(), expected);
}
