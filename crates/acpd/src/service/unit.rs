//! The unit of systemd: its text, and whether a unit is as acpd wrote it.
//!
//! In: the program, its options, and for whom it runs. Out: text. Never: writes a file, or a word that systemd would
//! read as another setting.

use std::path::Path;

use acpd_server::auth::owner_token::hex;
use anyhow::{Context, ensure};
use sha2::{Digest, Sha256};

/// The packaged units, with the paths of a usual installation.
const OF_USER: &str = include_str!("../../../../packaging/systemd/user/acpd.service");
const OF_SYSTEM: &str = include_str!("../../../../packaging/systemd/system/acpd@.service");

/// Begins the first line of a written unit. The checksum of the other lines follows.
const MARK: &str = "# Written by \"acpd service install\". A changed file is not replaced: ";

/// What a unit needs to know.
pub struct Service<'a> {
    /// The path of acpd.
    pub program: &'a Path,
    /// The options of `acpd serve`.
    pub options: Vec<String>,
    /// Where agents are found; that of the packaged unit if it is `None`.
    pub path: Option<&'a str>,
    /// The user of a service of the system; `None` for a service of the user who installs it.
    pub user: Option<&'a str>,
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
    let packaged = match service.user {
        Some(user) => OF_SYSTEM.replace("%i", user),
        None => OF_USER.to_owned(),
    };
    let mut body = String::new();
    for line in packaged.lines().skip_while(|line| line.starts_with('#')) {
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

/// Returns the program that a unit starts.
pub fn program(text: &str) -> Option<String> {
    let command = text.lines().find_map(|line| line.strip_prefix("ExecStart="))?;
    // Prefixes of systemd come before the path.
    let command = command.trim_start_matches(['-', ':', '@', '+', '!']);
    let word = match command.strip_prefix('"') {
        Some(quoted) => quoted
            .split_once("\" ")
            .map_or(quoted.trim_end_matches('"'), |(word, _)| word),
        None => command.split_whitespace().next()?,
    };
    let word = word.replace("\\\"", "\"").replace("\\\\", "\\");
    let home = std::env::var("HOME").unwrap_or_default();
    Some(word.replace("%h", &home).replace("%%", "%").replace("$$", "$"))
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
    fn a_unit_of_the_system_names_its_user() {
        let service = Service {
            program: Path::new("/usr/local/bin/acpd"),
            options: Vec::new(),
            path: None,
            user: Some("acpd"),
        };
        let text = text(&service).unwrap();
        for line in [
            "User=acpd",
            "WorkingDirectory=~",
            "ExecStart=\"/usr/local/bin/acpd\" \"serve\"",
            "EnvironmentFile=-/etc/acpd/acpd.environment",
            "KillMode=mixed",
            "NoNewPrivileges=yes",
            "WantedBy=multi-user.target",
        ] {
            assert!(text.contains(&format!("\n{line}\n")), "{line}: {text}");
        }
        assert!(!text.contains("%i") && is_unchanged(&text));
    }

    #[test]
    fn a_unit_names_the_program_and_where_agents_are() {
        let service = Service {
            program: Path::new("/opt/my tools/100%/acpd"),
            options: vec!["--data-dir".to_owned(), "/srv/$x \"y\"".to_owned()],
            path: Some("/a b:/usr/bin"),
            user: None,
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
        assert_eq!(program(&text).as_deref(), Some("/opt/my tools/100%/acpd"));
        assert_eq!(
            program("ExecStart=/bin/acpd serve\n").as_deref(),
            Some("/bin/acpd")
        );
        assert!(
            program(OF_USER)
                .is_some_and(|program| program.ends_with("/.cargo/bin/acpd") && !program.contains("%h"))
        );
        assert_eq!(program("[Unit]\n"), None);
        assert!(is_unchanged(&text));
        assert!(!is_unchanged(&text.replace("mixed", "process")));
        assert!(!is_unchanged(OF_USER) && !is_unchanged(""));
        let wrong = Service {
            path: Some("/a\n[Install]"),
            ..service
        };
        assert!(super::text(&wrong).is_err());
    }
}
