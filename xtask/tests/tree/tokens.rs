//! Splits Rust into tokens.

/// Splits a source into words, texts (with their first quote), `::`, and single characters. Leaves out comments and lifetimes.
pub fn tokens(text: &str) -> Vec<&str> {
    let parts = pieces(text).into_iter().map(|(_, piece)| piece);
    parts.filter(|piece| !is_comment(piece)).collect()
}

/// Splits a source as [`tokens`] does, with comments. Returns the position of each piece.
pub fn pieces(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = if first.is_whitespace() {
            first.len_utf8()
        } else if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            found.push((at, &rest[..length]));
            length
        } else if rest.starts_with("/*") {
            let length = comment(rest);
            found.push((at, &rest[..length]));
            length
        } else if let Some(length) = quoted(rest) {
            found.push((at, &rest[..length]));
            length
        } else if first == '\'' {
            quote(rest)
        } else if is_word(first) {
            let raw = rest.strip_prefix("r#").filter(|word| word.starts_with(is_word));
            let word = raw.unwrap_or(rest);
            let end = word.find(|c| !is_word(c)).unwrap_or(word.len());
            found.push((at, &word[..end]));
            rest.len() - word.len() + end
        } else {
            let length = if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            found.push((at, &rest[..length]));
            length
        };
        at += length;
    }
    found
}

pub fn is_comment(piece: &str) -> bool {
    piece.starts_with("//") || piece.starts_with("/*")
}

pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the length of a block comment, which can hold others.
fn comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

/// Returns the length of a text at the start, with its prefix and quotes.
fn quoted(text: &str) -> Option<usize> {
    let prefix = ["br", "cr", "r", "b", "c", ""].into_iter().find(|prefix| {
        text.strip_prefix(prefix)
            .is_some_and(|rest| rest.starts_with(['"', '#']))
    })?;
    let rest = &text[prefix.len()..];
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    if !rest[hashes..].starts_with('"') || (hashes > 0 && !prefix.ends_with('r')) {
        return None;
    }
    let content = &rest[hashes + 1..];
    let end = if prefix.ends_with('r') {
        let close = format!("\"{}", "#".repeat(hashes));
        content.find(&close).map(|at| at + close.len())
    } else {
        let mut is_escaped = false;
        let close = content.find(|c| {
            let is_close = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_close
        });
        close.map(|at| at + 1)
    };
    Some(prefix.len() + hashes + 1 + end.unwrap_or(content.len()))
}

/// Returns the length of a character, or of a lifetime.
fn quote(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    let first = chars.next();
    if first.is_some_and(|(_, c)| c == '\\') {
        // The character behind the backslash can be a quote.
        let end = chars.skip(1).find(|(_, c)| *c == '\'');
        return end.map_or(text.len(), |(at, _)| at + 1);
    }
    match chars.next() {
        Some((at, '\'')) => at + 1,
        _ => 1 + text[1..].find(|c| !is_word(c)).unwrap_or(text.len() - 1),
    }
}
