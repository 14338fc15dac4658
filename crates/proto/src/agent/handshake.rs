//! `initialize`: what the daemon sends, and which version of ACP an agent speaks by its answer.
//!
//! In: the versions that an agent is offered, its answer. Out: the params, and the answer in the form of version 1. Owns: nothing.

use acpd_model::{Failure, RawJson, json};
use serde::Deserialize;

use super::acp_version::AcpVersion;
use super::elicitation_modes::ElicitationModes;
use super::v2;
use crate::wire::{Object, object};

/// What to do about an agent that does not speak the configured version.
const ADVICE: &str = "remove acp from the agent's configuration, or set it to 1";

/// An agent's answer to `initialize`.
#[derive(Debug, Clone, PartialEq)]
pub struct Negotiated {
    /// The version of ACP that the agent speaks.
    pub version: u32,
    /// The answer, in the form of version 1.
    pub hello: RawJson,
}

/// Returns the client capabilities that the daemon declares to an agent, with the modes of elicitation that it offers.
pub fn client_capabilities(elicitation: ElicitationModes) -> String {
    let elicitation = elicitation.member();
    [
        r#"{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true,"auth":{"terminal":true},"#,
        elicitation,
        r#""plan":{},"session":{"configOptions":{"boolean":{}},"notices":{},"compaction":{},"promptSuggestions":{},"cursors":{}},"subagents":{}}"#,
    ]
    .concat()
}

/// Returns the params of `initialize`. If version 2 is offered, they have the form of both: an agent that answers with version 1 would know
/// nothing of its client otherwise.
pub fn initialize_params(acp: AcpVersion, elicitation: ElicitationModes) -> RawJson {
    let info = |info: &mut Object<'_>| {
        info.put("name", "acpd")
            .put("title", "acpd")
            .put("version", env!("CARGO_PKG_VERSION"));
    };
    object(|params| {
        if acp.offers_two() {
            params
                .put("protocolVersion", &2)
                .object("info", info)
                .raw("capabilities", &v2::client_capabilities(elicitation));
        } else {
            params.put("protocolVersion", &1);
        }
        params
            .raw("clientCapabilities", &client_capabilities(elicitation))
            .object("clientInfo", info);
    })
}

/// Decides by an agent's answer to `initialize` which version it speaks. `Err` says why acpd cannot use the agent.
pub fn negotiate(acp: AcpVersion, answer: RawJson) -> Result<Negotiated, Failure> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct InitializeResult {
        protocol_version: u64,
    }
    let Ok(InitializeResult { protocol_version }) = json::read(answer.get()) else {
        return Err(Failure::agent(
            "the agent's answer to initialize has no protocolVersion",
        ));
    };
    let of_two = v2::hello(&answer).filter(|_| protocol_version == 2 && acp.offers_two());
    let failure = match (of_two, protocol_version) {
        (Some(_), _) if !v2::has_sessions(&answer) => {
            format!("the agent declares no sessions in ACP version 2: {ADVICE}")
        }
        (Some(hello), _) => return Ok(Negotiated { version: 2, hello }),
        (None, 1) if acp != AcpVersion::Two => {
            return Ok(Negotiated {
                version: 1,
                hello: answer,
            });
        }
        // Some agents repeat the number that they are asked for.
        (None, 2) if acp.offers_two() && acp != AcpVersion::Two => {
            return Ok(Negotiated {
                version: 1,
                hello: answer,
            });
        }
        (None, 2) if acp.offers_two() => {
            format!(
                "the agent answers with ACP version 2 and describes itself in the form of version 1: {ADVICE}"
            )
        }
        (None, version) if acp == AcpVersion::Two => {
            format!("the agent speaks ACP version {version}, and acp in its configuration is 2: {ADVICE}")
        }
        (None, version) => format!("the agent speaks ACP version {version}; acpd speaks version 1"),
    };
    Err(Failure::agent(failure))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speaks(acp: AcpVersion, answer: &str) -> Result<u32, String> {
        let negotiated = negotiate(acp, RawJson::parse(answer).unwrap());
        negotiated
            .map(|negotiated| negotiated.version)
            .map_err(|failure| failure.message)
    }

    #[test]
    fn the_answer_decides_about_the_version() {
        const ONE: &str = r#"{"protocolVersion":1,"agentCapabilities":{}}"#;
        const TWO: &str =
            r#"{"protocolVersion":2,"info":{"name":"a","version":"1"},"capabilities":{"session":{}}}"#;
        const ECHO: &str = r#"{"protocolVersion":2,"agentCapabilities":{}}"#;
        const NEWER: &str =
            r#"{"protocolVersion":3,"info":{"name":"a","version":"1"},"capabilities":{"session":{}}}"#;
        for acp in [AcpVersion::Auto, AcpVersion::One] {
            assert_eq!(speaks(acp, ONE), Ok(1));
            for answer in [TWO, ECHO, NEWER] {
                let failure = speaks(acp, answer).unwrap_err();
                assert!(failure.ends_with("acpd speaks version 1"), "{failure}");
            }
        }
        assert_eq!(speaks(AcpVersion::Two, TWO), Ok(2));
        for answer in [
            ONE,
            ECHO,
            NEWER,
            r#"{"protocolVersion":2,"info":{},"capabilities":{}}"#,
        ] {
            let failure = speaks(AcpVersion::Two, answer).unwrap_err();
            assert!(failure.ends_with(ADVICE), "{failure}");
        }
        assert!(speaks(AcpVersion::Auto, "{}").is_err());
    }

    #[test]
    fn version_2_has_the_params_of_both() {
        let params = |acp| {
            initialize_params(acp, ElicitationModes::ALL)
                .read::<serde_json::Value>()
                .unwrap()
        };
        let (one, two) = (params(AcpVersion::Auto), params(AcpVersion::Two));
        assert_eq!(one["protocolVersion"], 1);
        assert_eq!(one["info"], serde_json::Value::Null);
        assert_eq!(two["protocolVersion"], 2);
        assert_eq!(two["info"], one["clientInfo"]);
        assert_eq!(two["clientCapabilities"], one["clientCapabilities"]);
        assert!(two["capabilities"]["session"].is_object());
    }
}
