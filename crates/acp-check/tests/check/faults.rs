//! Each fault of an agent is found, and no other one.

use std::collections::BTreeSet;
use std::path::Path;

use acpd_acp_check::{Connection, Options, Report, Rule, RunError, Start, Verdict, Version, run};

use crate::agent::{Agents, Fault};

async fn check(newest: Version, fault: Option<Fault>, signs_in: bool, options: &Options) -> Report {
    let mut agents = Agents {
        newest,
        is_only: false,
        fault,
        signs_in,
        is_fast: false,
    };
    run(&mut agents, vec!["agent".to_owned()], options).await.unwrap()
}

fn violated(report: &Report) -> BTreeSet<Rule> {
    report
        .rows()
        .filter(|(_, row)| row.verdict == Verdict::Violated)
        .map(|(_, row)| row.rule)
        .collect()
}

/// All faults, the versions that have them, and the rules that they violate.
const FAULTS: [(Fault, &[Version], &[Rule]); 29] = [
    (Fault::PrintsLogs, &Version::ALL, &[Rule::Lines]),
    (Fault::Exits, &Version::ALL, &[Rule::Running]),
    (Fault::BreaksSchema, &Version::ALL, &[Rule::Schema]),
    (Fault::BreaksResult, &Version::ALL, &[Rule::Schema]),
    (Fault::InventsMethod, &Version::ALL, &[Rule::Method]),
    (Fault::AnswersTwice, &Version::ALL, &[Rule::Answered]),
    (Fault::ChangesIds, &Version::ALL, &[Rule::Answered]),
    (Fault::RepeatsIds, &Version::ALL, &[Rule::Ids]),
    (Fault::EchoesVersion, &Version::ALL, &[Rule::Version]),
    (Fault::MixesShapes, &Version::ALL, &[Rule::Version]),
    (Fault::CodesParams, &Version::ALL, &[Rule::Params]),
    (Fault::CodesMethods, &Version::ALL, &[Rule::Unknown]),
    (
        Fault::DiesOfNotifications,
        &Version::ALL,
        &[Rule::Running, Rule::Ignored],
    ),
    (
        Fault::DiesOfNoise,
        &Version::ALL,
        &[Rule::Running, Rule::Malformed],
    ),
    (Fault::DeclaresTooMuch, &Version::ALL, &[Rule::Declared]),
    (Fault::DeclaresTooLittle, &Version::ALL, &[Rule::Undeclared]),
    (Fault::NamesNoSession, &Version::ALL, &[Rule::Session]),
    (Fault::RepeatsSessions, &Version::ALL, &[Rule::NewId]),
    (Fault::SpeaksAfterClose, &Version::ALL, &[Rule::Closed]),
    (Fault::TakesAnySession, &Version::ALL, &[Rule::NoSession]),
    (Fault::SkipsToolCall, &Version::ALL, &[Rule::ToolCall]),
    (Fault::InventsTerminal, &Version::ALL, &[Rule::Terminal]),
    (Fault::SharesMessageIds, &Version::ALL, &[Rule::Message]),
    // The value that it shows stays, whatever is set.
    (
        Fault::PicksUnoffered,
        &Version::ALL,
        &[Rule::Choice, Rule::Effect],
    ),
    (Fault::IgnoresChanges, &Version::ALL, &[Rule::Effect]),
    (Fault::NeverEnds, &Version::ALL, &[Rule::Turn]),
    (Fault::EndsAsIfNot, &Version::ALL, &[Rule::Cancelled]),
    (Fault::KeepsMessage, &[Version::Two], &[Rule::Echo]),
    (Fault::EndsReplayWithoutMark, &[Version::Two], &[Rule::Replay]),
];

#[tokio::test(start_paused = true)]
async fn an_agent_without_a_fault_has_no_violation() {
    for newest in Version::ALL {
        let report = check(newest, None, false, &Options::default()).await;
        assert_eq!(report.violations(), 0, "{newest}:\n{}", report.table());
        let untried = report.rows().filter(|(_, row)| row.verdict == Verdict::NotTried);
        let untried: BTreeSet<&str> = untried.map(|(_, row)| row.method.as_str()).collect();
        // They would change more than a session of the run.
        let expected = ["auth/logout", "logout", "providers/disable", "providers/set"];
        assert!(
            untried.iter().all(|method| expected.contains(method)),
            "{newest}:\n{}",
            report.table()
        );
        let json = report.json();
        assert_eq!(json["violations"], 0);
        assert_eq!(json["rows"].as_array().unwrap().len(), report.rows().count());
        assert_eq!(report.agent.as_deref(), Some("one 1.0"));
    }
}

