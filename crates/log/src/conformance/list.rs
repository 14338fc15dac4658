//! Which threads a list returns, and in which order.

use acpd_model::event::TurnStatus;
use acpd_model::{Millis, Summary, ThreadId, ThreadStatus};

use super::sample;
use crate::{Filter, ListCursor, SharedLog};

/// Returns a filter for the threads of one check. They have a working directory of their own, since checks may share a
/// log.
fn only(cwd: &str) -> Filter {
    Filter {
        cwd: Some(cwd.into()),
        ..Filter::default()
    }
}

async fn create(
    log: &SharedLog,
    cwd: &str,
    updated_at: Millis,
    change: impl FnOnce(&mut Summary),
) -> ThreadId {
    let thread = sample::new_thread();
    let mut summary = sample::summary("listed", updated_at);
    cwd.clone_into(&mut summary.cwd);
    change(&mut summary);
    log.append(thread, &[sample::event(1, 10)], Some(&summary))
        .await
        .unwrap();
    thread
}

async fn page(
    log: &SharedLog,
    filter: &Filter,
    cursor: Option<ListCursor>,
    limit: usize,
) -> (Vec<ThreadId>, Option<ListCursor>) {
    let listed = log.list(filter.clone(), cursor, limit).await.unwrap();
    assert!(listed.len() <= limit);
    let cursor = listed.last().map(|last| ListCursor {
        updated_at: last.summary.updated_at,
        thread: last.thread,
    });
    (listed.iter().map(|listed| listed.thread).collect(), cursor)
}

pub(super) async fn newest_first_page_by_page(log: &SharedLog) {
    let cwd = sample::new_thread().to_string();
    let mut expected = Vec::new();
    for updated_at in [5, 3, 3, 9, 3, Millis::MIN, Millis::MAX, -1] {
        expected.push((updated_at, create(log, &cwd, updated_at, |_| {}).await));
    }
    expected.sort_unstable();
    let expected: Vec<_> = expected.into_iter().rev().map(|(_, thread)| thread).collect();
    let filter = only(&cwd);
    assert_eq!(page(log, &filter, None, usize::MAX).await.0, expected);
    assert_eq!(page(log, &filter, None, 0).await.0, []);
    for limit in 1..=expected.len() {
        let (mut seen, mut cursor) = page(log, &filter, None, limit).await;
        while cursor.is_some() {
            let (more, next) = page(log, &filter, cursor, limit).await;
            seen.extend(more);
            cursor = next;
        }
        assert_eq!(seen, expected, "pages of {limit}");
    }
    let listed = log.list(filter, None, 1).await.unwrap();
    assert_eq!(
        log.summary(listed[0].thread).await.as_ref(),
        Ok(&listed[0].summary)
    );
}

pub(super) async fn a_page_ends_by_its_bytes(log: &SharedLog) {
    let cwd = sample::new_thread().to_string();
    let mut expected = Vec::new();
    for updated_at in 1..=5 {
        expected.push(create(log, &cwd, updated_at, |_| {}).await);
    }
    expected.reverse();
    let all = log.list(only(&cwd), None, usize::MAX).await.unwrap();
    let of_one = all[0].summary.weight();
    for (bytes, on_page) in [
        (0, 1),
        (of_one - 1, 1),
        (of_one, 2),
        (of_one * 3, 4),
        (of_one * 9, 5),
    ] {
        // A part of each name as well, which is looked up in another way.
        for search in [None, Some("istE".to_owned())] {
            let filter = Filter {
                page_bytes: Some(bytes),
                search,
                ..only(&cwd)
            };
            let (found, cursor) = page(log, &filter, None, 9).await;
            assert_eq!(found, expected[..on_page], "{bytes} bytes");
            let (next, _) = page(log, &filter, cursor, 1).await;
            assert_eq!(next[..], expected[on_page..(on_page + 1).min(5)]);
        }
    }
}

