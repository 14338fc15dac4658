//! The unit of systemd: its text, and whether a unit is as acpd wrote it.

use std::path::Path;

use acpd_server::auth::owner_token::hex;
use anyhow::{Context, ensure};
use sha2::{Digest, Sha256};

/// The unit that is packaged, with the paths of a usual installation.
const PACKAGED: &str = include_str!("../../../../packaging/systemd/user/acpd.service");

/// Begins the first line of a written unit. The checksum of the other lines follows.
const MARK: &str = "# Written by \"acpd service install\". A changed file is not replaced: ";

/// What a unit needs to know.
pub struct Service<'a> {
    /// The path of acpd.
    pub program: &'a Path,
    /// The options of `acpd serve`.
    pub options: Vec<String>,
    /// Where agents are found.
    pub path: Option<&'a str>,
}

/// Returns the text of a unit.
pub fn text(service: &Service<'_>) -> anyhow::Result<String> {
    let program = service
        .program
        .to_str()
        .context("the path of acpd is not UTF-8")?;
    let words = [program, "serve"]
        .into_iter()
        .chain(service.options.iter().map(String::as_str));
    let command: Vec<String> = words.map(word).collect::<anyhow::Result<_>>()?;
    let path = service.path.map(environment).transpose()?;
    let mut body = String::new();
    for line in PACKAGED.lines().skip_while(|line| line.starts_with('#')) {
        match (line, &path) {
            (line, _) if line.starts_with("ExecStart=") => {
                body.push_str(&format!("ExecStart={}\n", command.join(" ")));
            }
            (line, Some(path)) if line.starts_with("Environment=PATH=") => {
                body.push_str(&format!("Environment={path}\n"));
            }
            (line, _) => body.push_str(&format!("{line}\n")),
        }
    }
    Ok(format!("{MARK}{}\n{body}", checksum(&body)))
}

/// Returns whether acpd wrote this unit and it was not changed.
pub fn is_unchanged(text: &str) -> bool {
    let written = text.strip_prefix(MARK).and_then(|rest| rest.split_once('\n'));
    written.is_some_and(|(sum, body)| sum == checksum(body))
}

fn checksum(body: &str) -> String {
    hex(&Sha256::digest(body))
}

/// Quotes a word of a command line of systemd.
fn word(text: &str) -> anyhow::Result<String> {
    Ok(quoted(text)?.replace('$', "$$"))
}

/// Returns the assignment of `PATH` as systemd reads it, which expands no variables there.
fn environment(path: &str) -> anyhow::Result<String> {
    quoted(&format!("PATH={path}"))
}

fn quoted(text: &str) -> anyhow::Result<String> {
    ensure!(
        !text.contains(char::is_control),
        "a unit of systemd cannot contain {text:?}"
    );
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    Ok(format!("\"{text}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_names_the_program_and_where_agents_are() {
        let service = Service {
            program: Path::new("/opt/my tools/100%/acpd"),
            options: vec!["--data-dir".to_owned(), "/srv/$x \"y\"".to_owned()],
            path: Some("/a b:/usr/bin"),
        };
        let text = text(&service).unwrap();
        assert!(
            text.contains(
                "\nExecStart=\"/opt/my tools/100%%/acpd\" \"serve\" \"--data-dir\" \"/srv/$$x \\\"y\\\"\"\n"
            ),
            "{text}"
        );
        assert!(text.contains("\nEnvironment=\"PATH=/a b:/usr/bin\"\n"), "{text}");
        assert!(
            text.contains("\nKillMode=mixed\n") && text.contains("\nType=notify\n"),
            "{text}"
        );
        assert!(is_unchanged(&text));
        assert!(!is_unchanged(&text.replace("mixed", "process")));
        assert!(!is_unchanged(PACKAGED) && !is_unchanged(""));
        let wrong = Service {
            path: Some("/a\n[Install]"),
            ..service
        };
        assert!(super::text(&wrong).is_err());
    }
}
