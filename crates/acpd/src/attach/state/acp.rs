//! ACP's own objects within the daemon's messages.
//!
//! In: objects that the daemon passes on as the agent sent them. Out: what attach needs of them. Never: fails; a member of an
//! unexpected type counts as absent.

use acpd_client::protocol::AcpObject;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::lenient::{lenient, lenient_list};

/// Parts of a `session/new` result and of a `config_option_update`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionState {
    #[serde(default, deserialize_with = "lenient")]
    pub config_options: Option<Value>,
    #[serde(default, deserialize_with = "lenient")]
    pub modes: Option<Modes>,
}

/// The modes of a session.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Modes {
    #[serde(default, deserialize_with = "lenient")]
    pub current_mode_id: Option<String>,
}

/// An `available_commands_update`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandsUpdate {
    #[serde(default, deserialize_with = "lenient_list")]
    pub available_commands: Vec<Command>,
}

/// A command of the agent.
#[derive(Debug, Deserialize)]
pub struct Command {
    pub name: String,
    #[serde(default, deserialize_with = "lenient")]
    pub description: Option<String>,
    /// `command`, `skill`, or another kind of later versions of ACP. Absent for a command of version 1.
    #[serde(default, rename = "type", deserialize_with = "lenient")]
    pub kind: Option<String>,
}

/// A content block.
#[derive(Debug, Default, Deserialize)]
struct Block {
    #[serde(default, deserialize_with = "lenient")]
    text: Option<String>,
}

/// Reads an object.
pub fn read<T: DeserializeOwned + Default>(object: &AcpObject) -> T {
    T::deserialize(object).unwrap_or_default()
}

/// Returns the text of content blocks, one a line.
pub fn text_of(blocks: &[AcpObject]) -> String {
    let texts = blocks.iter().filter_map(|block| read::<Block>(block).text);
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> AcpObject {
        serde_json::from_value(value).expect("it is an object")
    }

    #[test]
    fn a_member_of_another_type_does_not_hide_the_others() {
        let state: SessionState = read(&object(json!({ "modes": 7, "configOptions": [1, {}] })));
        assert!(state.modes.is_none() && state.config_options.is_some());
        let commands =
            json!([{ "name": "a", "description": 1 }, { "description": "no name" }, "b", { "name": "c" }]);
        let update: CommandsUpdate = read(&object(json!({ "availableCommands": commands })));
        let names: Vec<&str> = update
            .available_commands
            .iter()
            .map(|command| &*command.name)
            .collect();
        assert_eq!(names, ["a", "c"]);
        for broken in [
            json!({}),
            json!({ "availableCommands": null }),
            json!({ "availableCommands": {} }),
        ] {
            assert!(
                read::<CommandsUpdate>(&object(broken))
                    .available_commands
                    .is_empty()
            );
        }
    }

    #[test]
    fn only_blocks_with_text_have_one() {
        let blocks = [
            object(json!({ "type": "text", "text": "one" })),
            object(json!({ "type": "image", "data": "" })),
            object(json!({ "type": "text", "text": 2 })),
            object(json!({ "type": "text", "text": "two" })),
        ];
        assert_eq!(text_of(&blocks), "one\ntwo");
        assert_eq!(text_of(&[]), "");
    }
}
