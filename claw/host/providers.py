"""Provider adapters over the official SDKs, made when first asked for."""

from collections.abc import Mapping
from typing import Any

from claw import providers
from claw.core.calls import Provider
from claw.core.errors import FailureKind, ProviderError, ProviderFailure
from claw.host.models import HostModels
from claw.ports import Models

TIMEOUT_S = 600.0  # of one read: a backstop under the runtime's own idle timeout, and the SDKs' own default
CONNECT_S = 30.0


class SdkProviders:
    """`claw.ports.Providers`. `transport` (an `httpx2.AsyncBaseTransport`) stands in for the network.

    One HTTP client serves every adapter, and the same provider, address and key get the same adapter again.
    Belongs to one event loop; `await close()` frees the connections.
    """

    def __init__(self, transport: Any = None, *, models: Models | None = None, timeout_s: float = TIMEOUT_S) -> None:
        self._transport = transport
        self._models = models or HostModels()
        self._timeout_s = timeout_s
        self._http: Any = None
        self._made: dict[tuple[str, str | None, str], Provider] = {}

    def open(self, provider: str, *, base_url: str | None, key: str, api: str | None = None) -> Provider:
        """Raises `ClawError` for a provider that does not exist."""
        made = self._made.get((provider, base_url, key))
        if made is None:
            adapter = providers.load(provider, api)
            made = self._made[provider, base_url, key] = adapter.connect(
                base_url=base_url,
                key=key,
                http_client=self._client(),
                facts=lambda model: self._models.get(provider, model),
            )
        return made

    async def post(self, url: str, form: Mapping[str, str]) -> tuple[int, Mapping[str, str], bytes]:
        """Send a form; status, headers and body. Raises `ProviderError` when nothing answers."""
        import httpx2

        try:
            answer = await self._client().post(url, data=dict(form))
        except httpx2.HTTPError as error:
            kind = FailureKind.TIMEOUT if isinstance(error, httpx2.TimeoutException) else FailureKind.TRANSPORT
            raise ProviderError(ProviderFailure(kind=kind, message=f"{type(error).__name__}: {error}")) from None
        return answer.status_code, dict(answer.headers), answer.content

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()
            self._http = None
            self._made.clear()

    def _client(self) -> Any:
        if self._http is None:
            import httpx2

            # An explicit timeout also switches off the SDK's refusal of long non-streaming calls. Redirects are not
            # followed: what redirects a POST is a portal or a mistake in the address, and the key would go along.
            self._http = httpx2.AsyncClient(
                transport=self._transport,
                timeout=httpx2.Timeout(self._timeout_s, connect=min(CONNECT_S, self._timeout_s)),
            )
        return self._http
