//! Paths as text: converted to absolute paths, and matched against patterns. No file is accessed.

/// Returns the absolute form of `path`, relative to the absolute directory `cwd`: without `.`, `..` and double slashes.
/// A `file:` URL is converted to its path. Symbolic links are not followed. Returns `None` if the result is unknown:
/// `~` without a home, or text that is not a path.
pub fn normalise(path: &str, cwd: &str, home: Option<&str>) -> Option<String> {
    absolute(path, cwd, home).map(|path| flattened(&path))
}

/// Like [`normalise`], but keeps `.` and `..`: after a symbolic link they may lead elsewhere.
pub fn absolute(path: &str, cwd: &str, home: Option<&str>) -> Option<String> {
    let decoded;
    let path = match behind_file_scheme(path).and_then(|rest| rest.strip_prefix("//")) {
        None => path,
        Some(rest) => {
            decoded = percent_decoded(rest.strip_prefix("localhost").unwrap_or(rest))?;
            decoded.starts_with('/').then_some(decoded.as_str())?
        }
    };
    if path.is_empty() || path.contains('\0') {
        return None;
    }
    let in_home = if path == "~" {
        Some("")
    } else {
        path.strip_prefix("~/")
    };
    Some(match in_home {
        Some(rest) => format!("{}/{rest}", home?),
        None if path.starts_with('/') => path.to_owned(),
        None => format!("{cwd}/{path}"),
    })
}

/// Returns what follows the `file:` of a URL, which may be in upper case; `None` for another text.
pub fn behind_file_scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_at_checked(5)?;
    scheme.eq_ignore_ascii_case("file:").then_some(rest)
}

/// Returns whether `path` has a `..` segment, which only the system can resolve.
pub fn climbs(path: &str) -> bool {
    path.split('/').any(|segment| segment == "..")
}

/// Returns the part of `path` below `root`, both normalized: empty, or starting with a slash.
pub fn below<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    let root = root.trim_end_matches('/');
    path.strip_prefix(root)
        .filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Processes the segments in order; `..` removes the segment before it.
fn flattened(path: &str) -> String {
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            _ => segments.push(segment),
        }
    }
    format!("/{}", segments.join("/"))
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| {
            char::from(byte?)
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
        };
        bytes.push(digit(rest.next())? << 4 | digit(rest.next())?);
    }
    String::from_utf8(bytes).ok()
}

/// The base of a path pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Root {
    Absolute,
    Home,
    Workspace,
}

/// A pattern for paths. `*` and `?` match within a segment. `**` as a separate segment matches any number of segments.
/// A backslash makes the next character literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern {
    root: Root,
    /// The pattern without the root.
    text: String,
}

impl PathPattern {
    /// Parses a pattern. Every text except the empty one is valid.
    pub fn parse(text: &str) -> Option<Self> {
        let (root, rest) = if let Some(rest) = text.strip_prefix('/') {
            (Root::Absolute, rest)
        } else if let Some(rest) = text.strip_prefix("~/") {
            (Root::Home, rest)
        } else {
            (Root::Workspace, text)
        };
        let text = rest.to_owned();
        (root == Root::Absolute || !text.is_empty()).then_some(Self { root, text })
    }

    /// Returns the whole absolute pattern. Returns `None` for a pattern below an unknown home.
    fn absolute(&self, workspace: &str, home: Option<&str>) -> Option<String> {
        let root = match self.root {
            Root::Absolute => String::new(),
            Root::Home => escaped(home?),
            Root::Workspace => escaped(workspace),
        };
        Some(flattened(&format!("{root}/{}", self.text)))
    }

    /// Returns the only matching path, if the pattern has no wildcard.
    pub fn literal(&self, workspace: &str, home: Option<&str>) -> Option<String> {
        let pattern = self.absolute(workspace, home)?;
        let mut literal = String::with_capacity(pattern.len());
        let mut characters = pattern.chars();
        while let Some(next) = characters.next() {
            match next {
                '*' | '?' => return None,
                '\\' => literal.extend(characters.next()),
                _ => literal.push(next),
            }
        }
        Some(literal)
    }

    /// Returns whether the absolute, normalized `path` matches. With `far`, a pattern below an unknown home matches
    /// below any directory.
    pub fn fits(&self, path: &str, workspace: &str, home: Option<&str>, far: bool) -> bool {
        let pattern = match self.absolute(workspace, home) {
            Some(pattern) => pattern,
            None if far => flattened(&format!("**/{}", self.text)),
            None => return false,
        };
        let pattern: Vec<&str> = segments(&pattern).collect();
        let path: Vec<&str> = segments(path).collect();
        segments_fit(&pattern, &path)
    }

    /// Returns the number of literal characters and of wildcards in the absolute pattern.
    pub fn weight(&self, workspace: &str, home: Option<&str>) -> (usize, usize) {
        let pattern = self
            .absolute(workspace, home)
            .unwrap_or_else(|| self.text.clone());
        let mut weight = (0, 0);
        let mut characters = pattern.chars();
        while let Some(next) = characters.next() {
            match next {
                '*' | '?' => weight.1 += 1,
                '\\' => weight.0 += usize::from(characters.next().is_some()),
                _ => weight.0 += 1,
            }
        }
        weight
    }
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty())
}

/// Returns a pattern that matches only `text`.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '*' | '?' | '\\') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// Walks along both, and backtracks to the last `**` on a mismatch. That is enough, since each later `**` makes the
/// attempt for the earlier one final.
fn segments_fit(pattern: &[&str], path: &[&str]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut retry = None;
    while t < path.len() {
        if pattern.get(p) == Some(&"**") {
            retry = Some((p, t));
            p += 1;
        } else if pattern
            .get(p)
            .is_some_and(|pattern| segment_fits(pattern, path[t]))
        {
            p += 1;
            t += 1;
        } else if let Some((star, from)) = retry {
            retry = Some((star, from + 1));
            p = star + 1;
            t = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|segment| *segment == "**")
}

/// Like [`segments_fit`], for the characters of one segment.
fn segment_fits(pattern: &str, segment: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = segment.chars().collect();
    let (mut p, mut t) = (0, 0);
    let mut retry = None;
    while t < text.len() {
        let (literal, width) = match (pattern.get(p), pattern.get(p + 1)) {
            (Some('\\'), Some(next)) => (Some(next), 2),
            (Some('*' | '?') | None, _) => (None, 1),
            (Some(next), _) => (Some(next), 1),
        };
        if literal.is_none() && pattern.get(p) == Some(&'*') {
            retry = Some((p, t));
            p += 1;
        } else if literal == Some(&text[t]) || (literal.is_none() && pattern.get(p) == Some(&'?')) {
            p += width;
            t += 1;
        } else if let Some((star, from)) = retry {
            retry = Some((star, from + 1));
            p = star + 1;
            t = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|character| *character == '*')
}
