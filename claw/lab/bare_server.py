"""The smallest server that sends what the simulators send: a raw ASGI app on uvicorn, for `claw bench throughput`.

Run as a module it prints its URL as one JSON line and serves until it is ended. It reads nothing of a request but
whether it asks for a stream, and knows its answers by heart: what is slower than this is the simulators' own work.
"""

import asyncio
import json
import sys
from typing import Any

DELTA = b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}}'
PIECE = b"event: content_block_delta\ndata: " + DELTA + b"\n\n"
WHOLE = json.dumps({"type": "message", "content": [{"type": "text", "text": "word " * 50}]}).encode()


def app(gap_s: float, pieces: int) -> Any:
    """An ASGI app: a stream of `pieces`, `gap_s` seconds apart (0: in one write, as the simulators do), or one body."""

    async def answer(scope: dict[str, Any], receive: Any, send: Any) -> None:
        body = (await receive())["body"]
        stream = b'"stream":true' in body.replace(b" ", b"")
        kind = b"text/event-stream" if stream else b"application/json"
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})
        if not stream:
            await send({"type": "http.response.body", "body": WHOLE})
        elif gap_s:
            for _ in range(pieces):
                await send({"type": "http.response.body", "body": PIECE, "more_body": True})
                await asyncio.sleep(gap_s)
            await send({"type": "http.response.body", "body": b""})
        else:
            await send({"type": "http.response.body", "body": PIECE * pieces})

    return answer


def main(gap_s: float, pieces: int) -> None:
    """Serve on a free port of this machine."""
    import uvicorn

    config = uvicorn.Config(
        app(gap_s, pieces),
        port=0,
        lifespan="off",
        access_log=False,
        log_level="warning",
        loop="uvloop",
        http="httptools",
    )
    sock = config.bind_socket()
    sock.listen(2048)  # now, not when the loop runs: the line below is a promise
    print(json.dumps({"url": f"http://127.0.0.1:{sock.getsockname()[1]}"}), flush=True)
    uvicorn.Server(config).run(sockets=[sock])


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
