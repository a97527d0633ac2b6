"""An MCP server over stdio with one tool, `say`. Run as a program by the tests."""

import json
import sys

TOOL = {"name": "say", "description": "Says it", "inputSchema": {"type": "object", "properties": {"text": {}}}}


def result_of(message: dict) -> dict:
    if message["method"] == "initialize":
        info = {"name": "echo", "version": "1"}
        return {
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": info,
        }
    if message["method"] == "tools/list":
        return {"tools": [TOOL]}
    return {"content": [{"type": "text", "text": f"MARK_MCP {message['params']['arguments']['text']}"}]}


if __name__ == "__main__":
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result_of(asked)}), flush=True)
