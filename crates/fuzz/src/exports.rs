//! Documents of threads whose content others wrote.

use acpd_model::{Event, EventKind, ItemEvent, ItemId, Origin, ThreadId, TurnId};
use acpd_proto::projection::{Live, text_block};
use acpd_proto::surface::export::{Export, Format};
use uuid::Uuid;

use crate::Target;
use crate::support::markup::{html_is_ours, markdown_is_ours};

/// Events, one per line; any other line is a message of the user. Invariants: no text is markup, each tag and each code fence is
/// closed, and no character moves a cursor or reorders text.
pub const EXPORTS: Target = Target {
    name: "exports",
    run: exports,
    words: &[
        "\n",
        "\\n",
        "<script>",
        "</pre>",
        "</details>",
        "<!--",
        "&lt;",
        "&#60;",
        "![x](http://x)",
        "[x]: http://x",
        "`",
        "```",
        "~~~",
        "\\",
        "# x",
        "> ",
        "- ",
        "    x",
        "|",
        "\u{1b}[2J",
        "\\u001b",
        "\u{202e}",
        "\u{0}",
        "\r",
        "\u{2028}",
        "\"title\":\"",
        "\"text\":\"",
    ],
};

const THREAD: ThreadId = ThreadId(Uuid::from_u128(0x0192_f0c1_c5d7_7c0a_a5e5_f8d9_a1b2_c3d4));

/// Maximum number of events. More do not find more, and take longer.
const EVENTS: usize = 64;

fn exports(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let events: Vec<Event> = (1..).zip(text.split('\n').take(EVENTS)).map(event).collect();
    let mut live = Live::new(THREAD);
    for event in &events {
        live.fold(event);
    }
    // The name of the thread is text of others as well.
    live.summary.name = Some(text.chars().take(200).collect());
    for format in [Format::Markdown, Format::Html] {
        let mut out = Vec::new();
        let mut export = Export::begin(format, THREAD, &live.summary, &mut out);
        for event in &events {
            export.fold(event, &mut out);
        }
        export.finish(&mut out);
        let document = String::from_utf8(out).expect("an export is UTF-8");
        if format == Format::Html {
            html_is_ours(&document);
        } else {
            markdown_is_ours(&document);
        }
        let moves = |c: &char| c.is_control() && !matches!(c, '\n' | '\t');
        let reorders = |c: &char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let odd = document.chars().find(|c| moves(c) || reorders(c));
        assert_eq!(odd, None, "in {}", format.word());
    }
}

fn event((seq, line): (u64, &str)) -> Event {
    match Event::decode(line.as_bytes()) {
        Ok(event) => Event { seq, ..event },
        Err(_) => Event {
            seq,
            at: 1_700_000_000_000,
            turn: Some(TurnId(1)),
            by: Origin::Agent,
            kind: EventKind::Item(ItemEvent::UserMessageAdded {
                item: ItemId(u32::try_from(seq).unwrap_or_default()),
                content: vec![text_block(line)],
            }),
            raw: None,
            raw_params: None,
            repeats_id: false,
            translated: false,
            lane: None,
        },
    }
}
