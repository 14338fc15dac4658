//! The actions of a client in a scene.

use acpd_model::event::ClientOrigin;
use acpd_model::{Failure, Origin, RawJson, RequestId, TurnId};
use acpd_policy::Scope;
use acpd_proto::agent::ElicitationModes;
use acpd_proto::projection::{SessionChange, Spec, text_block};
use acpd_proto::thread::{Answer, Command, Input, InterruptOptions, Reply, TurnView};

use super::scene::Scene;

fn owner() -> Origin {
    Origin::Client(Box::new(ClientOrigin {
        principal: "owner".into(),
        client: "test".into(),
    }))
}

/// Starts the agent for a client that shows no questions.
pub fn wake() -> Command {
    Command::Wake {
        shows: ElicitationModes::NONE,
    }
}

impl Scene {
    /// Sends a command. [`Scene::replies`] has the response under the returned number, now or later.
    pub fn send(&mut self, command: Command) -> u64 {
        self.send_as(owner(), command)
    }

    /// Sends a command with this origin.
    pub fn send_as(&mut self, by: acpd_model::Origin, command: Command) -> u64 {
        let call = self.next_call;
        self.next_call += 1;
        self.handle(Input::Command { call, by, command });
        call
    }

    /// Sends a command that has an immediate response.
    pub fn ask(&mut self, command: Command) -> Result<Reply, Failure> {
        let call = self.send(command);
        self.replies
            .get(&call)
            .cloned()
            .expect("the command is answered at once")
    }

    /// Creates the thread. The response follows when the agent is ready.
    pub fn create(&mut self) -> u64 {
        self.create_with(SessionChange::default())
    }

    /// Like [`Scene::create`], with session parameters for the agent.
    pub fn create_with(&mut self, change: SessionChange) -> u64 {
        let spec = Spec {
            agent: "fake".into(),
            cwd: "/workspace".into(),
            mcp_servers: change.mcp_servers.unwrap_or_default(),
            meta: change.meta,
            members: change.members,
            system_prompt: change.system_prompt,
            ..Spec::default()
        };
        self.create_as(spec)
    }

    /// Creates the thread with a complete specification.
    pub fn create_as(&mut self, spec: Spec) -> u64 {
        self.create_for(ElicitationModes::ALL, spec)
    }

    /// Like [`Scene::create_as`], for a client that can show these modes of elicitation.
    pub fn create_for(&mut self, elicitation: ElicitationModes, spec: Spec) -> u64 {
        self.send(Command::Create {
            spec: Box::new(spec),
            name: None,
            project_id: None,
            metadata: None,
            elicitation,
            config_options: Vec::new(),
        })
    }

    /// Starts a turn with plain text.
    pub fn prompt(&mut self, text: &str) -> TurnId {
        self.start_turn(vec![text_block(text)], None).unwrap().id
    }

    /// Starts a turn.
    pub fn start_turn(
        &mut self,
        input: Vec<RawJson>,
        client_turn_id: Option<&str>,
    ) -> Result<TurnView, Failure> {
        self.start_turn_instead(None, input, client_turn_id)
    }

    /// Starts a turn in place of an earlier one and those after it.
    pub fn start_turn_instead(
        &mut self,
        replaces: Option<TurnId>,
        input: Vec<RawJson>,
        client_turn_id: Option<&str>,
    ) -> Result<TurnView, Failure> {
        let client_turn_id = client_turn_id.map(str::to_owned);
        let reply = self.ask(Command::StartTurn {
            input,
            meta: None,
            client_turn_id,
            replaces,
        })?;
        match reply {
            Reply::Turn(view) => Ok(view),
            other => panic!("a turn is answered with a turn: {other:?}"),
        }
    }

    /// Interrupts the running turn.
    pub fn interrupt(&mut self) {
        self.interrupt_turn(None).unwrap();
    }

    /// Interrupts one turn, or the running turn.
    pub fn interrupt_turn(&mut self, turn: Option<TurnId>) -> Result<(), Failure> {
        self.interrupt_with(turn, InterruptOptions::default())
    }

    /// Interrupts one turn, or the running turn, with options.
    pub fn interrupt_with(&mut self, turn: Option<TurnId>, options: InterruptOptions) -> Result<(), Failure> {
        self.ask(Command::Interrupt { turn, options })
            .map(|reply| assert_eq!(reply, Reply::Done))
    }

    /// Responds to request `number`.
    pub fn decide(&mut self, number: u32, answer: Answer) -> Result<(), Failure> {
        self.decide_for(number, answer, None)
    }

    /// Like [`Scene::decide`], with a scope in which the answer is remembered.
    pub fn decide_for(&mut self, number: u32, answer: Answer, scope: Option<Scope>) -> Result<(), Failure> {
        let request = RequestId {
            thread: self.id,
            number,
        };
        self.ask(Command::Answer {
            request,
            answer,
            scope,
        })
        .map(|reply| assert_eq!(reply, Reply::Done))
    }
}
