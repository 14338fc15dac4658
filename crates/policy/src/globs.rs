//! Patterns of file names, as tools for searching take them.
//!
//! In: a pattern. Out: whether every path that it can match is below the directory in which it is looked for. Never: trusts a
//! pattern that some tool could read differently: what is not understood leads elsewhere.

use super::path::behind_file_scheme;

/// Longest pattern that is analyzed, in bytes.
const BYTES: usize = 4096;

/// How many groups a pattern may have, and how many patterns without groups it may stand for.
const GROUPS: usize = 64;
const ALTERNATIVES: usize = 256;

/// Returns whether a pattern matches only files below the directory in which it is looked for.
pub fn stays_inside(pattern: &str) -> bool {
    all_stay_inside(pattern, |_| false)
}

/// Like [`stays_inside`], for members that some tools split at commas and blanks.
pub fn list_stays_inside(patterns: &str) -> bool {
    all_stay_inside(patterns, |c| c.is_whitespace() || matches!(c, ',' | ';' | '|'))
}

fn all_stay_inside(patterns: &str, is_end: impl Fn(char) -> bool + Copy) -> bool {
    let stay = |patterns: &str| {
        let all = alternatives(patterns);
        all.is_some_and(|all| all.iter().flat_map(|list| list.split(is_end)).all(is_inside))
    };
    stay(patterns) && listed(patterns).iter().flatten().all(|one| stay(one))
}

/// Returns the texts of a list that is written as text, such as `["a", "b"]`.
fn listed(text: &str) -> Option<Vec<String>> {
    let inside = text.trim().strip_prefix('[')?.strip_suffix(']')?.trim();
    let split = || inside.split(',').map(str::to_owned).collect::<Vec<_>>();
    let is_list = inside.starts_with(['"', '\'']);
    is_list.then(|| serde_json::from_str(text).unwrap_or_else(|_| split()))
}

