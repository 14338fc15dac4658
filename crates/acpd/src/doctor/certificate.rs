//! The certificate for clients of the network.
//!
//! In: the configured files. Out: findings. Never: creates a certificate, or prints a part of a key.

use acpd_formats::certificate::not_after;
use acpd_server::net::tls::TlsConfig;
use jiff::Timestamp;

use super::report::{Finding, Group};
use super::subject::Subject;
use crate::client::local::preflight::Hindrance;

/// Days before the end of a certificate from which a warning is due.
const SOON_DAYS: i64 = 14;
const DAY_SECS: i64 = 24 * 60 * 60;

/// What is known about the certificate.
#[derive(Debug)]
enum Facts {
    /// There is no TLS.
    None,
    /// The daemon makes the certificate when it starts.
    ToBeMade,
    /// It cannot be used.
    Broken(Hindrance),
    /// It can be used.
    Good {
        path: String,
        /// When it ends, if that can be read.
        ends: Option<Timestamp>,
        is_self_signed: bool,
    },
}

/// Checks the certificate.
pub fn check(subject: &Subject) -> Vec<Finding> {
    let facts = facts(subject);
    findings(&facts, Timestamp::now())
}

fn facts(subject: &Subject) -> Facts {
    let daemon = &subject.settings.daemon;
    let Some(tls) = &daemon.server.tls else {
        return Facts::None;
    };
    let (cert, key) = match tls.files(&daemon.data_dir) {
        Ok(files) => files,
        Err(error) => return Facts::Broken(Hindrance::of_tls(tls, &error)),
    };
    if tls.self_signed && !(cert.exists() && key.exists()) {
        return Facts::ToBeMade;
    }
    match TlsConfig::load(tls, &daemon.data_dir, &[]) {
        Err(error) => Facts::Broken(Hindrance::of_tls(tls, &error)),
        Ok(_) => Facts::Good {
            ends: std::fs::read(&cert).ok().and_then(|pem| not_after(&pem)),
            path: cert.display().to_string(),
            is_self_signed: tls.self_signed,
        },
    }
}

fn findings(facts: &Facts, now: Timestamp) -> Vec<Finding> {
    let group = Group::Certificate;
    let finding = match facts {
        Facts::None => Finding::ok(
            group,
            "there is none; the daemon needs one to listen on the network",
        ),
        Facts::ToBeMade => Finding::ok(group, "the daemon makes a self-signed certificate when it starts"),
        Facts::Broken(hindrance) => Finding::hindrance(group, hindrance),
        Facts::Good { path, ends: None, .. } => Finding::warning(
            group,
            format!("the end of the certificate in {path} cannot be read"),
        )
        .fix("check the file with openssl x509 -noout -enddate"),
        Facts::Good {
            path,
            ends: Some(ends),
            is_self_signed,
        } => {
            let fix = if *is_self_signed {
                "remove tls-cert.pem and tls-key.pem from the data directory, then run acpd restart; clients pin the new fingerprint"
            } else {
                "renew it and replace the files; a running daemon uses the new ones within a second"
            };
            let left = (ends.as_second() - now.as_second()) / DAY_SECS;
            let date = ends.strftime("%Y-%m-%d");
            if *ends <= now {
                Finding::problem(group, format!("the certificate in {path} expired on {date}")).fix(fix)
            } else if left < SOON_DAYS {
                Finding::warning(
                    group,
                    format!("the certificate in {path} expires on {date}, in {left} days"),
                )
                .fix(fix)
            } else {
                Finding::ok(group, format!("the certificate in {path} is valid until {date}"))
            }
        }
    };
    vec![finding]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::report::Level;

    fn good(ends: Option<&str>) -> Facts {
        Facts::Good {
            path: "/c.pem".to_owned(),
            ends: ends.map(|ends| ends.parse().unwrap()),
            is_self_signed: false,
        }
    }

    fn broken(is_own: bool) -> Facts {
        Facts::Broken(Hindrance::Tls {
            reason: "no key".to_owned(),
            is_own,
        })
    }

    #[test]
    fn the_certificate_of_the_daemon_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let tls = TlsConfig {
            self_signed: true,
            ..TlsConfig::default()
        };
        tls.load(dir.path(), &[]).unwrap();
        let pem = std::fs::read(dir.path().join("tls-cert.pem")).unwrap();
        assert!(not_after(&pem).unwrap() > Timestamp::now());
    }

    #[test]
    fn each_state_has_its_finding() {
        let now = "2026-11-25T00:00:00Z".parse().unwrap();
        for (facts, level, part) in [
            (Facts::None, Level::Ok, "there is none"),
            (Facts::ToBeMade, Level::Ok, "when it starts"),
            (broken(true), Level::Problem, "no key"),
            (broken(false), Level::Problem, "no key"),
            (good(None), Level::Warning, "cannot be read"),
            (
                good(Some("2026-11-24T23:59:59Z")),
                Level::Problem,
                "expired on 2026-11-24",
            ),
            (good(Some("2026-11-30T00:00:00Z")), Level::Warning, "in 5 days"),
            (
                good(Some("2027-11-30T00:00:00Z")),
                Level::Ok,
                "valid until 2027-11-30",
            ),
        ] {
            let found = findings(&facts, now);
            assert_eq!((found.len(), found[0].level), (1, level), "{found:?}");
            assert!(found[0].message.contains(part), "{found:?}");
            assert!(level == Level::Ok || found[0].fix.is_some());
        }
    }
}
