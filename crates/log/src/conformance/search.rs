//! What a search returns.

use acpd_model::limits::SEARCH_TEXT_BYTES;
use acpd_model::{Extract, ItemId, SearchHit, SearchableText, Seq, TextKind, ThreadId, TurnId, TurnsDropped};

use super::sample;
use crate::{Lacking, Search, SearchCursor, SharedLog};

async fn create(log: &SharedLog, extract: &Extract) -> ThreadId {
    let thread = sample::new_thread();
    let summary = sample::summary("searched", 1);
    log.append_with(thread, &sample::run(1..=1, 10), Some(&summary), extract)
        .await
        .unwrap();
    thread
}

async fn find(log: &SharedLog, thread: Option<ThreadId>, text: &str) -> Vec<SearchHit> {
    let text = text.to_owned();
    let hits = log.search(Search { text, thread }, None, 99).await.unwrap();
    hits.into_iter().map(|(_, hit)| hit).collect()
}

/// Returns the snippet of a hit, with the matches in brackets.
fn shown(hit: &SearchHit) -> String {
    let pieces = hit.snippet.iter();
    let shown = pieces.map(|piece| {
        if piece.hit {
            format!("[{}]", piece.text)
        } else {
            piece.text.clone()
        }
    });
    shown.collect()
}

pub(super) async fn words_are_found(log: &SharedLog) {
    let texts = [
        "Fix the login bug, please",
        "I changed src/auth/token.ts and snake_case_name",
        "修复登录错误，然后运行测试",
        "L'ÉTÉ était trop chaud",
        "100% \"sure\" -- (really?)",
    ];
    let thread = create(log, &sample::extract(1, &texts)).await;
    for (query, expected) in [
        ("login", "Fix the [login] bug, please"),
        ("LOGIN please", "Fix the [login] bug, [please]"),
        ("log", "Fix the [login] bug, please"),
        ("\"the login\"", "Fix [the login] bug, please"),
        ("auth", "I changed src/[auth]/token.ts and snake_case_name"),
        ("token.ts", "I changed src/auth/[token.ts] and snake_case_name"),
        (
            "src/auth/token.ts",
            "I changed [src/auth/token.ts] and snake_case_name",
        ),
        ("snake_case", "I changed src/auth/token.ts and [snake_case]_name"),
        ("case", "I changed src/auth/token.ts and snake_[case]_name"),
        ("登录", "修复[登录]错误，然后运行测试"),
        ("测试 修", "[修]复登录错误，然后运行[测试]"),
        ("ete etai", "L'[ÉTÉ] [était] trop chaud"),
        ("100% sure", "[100]% \"[sure]\" -- (really?)"),
    ] {
        let hits = find(log, Some(thread), query).await;
        assert_eq!(hits.iter().map(shown).collect::<Vec<_>>(), [expected], "{query}");
    }
    for query in [
        "",
        "*",
        "\"",
        "(",
        "log fix",
        "\"login the\"",
        "\"log\"",
        "登错",
        "logins",
        "f",
        "scope:1",
        "login NOT bug",
        "ts/token",
    ] {
        assert_eq!(find(log, Some(thread), query).await, [], "{query}");
    }
}

pub(super) async fn a_hit_leads_to_its_event(log: &SharedLog) {
    let word = sample::unique_word();
    let texts = TextKind::ALL
        .into_iter()
        .zip(1..)
        .map(|(kind, seq)| SearchableText {
            seq,
            at: 1_700_000_000_000 + seq.cast_signed(),
            turn: (seq > 1).then_some(TurnId(2)),
            item: (seq > 2).then_some(ItemId(u32::MAX)),
            kind,
            text: format!("the {word}"),
        });
    let texts: Vec<_> = texts.collect();
    let extract = Extract {
        texts: texts.clone(),
        ..Extract::default()
    };
    let thread = create(log, &extract).await;
    let hits = find(log, None, &word).await;
    assert_eq!(hits.len(), texts.len());
    for (hit, found) in hits.iter().zip(texts.iter().rev()) {
        assert_eq!((hit.thread, hit.name.as_deref()), (thread, Some("searched")));
        assert_eq!((hit.seq, hit.at, hit.kind), (found.seq, found.at, found.kind));
        assert_eq!((hit.turn, hit.item), (found.turn, found.item));
        assert_eq!(shown(hit), format!("the [{word}]"));
    }
    let renamed = sample::summary("renamed", 2);
    log.append(thread, &sample::run(2..=2, 10), Some(&renamed))
        .await
        .unwrap();
    assert_eq!(find(log, None, &word).await[0].name.as_deref(), Some("renamed"));
}