/// Returns whether tools may remove `c` around a pattern or a path.
fn is_around(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`')
}

/// Returns whether a tool that reads a path as a pattern could leave the directory that the path names.
pub fn is_ambiguous_path(path: &str) -> bool {
    let slash = |group: Group<'_>| group.before.rfind('/').map_or(0, |slash| slash + 1);
    let directory = |brackets| Group::first(path, brackets).map_or(path.len(), slash);
    let fixed = directory(Brackets::Braces).min(directory(Brackets::Round));
    let is_odd = |part: &str| part != ".." && may_be_parent(part);
    // `**` stands for any number of directories, also none.
    let mut parts = path.split('/').skip_while(|part| !part.contains("**"));
    let leaves_unknown = parts.any(|part| part == "..");
    !stays_inside(&path[fixed..])
        || leaves_unknown
        || path.split('/').any(is_odd)
        || path.trim_matches(is_around) != path
}

/// Returns whether a pattern without groups matches only files below its directory.
fn is_inside(pattern: &str) -> bool {
    let pattern = unescaped(pattern);
    // Behind an even number of "!", a pattern includes files.
    let pattern = pattern.trim_start_matches(|c: char| c == '!' || is_around(c));
    let pattern = pattern.trim_end_matches(is_around);
    let is_variable =
        |name: &str| name.starts_with(|c: char| c.is_ascii_uppercase() || matches!(c, '{' | '_'));
    let leads_out = pattern.starts_with(['/', '~'])
        || behind_file_scheme(pattern).is_some()
        || pattern.strip_prefix('$').is_some_and(is_variable);
    let mut parts = pattern.rsplit('/');
    // A last part with wildcards only adds the name of the parent to the result, and most texts to look for are such: ".*".
    let last = parts.next().filter(|last| !last.contains(['*', '?']));
    !leads_out && !parts.chain(last).any(may_be_parent)
}

/// Removes backslashes in front of punctuation. Those of regular expressions, such as `\b`, stay.
fn unescaped(pattern: &str) -> String {
    let mut plain = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' || !chars.peek().is_some_and(char::is_ascii_punctuation) {
            plain.push(c);
        }
    }
    plain
}

/// Returns whether a part of a pattern between two slashes could match `..`.
fn may_be_parent(part: &str) -> bool {
    // A name with a dot at its beginning is matched by a dot or a class of characters there, and never by a wildcard.
    if !part.starts_with(['.', '[']) {
        return false;
    }
    let (mut characters, mut has_star) = (0, false);
    let mut rest = part;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '.' | '?' => characters += 1,
            '*' => has_star = true,
            '[' => match class(rest) {
                Some((class, behind)) if has_dot(class) => {
                    // A class of a class, such as "[[:punct:]]", ends later.
                    if class.contains("[:") {
                        return true;
                    }
                    characters += 1;
                    rest = behind;
                }
                _ => return false,
            },
            _ => return false,
        }
    }
    characters == 2 || characters == 1 && has_star
}

/// Returns the class of characters at the beginning of `text`, behind its bracket, and what follows it.
fn class(text: &str) -> Option<(&str, &str)> {
    // The first character may be a closing bracket.
    let excluded = usize::from(text.starts_with(['!', '^']));
    let first = text[excluded..].chars().next()?.len_utf8();
    let end = excluded + first + text[excluded + first..].find(']')?;
    Some((&text[..end], &text[end + 1..]))
}

/// Returns whether the characters of a class include the dot: it may be excluded, named, in a range or of a kind.
fn has_dot(class: &str) -> bool {
    let chars: Vec<char> = class.chars().collect();
    let is_range = |range: &[char]| range[1] == '-' && range[0] <= '.' && '.' <= range[2];
    class.starts_with(['!', '^']) || class.contains(['.', ':', '\\']) || chars.windows(3).any(is_range)
}

/// Returns the patterns without groups that a pattern stands for, such as `a` and `b` for `{a,b}` and `@(a|b)`. Returns `None` for
/// too many.
fn alternatives(pattern: &str) -> Option<Vec<String>> {
    let groups = pattern.bytes().filter(|byte| matches!(byte, b'{' | b'(')).count();
    if pattern.len() > BYTES || groups > GROUPS {
        return None;
    }
    // Shells expand braces first, whatever else is in them.
    expand(vec![pattern.to_owned()], Brackets::Braces).and_then(|all| expand(all, Brackets::Round))
}

/// Replaces the groups of one kind of brackets.
fn expand(patterns: Vec<String>, brackets: Brackets) -> Option<Vec<String>> {
    let mut all = Vec::new();
    let mut left: Vec<_> = patterns
        .into_iter()
        .map(|pattern| (String::new(), pattern))
        .collect();
    while let Some((before, rest)) = left.pop() {
        match Group::first(&rest, brackets) {
            None => all.push(before + &rest),
            Some(group) => {
                let before = before + group.before;
                let parts = group.parts();
                if parts.is_empty() {
                    left.push((before + group.opening, [group.inside, group.closed].concat()));
                } else {
                    let behind = group.behind();
                    left.extend(parts.into_iter().map(|part| (before.clone(), part + behind)));
                }
            }
        }
        if all.len() + left.len() > ALTERNATIVES {
            return None;
        }
    }
    Some(all)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Brackets {
    Braces,
    Round,
}

impl Brackets {
    fn open(self) -> u8 {
        match self {
            Self::Braces => b'{',
            Self::Round => b'(',
        }
    }

    fn close(self) -> u8 {
        match self {
            Self::Braces => b'}',
            Self::Round => b')',
        }
    }

    fn separator(self) -> u8 {
        match self {
            Self::Braces => b',',
            Self::Round => b'|',
        }
    }

    /// Returns the places in a text that are in no group of this kind which begins there, each with its byte. A backslash
    /// hides a byte.
    fn outside(self, text: &str) -> impl Iterator<Item = (usize, u8)> {
        let (mut depth, mut is_hidden) = (0_usize, false);
        text.bytes().enumerate().filter(move |(_, byte)| {
            if is_hidden || *byte == b'\\' {
                is_hidden = !is_hidden;
                return false;
            }
            if *byte == self.open() {
                depth += 1;
            } else if *byte == self.close() && depth > 0 {
                depth -= 1;
                return false;
            }
            depth == 0
        })
    }
}

/// A group of a pattern, with the text around it.
struct Group<'a> {
    brackets: Brackets,
    before: &'a str,
    /// The opening bracket, with the operator in front of it.
    opening: &'a str,
    inside: &'a str,
    /// The closing bracket and what follows.
    closed: &'a str,
}

impl<'a> Group<'a> {
    /// Finds the first group that is closed.
    fn first(pattern: &'a str, brackets: Brackets) -> Option<Self> {
        let bytes = pattern.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            if bytes[at] == b'\\' {
                at += 1;
            } else if bytes[at] == brackets.open()
                && let Some((length, _)) = brackets
                    .outside(&pattern[at + 1..])
                    .find(|(_, byte)| *byte == brackets.close())
            {
                let is_operator = |byte: u8| brackets == Brackets::Round && b"?*+@!".contains(&byte);
                let has_operator = at > 0 && is_operator(bytes[at - 1]);
                let begin = at - usize::from(has_operator);
                return Some(Self {
                    brackets,
                    before: &pattern[..begin],
                    opening: &pattern[begin..=at],
                    inside: &pattern[at + 1..at + 1 + length],
                    closed: &pattern[at + 1 + length..],
                });
            }
            at += 1;
        }
        None
    }

    fn behind(&self) -> &'a str {
        &self.closed[1..]
    }

    /// Returns the texts that the group stands for, or none if it is only text.
    fn parts(&self) -> Vec<String> {
        let mut parts = self.split();
        if self.brackets == Brackets::Braces {
            let is_end = |end: &str| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_alphanumeric());
            return match (parts.len(), self.inside.split_once("..")) {
                (1, None) => Vec::new(),
                // A range of letters or numbers.
                (1, Some((first, last))) if is_end(first) && is_end(last) => vec!["x".to_owned()],
                _ => parts,
            };
        }
        match self.opening.as_bytes()[0] {
            // Everything else, which begins with a dot at worst. Other tools exclude what is in the group.
            b'!' => parts.push(".*".to_owned()),
            b'*' | b'+' => parts.iter_mut().for_each(|part| part.push('*')),
            // Tools that know groups without an operator never match the parent with a wildcard.
            b'(' if !self.inside.contains('(') => {
                for part in &mut parts {
                    *part = part.replace(['*', '?'], "x");
                }
            }
            _ => {}
        }
        if self.opening.starts_with(['*', '?', '!']) {
            parts.push(String::new());
        }
        parts
    }

    /// Splits the inside at the separators that are in no group of it.
    fn split(&self) -> Vec<String> {
        let mut parts = Vec::new();
        let mut begin = 0;
        for (at, byte) in self.brackets.outside(self.inside) {
            if byte == self.brackets.separator() {
                parts.push(self.inside[begin..at].to_owned());
                begin = at + 1;
            }
        }
        parts.push(self.inside[begin..].to_owned());
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_a_folder_stay_inside() {
        for pattern in [
            "",
            "*",
            "**/*.rs",
            "src/**/*.{ts,tsx}",
            ".github/**",
            "./...",
            "a..b",
            "{a,b}/{c,d}",
            "{{cookiecutter.x}}/*",
            "{1..9}.txt",
            "@(a|b)/*.c",
            "!(",
            "[a-z]*.rs",
            r"fn \w+\(",
            r"\bfoo\b",
            "(get|set)_(x|y)",
            "TODO|FIXME",
            "Überblick/**",
        ] {
            assert!(stays_inside(pattern) && list_stays_inside(pattern), "{pattern}");
        }
        for pattern in [
            "*.*",
            "**/*.*",
            ".*",
            "?.?",
            "src/.*",
            "src/!(*.test).ts",
            "(.*)/(.*)",
            "((.*)?)/x",
            "[.]*",
            "'*.rs' \"*.toml\"",
            r#"["*.rs", "src/**"]"#,
            r#"["'][^"']"#,
        ] {
            assert!(stays_inside(pattern) && list_stays_inside(pattern), "{pattern}");
        }
        for pattern in [
            "GET /api",
            "https?://",
            "https?://.*",
            "$scope",
            ".",
            "...",
            "Foo { .. }",
            "Foo {..}",
            "if !(x)",
            "let [a, ..] = x",
        ] {
            assert!(stays_inside(pattern), "{pattern}");
        }
    }

    #[test]
    fn patterns_that_could_lead_elsewhere_do() {
        for pattern in [
            "/etc/*",
            "~/x",
            "../*",
            "a/../../*",
            "..",
            "{/etc/passwd,x}",
            "{x,/etc/passwd}",
            "{x,{y,/etc}}/*",
            "{a),/etc}",
            "{(,/etc/passwd,)}",
            "@({x|,y|/etc})",
            "@(x|(y|..))/z",
            "{..,.}/**",
            "{.,}./x",
            "{.,..}{/,x}**",
            "a/{b,..}/..",
            "@(..)/x",
            "+(.)/x",
            "*(a).?(.)/x",
            "(x|..)/y",
            "!(a)/x",
            ".*/x",
            "[.][.]/x",
            "[!a][^b]/x",
            "[+-9]./x",
            "[!]x]./y",
            "[[:punct:]]./x",
            r"\../x",
            r"\/etc",
            r"{\/etc,x}",
            "!../x",
            "$HOME/x",
            "file:///etc/passwd",
            "File:///etc/passwd",
            "{../..a}",
            "{..}/x",
            " ../x",
            "\t/etc/*",
            "! !/etc/*",
            r#""/etc/*""#,
            "'../x'",
            "`~/x`",
            r#""src/..""#,
            r#"\"/etc/*\""#,
            r#"["/etc/*"]"#,
            r#" ["x", "../y"] "#,
            r#"["\u002fetc"]"#,
            "['x', '/etc/*']",
            "!(a)../x",
            "!(../x)",
            ".?/x",
            "[.]*/x",
            ".**/x",
        ] {
            assert!(!stays_inside(pattern), "{pattern}");
            assert!(!list_stays_inside(pattern), "{pattern}");
        }
        for list in ["*.rs,/etc/*", "*.rs /etc/*", "x;../y", "x|~/y", "a\n/b"] {
            assert!(!list_stays_inside(list), "{list}");
        }
        assert!(!stays_inside(&"{a,b}".repeat(9)), "too many alternatives");
        assert!(!stays_inside(&"(".repeat(GROUPS + 1)), "too many groups");
        assert!(!stays_inside(&"a".repeat(BYTES + 1)), "too long");
    }

    #[test]
    fn paths_without_wildcards_match_themselves() {
        for path in [
            "/etc/x",
            "../x",
            "a/b",
            ".",
            "..",
            "{{x}}/y",
            "[id]/page.tsx",
            "[[...é]]/x",
            "/w/(group)/(..)x/[...all]/y",
            "/w/{a}",
            "/w/a{b,c}",
            "../a/**/b",
            "a/*/../b",
        ] {
            assert!(!is_ambiguous_path(path), "{path}");
        }
        for path in [
            "{/etc/passwd,x}",
            "{..,.}/x",
            "a/[.][.]/x",
            "/w/{a,../b}",
            "/w{/,x}..",
            "x/@(..)/y",
            ".*/x",
            ".*",
            " /etc/x",
            "\"/etc/x\"",
            "a/**/../../etc/passwd",
            "/w/a/x**/b/../../c",
        ] {
            assert!(is_ambiguous_path(path), "{path}");
        }
    }
}