pub(super) async fn paging_is_stable(log: &SharedLog) {
    let cwd = sample::new_thread().to_string();
    let mut threads = Vec::new();
    for updated_at in 0..6 {
        threads.push(create(log, &cwd, updated_at, |_| {}).await);
    }
    threads.reverse();
    let filter = only(&cwd);
    let (seen, cursor) = page(log, &filter, None, 2).await;
    assert_eq!(seen, threads[..2]);

    let new = create(log, &cwd, 100, |_| {}).await;
    let mut moved = sample::summary("moved", 101);
    moved.cwd.clone_from(&cwd);
    log.append(threads[1], &[sample::event(2, 10)], Some(&moved))
        .await
        .unwrap();
    assert_eq!(page(log, &filter, cursor, 9).await.0, threads[2..]);
    let rest = [&[threads[1], new, threads[0]], &threads[2..]].concat();
    assert_eq!(page(log, &filter, None, 9).await.0, rest);
}

pub(super) async fn filters_narrow(log: &SharedLog) {
    let cwd = sample::new_thread().to_string();
    let plain = create(log, &cwd, 1, |_| {}).await;
    let archived = create(log, &cwd, 2, |summary| summary.archived = true).await;
    let running = create(log, &cwd, 3, |summary| summary.status = ThreadStatus::Running).await;
    let waiting = create(log, &cwd, 4, |summary| summary.status = ThreadStatus::Waiting).await;
    let other = create(log, &cwd, 5, |summary| summary.agent = "other".into()).await;
    let named = create(log, &cwd, 6, |summary| {
        summary.name = Some("50%_ÄRGER \\ 'q'".into());
        summary.last_turn = Some(TurnStatus::Failed);
        summary.session_id = Some("s-1".into());
    })
    .await;
    let nameless = create(log, &cwd, 7, |summary| summary.name = None).await;
    let pinned = create(log, &cwd, 0, |summary| {
        summary.pinned = true;
        summary.archived = true;
    })
    .await;
    let narrowed_to_pins = |is| {
        let mut filter = only(&cwd);
        filter.pinned = Some(is);
        async move { page(log, &filter, None, 99).await.0 }
    };
    assert_eq!(narrowed_to_pins(true).await, [pinned]);
    assert!(!narrowed_to_pins(false).await.contains(&pinned));
    let unpinned = Summary {
        cwd: cwd.clone(),
        archived: true,
        ..sample::summary("listed", 0)
    };
    log.append(pinned, &[sample::event(2, 10)], Some(&unpinned))
        .await
        .unwrap();
    assert_eq!(narrowed_to_pins(true).await, []);
    log.delete(pinned).await.unwrap();
    let all = [nameless, named, other, waiting, running, archived, plain];

    let narrowed = |change: &dyn Fn(&mut Filter)| {
        let mut filter = only(&cwd);
        change(&mut filter);
        async move { page(log, &filter, None, 99).await.0 }
    };
    assert_eq!(narrowed(&|_| {}).await, all);
    assert_eq!(narrowed(&|filter| filter.archived = Some(true)).await, [archived]);
    assert_eq!(
        narrowed(&|filter| filter.archived = Some(false)).await,
        [nameless, named, other, waiting, running, plain]
    );
    assert_eq!(
        narrowed(&|filter| filter.active = Some(true)).await,
        [waiting, running]
    );
    assert_eq!(
        narrowed(&|filter| filter.active = Some(false)).await,
        [nameless, named, other, archived, plain]
    );
    let doing = |status| narrowed(&move |filter| filter.status = Some(status));
    assert_eq!(doing(ThreadStatus::Running).await, [running]);
    assert_eq!(doing(ThreadStatus::Waiting).await, [waiting]);
    let ended = |end| narrowed(&move |filter| filter.last_turn = Some(end));
    assert_eq!(ended(TurnStatus::Failed).await, [named]);
    assert_eq!(ended(TurnStatus::Refused).await, []);
    let of = |session: &'static str| narrowed(&move |filter| filter.session_id = Some(session.into()));
    assert_eq!(of("s-1").await, [named]);
    assert_eq!(of("s-2").await, []);
    let failed_page = Filter {
        active: Some(false),
        last_turn: Some(TurnStatus::Failed),
        ..only(&cwd)
    };
    assert_eq!(page(log, &failed_page, None, 1).await.0, [named]);
    assert_eq!(
        narrowed(&|filter| filter.agent = Some("other".into())).await,
        [other]
    );
    assert_eq!(narrowed(&|filter| filter.cwd = Some("/".into())).await, []);
    for search in ["ärger", "0%_ä", "\\", "'Q'"] {
        let found = narrowed(&|filter| filter.search = Some(search.into())).await;
        assert_eq!(found, [named], "{search}");
    }
    let id = plain.to_string();
    for part in [&id[..], &id[..13], &id[28..], &id[30..].to_uppercase()] {
        let found = narrowed(&|filter| filter.id = part.parse().ok()).await;
        assert!(found.contains(&plain), "{part}");
        let others = all.iter().filter(|other| {
            let digits = |id: &str| id.replace('-', "").to_lowercase();
            let (id, part) = (digits(&other.to_string()), digits(part));
            id.starts_with(&part) || id.ends_with(&part)
        });
        assert_eq!(found, others.copied().collect::<Vec<_>>(), "{part}");
    }
    for search in ["5%r", "50__", "*", "\""] {
        let found = narrowed(&|filter| filter.search = Some(search.into())).await;
        assert_eq!(found, [], "{search}");
    }
    assert_eq!(narrowed(&|filter| filter.search = Some(String::new())).await, all);
    let both = |filter: &mut Filter| {
        filter.search = Some("listed".into());
        filter.active = Some(true);
        filter.archived = Some(true);
    };
    assert_eq!(narrowed(&both).await, []);
}