pub(super) async fn newest_hits_come_first(log: &SharedLog) {
    let word = sample::unique_word();
    let at = |at, text: &str| {
        let mut extract = sample::extract(1, &[text]);
        extract.texts[0].at = at;
        extract
    };
    // Ordered by time, not by the order of appends. At the same time, the later append is the newer one.
    let mut threads = Vec::new();
    for moment in [30, 10, 20, 20, -5] {
        threads.push(create(log, &at(moment, &format!("{word} at {moment}"))).await);
    }
    let order = [threads[0], threads[3], threads[2], threads[1], threads[4]];
    let hits = find(log, None, &word).await;
    assert_eq!(hits.iter().map(|hit| hit.thread).collect::<Vec<_>>(), order);
    assert_eq!(hits[4].at, 0, "before the epoch is at its beginning");

    let page = async |cursor: Option<SearchCursor>, limit| {
        let search = Search {
            text: word.clone(),
            thread: None,
        };
        let hits = log.search(search, cursor, limit).await.unwrap();
        let threads: Vec<_> = hits.iter().map(|(_, hit)| hit.thread).collect();
        (threads, hits.last().map(|(cursor, _)| *cursor))
    };
    let (first, cursor) = page(None, 2).await;
    assert_eq!(first, order[..2]);
    let new = create(log, &at(40, &word)).await;
    log.delete(order[1]).await.unwrap();
    let (rest, _) = page(cursor, 9).await;
    assert_eq!(rest, order[2..]);
    assert_eq!(page(None, 1).await.0, [new]);
    assert_eq!(page(None, 0).await.0, []);
    let again = cursor.unwrap().to_string().parse().unwrap();
    assert_eq!(page(Some(again), 1).await.0, order[2..3]);
}

pub(super) async fn one_thread_can_be_searched(log: &SharedLog) {
    let word = sample::unique_word();
    let one = create(log, &sample::extract(1, &[&word])).await;
    let other = create(log, &sample::extract(1, &[&word, &word])).await;
    assert_eq!(find(log, Some(one), &word).await.len(), 1);
    assert_eq!(find(log, Some(other), &word).await.len(), 2);
    assert_eq!(find(log, None, &word).await.len(), 3);
    assert_eq!(find(log, Some(sample::new_thread()), &word).await, []);
}

pub(super) async fn texts_are_stored_with_their_events(log: &SharedLog) {
    let word = sample::unique_word();
    let thread = create(log, &Extract::default()).await;
    let extract = sample::extract(2, &[&word]);
    for seqs in [1..=1, 3..=4] {
        log.append_with(thread, &sample::run(seqs, 10), None, &extract)
            .await
            .unwrap_err();
    }
    assert_eq!(find(log, None, &word).await, []);
    log.append_with(thread, &sample::run(2..=2, 10), None, &extract)
        .await
        .unwrap();
    assert_eq!(find(log, None, &word).await.len(), 1);
    // The thread has no backlog, so this adds nothing.
    log.catch_up(thread, Lacking::Texts, 2, &extract, None)
        .await
        .unwrap();
    assert_eq!(find(log, None, &word).await.len(), 1);
}

pub(super) async fn dropped_text_is_not_found(log: &SharedLog) {
    let word = sample::unique_word();
    let text = |seq: Seq, turn: Option<u32>| SearchableText {
        seq,
        turn: turn.map(TurnId),
        text: format!("{word} {seq}"),
        ..sample::extract(seq, &["x"]).texts.remove(0)
    };
    let texts = [
        text(1, None),
        text(2, Some(1)),
        text(3, None),
        text(4, Some(2)),
        text(5, None),
        text(6, Some(3)),
    ];
    let said = Extract {
        texts: texts.to_vec(),
        ..Extract::default()
    };
    let summary = sample::summary("dropped", 1);
    let (thread, other) = (sample::new_thread(), sample::new_thread());
    for thread in [thread, other] {
        log.append_with(thread, &sample::run(1..=6, 10), Some(&summary), &said)
            .await
            .unwrap();
    }
    let found = async |thread| {
        let hits = find(log, Some(thread), &word).await;
        hits.iter().map(|hit| hit.seq).collect::<Vec<_>>()
    };
    // In the same append as a text of the next turn.
    let drops = |seq, last_kept: Option<u32>| Extract {
        texts: vec![text(seq + 1, Some(4))],
        dropped: vec![TurnsDropped {
            seq,
            last_kept: last_kept.map(TurnId),
        }],
        ..Extract::default()
    };
    log.append_with(thread, &sample::run(7..=8, 10), None, &drops(7, Some(1)))
        .await
        .unwrap();
    assert_eq!(found(thread).await, [8, 3, 2, 1]);
    assert_eq!(found(other).await, [6, 5, 4, 3, 2, 1], "it is another thread's");
    log.append_with(thread, &sample::run(9..=10, 10), None, &drops(9, None))
        .await
        .unwrap();
    assert_eq!(
        found(thread).await,
        [10, 1],
        "what came before the first turn stays"
    );
}

pub(super) async fn long_text_is_searched_in_part(log: &SharedLog) {
    let (early, late) = (sample::unique_word(), sample::unique_word());
    let text = format!("{early} {} {late}", "é".repeat(SEARCH_TEXT_BYTES));
    create(log, &sample::extract(1, &[&text])).await;
    assert_eq!(find(log, None, &early).await.len(), 1);
    assert_eq!(find(log, None, &late).await, []);
}
