//! Rows of the log, as a damaged disk or another version may contain them.

use acpd_log::chunk::{ChunkBuilder, RowSpan, encode, pack};
use acpd_model::ThreadId;
use acpd_model::event::Event;
use acpd_proto::projection::{Live, Transcript};
use acpd_proto::surface::export::{Export, Format};
use uuid::Uuid;

use crate::Target;

/// A byte with the number of expected events, then a row. Invariants: damage is an error, a decoded row encodes and
/// decodes to the same events, and views and exports accept any event.
pub const LOG_ROWS: Target = Target {
    name: "log_rows",
    run: log_rows,
    words: &[
        "\u{1}\u{1e}",
        "\u{1e}",
        "\n",
        "{\"seq\":1",
        "\"at\":1",
        "\"kind\":",
        "\u{81}",
        "{}",
        "null",
    ],
};

const THREAD: ThreadId = ThreadId(Uuid::from_u128(0x0192_f0c1_c5d7_7c0a_a5e5_f8d9_a1b2_c3d4));

fn read(count: u64, row: &[u8]) -> Option<Vec<Event>> {
    let mut filling = ChunkBuilder::new(THREAD, 0);
    filling.add(RowSpan::own(1, count), row).ok()?;
    Some(filling.finish().events)
}

fn log_rows(input: &[u8]) {
    let Some((count, row)) = input.split_first() else {
        return;
    };
    let Some(events) = read(u64::from(*count).max(1), row) else {
        return;
    };
    let mut live = Live::new(THREAD);
    let mut transcript = Transcript::default();
    for event in &events {
        live.fold(event);
        transcript.fold(event);
    }
    for format in [Format::Jsonl, Format::Markdown, Format::Html] {
        let mut out = Vec::new();
        let mut export = Export::begin(format, THREAD, &live.summary, &mut out);
        for event in &events {
            export.fold(event, &mut out);
        }
        export.finish(&mut out);
        let text = String::from_utf8(out).expect("an export is UTF-8");
        if format == Format::Jsonl {
            for line in text.lines() {
                assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{line}");
            }
        }
    }
    // Event kinds of other versions are read and never written.
    let Ok(rows) = encode(&events) else { return };
    // The input is smaller than a row.
    let [row] = &rows[..] else { return };
    let mut room = Vec::new();
    let packed = pack(&row.body, &mut room);
    let count = u64::try_from(events.len()).unwrap_or(u64::MAX);
    assert_eq!(read(count, packed).as_ref(), Some(&events));
}
