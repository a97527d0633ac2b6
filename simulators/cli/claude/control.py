"""The control protocol that the Agent SDKs speak beside input stream-json: requests and answers by id, both ways.

The host asks (initialize, interrupt, set_model, …) and is asked (can_use_tool, hook_callback, mcp_message). Shapes as
2.1.332 prints them to `claude-agent-sdk`.
"""

import json
from collections import deque
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

from simulators.cli.claude import greeting
from simulators.cli.claude.models import lookup
from simulators.cli.claude.session import dump
from simulators.cli.effects import Effect, Heard, ReadStdin, WatchStdin, Write

if TYPE_CHECKING:
    from simulators.cli.claude.context import Context

Steps = Generator[Effect, Any, None]
Message = dict[str, Any]
_INTERRUPT = b'"subtype":"interrupt"'
_MODES = ("default", "acceptEdits", "bypassPermissions", "plan", "dontAsk", "delegate", "auto", "manual")


class BadInput(Exception):
    """A line of stdin that is no JSON; `str()` is for stderr."""


class Refused(Exception):
    """The host answered a request with an error, or is gone."""


class Control:
    """The host at the other end of stdin and stdout."""

    def __init__(self, context: "Context") -> None:
        self._context = context
        self._inbox: deque[Message] = deque()
        self._ended = False
        self.hooks: Mapping[str, Any] = {}  # event → matchers with callback ids, from `initialize`
        self.sdk_servers: tuple[str, ...] = ()  # MCP servers that live in the host

    def open(self) -> Steps:
        """Listen for interrupts from now on, whatever else is being done."""
        yield WatchStdin((_INTERRUPT,))

    def next_prompt(self) -> Generator[Effect, Any, Message | None]:
        """The next user message; requests that come before it are answered. None at the end of stdin."""
        while True:
            message = self._inbox.popleft() if self._inbox else (yield from self._read())
            if message is None:
                return None
            if message.get("type") == "control_request":
                yield from self._serve(message)
            elif message.get("type") == "user":
                return message

    def ask(self, request: Message) -> Generator[Effect, Any, Message]:
        """Ask the host and wait for its answer. Raises `Refused`, or `Heard` when it interrupts instead."""
        id = self._context.ids.uuid()
        yield from self._print({"type": "control_request", "request_id": id, "request": request})
        while True:
            message = yield from self._read()
            if message is None:
                raise Refused("Stream closed")
            kind = message.get("type")
            if kind == "control_response" and message["response"].get("request_id") == id:
                answer = message["response"]
                if answer.get("subtype") != "success":
                    raise Refused(str(answer.get("error", "")))
                return dict(answer.get("response") or {})
            if kind == "user":
                self._inbox.append(message)
            elif kind == "control_request":
                if message["request"].get("subtype") == "interrupt":
                    yield from self._print({"type": "control_cancel_request", "request_id": id})
                    raise Heard(dump(message).encode())
                yield from self._serve(message)

    def confirm(self, line: bytes) -> Steps:
        """Answer the interrupt that `line` asks for."""
        yield from self._succeed(json.loads(line)["request_id"], self._interrupted())

    def state(self, state: str) -> Steps:
        """`session_state_changed`, which hosts ask for by an environment variable."""
        env = self._context.env
        hosted = env.get("CLAUDE_CODE_SDK_READS_SESSION_STATE", "") not in ("", "0", "false")
        emitted = env.get("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "") not in ("", "0", "false")
        if self._context.version.rich_events and (hosted or emitted):
            only: Message = {} if emitted else {"sdk_host_only": True}
            yield from self._context.emit("system", subtype="session_state_changed", state=state, **only)

    # -- lines --------------------------------------------------------------------------------------------------

    def _print(self, message: Message) -> Steps:
        yield Write((dump(message) + "\n").encode("utf-8", "surrogatepass"))

    def _read(self) -> Generator[Effect, Any, Message | None]:
        while not self._ended:
            line = yield ReadStdin()
            if not line:
                self._ended = True
            elif line.strip():
                try:
                    message = json.loads(line)
                except ValueError:
                    said = line.decode("utf-8", "replace").strip()
                    raise BadInput(f"Error parsing streaming input line: {said}") from None
                if isinstance(message, dict):
                    return message
        return None

    # -- what the host asks -------------------------------------------------------------------------------------

    def _serve(self, message: Message) -> Steps:
        request = message.get("request") or {}
        subtype = str(request.get("subtype", ""))
        answer = getattr(self, f"_on_{subtype}", None)
        id = str(message.get("request_id", ""))
        if answer is None:
            error = {"subtype": "error", "request_id": id, "error": f"Unsupported control request subtype: {subtype}"}
            yield from self._print({"type": "control_response", "response": error})
        else:
            yield from answer(id, request)

    def _succeed(self, id: str, response: Message | None = None) -> Steps:
        made: Message = {"subtype": "success", "request_id": id}
        if response is not None:
            made["response"] = response
        yield from self._print({"type": "control_response", "response": made})

    def _on_initialize(self, id: str, request: Message) -> Steps:
        self.hooks = request.get("hooks") or {}
        self.sdk_servers = tuple(request.get("sdkMcpServers") or ())
        options = self._context.options
        for key, name in (("systemPrompt", "system_prompt"), ("appendSystemPrompt", "append_system_prompt")):
            said = request.get(key)
            if said is not None:
                setattr(options, name, said if isinstance(said, str) else "\n".join(said))
        if request.get("jsonSchema"):
            options.json_schema = dump(request["jsonSchema"])
        yield from self._succeed(id, greeting.initialized(self._context))

    def _interrupted(self) -> Message | None:
        if not self._context.version.rich_events:
            return None
        return {"still_queued": [m["uuid"] for m in self._inbox if m.get("type") == "user" and "uuid" in m]}

    def _on_interrupt(self, id: str, _request: Message) -> Steps:
        yield from self._succeed(id, self._interrupted())

    def _on_set_permission_mode(self, id: str, request: Message) -> Steps:
        context, mode = self._context, str(request.get("mode", ""))
        if mode not in _MODES:
            error = {"subtype": "error", "request_id": id, "error": f"Invalid permission mode: {mode}"}
            yield from self._print({"type": "control_response", "response": error})
            return
        context.options.permission_mode, context.options.dangerously_skip_permissions = mode, False
        yield from self._succeed(id, {"mode": mode})
        if context.version.rich_events:
            yield from context.emit("system", subtype="status", status=None, permissionMode=mode)

    def _on_set_model(self, id: str, request: Message) -> Steps:
        context, asked = self._context, request.get("model")
        version = context.version
        name = version.default_model if asked in (None, "default") else version.aliases.get(str(asked), str(asked))
        context.model = lookup(name)
        if version.rich_events:
            yield from greeting.say_model(context, str(asked or "default"))
        yield from self._succeed(id, {"model": name} if version.rich_events else None)

    def _on_set_max_thinking_tokens(self, id: str, request: Message) -> Steps:
        self._context.thinking_budget = request.get("max_thinking_tokens")
        yield from self._succeed(id)

    def _on_mcp_status(self, id: str, _request: Message) -> Steps:
        yield from self._context.join_host_servers()
        mcp = self._context.mcp
        yield from self._succeed(id, {"mcpServers": mcp.report() if mcp is not None else []})

    def _on_get_context_usage(self, id: str, _request: Message) -> Steps:
        yield from self._succeed(id, greeting.context_usage(self._context))
