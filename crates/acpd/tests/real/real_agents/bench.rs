//! One agent with its daemon and its model, and a thread that the cases share.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use acpd_fake_model::FakeModel;
use serde_json::{Value, json};

use super::agents::{Agent, Setting};
use super::cases::Case;
use crate::support::{Client, Daemon, Incoming, Place, Turn};

/// The user's answer to an agent's question.
#[derive(Debug, Clone, Copy)]
pub enum Answer {
    Accept,
    Decline,
    /// The agent's first "always" option that allows; a single approval if there is none.
    Always,
}

/// One agent, its daemon and its model.
pub struct Bench {
    pub agent: &'static Agent,
    pub setting: Setting,
    pub daemon: Daemon,
    pub model: FakeModel,
    talk: Option<Talk>,
}

/// A thread, and the client that uses it.
pub struct Talk {
    pub client: Client,
    pub thread: String,
}

impl Bench {
    pub fn new(agent: &'static Agent) -> Self {
        Self::with(agent, "")
    }

    /// Returns a bench whose agent has more settings: lines of its table in the configuration.
    pub fn with(agent: &'static Agent, more: &str) -> Self {
        let model = FakeModel::start().expect("a port is free");
        let place = Place::new("");
        let work = place.work();
        let setting = Setting {
            home: work.with_file_name("home"),
            starts: work.with_file_name("starts"),
            work,
            model: model.url(),
        };
        agent.settle(&setting);
        let configuration = agent.configuration(&setting, ("ACPD_TEST_MARK", &place.mark()));
        let table = format!("[agents.{}]\n", agent.name);
        place.configure(&configuration.replace(&table, &format!("{table}{more}")));
        Self {
            agent,
            setting,
            daemon: Daemon::at(place),
            model,
            talk: None,
        }
    }

    /// Runs a case; returns its remarks, or why it failed.
    pub fn attempt(&mut self, case: Case) -> Result<String, String> {
        let tried = catch_unwind(AssertUnwindSafe(|| case.play(self)));
        let seen = tried.unwrap_or_else(|panic| Err(message(&*panic)));
        if seen.is_err() {
            self.start_afresh();
        }
        seen
    }

    /// After a failure the state of the thread is unknown: the next case gets a new one.
    fn start_afresh(&mut self) {
        self.talk = None;
        self.restart();
    }

    /// Restarts the daemon, which stops the agent.
    pub fn restart(&mut self) {
        self.daemon.stop();
        self.daemon.place.wait_for_no_agents();
        (self.agent.age)(&self.setting);
        self.daemon.restart();
    }

    /// Returns the thread; starts one if there is none.
    pub fn talk(&mut self) -> &mut Talk {
        let (daemon, agent) = (&self.daemon, self.agent.name);
        self.talk.get_or_insert_with(|| {
            let mut client = Client::new(daemon);
            let thread = client.thread_of(daemon, agent);
            Talk { client, thread }
        })
    }

    /// Continues in the same thread with a new connection, after the last received event.
    pub fn reconnect(&mut self) -> &mut Talk {
        let Talk { client, thread } = self.talk.take().expect("a case has begun the thread");
        let last = client.seen.last().expect("a turn was run").seq();
        let mut client = Client::new(&self.daemon);
        client.resume(&thread, last);
        self.talk.insert(Talk { client, thread })
    }

    /// Returns the path of a file in the working directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.daemon.place.work().join(name)
    }

    /// Prints the model's last requests, for debugging.
    pub fn explain(&self) {
        let seen = self.model.seen();
        for seen in &seen[seen.len().saturating_sub(16)..] {
            let said = seen.ask.iter().flat_map(|ask| &ask.said).next_back();
            let tools = seen.ask.iter().flat_map(|ask| &ask.tools);
            let tools: Vec<_> = tools.map(|tool| tool.name.as_str()).collect();
            eprintln!(
                "{}: the last said was {}; tools {}; the answer was {}",
                seen.path,
                short(&format!("{said:?}")),
                short(&tools.join(" ")),
                short(&format!("{:?}", seen.reply))
            );
        }
    }
}

fn short(text: &str) -> String {
    text.chars().take(400).collect()
}

impl Talk {
    /// Runs a turn to its end and answers every question the same way; returns the number of questions too.
    pub fn turn(&mut self, text: &str, answer: Answer) -> (Turn, usize) {
        let turn = self.client.start(&self.thread, text);
        let (mut messages, mut asked) = (Vec::new(), 0);
        loop {
            let message = self.client.next();
            if message.is_question() && message.id.is_some() {
                asked += 1;
                self.answer(&message, answer);
            }
            let ended = message.method == "turn/completed" && message.params["turn"]["id"] == turn;
            messages.push(message);
            if ended {
                break;
            }
        }
        let end = messages.last().expect("it ended").params["turn"].clone();
        (Turn { messages, end }, asked)
    }

    fn answer(&mut self, question: &Incoming, answer: Answer) {
        let decision = match answer {
            Answer::Accept => "accept",
            Answer::Decline => "decline",
            Answer::Always => match option(&question.params["options"], "allow_always") {
                Some(option) => {
                    let answer = json!({ "requestId": question.params["requestId"], "optionId": option });
                    self.client.call("item/approve", &answer);
                    return;
                }
                None => "accept",
            },
        };
        self.client.respond(question, &json!({ "decision": decision }));
    }
}

/// Returns the id of the first option of this kind.
pub fn option<'o>(options: &'o Value, kind: &str) -> Option<&'o str> {
    let options = options.as_array().into_iter().flatten();
    let mut fitting = options.filter(|option| option["kind"] == kind);
    fitting.next()?["optionId"].as_str()
}

/// Returns the message of a panic.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied())
        .unwrap_or("it panicked")
        .to_owned()
}
