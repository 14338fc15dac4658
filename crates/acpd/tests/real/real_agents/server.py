"""An MCP server with one tool. It writes each method that a client calls to a file."""

import json
import sys

TOOL = {
    "name": "glow",
    "description": "Lights the lantern.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}


def answer(request: dict) -> dict:
    params = request.get("params") or {}
    match request["method"]:
        case "initialize":
            return {
                "protocolVersion": params.get("protocolVersion", "2025-06-18"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "lantern", "version": "1"},
            }
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            return {"content": [{"type": "text", "text": f"lit: {params.get('arguments')}"}]}
        case _:
            return {}


for line in sys.stdin:
    request = json.loads(line)
    with open(sys.argv[1], "a", encoding="utf-8") as methods:
        print(request.get("method"), file=methods)
    if "id" in request and "method" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": answer(request)}), flush=True)
