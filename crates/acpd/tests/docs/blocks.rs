//! The fenced blocks of a document, with what the document says about running them.

use std::path::{Path, PathBuf};

/// A fenced block.
#[derive(Debug)]
pub struct Block {
    /// The document, relative to the workspace.
    pub document: PathBuf,
    /// The line of its opening fence.
    pub line: usize,
    /// The language after the opening fence.
    pub language: String,
    /// The text between the fences, without the indentation of the opening one.
    pub text: String,
    /// What the comment before the block says.
    pub mark: Mark,
}

/// The comment before a block.
#[derive(Debug, PartialEq, Eq)]
pub enum Mark {
    /// There is none.
    None,
    /// `<!-- not run: REASON -->`
    NotRun(String),
    /// `<!-- output -->`: the block before it prints these lines.
    Output,
    /// `<!-- config -->`: the blocks behind it run with this configuration.
    Config,
}

/// Returns the root of the workspace.
pub fn workspace() -> &'static Path {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.expect("the crate is two levels below it")
}

/// Returns the documents whose blocks are checked, relative to the workspace.
pub fn documents() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "web/README.md"]
        .map(PathBuf::from)
        .into();
    for folder in ["web/client", "clients", "docs"] {
        collect(Path::new(folder), &mut found);
    }
    found
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(workspace().join(folder)) else {
        return;
    };
    let mut names: Vec<_> = entries
        .map(|entry| entry.expect("it can be read").file_name())
        .collect();
    names.sort();
    for name in names {
        let path = folder.join(&name);
        if workspace().join(&path).is_dir() {
            let skipped = ["node_modules", "dist", "build", "theme", ".venv"];
            if !skipped.iter().any(|skipped| name == *skipped) {
                collect(&path, found);
            }
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        }
    }
}

/// Returns the blocks of a document.
pub fn blocks(document: &Path) -> Vec<Block> {
    let text = std::fs::read_to_string(workspace().join(document)).expect("the document can be read");
    parse(document, &text)
}

fn parse(document: &Path, text: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut mark = Mark::None;
    let mut lines = (1..).zip(text.lines());
    while let Some((number, line)) = lines.next() {
        let content = line.trim_start();
        if let Some(language) = content.strip_prefix("```") {
            let indent = line.len() - content.len();
            let mut text = String::new();
            for (_, line) in lines.by_ref().take_while(|(_, line)| line.trim() != "```") {
                text.push_str(line.get(indent..).unwrap_or_default());
                text.push('\n');
            }
            found.push(Block {
                document: document.to_owned(),
                line: number,
                language: language.trim().to_owned(),
                text,
                mark: std::mem::replace(&mut mark, Mark::None),
            });
        } else if let Some(comment) = content
            .strip_prefix("<!--")
            .and_then(|rest| rest.strip_suffix("-->"))
        {
            mark = match comment.trim() {
                "output" => Mark::Output,
                "config" => Mark::Config,
                comment => match comment.strip_prefix("not run:") {
                    Some(reason) => Mark::NotRun(reason.trim().to_owned()),
                    None => Mark::None,
                },
            };
        } else if !content.is_empty() {
            mark = Mark::None;
        }
    }
    found
}

impl std::fmt::Display for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{} ({})", self.document.display(), self.line, self.language)
    }
}

/// Returns whether `line` fits a pattern in which `…` stands for any text.
fn fits(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.trim_end().split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.trim_end().strip_prefix(first.trim_end()) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts.map(str::trim) {
        match rest.split_once(part) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last.trim())
}

/// Returns the first line of `shown` that the output does not contain, in this order.
pub fn missing_line<'s>(shown: &'s str, output: &str) -> Option<&'s str> {
    let mut lines = output.lines();
    shown
        .lines()
        .filter(|pattern| !pattern.trim().is_empty())
        .find(|pattern| !lines.any(|line| fits(pattern, line)))
}

#[test]
fn blocks_are_found_with_their_marks() {
    let text = "a\n\n<!-- not run: it builds -->\n```sh\nmake\n```\n\n1. b\n\n   ```toml\n   a = 1\n   ```\n<!-- output -->\n\n```text\nx\n```\n";
    let found = parse(Path::new("d.md"), text);
    let seen: Vec<_> = found
        .iter()
        .map(|block| (&block.language[..], &block.text[..], &block.mark))
        .collect();
    let not_run = Mark::NotRun("it builds".to_owned());
    assert_eq!(
        seen,
        [
            ("sh", "make\n", &not_run),
            ("toml", "a = 1\n", &Mark::None),
            ("text", "x\n", &Mark::Output)
        ]
    );
    assert!(documents().len() > 20, "{:?}", documents());
}

#[test]
fn an_output_is_compared_line_by_line() {
    assert!(fits("a … c", "a b c") && fits("…", "x") && fits("a…", "abc") && fits("a", "a  "));
    assert!(!fits("a", "ab") && !fits("a … c", "a b d") && !fits("b…", "abc"));
    assert_eq!(missing_line("a\nc\n", "a\nb\nc\n"), None);
    assert_eq!(missing_line("c\na\n", "a\nb\nc\n"), Some("a"));
}