#[tokio::test(start_paused = true)]
async fn each_fault_is_found_and_no_other() {
    for (fault, versions, expected) in FAULTS {
        for version in versions {
            let options = Options {
                versions: vec![*version],
                ..Options::default()
            };
            // An agent of version 1 is asked for version 2 to see that it echoes.
            let both = fault == Fault::MixesShapes;
            let options = if both { Options::default() } else { options };
            let report = check(*version, Some(fault), false, &options).await;
            let expected: BTreeSet<Rule> = expected.iter().copied().collect();
            assert_eq!(
                violated(&report),
                expected,
                "{fault:?}, {version}:\n{}",
                report.table()
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_may_have_the_newest_version_alone() {
    let mut agents = Agents {
        newest: Version::Two,
        is_only: true,
        fault: None,
        signs_in: false,
        is_fast: false,
    };
    let options = Options::default();
    let report = run(&mut agents, Vec::new(), &options).await.unwrap();
    assert_eq!(report.violations(), 0, "{}", report.table());
    let of_first = report.rows().find(|(version, _)| *version == Version::One);
    assert_eq!(of_first.unwrap().1.verdict, Verdict::NotOffered);
    assert_eq!(report.agent.as_deref(), Some("two 2.0"));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_ends_at_once_is_not_cancelled() {
    let mut agents = Agents {
        newest: Version::Two,
        is_only: false,
        fault: None,
        signs_in: false,
        is_fast: true,
    };
    let report = run(&mut agents, Vec::new(), &Options::default()).await.unwrap();
    assert_eq!(report.violations(), 0, "{}", report.table());
    let cancelled = report.rows().filter(|(_, row)| row.rule == Rule::Cancelled);
    let verdicts: Vec<_> = cancelled.map(|(version, row)| (version, row.verdict)).collect();
    assert_eq!(verdicts, Version::ALL.map(|version| (version, Verdict::NotTried)));
}

#[tokio::test(start_paused = true)]
async fn a_requested_version_that_is_declined_is_a_violation() {
    for (newest, requested) in [(Version::One, Version::Two), (Version::Two, Version::One)] {
        let mut agents = Agents {
            newest,
            is_only: true,
            fault: None,
            signs_in: false,
            is_fast: false,
        };
        let mut options = Options {
            versions: vec![requested],
            ..Options::default()
        };
        let report = run(&mut agents, Vec::new(), &options).await.unwrap();
        assert_eq!(report.violations(), 1, "{}", report.table());
        let said = "the agent does not speak the requested version";
        assert!(report.table().contains(said), "{}", report.table());

        options.versions = Version::ALL.to_vec();
        let report = run(&mut agents, Vec::new(), &options).await.unwrap();
        assert_eq!(report.violations(), 0, "{}", report.table());
    }
}

/// Starts an agent this often.
struct Few(u32);

impl Start for Few {
    fn start(&mut self, directory: &Path) -> Result<Connection, String> {
        self.0 = self.0.checked_sub(1).ok_or("no more")?;
        Agents {
            newest: Version::Two,
            is_only: false,
            fault: None,
            signs_in: false,
            is_fast: false,
        }
        .start(directory)
    }
}

#[tokio::test(start_paused = true)]
async fn a_later_start_that_fails_is_a_violation() {
    let options = Options::default();
    let never = run(&mut Few(0), Vec::new(), &options).await.unwrap_err();
    assert!(matches!(never, RunError::Start(_)), "{never}");
    // The first version, three odd ones and the second version have a process each.
    for starts in 1..5 {
        let report = run(&mut Few(starts), Vec::new(), &options).await.unwrap();
        let expected = usize::try_from(5 - starts).unwrap();
        assert_eq!(report.violations(), expected, "{}", report.table());
        assert_eq!(violated(&report), BTreeSet::from([Rule::Running]));
        let mut rows = report.rows();
        assert!(rows.any(|(_, row)| row.rule == Rule::Turn && row.verdict == Verdict::Ok));
    }
}

#[test]
fn each_rule_has_a_fault_that_violates_it() {
    let found: BTreeSet<Rule> = FAULTS
        .iter()
        .flat_map(|(_, _, rules)| rules.iter().copied())
        .collect();
    assert_eq!(found, Rule::ALL.into_iter().collect());
}

#[tokio::test(start_paused = true)]
async fn a_run_says_what_a_sign_in_prevented() {
    for version in Version::ALL {
        let mut options = Options {
            versions: vec![version],
            ..Options::default()
        };
        let report = check(version, None, true, &options).await;
        assert_eq!(report.violations(), 0, "{}", report.table());
        let reason = report.sign_in.as_deref().unwrap();
        assert!(reason.contains("Authentication required"), "{reason}");
        let turn = report
            .rows()
            .find(|(_, row)| row.method == "session/prompt" && row.rule == Rule::Turn);
        assert_eq!(turn.unwrap().1.verdict, Verdict::NotTried);
        assert!(report.table().contains("needs a sign-in"), "{}", report.table());

        options.sign_in = Some("key".to_owned());
        let report = check(version, None, true, &options).await;
        assert_eq!((report.violations(), report.sign_in.as_deref()), (0, None));
    }
}

#[tokio::test(start_paused = true)]
async fn texts_of_agents_do_not_break_a_table() {
    let options = Options {
        versions: vec![Version::One],
        ..Options::default()
    };
    let report = check(Version::One, Some(Fault::BreaksSchema), false, &options).await;
    let table = report.markdown();
    let line = table.lines().find(|line| line.contains("VIOLATED")).unwrap();
    assert!(
        line.contains("update.content.text: missing, it is required"),
        "{line}"
    );
    assert!(
        line.starts_with("| v1 | `session/update agent_message_chunk` | schema |"),
        "{line}"
    );
}
