"""A scripted provider behind a socket, so that a real CLI can be given the same answers as a fake."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit

from simulators.core.wire import Abort, Chunk, Head, Request


class Stub(Protocol):
    def handle(self, request: Request) -> Any: ...


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    stub: Stub


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: Any) -> None:
        return

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("content-length") or 0)))

    def _answer(self, body: bytes) -> None:
        url = urlsplit(self.path)
        headers = tuple((name.lower(), value) for name, value in self.headers.items())
        query = tuple(parse_qsl(url.query, keep_blank_values=True))
        events = iter(
            self.server.stub.handle(
                Request(method=self.command, path=url.path, query=query, headers=headers, body=body)
            )
        )
        head = next(events)
        assert isinstance(head, Head)
        self.send_response(head.status)
        for name, value in head.headers:
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in events:
            if isinstance(event, Abort):
                self.close_connection = True
                self.connection.close()
                return
            if isinstance(event, Chunk) and event.data:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(event.data), event.data))
                self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")


@contextmanager
def served(stub: Stub) -> Iterator[int]:
    """The port on which it answers."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.stub = stub
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
