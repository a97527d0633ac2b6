"""A program that uses `claude-agent-sdk` as its users do; run by `test_agent_sdk` with a Python that has it.

    python agent_sdk_story.py PATH-OF-CLAUDE WORKING-DIRECTORY
Prints one JSON object: what happened, by the part of the story.
"""

import asyncio
import json
import sys
from importlib.metadata import version
from typing import Any

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    create_sdk_mcp_server,
    query,
    tool,
)

CLI, CWD = sys.argv[1:3]
seen: dict[str, Any] = {"version": version("claude-agent-sdk"), "asked": [], "hooks": []}


def options(**more: Any) -> ClaudeAgentOptions:
    return ClaudeAgentOptions(cli_path=CLI, cwd=CWD, **more)


async def answers(client: ClaudeSDKClient) -> list[Any]:
    return [message async for message in client.receive_response()]


def words(messages: list[Any]) -> str:
    blocks = [b for m in messages if isinstance(m, AssistantMessage) for b in m.content]
    return " ".join(b.text for b in blocks if hasattr(b, "text"))


async def decide(name: str, given: dict[str, Any], _context: Any) -> Any:
    seen["asked"].append([name, given])
    return PermissionResultDeny(message="no") if "forbidden" in str(given) else PermissionResultAllow()


async def on_tool(given: Any, _id: Any, _context: Any) -> Any:
    seen["hooks"].append(given["hook_event_name"])
    return {}


@tool("shout", "Says it loudly", {"text": str})
async def shout(given: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": given["text"].upper()}]}


async def main() -> None:
    hooks = {name: [HookMatcher(hooks=[on_tool])] for name in ("PreToolUse", "PostToolUse", "Stop")}
    async with ClaudeSDKClient(options(can_use_tool=decide, hooks=hooks)) as client:
        seen["commands"] = len((await client.get_server_info() or {})["commands"])
        await client.query("say hello")
        seen["prompt"] = words(await answers(client))
        await client.query("please touch allowed")
        await answers(client)
        await client.query("please touch forbidden")
        await answers(client)
        await client.set_model("sonnet")
        await client.query("say hello")
        messages = await answers(client)
        seen["model"] = next(m.model for m in messages if isinstance(m, AssistantMessage))
    server = create_sdk_mcp_server("inproc", tools=[shout])
    async with ClaudeSDKClient(options(mcp_servers={"inproc": server}, allowed_tools=["mcp__inproc__shout"])) as client:
        await client.query("use shout")
        seen["mcp"] = words(await answers(client))
    async with ClaudeSDKClient(options()) as client:
        await client.query("the long one")
        await asyncio.sleep(1.5)
        await client.interrupt()
        seen["interrupted"] = (await answers(client))[-1].subtype
        await client.query("say hello")
        last = (await answers(client))[-1]
        seen["after"] = last.result
    resumed = [m async for m in query(prompt="say hello", options=options(resume=last.session_id))]
    result = next(m for m in resumed if isinstance(m, ResultMessage))
    seen["resume"] = [result.session_id == last.session_id, result.result]


asyncio.run(asyncio.wait_for(main(), 100))
print(json.dumps(seen))
