//! Configured MCP servers reach the agent.

use serde_json::{Value, json};

use crate::support::{Client, Daemon};

/// An agent that sends its list of MCP servers as text.
const AGENT: &str = r#"
read -r line; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
read -r new; echo '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}'
read -r line
text=$(printf '%s' "$new" | sed 's/.*"mcpServers"://; s/\\/\\\\/g; s/"/\\"/g')
printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' "$text"
echo '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}'
cat >/dev/null
"#;

#[test]
fn servers_of_the_configuration_come_after_those_of_the_thread() {
    let daemon = Daemon::with(&format!(
        "[agents.told]\ncommand = \"sh\"\nargs = [\"-c\", '''{AGENT}''']\n\
         [[agents.told.mcp_servers]]\nname = \"files\"\ncommand = \"mcp-files\"\nenv = {{ K = \"v\" }}\n\
         [[agents.told.mcp_servers]]\nname = \"mine\"\ncommand = \"not-this\"\n"
    ));
    let mut client = Client::new(&daemon);
    let own = json!({ "name": "mine", "command": "own", "args": [], "env": [] });
    let params = json!({ "agentType": "told", "cwd": daemon.place.work(), "mcpServers": [&own] });
    let started = client.call("thread/start", &params);
    let thread = started["thread"]["id"].as_str().expect("it has an id").to_owned();
    let said = client.turn(&thread, "which?").said();
    let list = said.strip_suffix("}}").expect("it ends the params");
    let servers: Value = serde_json::from_str(list).expect("a list of servers");
    let files = json!({
        "name": "files", "command": "mcp-files", "args": [], "env": [{ "name": "K", "value": "v" }],
    });
    assert_eq!(servers, json!([own, files]));
}
