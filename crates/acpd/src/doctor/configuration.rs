//! The configuration file.
//!
//! In: the settings as loaded. Out: findings. Never: changes the file.

use acpd_runtime::agent::registry::Agents;

use super::report::{Finding, Group};
use super::subject::Subject;

/// What is known about the file.
#[derive(Debug, Default)]
struct Facts {
    path: String,
    exists: bool,
    /// Why it cannot be read.
    unreadable: Option<String>,
    /// What is wrong in it.
    wrong: Option<String>,
    warnings: Vec<String>,
}

/// Checks the file.
pub fn check(subject: &Subject) -> Vec<Finding> {
    let settings = &subject.settings;
    let mut facts = Facts {
        path: settings.config_path.display().to_string(),
        exists: settings.config_file.is_some(),
        unreadable: subject.unreadable.clone(),
        wrong: settings.wrong.as_ref().map(ToString::to_string),
        warnings: Vec::new(),
    };
    if let (Some(_), None) = (&settings.config_file, &settings.wrong) {
        let daemon = &settings.daemon;
        facts.warnings = daemon.warnings(&Agents::fixed(daemon.agent_book(), &daemon.data_dir));
    }
    findings(&facts)
}

fn findings(facts: &Facts) -> Vec<Finding> {
    let group = Group::Configuration;
    if let Some(unreadable) = &facts.unreadable {
        return vec![
            Finding::problem(group, unreadable)
                .fix("create the file, make it readable, or name another one with --config or ACPD_CONFIG"),
        ];
    }
    if let Some(wrong) = &facts.wrong {
        return vec![
            Finding::problem(
                group,
                format!("{wrong}; a running daemon keeps its last correct settings"),
            )
            .fix("correct the file, then run acpd config check"),
        ];
    }
    if !facts.exists {
        return vec![
            Finding::ok(
                group,
                format!("{} does not exist; the defaults apply", facts.path),
            )
            .fix("acpd setup writes one with the agents of this host and comments"),
        ];
    }
    let warnings = facts.warnings.iter();
    let mut found: Vec<Finding> = warnings
        .map(|warning| Finding::warning(group, warning).fix(format!("edit {}", facts.path)))
        .collect();
    if found.is_empty() {
        found.push(Finding::ok(group, format!("{} is correct", facts.path)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::report::Level;

    fn facts() -> Facts {
        Facts {
            path: "/c.toml".to_owned(),
            exists: true,
            ..Facts::default()
        }
    }

    fn only(facts: &Facts) -> (Level, String) {
        let found = findings(facts);
        assert_eq!(found.len(), 1, "{found:?}");
        (found[0].level, found[0].message.clone())
    }

    #[test]
    fn each_state_of_the_file_has_its_finding() {
        assert_eq!(only(&facts()), (Level::Ok, "/c.toml is correct".to_owned()));
        let missing = Facts {
            exists: false,
            ..facts()
        };
        assert_eq!(only(&missing).0, Level::Ok);
        assert!(findings(&missing)[0].fix.as_ref().unwrap().contains("acpd setup"));
        let wrong = Facts {
            wrong: Some("line 3".to_owned()),
            ..facts()
        };
        assert_eq!(
            only(&wrong),
            (
                Level::Problem,
                "line 3; a running daemon keeps its last correct settings".to_owned()
            )
        );
        let unreadable = Facts {
            unreadable: Some("it cannot be read".to_owned()),
            ..facts()
        };
        assert_eq!(only(&unreadable).0, Level::Problem);
        let warned = Facts {
            warnings: vec!["a".to_owned(), "b".to_owned()],
            ..facts()
        };
        let found = findings(&warned);
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|finding| finding.level == Level::Warning));
    }
}
