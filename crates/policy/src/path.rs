//! Paths as text: made absolute, and matched against patterns. No file is looked at.

/// The absolute form of `path`, seen from the absolute directory `cwd`: no `.`, no `..`, no double slashes. A
/// `file:` address is taken for its path. Symbolic links are not followed. `None` if the result is not known: `~`
/// without a home, or something that is no path.
pub fn normalise(path: &str, cwd: &str, home: Option<&str>) -> Option<String> {
    absolute(path, cwd, home).map(|path| flattened(&path))
}

/// The same with `.` and `..` left in: behind a symbolic link they mean something else than they seem to.
pub fn absolute(path: &str, cwd: &str, home: Option<&str>) -> Option<String> {
    let decoded;
    let path = match path.strip_prefix("file://") {
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

/// Whether `..` is among the segments of `path`: where it leads is for the system to say.
pub fn climbs(path: &str) -> bool {
    path.split('/').any(|segment| segment == "..")
}

/// What is below `root` of `path`, both normalised: empty, or with a slash in front.
pub fn below<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    let root = root.trim_end_matches('/');
    path.strip_prefix(root)
        .filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Segments taken one by one, `..` taking the one before away.
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

/// Where a pattern for paths starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Root {
    Absolute,
    Home,
    Workspace,
}

/// A pattern for paths: `*` and `?` within a segment, `**` as a segment of its own for any number of them, a
/// backslash in front of a character that means itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern {
    root: Root,
    /// Without the root.
    text: String,
}

impl PathPattern {
    /// Reads a pattern. Any text is one, except an empty one.
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

    /// The whole pattern, absolute. Without a home, one below it is `None`.
    fn absolute(&self, workspace: &str, home: Option<&str>) -> Option<String> {
        let root = match self.root {
            Root::Absolute => String::new(),
            Root::Home => escaped(home?),
            Root::Workspace => escaped(workspace),
        };
        Some(flattened(&format!("{root}/{}", self.text)))
    }

    /// The one path that fits, if the pattern has no wildcard.
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

    /// Whether the absolute, normalised `path` fits. With `far`, a pattern below an unknown home fits below any
    /// directory.
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

    /// Literal characters, and wildcards, of the absolute pattern.
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

/// `text` as a pattern that fits nothing else.
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

/// Walks both at once and comes back to the last `**` where they part, which is enough since each later `**`
/// makes what was tried for the earlier one final.
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

/// The same within a segment.
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
