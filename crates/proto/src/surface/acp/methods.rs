//! The methods that an editor may call. Other methods do not exist.
//!
//! In: the name of a method, and its params. Out: the first [`Step`] of what it asks for, or a turn. Owns: nothing. Never: finds the
//! function of a method by anything but its row.

use acpd_model::Failure;
use serde_json::value::RawValue;

use super::opening::{fork_session, load_session, new_session, resume_session};
use super::params::Params;
use super::peer::{Peer, Step};
use super::requests::{
    authenticate, close_session, delete_session, extension, initialize, list_sessions, log_out, move_lease,
    pass_through, read_prompt, session_options, set_config_option, set_mode, set_model, set_title,
};
use super::requests_v2::{
    cancel_terminal, log_in, read_prompt as read_prompt_v2, resume_session as resume_session_v2,
    session_options as session_options_v2, set_option,
};
use super::version::Version;
use crate::agent::{PassthroughMethod, is_extension};
use crate::surface::contract::{Steps, known_name, shown_name, unknown_method};
use crate::surface::request::{RequestKind, StartTurn};

/// A method.
pub struct Method {
    /// Name of the method. All extensions have one name.
    pub name: &'static str,
    /// What the client needs permission for.
    pub kind: RequestKind,
    begin: fn(&mut Peer, &str, Params<'_>) -> Result<Begun, Failure>,
}

impl std::fmt::Debug for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Method").field(&self.name).finish()
    }
}

impl Method {
    /// Returns the method of version 1 with this name. Extensions of the agent share one.
    pub fn find(name: &str) -> Option<&'static Self> {
        Self::find_in(Version::One, name)
    }

    fn find_in(version: Version, name: &str) -> Option<&'static Self> {
        let methods = match version {
            Version::One => METHODS,
            Version::Two => METHODS_V2,
        };
        let listed = methods.iter().find(|method| method.name == name);
        listed.or_else(|| is_extension(name).then_some(&EXTENSION))
    }
}

/// How a request begins.
pub(super) enum Begun {
    /// With a request to the daemon.
    Step(Step),
    /// With a turn, at whose end it has its response.
    Prompt(StartTurn),
}

/// What the function of a row returns.
trait IntoBegun {
    fn begun(self) -> Result<Begun, Failure>;
}

impl IntoBegun for Step {
    fn begun(self) -> Result<Begun, Failure> {
        Ok(Begun::Step(self))
    }
}

impl IntoBegun for StartTurn {
    fn begun(self) -> Result<Begun, Failure> {
        Ok(Begun::Prompt(self))
    }
}

impl<T: IntoBegun> IntoBegun for Result<T, Failure> {
    fn begun(self) -> Result<Begun, Failure> {
        self?.begun()
    }
}

/// Makes a row. The function gets the connection, the name of the method, the params, and what is in its parentheses.
macro_rules! method {
    ($name:literal $function:ident $(($more:expr))?: $kind:ident) => {
        Method {
            name: $name,
            kind: RequestKind::$kind,
            begin: |peer, name, params| $function(peer, name, params $(, $more)?).begun(),
        }
    };
}

/// All methods of version 1 except extensions.
pub static METHODS: &[Method] = &[
    method!("initialize" initialize: Initialize),
    method!("session/load" load_session: OpenThread),
    method!("session/resume" resume_session: OpenThread),
    method!("session/list" list_sessions: ListThreads),
    method!("session/close" close_session: CloseThread),
    method!("session/new" new_session: StartThread),
    method!("session/fork" fork_session: ForkThread),
    method!("session/prompt" read_prompt: StartTurn),
    method!("session/set_mode" set_mode: AskAgent),
    method!("session/set_model" set_model: AskAgent),
    method!("session/set_config_option" set_config_option: AskAgent),
    method!("session/options" session_options: AskAgent),
    method!("auth/status" pass_through(PassthroughMethod::AuthStatus): AskAgent),
    method!("providers/list" pass_through(PassthroughMethod::ListProviders): AskAgent),
    method!("_acpd/lease/acquire" move_lease(true): MoveLease),
    method!("_acpd/lease/release" move_lease(false): MoveLease),
    method!("authenticate" authenticate: SignIn),
    method!("logout" log_out: SignIn),
    method!("session/delete" delete_session: DeleteThread),
    method!("session/set_title" set_title: ChangeThread),
    method!("providers/set" pass_through(PassthroughMethod::SetProvider): ChangeProvider),
    method!("providers/disable" pass_through(PassthroughMethod::DisableProvider): ChangeProvider),
];

/// All methods of version 2 except extensions.
pub static METHODS_V2: &[Method] = &[
    method!("initialize" initialize: Initialize),
    method!("session/resume" resume_session_v2: OpenThread),
    method!("session/list" list_sessions: ListThreads),
    method!("session/close" close_session: CloseThread),
    method!("session/new" new_session: StartThread),
    method!("session/fork" fork_session: ForkThread),
    method!("session/prompt" read_prompt_v2: StartTurn),
    method!("session/set_config_option" set_option: AskAgent),
    method!("session/options" session_options_v2: AskAgent),
    method!("session/delete" delete_session: DeleteThread),
    method!("session/set_title" set_title: ChangeThread),
    method!("terminal/cancel" cancel_terminal: UseTerminal),
    method!("auth/login" log_in: SignIn),
    method!("auth/logout" log_out: SignIn),
    method!("auth/status" pass_through(PassthroughMethod::AuthStatus): AskAgent),
    method!("providers/list" pass_through(PassthroughMethod::ListProviders): AskAgent),
    method!("providers/set" pass_through(PassthroughMethod::SetProvider): ChangeProvider),
    method!("providers/disable" pass_through(PassthroughMethod::DisableProvider): ChangeProvider),
    method!("_acpd/lease/acquire" move_lease(true): MoveLease),
    method!("_acpd/lease/release" move_lease(false): MoveLease),
];

/// Every extension.
static EXTENSION: Method = method!("extension" extension: AskAgent);

impl Peer {
    /// Handles a request of the editor.
    pub(super) fn request(&mut self, id: &RawValue, method: &str, params: Params<'_>) {
        let listed = Method::find_in(self.client.version, method);
        let name = known_name(method, listed.map(|listed| listed.name));
        let request = match self.exchange.begin(name, id, self.now) {
            Ok(request) => request,
            Err(failure) => return self.send_error(&id.into(), &failure),
        };
        let Some(listed) = listed else {
            return self.refuse(request, &unknown_method(method));
        };
        let permissions = self.exchange.permissions();
        let permitted = permissions.check(listed.kind, shown_name(method));
        match permitted.and_then(|()| (listed.begin)(self, method, params)) {
            Ok(Begun::Prompt(turn)) => self.prompt(request, turn),
            Ok(Begun::Step(Step { request: first, then })) => {
                self.call(first, move |peer, reply| then(peer, request, reply));
            }
            Err(failure) => self.refuse(request, &failure),
        }
    }
}
