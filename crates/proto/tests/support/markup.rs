//! Checks that the text of others is only text in a document.

/// Checks that every tag is one of ours, is closed in order, and has only the attributes that the exporter writes.
pub fn html_is_ours(html: &str) {
    const VOID: [&str; 2] = ["meta", "img"];
    const TAGS: &str = "html head title style body header main section article details summary h1 h2 h3 dl dt dd p pre code strong ul li time ins del img meta";
    let body = html.split_once("</style>").unwrap().1;
    let before = html.split_once("<style>").unwrap().0;
    let mut open: Vec<&str> = Vec::new();
    let rest = format!("{before}<style></style>{body}");
    let mut pieces = rest.strip_prefix("<!DOCTYPE html>").unwrap().split('<');
    pieces.next();
    for piece in pieces {
        let (tag, text) = piece
            .split_once('>')
            .unwrap_or_else(|| panic!("an open end: {piece:?}"));
        assert!(!text.contains('>'), "a loose end: {text:?}");
        if let Some(name) = tag.strip_prefix('/') {
            let last = open.pop();
            assert_eq!(
                last.map(|last| last == name),
                Some(true),
                "</{name}> closes {last:?}"
            );
            continue;
        }
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(TAGS.split(' ').any(|known| known == name), "<{tag}>");
        let of_class = attributes
            .strip_prefix("class=\"")
            .and_then(|rest| rest.strip_suffix('"'))
            .is_some_and(|class| class.bytes().all(|byte| byte.is_ascii_lowercase()));
        let ours = match name {
            "img" => is_picture(attributes),
            _ => attributes.is_empty() || of_class || name == "meta" || tag == "html lang=\"en\"",
        };
        assert!(ours, "<{tag}>");
        if !VOID.contains(&name) {
            open.push(tag.split(' ').next().unwrap());
        }
    }
    // HTML allows these tags to be open at the end. The exporter closes them.
    assert!(open.is_empty(), "{open:?}");
}

/// Returns whether these are the attributes of a picture that is part of the document.
fn is_picture(attributes: &str) -> bool {
    attributes
        .strip_prefix("src=\"data:image/")
        .and_then(|rest| rest.strip_suffix("\" alt=\"Picture\""))
        .and_then(|rest| rest.split_once(";base64,"))
        .is_some_and(|(kind, data)| {
            ["png", "jpeg", "gif", "webp"].contains(&kind)
                && data
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
        })
}

/// Checks that all markup outside of code is the exporter's own. Returns the lines outside of code fences.
pub fn markdown_is_ours(md: &str) -> Vec<&str> {
    let outside = outside_fences(md);
    for line in &outside {
        if let Some(quoted) = line.strip_prefix("> ") {
            for bad in ["</", "<s", "<i", "<!", "](", "]:"] {
                assert!(!quoted.contains(bad), "{line:?}");
            }
        } else {
            let plain = outside_code_spans(line);
            let plain = plain.replace("\\<", "").replace("\\[", "").replace("\\]", "");
            let ours = ["<details>", "</details>", "<summary>Thought</summary>"].contains(&plain.as_str());
            assert!(ours || !plain.contains(['<', '[']), "{line:?}");
        }
    }
    outside
}

/// Returns the lines outside of code fences, as a Markdown parser finds them.
fn outside_fences(md: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut fence: Option<(&str, usize)> = None;
    for line in md.lines() {
        let (before, text) = line.strip_prefix("> ").map_or(("", line), |text| ("> ", text));
        let ticks = text.len() - text.trim_start_matches('`').len();
        match fence {
            Some((quote, length)) => {
                assert!(before.len() >= quote.len(), "a fence is left: {line:?}");
                // In a fence without a quote, a quote sign is plain text.
                if before == quote && ticks >= length && ticks == text.trim_end().len() {
                    fence = None;
                }
            }
            None if ticks >= 3 && !text[ticks..].contains('`') => fence = Some((before, ticks)),
            None => found.push(line),
        }
    }
    assert_eq!(fence, None);
    found
}

/// Returns a line without its code spans. A run of backticks ends at the next run of the same length.
fn outside_code_spans(line: &str) -> String {
    let run = |text: &str| text.len() - text.trim_start_matches('`').len();
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        let escapes = at - rest[..at].trim_end_matches('\\').len();
        if escapes % 2 == 1 {
            out.push_str(&rest[..=at]);
            rest = &rest[at + 1..];
            continue;
        }
        out.push_str(&rest[..at]);
        let length = run(&rest[at..]);
        let mut end = at + length;
        loop {
            let next = rest[end..]
                .find('`')
                .unwrap_or_else(|| panic!("an open code span: {line:?}"));
            let start = end + next;
            end = start + run(&rest[start..]);
            if end - start == length {
                break;
            }
        }
        rest = &rest[end..];
    }
    out + rest
}
