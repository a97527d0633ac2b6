"""A call with its retries: quiet ones of the request, announced ones of the whole stream."""

from collections.abc import Generator, Sequence
from typing import Any

from simulators.cli.codex import request
from simulators.cli.codex.api import Done, Hearing, Trouble, attempt
from simulators.cli.codex.rollout import Item
from simulators.cli.codex.run import Run
from simulators.cli.effects import Call, Effect, Hangup, Wait

_BACKOFF_S = 0.2  # doubled each time, a tenth more or less


class Plan:
    """What is asked: items to send now (they may grow between attempts), and how."""

    def __init__(self, run: Run, *, compaction: dict[str, Any] | None = None, with_tools: bool = True) -> None:
        self.compaction, self.with_tools = compaction, with_tools
        self._run = run
        self.extra: list[Item] = []
        self.dropped = 0

    def items(self) -> Sequence[Item]:
        return [*self._run.thread.wire(tagged=self._run.tagged)[self.dropped :], *self.extra]


def call(run: Run, plan: Plan, hearing: Hearing, broken: Any) -> Generator[Effect, Any, Done | Trouble]:
    """Ask until there is an answer or no sense in asking. `broken()` is a generator run after each failed attempt."""
    provider = run.config.provider
    if provider.env_key and provider.key is None and not run.settings.alone:
        return Trouble(f"Missing environment variable: `{provider.env_key}`.", info="other")
    yield from _ask_for_socket(run)
    kind = "compaction" if plan.compaction is not None else "turn"
    tries = 0
    while True:
        said = request.metadata(run, kind, plan.compaction)
        parallel = plan.with_tools
        data = request.body(run, plan.items(), said, with_tools=plan.with_tools, parallel=parallel)
        outcome = yield from _requested(run, data, said, hearing)
        if isinstance(outcome, Done):
            return outcome
        yield from broken(outcome)
        if outcome.retry not in ("stream", "request") or tries >= provider.stream_retries:
            return outcome
        tries += 1
        yield from run.listener.reconnecting(tries, provider.stream_retries, outcome.message)
        yield Wait(outcome.after if outcome.after is not None else _backoff(run, tries))


def _requested(run: Run, data: bytes, said: str, hearing: Hearing) -> Generator[Effect, Any, Done | Trouble]:
    """One call, the request repeated while the provider is out of order."""
    tries = 0
    while True:
        outcome = yield from attempt(request.url(run), request.headers(run, said), data, hearing)
        again = isinstance(outcome, Trouble) and outcome.retry in ("request", "request only")
        if not again or tries >= run.config.provider.request_retries:
            return outcome
        tries += 1
        yield Wait(_backoff(run, tries))


def _backoff(run: Run, tries: int) -> float:
    return float(_BACKOFF_S * 2 ** (tries - 1) * (0.9 + 0.2 * run.ids.fraction()))


def _ask_for_socket(run: Run) -> Generator[Effect, Any, None]:
    """Ask once for a WebSocket where the provider has them. The fake speaks none, so that whatever is said, it goes on
    as after a refusal."""
    provider = run.config.provider
    if not provider.websockets or run.socket_tried:
        return
    run.socket_tried = True
    said = request.metadata(run, "prewarm")
    yield Call("GET", request.url(run), request.upgrade_headers(run, said))
    yield Hangup()
    yield from run.listener.log(
        "codex_api::endpoint::responses_websocket", "failed to connect to Responses WebSocket stage=Unknown"
    )