pub(super) async fn filters_combine(log: &SharedLog) {
    let cwd = sample::new_thread().to_string();
    let mut threads = Vec::new();
    for number in 0..24_usize {
        let summary = |summary: &mut Summary| {
            summary.archived = number % 2 == 0;
            summary.agent = ["one", "other"][number / 2 % 2].into();
            summary.status = [ThreadStatus::Idle, ThreadStatus::Running][number / 4 % 2];
            summary.last_turn = [None, Some(TurnStatus::Failed), Some(TurnStatus::Completed)][number / 8];
            summary.name = ["Fix it", "fixed", ""].get(number % 4).map(|name| (*name).into());
            summary.session_id = Some(format!("s-{}", number % 5));
        };
        let mut expected = sample::summary("listed", 0);
        summary(&mut expected);
        threads.push((create(log, &cwd, 0, summary).await, expected));
    }
    threads.sort_by_key(|(thread, _)| std::cmp::Reverse(*thread));
    let conditions: [&dyn Fn(&mut Filter); 10] = [
        &|filter| filter.archived = Some(true),
        &|filter| filter.archived = Some(false),
        &|filter| filter.agent = Some("other".into()),
        &|filter| filter.active = Some(true),
        &|filter| filter.status = Some(ThreadStatus::Idle),
        &|filter| filter.last_turn = Some(TurnStatus::Failed),
        &|filter| filter.session_id = Some("s-3".into()),
        &|filter| filter.search = Some("FIX".into()),
        &|filter| filter.search = Some("x".into()),
        &|filter| filter.id = "7".parse().ok(),
    ];
    for one in conditions {
        for other in conditions {
            let mut filter = Filter::default();
            one(&mut filter);
            other(&mut filter);
            let admitted = threads
                .iter()
                .filter(|(thread, summary)| filter.admits(*thread, summary));
            let expected: Vec<_> = admitted.map(|(thread, _)| *thread).collect();
            filter.cwd = Some(cwd.clone());
            let mut found = Vec::new();
            let mut cursor = None;
            loop {
                let (threads, next) = page(log, &filter, cursor, 2).await;
                if threads.is_empty() {
                    break;
                }
                found.extend(threads);
                cursor = next;
            }
            assert_eq!(found, expected, "{filter:?}");
        }
    }
}
