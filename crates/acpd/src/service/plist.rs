//! The job of launchd: its text, and whether a file is as acpd wrote it.
//!
//! In: the program, its options, and the home directory. Out: text. Never: writes a file.

use std::path::Path;

use acpd_server::auth::owner_token::hex;
use anyhow::{Context, ensure};
use sha2::{Digest, Sha256};

/// The packaged job, with the paths of a usual installation.
const PACKAGED: &str = include_str!("../../../../packaging/launchd/acpd.plist");

/// Begins the first line of a written job after that of XML. The checksum of the other lines follows.
const MARK: &str = "<!-- Written by \"acpd service install\". A changed file is not replaced: ";
const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

/// What a job needs to know.
pub struct Job<'a> {
    /// The path of acpd.
    pub program: &'a Path,
    /// The options of `acpd serve`.
    pub options: Vec<String>,
    /// Where agents are found; that of the packaged job if it is `None`.
    pub path: Option<&'a str>,
    /// The file with the daemon's log.
    pub log: &'a Path,
}

/// Returns the text of a job.
pub fn text(job: &Job<'_>) -> anyhow::Result<String> {
    let program = job.program.to_str().context("the path of acpd is not UTF-8")?;
    let log = job.log.to_str().context("the path of the log is not UTF-8")?;
    let words = [program, "serve"]
        .into_iter()
        .chain(job.options.iter().map(String::as_str));
    let words: Vec<String> = words.map(string).collect::<anyhow::Result<_>>()?;
    let mut body = String::new();
    let mut lines = without_comments(PACKAGED).into_iter().skip(1);
    while let Some(line) = lines.next() {
        let replaced = match line.trim() {
            "<key>ProgramArguments</key>" => {
                // The packaged arguments, up to the end of their list.
                lines
                    .by_ref()
                    .take_while(|line| line.trim() != "</array>")
                    .for_each(drop);
                let words: String = words.iter().map(|word| format!("        {word}\n")).collect();
                format!("    <array>\n{words}    </array>\n")
            }
            "<key>PATH</key>" => {
                let packaged = lines.next().unwrap_or_default();
                let path = job.path.map(string).transpose()?;
                path.map_or_else(|| format!("{packaged}\n"), |path| format!("        {path}\n"))
            }
            "<key>StandardErrorPath</key>" => {
                lines.next();
                format!("    {}\n", string(log)?)
            }
            _ => String::new(),
        };
        body.push_str(&format!("{line}\n{replaced}"));
    }
    Ok(format!("{XML}{MARK}{} -->\n{body}", checksum(&body)))
}

/// Returns the lines that are outside of comments.
fn without_comments(text: &str) -> Vec<String> {
    let mut rest = text;
    let mut kept = String::new();
    while let Some((before, after)) = rest.split_once("<!--") {
        kept.push_str(before);
        rest = after.split_once("-->").map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    let lines = kept.lines().filter(|line| !line.trim().is_empty());
    lines.map(str::to_owned).collect()
}

/// Returns whether acpd wrote this job and it was not changed.
pub fn is_unchanged(text: &str) -> bool {
    let written = text.strip_prefix(XML).and_then(|text| text.strip_prefix(MARK));
    let written = written.and_then(|rest| rest.split_once(" -->\n"));
    written.is_some_and(|(sum, body)| sum == checksum(body))
}

fn checksum(body: &str) -> String {
    hex(&Sha256::digest(body))
}

/// Returns a string of a property list.
fn string(text: &str) -> anyhow::Result<String> {
    ensure!(
        !text.contains(char::is_control),
        "a job of launchd cannot contain {text:?}"
    );
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    Ok(format!("<string>{text}</string>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job<'static> {
        Job {
            program: Path::new("/opt/my tools/a&b/acpd"),
            options: vec!["--data-dir".to_owned(), "/srv/<x>".to_owned()],
            path: Some("/a b:/usr/bin"),
            log: Path::new("/Users/ann/Library/Logs/acpd.log"),
        }
    }

    #[test]
    fn a_job_names_the_program_its_path_and_its_log() {
        let text = text(&job()).unwrap();
        for part in [
            "    <key>Label</key>\n    <string>acpd</string>\n",
            "    <key>ProgramArguments</key>\n    <array>\n        <string>/opt/my tools/a&amp;b/acpd</string>\n        \
             <string>serve</string>\n        <string>--data-dir</string>\n        <string>/srv/&lt;x&gt;</string>\n    </array>\n",
            "        <key>PATH</key>\n        <string>/a b:/usr/bin</string>\n",
            "    <key>StandardErrorPath</key>\n    <string>/Users/ann/Library/Logs/acpd.log</string>\n",
            "    <key>KeepAlive</key>\n    <dict>\n        <key>SuccessfulExit</key>\n        <false/>\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.starts_with(XML) && text.ends_with("</plist>\n"), "{text}");
        assert_eq!(text.matches("<?xml").count(), 1);
        assert_eq!(text.matches("<array>").count(), text.matches("</array>").count());
        assert!(
            !text.contains("/Users/YOU") && !text.contains("/usr/local/bin/acpd"),
            "{text}"
        );
        assert!(is_unchanged(&text));
        assert!(!is_unchanged(&text.replace("serve", "status")));
        assert!(!is_unchanged(PACKAGED) && !is_unchanged(""));
        let wrong = Job {
            path: Some("/a\n<key>"),
            ..job()
        };
        assert!(super::text(&wrong).is_err());
    }
}
