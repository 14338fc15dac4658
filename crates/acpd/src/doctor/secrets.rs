//! Files with secrets: their owner and mode.
//!
//! In: the paths of files. Out: findings. Never: prints a secret, or changes a mode.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use acpd_files::DATA_FILES;
use acpd_policy::shell_line;

use super::report::{Finding, Group};
use super::subject::Subject;
use crate::client::local::preflight::{Hindrance, unusable};

/// A file with a secret.
#[derive(Debug, Clone)]
struct Secret {
    path: PathBuf,
    /// What is in it.
    content: &'static str,
    /// Whether the daemon refuses it if other users can read it.
    is_own: bool,
    mode: u32,
    owner: u32,
}

/// Checks the files that exist.
pub fn check(subject: &Subject) -> Vec<Finding> {
    let settings = &subject.settings;
    let daemon = &settings.daemon;
    let private = DATA_FILES.iter().filter(|file| file.is_private);
    let mut files: Vec<(PathBuf, &'static str, bool)> = private
        .map(|file| (file.path(&daemon.data_dir), file.content, true))
        .collect();
    let has_values = daemon
        .agents
        .values()
        .any(|agent| !agent.env.is_empty() || !agent.mcp_servers.is_empty());
    if has_values {
        files.push((
            settings.config_path.clone(),
            "variables and headers of agents",
            false,
        ));
    }
    if let Some(folder) = settings.config_path.parent() {
        files.push((folder.join("environment"), "variables of the service", false));
    }
    if let Some(key) = daemon.server.tls.as_ref().and_then(|tls| tls.key.clone()) {
        files.push((key, "the key of the certificate", false));
    }
    let hindrances = unusable(settings);
    let hinders = |path: &Path| {
        hindrances
            .iter()
            .any(|hindrance| matches!(hindrance, Hindrance::File { path: file, .. } if file == path))
    };
    let secrets: Vec<Secret> = files
        .into_iter()
        .filter(|(path, ..)| !hinders(path))
        .filter_map(|(path, content, is_own)| of_file(&path, content, is_own))
        .collect();
    let mut found: Vec<Finding> = hindrances
        .iter()
        .map(|hindrance| Finding::hindrance(Group::Secrets, hindrance))
        .collect();
    if found.is_empty() || !secrets.is_empty() {
        found.extend(findings(&secrets, rustix::process::geteuid().as_raw()));
    }
    found
}

fn of_file(path: &Path, content: &'static str, is_own: bool) -> Option<Secret> {
    let found = path.metadata().ok()?;
    Some(Secret {
        path: path.to_owned(),
        content,
        is_own,
        mode: found.mode() & 0o777,
        owner: found.uid(),
    })
}

fn findings(secrets: &[Secret], user: u32) -> Vec<Finding> {
    let group = Group::Secrets;
    let mut found = Vec::new();
    for secret in secrets {
        let path = secret.path.display();
        let (mode, content) = (secret.mode, secret.content);
        if secret.owner != user && secret.owner != 0 {
            found.push(
                Finding::problem(
                    group,
                    format!("{path} ({content}) belongs to another user ({})", secret.owner),
                )
                .fix("remove it, or make it belong to the user of the daemon"),
            );
            continue;
        }
        // A group may read a certificate's key: that is how some tools share it. All users may not.
        let others = if secret.is_own { 0o077 } else { 0o007 };
        if mode & others == 0 {
            continue;
        }
        let fix = shell_line("chmod", ["600", &*secret.path.to_string_lossy()]);
        found.push(if secret.is_own {
            Finding::problem(
                group,
                format!("{path} ({content}) has mode {mode:04o}: the daemon does not use it, since other users can"),
            )
            .fix(fix)
        } else {
            Finding::warning(
                group,
                format!("{path} ({content}) has mode {mode:04o}: other users can read it"),
            )
            .fix(fix)
        });
    }
    if found.is_empty() {
        found.push(Finding::ok(
            group,
            match secrets.len() {
                0 => "there are no files with secrets yet".to_owned(),
                1 => "no other user can read the file with secrets".to_owned(),
                many => format!("no other user can read the {many} files with secrets"),
            },
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::report::Level;

    fn secret(is_own: bool, mode: u32, owner: u32) -> Secret {
        Secret {
            path: "/d/token".into(),
            content: "credentials",
            is_own,
            mode,
            owner,
        }
    }

    #[test]
    fn a_mode_matters_more_for_files_of_acpd() {
        for (secret, level) in [
            (secret(true, 0o600, 1000), Level::Ok),
            (secret(true, 0o600, 0), Level::Ok),
            (secret(true, 0o640, 1000), Level::Problem),
            (secret(true, 0o600, 1001), Level::Problem),
            (secret(false, 0o640, 1000), Level::Ok),
            (secret(false, 0o644, 1000), Level::Warning),
        ] {
            let found = findings(std::slice::from_ref(&secret), 1000);
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].level, level, "{secret:?}");
            assert!(level == Level::Ok || found[0].fix.is_some());
        }
        assert_eq!(findings(&[], 1000)[0].level, Level::Ok);
        let fix = findings(&[secret(true, 0o644, 1000)], 1000)[0].fix.clone();
        assert_eq!(fix.as_deref(), Some("chmod 600 /d/token"));
    }
}
