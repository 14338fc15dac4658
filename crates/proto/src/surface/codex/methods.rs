//! The methods of Codex that acpd has, besides `initialize`. Other methods do not exist.
//!
//! In: the name of a method, and its params. Out: its answer, or the first [`Step`] of what it asks for. Owns: nothing. Never: finds
//! the function of a method by anything but its row.

use acpd_model::Failure;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::params::{
    self, Fork, List, OfThread, OfTurn, Pages, Queued, ReadConfig, Revert, Review, SetName, ShellCommand,
    StartThread, TurnInput, UpdateSettings,
};
use super::peer::{Peer, Step};
use super::requests::{self, Begun};
use super::write;
use crate::surface::contract::{INITIALIZE, Steps, known_name, unknown_method};
use crate::surface::request::RequestKind;
use crate::time::Now;

/// A method.
pub struct Method {
    /// Name of the method.
    pub name: &'static str,
    /// What the client needs permission for; `None` if acpd has the answer itself.
    pub kind: Option<RequestKind>,
    begin: fn(&mut Peer, Option<&RawValue>) -> Result<Begun, Failure>,
}

impl std::fmt::Debug for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Method").field(&self.name).finish()
    }
}

impl Method {
    /// Returns the method with this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        METHODS.iter().find(|method| method.name == name)
    }
}

/// What the function of a row returns.
trait IntoBegun {
    fn begun(self) -> Result<Begun, Failure>;
}

impl IntoBegun for Value {
    fn begun(self) -> Result<Begun, Failure> {
        Ok(Begun::Answer(self))
    }
}

impl IntoBegun for Step {
    fn begun(self) -> Result<Begun, Failure> {
        Ok(Begun::Step(self))
    }
}

impl IntoBegun for Begun {
    fn begun(self) -> Result<Begun, Failure> {
        Ok(self)
    }
}

impl<T: IntoBegun> IntoBegun for Result<T, Failure> {
    fn begun(self) -> Result<Begun, Failure> {
        self?.begun()
    }
}

/// Makes the table from rows of these forms. A method without a kind makes no request to the daemon.
///
/// ```text
/// NAME = ANSWER;
/// NAME(PARAMS) FUNCTION;
/// NAME(PARAMS) FUNCTION: KIND;
/// ```
macro_rules! methods {
    ($( $name:literal $(($params:ty) $function:ident $(: $kind:ident)?)? $(= $answer:expr)?; )+) => {
        /// All methods besides `initialize`.
        pub static METHODS: &[Method] = &[$(
            Method {
                name: $name,
                kind: methods!(@kind $($($kind)?)?),
                begin: methods!(@begin $(($params) $function)? $($answer)?),
            },
        )+];
    };
    (@kind) => { None };
    (@kind $kind:ident) => { Some(RequestKind::$kind) };
    (@begin ($params:ty) $function:ident) => {
        |peer, params| requests::$function(peer, params::read::<$params>(params)?).begun()
    };
    (@begin $answer:expr) => { |_, _| $answer.begun() };
}

methods! {
    // acpd has no accounts: agents sign in by themselves.
    "account/read" = json!({ "account": null, "requiresOpenaiAuth": false });
    "account/bedrock/checkGovCloudRequirements" = json!({ "isGovCloud": false, "shouldWarn": false });
    "app/list" = json!({ "data": [], "nextCursor": null });
    "collaborationMode/list" = json!({ "data": [
        { "name": "Plan", "mode": "plan" }, { "name": "Default", "mode": "default" },
    ] });
    "config/batchWrite"(IgnoredAny) write_config;
    "config/read"(ReadConfig) read_config;
    "config/value/write"(IgnoredAny) write_config;
    "configRequirements/read" = json!({ "requirements": null });
    "experimentalFeature/list" = json!({ "data": [], "nextCursor": null });
    "hooks/list" = json!({ "data": [] });
    "mcpServerStatus/list" = json!({ "data": [], "nextCursor": null });
    "model/list"(IgnoredAny) list_models: ListAgents;
    "permissionProfile/list"(IgnoredAny) list_profiles: ReadThread;
    "plugin/installed" = json!({ "marketplaces": [], "marketplaceLoadErrors": [] });
    "review/start"(Review) start_review: StartTurn;
    "skills/list" = json!({ "data": [] });
    "thread/archive"(OfThread) archive: ChangeThread;
    "thread/compact/start"(OfThread) compact: StartTurn;
    "thread/delete"(OfThread) delete: DeleteThread;
    "thread/fork"(Fork) fork: ForkThread;
    "thread/items/list"(Pages) list_items: ReadThread;
    "thread/list"(List) list: ListThreads;
    "thread/loaded/list"(IgnoredAny) list_loaded: ListThreads;
    "thread/name/set"(SetName) set_name: ChangeThread;
    "thread/queue/add"(TurnInput) queue: StartTurn;
    "thread/queue/delete"(Queued) remove_queued: Interrupt;
    "thread/queue/list"(Queued) list_queue: ReadThread;
    "thread/queue/reorder"(Queued) reorder_queue: ChangeQueue;
    "thread/queue/start"(Queued) start_queue: ChangeQueue;
    "thread/queue/update"(Queued) edit_queued: ChangeQueue;
    "thread/read"(OfThread) read: ReadThread;
    "thread/resume"(OfThread) resume: OpenThread;
    "thread/revert"(Revert) revert: RollBack;
    "thread/search"(List) search: SearchThreads;
    // Whether the client may change a setting is checked for each: a refused one is a warning.
    "thread/settings/update"(UpdateSettings) update_settings: ReadThread;
    "thread/shellCommand"(ShellCommand) run_command: RunCommand;
    "thread/start"(StartThread) start_thread: StartThread;
    "thread/turns/list"(Pages) list_turns: ReadThread;
    "thread/unarchive"(OfThread) unarchive: UnarchiveThread;
    "thread/unsubscribe"(OfThread) unsubscribe: CloseThread;
    "turn/interrupt"(OfTurn) interrupt: Interrupt;
    "turn/start"(TurnInput) start_turn: StartTurn;
    "turn/steer"(TurnInput) steer: SteerTurn;
}

impl Peer {
    /// Handles a request of the client.
    pub(super) fn request(&mut self, id: &RawValue, method: &str, params: Option<&RawValue>, now: Now) {
        let listed = Method::find(method);
        let name = known_name(method, listed.map(|listed| listed.name));
        let request = match self.exchange.begin(name, id, now.mono) {
            Ok(request) => request,
            Err(failure) => return self.send(|out| write::error(out, id.get(), &failure)),
        };
        if name == INITIALIZE {
            return self.initialize(request, params, now.wall);
        }
        let Some(listed) = listed else {
            return self.refuse(request, &unknown_method(method));
        };
        let step = match (listed.begin)(self, params) {
            Ok(Begun::Step(step)) => step,
            Ok(Begun::Answer(result)) => return self.respond(request, &result),
            Err(failure) => return self.refuse(request, &failure),
        };
        // After the params are read: an error of some methods would end Codex's TUI, so that the step shows the refusal in the thread.
        let permissions = self.exchange.permissions();
        let permitted = listed.kind.map_or(Ok(()), |kind| permissions.check(kind, name));
        match permitted {
            Ok(()) => self.take_step(request, step),
            Err(failure) => (step.then)(self, request, Err(failure)),
        }
    }
}
