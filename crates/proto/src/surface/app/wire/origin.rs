//! Who caused an event.

use acpd_model::Origin;
use acpd_model::event::ClientOrigin;

wire! {
    /// Who caused an event.
    enum By<'a> by "kind" {
        /// The agent.
        Agent {},
        /// The daemon.
        Daemon {},
        /// A permission policy.
        Policy {
            /// One sentence for the user.
            reason: &'a str as Option<String>,
            /// The rule that matched, as written in the policy.
            rule: Option<&'a String> | null,
            /// Scope of the policy: `session`, `thread`, `agent` or `daemon`.
            scope: Option<&'a String> | null,
        },
        /// A client.
        Client {
            /// The principal whose credentials the client used.
            principal: &'a str,
            /// The client's name, as it reported it.
            [first] client: &'a str,
        },
    }
}

impl<'a> From<&'a Origin> for By<'a> {
    fn from(origin: &'a Origin) -> Self {
        match origin {
            Origin::Agent => Self::Agent {},
            Origin::Daemon => Self::Daemon {},
            Origin::Policy(ruling) => Self::Policy {
                reason: &ruling.reason,
                rule: ruling.rule.as_ref(),
                scope: ruling.scope.as_ref(),
            },
            Origin::Client(client) => (&**client).into(),
        }
    }
}

impl<'a> From<&'a ClientOrigin> for By<'a> {
    fn from(client: &'a ClientOrigin) -> Self {
        Self::Client {
            principal: &client.principal,
            client: &client.client,
        }
    }
}

impl<'a> By<'a> {
    /// Describes the client that acted instead of the daemon, if one did.
    pub fn client(origin: &'a Origin) -> Option<Self> {
        matches!(origin, Origin::Client(_)).then(|| origin.into())
    }
}
