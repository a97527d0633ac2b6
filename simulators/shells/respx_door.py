"""respx: a router that the simulators answer behind, and a router used by clients of httpx2.

respx patches httpx, which the official SDKs no longer use; `router_transport` calls a router from httpx2 instead.
"""

import asyncio
from importlib import import_module
from typing import Any

from simulators.shells.inprocess import Provider, transport_class


def answer_from(router: Any, provider: Provider) -> Any:
    """Add a route at the end of a respx router that takes whatever the others leave, and answer it from `provider`.

    The route is returned. Inside a running event loop the client is taken to be an async one.
    """
    transport = transport_class("httpx")(provider)

    def respond(request: Any) -> Any:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return transport.handle_request(request)
        return transport.handle_async_request(request)

    return router.route().mock(side_effect=respond)


def router_transport(router: Any) -> Any:
    """A transport for `httpx2.Client` and `httpx2.AsyncClient` that asks a respx router.

    Requests and responses are translated; bodies stream through. Exceptions that a route raises as httpx has them are
    raised as httpx2 has them.
    """
    httpx2, httpx = import_module("httpx2"), import_module("httpx")

    class Body(httpx2.SyncByteStream, httpx2.AsyncByteStream):  # type: ignore[misc,name-defined]
        def __init__(self, response: Any) -> None:
            self._response = response

        def __iter__(self) -> Any:
            with _as_httpx2(httpx, httpx2):
                yield from self._response.stream

        async def __aiter__(self) -> Any:
            with _as_httpx2(httpx, httpx2):
                async for piece in self._response.stream:
                    yield piece

        def close(self) -> None:
            self._response.stream.close()

        async def aclose(self) -> None:
            await self._response.stream.aclose()

    def ask(request: Any, body: bytes) -> Any:
        return httpx.Request(
            request.method, str(request.url), headers=request.headers.raw, content=body, extensions=request.extensions
        )

    def tell(response: Any) -> Any:
        return httpx2.Response(
            response.status_code, headers=response.headers.raw, stream=Body(response), extensions=response.extensions
        )

    class RouterTransport(httpx2.BaseTransport, httpx2.AsyncBaseTransport):  # type: ignore[misc,name-defined]
        def handle_request(self, request: Any) -> Any:
            with _as_httpx2(httpx, httpx2):
                return tell(router.handler(ask(request, request.read())))

        async def handle_async_request(self, request: Any) -> Any:
            with _as_httpx2(httpx, httpx2):
                return tell(await router.async_handler(ask(request, await request.aread())))

    return RouterTransport()


class _as_httpx2:
    """Raises the twin of an httpx error that leaves the block."""

    def __init__(self, httpx: Any, httpx2: Any) -> None:
        self._httpx, self._httpx2 = httpx, httpx2

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, _: Any) -> None:
        if isinstance(error, self._httpx.TransportError):
            raise getattr(self._httpx2, kind.__name__)(str(error)) from error
