//! Methods that an agent may leave out, and the capability that declares each.

use crate::version::Version;

/// An optional method.
#[derive(Debug)]
pub(super) struct Method {
    pub(super) name: &'static str,
    /// The members of the result of `initialize`, in version 1 and 2. Empty: the version does not have it.
    declared: [&'static str; 2],
    /// Why a run does not call it.
    pub(super) untried: Option<&'static str>,
}

const SIGNS_OUT: Option<&str> = Some("it would end the user's sign-in");
const CHANGES: Option<&str> = Some("it would change the agent's settings");

const fn method(name: &'static str, one: &'static str, two: &'static str) -> Method {
    Method {
        name,
        declared: [one, two],
        untried: None,
    }
}

const fn untried(
    name: &'static str,
    one: &'static str,
    two: &'static str,
    untried: Option<&'static str>,
) -> Method {
    Method {
        name,
        declared: [one, two],
        untried,
    }
}

/// All optional methods.
#[rustfmt::skip]
const METHODS: [Method; 17] = [
    method("session/load", "/agentCapabilities/loadSession", ""),
    method("session/resume", "/agentCapabilities/sessionCapabilities/resume", "/capabilities/session"),
    method("session/list", "/agentCapabilities/sessionCapabilities/list", "/capabilities/session"),
    method("session/close", "/agentCapabilities/sessionCapabilities/close", "/capabilities/session"),
    method("session/delete", "/agentCapabilities/sessionCapabilities/delete", "/capabilities/session/delete"),
    method("session/fork", "/agentCapabilities/sessionCapabilities/fork", "/capabilities/session/fork"),
    method("session/archive", "/agentCapabilities/sessionCapabilities/archive", "/capabilities/session/archive"),
    method("session/unarchive", "/agentCapabilities/sessionCapabilities/archive", "/capabilities/session/archive"),
    method("session/status", "/agentCapabilities/sessionCapabilities/status", "/capabilities/session/status"),
    method("session/options", "/agentCapabilities/sessionCapabilities/options", "/capabilities/session/options"),
    method("session/set_title", "/agentCapabilities/sessionCapabilities/title", "/capabilities/session/title"),
    method("auth/status", "/agentCapabilities/auth/status", "/capabilities/auth/status"),
    method("providers/list", "/agentCapabilities/providers", "/capabilities/providers"),
    untried("providers/set", "/agentCapabilities/providers", "/capabilities/providers", CHANGES),
    untried("providers/disable", "/agentCapabilities/providers", "/capabilities/providers", CHANGES),
    untried("logout", "/agentCapabilities/auth/logout", "", SIGNS_OUT),
    untried("auth/logout", "", "/capabilities/auth", SIGNS_OUT),
];

impl Method {
    /// Returns the member of the result of `initialize` that declares it.
    pub(super) fn declared(&self, version: Version) -> &'static str {
        match version {
            Version::One => self.declared[0],
            Version::Two => self.declared[1],
        }
    }
}

/// Returns the optional methods of a version.
pub(super) fn of(version: Version) -> impl Iterator<Item = &'static Method> {
    METHODS
        .iter()
        .filter(move |method| !method.declared(version).is_empty())
}

/// Returns the optional method with this name.
pub(super) fn find(version: Version, name: &str) -> Option<&'static Method> {
    of(version).find(|method| method.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Schema, Shape, Side};

    #[test]
    fn each_version_has_its_methods() {
        for version in Version::ALL {
            let schema = Schema::of(version);
            for method in of(version) {
                let is_there = schema.has(Side::Agent, Shape::Response, method.name);
                assert!(is_there, "{version}: {}", method.name);
            }
        }
    }
}
