"""The MCP client: servers of --mcp-config over stdio or HTTP, their tools, and calls of them.

Handshake as seen on the real one (`initialize`, `notifications/initialized`, `tools/list`). 2.1.19 puts the tools into
the request; 2.1.332 defers them, and the model calls them all the same.
"""

import json
import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from simulators.cli.claude.context import Context
from simulators.cli.claude.control import Refused
from simulators.cli.claude.session import dump
from simulators.cli.effects import Call, CallFailed, Effect, HearServer, NextChunk, ReadFile, StartServer, TellServer

_PROTOCOL = "2025-11-25"


class McpProblem(Exception):
    """A configuration that cannot be read; `str()` is for stderr."""


@dataclass(slots=True)
class Server:
    """One configured server. `tools` are as it lists them; it is `connected` once it has answered."""

    name: str
    config: Mapping[str, Any]
    greeted: bool = False
    info: dict[str, Any] = field(default_factory=dict)
    connected: bool = False
    tools: list[dict[str, Any]] = field(default_factory=list)
    asked: int = 0
    session: str | None = None

    @property
    def hosted(self) -> bool:
        """Whether it lives in the host, at the other end of the control protocol."""
        return self.config.get("type") == "sdk"

    @property
    def source(self) -> str:
        return "sdk" if self.hosted else "dynamic"


class Mcp:
    """All servers of a run."""

    def __init__(self, servers: list[Server], *, rich: bool) -> None:
        self._servers, self._rich = servers, rich

    def servers(self) -> list[dict[str, Any]]:
        """`mcp_servers` of the init event."""
        rows = []
        for server in self._servers:
            row = {"name": server.name, "status": "connected" if server.connected else "failed"}
            rows.append({**row, "source": server.source} if self._rich else row)
        return rows

    def report(self) -> list[dict[str, Any]]:
        """`mcp_status`: servers with their tools."""
        rows = []
        for server in self._servers:
            row: dict[str, Any] = {"name": server.name, "status": "connected" if server.connected else "failed"}
            row["serverInfo"] = server.info
            if self._rich:
                kind = server.config.get("type") or ("http" if "url" in server.config else "stdio")
                row |= {"transport": kind, "scope": "dynamic", "source": server.source}
            row["tools"] = [{"name": t["name"], "annotations": t.get("annotations") or {}} for t in server.tools]
            rows.append(row)
        return rows

    def hosted(self) -> list[Server]:
        """The servers in the host that were not greeted yet."""
        return [s for s in self._servers if s.hosted and not s.greeted]

    def add(self, name: str) -> None:
        """A server in the host that `initialize` named."""
        if all(s.name != name for s in self._servers):
            self._servers.append(Server(name, {"type": "sdk", "name": name}))

    def tool_names(self) -> list[str]:
        return [f"mcp__{s.name}__{t['name']}" for s in self._servers for t in s.tools]

    def declared(self) -> list[dict[str, Any]]:
        """The tools as a request carries them where they are not deferred."""
        tools = (t for s in self._servers for t in s.tools)
        return [
            {"name": name, "description": tool.get("description", ""), "input_schema": tool["inputSchema"]}
            for name, tool in zip(self.tool_names(), tools, strict=True)
        ]

    def find(self, name: str) -> tuple[Server, str] | None:
        """The server and its own name of a tool `mcp__SERVER__TOOL`."""
        for server in self._servers:
            prefix = f"mcp__{server.name}__"
            if name.startswith(prefix) and any(t["name"] == name[len(prefix) :] for t in server.tools):
                return server, name[len(prefix) :]
        return None

    def call(
        self, context: Context, server: Server, tool: str, call: Mapping[str, Any]
    ) -> Generator[Effect, Any, dict[str, Any]]:
        """`tools/call`; the server's result, or one that says that it is gone."""
        parameters = {"name": tool, "arguments": call.get("input") or {}, "_meta": {"claudecode/toolUseId": call["id"]}}
        answer = yield from _ask(context, server, "tools/call", parameters)
        if answer is None:
            return {
                "content": [{"type": "text", "text": f"MCP server {server.name} is not connected"}],
                "isError": True,
            }
        return answer


def connect(context: Context) -> Generator[Effect, Any, Mcp | None]:
    """Start and greet every server of the command line; None if there are none. Raises `McpProblem`."""
    if not context.options.mcp_config:
        return None
    servers = []
    for text in context.options.mcp_config:
        configured = yield from _configured(context, text)
        servers += [Server(re.sub("[^A-Za-z0-9_-]", "_", name), config) for name, config in configured.items()]
    for server in servers:
        if not server.hosted:
            yield from _greet(context, server)
    return Mcp(servers, rich=context.version.rich_events)


