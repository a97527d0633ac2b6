"""Performs `CallModel`: one call of a provider, streamed, folded, timed, and told as one event."""

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, cast

from claw.auth import Credential
from claw.core.commands import CallModel
from claw.core.errors import FailureKind, ProviderError, ProviderFailure
from claw.core.events import ModelFailed, ModelFinished
from claw.core.messages import Message
from claw.core.stream import Fold, MessageEnd, StreamEvent
from claw.ports import Ports
from claw.runtime.config import Config
from claw.runtime.failover import Rests, base_url
from claw.runtime.tokens import Tokens
from claw.runtime.watch import Watch

LINGER_S = 1.0  # how long a finished answer's connection may take to end


class ProviderCalls:
    """The embedded path. `credentials` by profile id; what happens to a profile is written into `rests`."""

    def __init__(
        self,
        ports: Ports,
        config: Config,
        credentials: Mapping[tuple[str, str], Credential],
        env: Mapping[str, str],
        rests: Rests,
        watch: Watch,
        tokens: Tokens,
    ) -> None:
        self._ports = ports
        self._config = config
        self._credentials = credentials
        self._env = env
        self._rests = rests
        self._watch = watch
        self._tokens = tokens
        self._fold: Fold | None = None

    def partial(self) -> Message | None:
        """What the call at work has said so far."""
        return self._fold.partial() if self._fold else None

    async def call(self, command: CallModel) -> ModelFinished | ModelFailed:
        """Never raises for a call that fails; cancelling it closes the stream."""
        main = command.request.purpose == "main"
        fold = Fold()
        self._fold = fold if main else None
        started = self._ports.clock.now()
        failure: ProviderFailure | None = None
        try:
            async for event in self._events(command):
                fold.feed(event)
                if main:
                    self._watch.stream(event)
        except ProviderError as error:
            failure = None if fold.done else error.failure  # after its end an answer cannot fail any more
        self._fold = None
        if failure is None and not fold.done:
            failure = ProviderFailure(kind=FailureKind.TRUNCATED, message="the stream ended before the message did")
        if failure is None:
            several = sum(provider == command.provider for provider, _ in self._credentials) > 1
            self._rests.succeeded(command, started=started, several=several)
            return ModelFinished(id=command.id, turn=fold.turn())
        self._rests.failed(command, failure)
        return ModelFailed(
            id=command.id,
            failure=failure,
            delivered=main and fold.delivered,
            usage=fold.turn().usage,
            seconds=self._ports.clock.now() - started,
        )

    async def _events(self, command: CallModel) -> AsyncIterator[StreamEvent]:
        """The stream under two time-outs: until the first event, and between events."""
        credential = self._credentials[command.provider, command.profile]
        key = await self._tokens.key(credential)
        options = self._config.providers.get(command.provider)
        kin = {"api": options.api} if options and options.api else {}
        provider = self._ports.providers.open(
            command.provider, base_url=base_url(self._config, command.provider, self._env), key=key, **kin
        )
        times = self._config.timeouts
        allowed, what = times.first_event_s, "no response"
        # Providers are async generators: closing one frees its connection.
        async with aclosing(cast(Any, provider.call(command.request))) as stream:
            while True:
                try:
                    async with self._ports.clock.timeout(allowed or None):
                        event = await anext(stream, None)
                except TimeoutError:
                    message = f"{what} from {command.request.model} for {allowed:g} s"
                    raise ProviderError(ProviderFailure(kind=FailureKind.TIMEOUT, message=message)) from None
                if event is None:
                    return
                yield event
                # A stream is read to its end, so that its connection can be used again, but not waited for.
                allowed = LINGER_S if isinstance(event, MessageEnd) else times.idle_s
                what = "no more"
