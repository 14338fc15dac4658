//! The daemon is killed and started again, any number of times, while a plan is carried out.

use std::time::Duration;

use acpd_proto::agent::{AgentConnection, AgentEvent, ConnectionMemo};
use acpd_proto::time::Now;

use super::plan::{Plan, Step, apply, written};

/// What happens before a step.
#[derive(Debug, Clone, Copy, Default)]
pub struct Before {
    /// The log stores all events so far, and the memo.
    pub stores: bool,
    /// The daemon is killed. Then so many of the last lines may not be in the journal.
    pub kill: Option<usize>,
}

/// In which order the next daemon continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    CommandsFirst,
    LinesFirst,
}

/// What the log and the agent have in the end.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    pub events: Vec<AgentEvent>,
    pub lines: Vec<String>,
}

struct Run<'p> {
    plan: &'p Plan,
    order: Order,
    connection: AgentConnection,
    now: Now,
    /// What the log has: the memo, the number of steps, and their events.
    memo: String,
    stored: usize,
    events: Vec<AgentEvent>,
    /// The number of steps that were carried out, and the events that are not stored.
    done: usize,
    unstored: Vec<AgentEvent>,
    /// The lines after the memo. The agent cannot have answered the last ones of them yet.
    journal: Vec<String>,
    unseen: usize,
    lines: Vec<String>,
}

/// Carries out the plan.
pub fn run(plan: &Plan, order: Order, mut before: impl FnMut(usize) -> Before) -> Outcome {
    let mut run = Run {
        plan,
        order,
        connection: resume(plan, &plan.memo, &[], plan.now),
        now: plan.now,
        memo: plan.memo.clone(),
        stored: 0,
        events: Vec::new(),
        done: 0,
        unstored: Vec::new(),
        journal: Vec::new(),
        unseen: 0,
        lines: Vec::new(),
    };
    for (at, planned) in plan.steps.iter().enumerate() {
        let Before { stores, kill } = before(at);
        if let Some(lost) = kill {
            run.kill(lost);
        }
        if stores || planned.after > run.stored {
            run.store();
        }
        run.step(&planned.step);
        run.done += 1;
        if let Step::Wait(_) = planned.step {
            run.store();
        }
    }
    run.store();
    let Run { events, lines, .. } = run;
    Outcome { events, lines }
}

fn resume(plan: &Plan, memo: &str, sent: &[String], now: Now) -> AgentConnection {
    let memo: ConnectionMemo = serde_json::from_str(memo).unwrap();
    let sent: String = sent.iter().map(|line| format!("{line}\n")).collect();
    AgentConnection::resume(plan.start.clone(), memo, sent.as_bytes(), now)
}

impl Run<'_> {
    fn step(&mut self, step: &Step) {
        if let Step::Line(_) = step {
            self.unseen = 0;
        }
        apply(&mut self.connection, step, &mut self.now);
        self.unstored.extend(self.connection.take_events());
        for line in written(&mut self.connection) {
            self.journal.push(line.clone());
            self.lines.push(line);
            self.unseen += 1;
        }
    }

    /// Stores the events and the memo, which is the connection after JSON.
    fn store(&mut self) {
        assert!(self.connection.is_resumable());
        let memo = self.connection.memo(self.now);
        self.memo = serde_json::to_string(&memo).unwrap();
        assert_eq!(
            serde_json::from_str::<ConnectionMemo>(&self.memo).unwrap(),
            memo,
            "the JSON has all of it"
        );
        self.events.append(&mut self.unstored);
        self.journal.clear();
        self.stored = self.done;
    }

    /// Continues with the last memo, in a process whose clock begins anew.
    fn kill(&mut self, lost: usize) {
        let lost = lost.min(self.unseen).min(self.journal.len());
        self.lines.truncate(self.lines.len() - lost);
        self.journal.truncate(self.journal.len() - lost);
        self.unseen = 0;
        self.unstored.clear();
        self.now.mono = Duration::from_millis(7);
        self.connection = resume(self.plan, &self.memo, &self.journal, self.now);
        let plan = self.plan;
        let steps = plan.steps[self.stored..self.done]
            .iter()
            .map(|planned| &planned.step);
        let (commands, lines): (Vec<&Step>, Vec<&Step>) =
            steps.partition(|step| matches!(step, Step::Command(_)));
        let steps = match self.order {
            Order::CommandsFirst => [commands, lines].concat(),
            Order::LinesFirst => [lines, commands].concat(),
        };
        for step in steps {
            self.step(step);
        }
    }
}