def join_host(context: Context) -> Generator[Effect, Any, None]:
    """Greet the servers that live in the host."""
    if context.control is None:
        return
    if context.mcp is None and context.control.sdk_servers:
        context.mcp = Mcp([], rich=context.version.rich_events)
    for name in context.control.sdk_servers:
        assert context.mcp is not None
        context.mcp.add(name)
    for server in context.mcp.hosted() if context.mcp is not None else ():
        yield from _greet(context, server)


def _configured(context: Context, text: str) -> Generator[Effect, Any, dict[str, Any]]:
    source = text
    if not text.lstrip().startswith("{"):
        path = text if text.startswith("/") else f"{context.start.cwd}/{text}"
        data = yield ReadFile(path)
        if data is None:
            raise McpProblem(f"Error: Invalid MCP configuration:\nMCP config file not found: {path}")
        source = data.decode("utf-8", "replace")
    try:
        servers = json.loads(source)["mcpServers"]
    except (ValueError, KeyError, TypeError):
        said = "mcpServers: Does not adhere to MCP server configuration schema"
        raise McpProblem(f"Error: Invalid MCP configuration:\n{said}") from None
    return dict(servers)


def _greet(context: Context, server: Server) -> Generator[Effect, Any, None]:
    config = server.config
    server.greeted = True
    if "url" not in config and not server.hosted:
        argv = (str(config.get("command", "")), *map(str, config.get("args", ())))
        started = yield StartServer(server.name, argv, {k: str(v) for k, v in (config.get("env") or {}).items()})
        if not started:
            return
    who = {"name": "claude-code", "version": context.version.name}
    hello = {"protocolVersion": _PROTOCOL, "capabilities": {"roots": {}}, "clientInfo": who}
    answered = yield from _ask(context, server, "initialize", hello)
    if answered is None:
        return
    server.info = dict(answered.get("serverInfo") or {})
    yield from _send(context, server, {"method": "notifications/initialized", "jsonrpc": "2.0"})
    listed = yield from _ask(context, server, "tools/list", None)
    if listed is not None:
        server.connected = True
        server.tools = [t for t in listed.get("tools", ()) if isinstance(t.get("inputSchema"), dict)]


def _ask(
    context: Context, server: Server, method: str, parameters: Any
) -> Generator[Effect, Any, dict[str, Any] | None]:
    """One request and its result; None if there is no answer. An error of the server's is a result with `isError`."""
    message: dict[str, Any] = {"method": method, "jsonrpc": "2.0", "id": server.asked}
    if parameters is not None:
        message["params"] = parameters
    server.asked += 1
    answer = yield from _send(context, server, message)
    if answer is None:
        return None
    if "error" in answer:
        text = f"MCP error {answer['error'].get('code')}: {answer['error'].get('message')}"
        return {"content": [{"type": "text", "text": text}], "isError": True} if method == "tools/call" else None
    result = answer.get("result")
    return result if isinstance(result, dict) else {}


def _send(context: Context, server: Server, message: dict[str, Any]) -> Generator[Effect, Any, dict[str, Any] | None]:
    """Send a message; for a request, wait for the answer with its id."""
    if server.hosted:
        return (yield from _tell_host(context, server, message))
    if "url" in server.config:
        return (yield from _post(server, message))
    yield TellServer(server.name, dump(message).encode() + b"\n")
    while "id" in message:
        line = yield HearServer(server.name)
        if not line:
            return None
        answer = _object(line)
        if answer.get("id") == message["id"] and ("result" in answer or "error" in answer):
            return answer
    return None


def _tell_host(
    context: Context, server: Server, message: dict[str, Any]
) -> Generator[Effect, Any, dict[str, Any] | None]:
    if context.control is None:
        return None
    try:
        said = yield from context.control.ask(
            {"subtype": "mcp_message", "server_name": server.name, "message": message}
        )
    except Refused:
        return None
    answer = said.get("mcp_response")
    return answer if isinstance(answer, dict) and "id" in message else None


def _post(server: Server, message: dict[str, Any]) -> Generator[Effect, Any, dict[str, Any] | None]:
    headers = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")]
    headers += [(str(k), str(v)) for k, v in (server.config.get("headers") or {}).items()]
    if server.session is not None:
        headers.append(("mcp-session-id", server.session))
    reply = yield Call("POST", str(server.config["url"]), headers, dump(message).encode())
    if isinstance(reply, CallFailed):
        return None
    server.session = next((v for k, v in reply.headers if k == "mcp-session-id"), server.session)
    body = b""
    while True:
        chunk = yield NextChunk()
        if isinstance(chunk, CallFailed) or not chunk:
            break
        body += chunk
    if reply.status >= 300:
        return None
    for line in body.splitlines():
        answer = _object(line.removeprefix(b"data:"))
        if answer.get("id") == message.get("id") and ("result" in answer or "error" in answer):
            return answer
    return None


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
