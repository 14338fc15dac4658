//! A [`Context`] for tests, with an in-memory log, and an event.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use acpd_log::{Memory, SharedLog};
use acpd_model::{Event, EventKind, Limits, Origin, Seq, SessionEvent};
use tokio::sync::watch;

use crate::agent::config::AgentConfig;
use crate::agent::registry::{AgentBook, Agents};
use crate::attachments::Attachments;
use crate::bulk::Bulk;
use crate::clock::Clock;
use crate::context::{Context, Parts};
use crate::host::Host;
use crate::host::local::LocalHost;
use crate::ids::Ids;
use crate::live_limits::LiveLimits;
use crate::notify::Notifications;
use crate::observe::Sinks;
use crate::policy::book::PolicyBook;
use crate::policy::remembered::RememberedAnswers;
use crate::seen::Seen;
use crate::share::NoShares;

/// Builds a context with the given agents and an in-memory log. Files go to `data_dir`.
pub fn context(data_dir: &Path, agents: BTreeMap<String, AgentConfig>, limits: Limits) -> Context {
    context_with_log(Arc::new(Memory::new()), data_dir, agents, limits)
}

/// Builds the same context on the given log.
pub fn context_with_log(
    log: SharedLog,
    data_dir: &Path,
    agents: BTreeMap<String, AgentConfig>,
    limits: Limits,
) -> Context {
    let host: Arc<dyn Host> = Arc::new(LocalHost);
    let clock = Clock::start();
    let policies = watch::channel(PolicyBook::new(None, &agents)).1;
    let book = AgentBook {
        configured: agents,
        ..AgentBook::default()
    };
    Context::open(Parts {
        log,
        policies,
        agents: Agents::fixed(book, data_dir),
        limits: LiveLimits::fixed(limits),
        clock,
        ids: Ids::default(),
        answers: RememberedAnswers::open(Arc::clone(&host), data_dir).expect("answers are read"),
        seen: Seen::open(Arc::clone(&host), clock, data_dir),
        attachments: Attachments::new(Arc::clone(&host), clock, data_dir),
        host,
        reserved: Arc::default(),
        bulk: Bulk::here(),
        shares: Arc::new(NoShares),
        sinks: Sinks::default(),
        notifications: Notifications::off(),
    })
}

/// Returns an event that an agent's notification made.
pub fn event(seq: Seq) -> Event {
    Event {
        seq,
        at: 0,
        turn: None,
        by: Origin::Agent,
        kind: EventKind::Session(SessionEvent::AgentNotified { method: "_x".into() }),
        raw: None,
        raw_params: None,
        repeats_id: false,
        translated: false,
        lane: None,
    }
}
