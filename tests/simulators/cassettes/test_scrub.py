"""No secret reaches the disk, wherever it stands; what is scrubbed is listed, never shown."""

import base64
import gzip
import string
from pathlib import Path

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulators.cassettes import vcr
from simulators.cassettes.format import Exchange
from simulators.cassettes.recording import Recorder
from simulators.cassettes.scrub import scrub
from tests.simulators.cassettes._recorded import needs_recordings, some

_WORD = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"


def token(prefix: str, size: int, alphabet: str = _WORD) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=size, max_size=size).map(lambda s: prefix + s)


SECRETS = st.one_of(
    token("sk-ant-api03-", 80, _WORD + "-_"), token("sk-ant-oat01-", 40), token("sk-proj-", 60, _WORD + "-_"),
    token("sk-svcacct-", 40), token("sk-", 48), token("sk-or-v1-", 64, _HEX), token("AIzaSy", 33, _WORD + "-_"),
    token("ya29.a0", 60, _WORD + "-_"), token("AKIA", 16, string.ascii_uppercase + "234567"), token("ghp_", 36),
    token("github_pat_", 50), token("gho_", 36), token("xoxb-123456789012-", 24), token("xapp-1-", 30), token("glpat-", 20),  # noqa: E501
    token("hf_", 34), token("gsk_", 52), token("xai-", 60), token("org-", 24), token("proj_", 24), token("r8_", 37),
    st.tuples(token("eyJ", 20), token("eyJ", 40), token("", 43)).map(".".join),
)  # fmt: skip
PLACES = ("header", "bearer", "query", "body", "prose", "sse", "deltas", "base64", "base64 twice", "gzip", "escaped")


def hidden(secret: str, place: str) -> Exchange:
    """An exchange with a secret in one place."""
    made = Exchange(
        method="POST", uri="https://api.example.com/v1/messages", headers=(("content-type", "application/json"),)
    )
    match place:
        case "header":
            made.request_headers = (("x-api-key", secret),)
        case "bearer":
            made.request_headers = (("Authorization", f"Bearer {secret}"),)
        case "query":
            made.uri += f"?key={secret}"
        case "body":
            made.request_body = msgspec.json.encode({"messages": [{"content": f"my key is {secret} ."}]})
        case "prose":
            made.body = f"Incorrect API key provided: {secret}. Find it in your settings.".encode()
        case "sse" | "deltas":
            made.headers = (("content-type", "text/event-stream"),)
            size = len(secret) if place == "sse" else 5
            pieces = [secret[i : i + size] for i in range(0, len(secret), size)]
            events = [
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": p}} for p in pieces
            ]
            made.body = b"".join(b"event: e\ndata: %b\n\n" % msgspec.json.encode(e) for e in events)
        case "base64":
            made.body = msgspec.json.encode({"data": base64.b64encode(f"key={secret};".encode()).decode()})
        case "base64 twice":
            once = base64.b64encode(f"key={secret};".encode())
            made.body = msgspec.json.encode({"data": base64.b64encode(b"<" + once + b">").decode()})
        case "gzip":
            made.headers = (*made.headers, ("content-encoding", "gzip"))
            made.body = gzip.compress(msgspec.json.encode({"t": secret}))
        case "escaped":
            made.body = b'{"t":"%b"}' % "".join(f"\\u{ord(c):04x}" for c in secret).encode()
    return made


def readable(exchange: Exchange) -> str:
    """All that can be read out of an exchange with some effort."""
    seen = [repr(exchange), exchange.plain_body().decode("latin-1")]
    try:
        tree = msgspec.json.decode(exchange.plain_body())
        data = tree.get("data", "") if isinstance(tree, dict) else ""
        once = base64.b64decode(data).decode("latin-1")
        seen += [repr(tree), once, base64.b64decode(once.strip("<>") + "===").decode("latin-1")]
    except (msgspec.DecodeError, ValueError):
        pass
    texts = [
        msgspec.json.decode(line[6:])["delta"]["text"] for line in exchange.body.splitlines() if line[:6] == b"data: "
    ]
    return "\n".join((*seen, "".join(texts)))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(secret=SECRETS, place=st.sampled_from(PLACES))
def test_no_secret_reaches_the_disk(secret: str, place: str, tmp_path: Path) -> None:
    exchange = hidden(secret, place)
    assert secret in readable(exchange)  # it can be found at all
    recorder = Recorder(tmp_path / "c.yaml", claw={"origin": "recorded"})
    recorder.add(exchange)
    written = (tmp_path / "c.yaml").read_text()
    assert secret not in written
    assert secret not in readable(vcr.read(tmp_path / "c.yaml").exchanges[0])
    assert recorder.scrubbed
    assert secret not in repr(recorder.scrubbed)


def test_a_credential_of_no_known_form_is_found_wherever_it_was(tmp_path: Path) -> None:
    """It shows as a header in the second exchange; the first one had it in its text."""
    recorder = Recorder(tmp_path / "c.yaml", claw={})
    recorder.add(hidden("qqq111www222", "prose"))
    recorder.add(hidden("qqq111www222", "header"))
    assert "qqq111www222" not in (tmp_path / "c.yaml").read_text()


def test_scrubbing_twice_changes_nothing() -> None:
    from simulators.cassettes.format import Cassette

    once = scrub(Cassette(exchanges=[hidden("sk-proj-" + "a1" * 20, place) for place in PLACES]))
    assert scrub(once).exchanges == once.exchanges


@needs_recordings
def test_ordinary_traffic_is_left_alone() -> None:
    """Random texts (images, encrypted reasoning) hold much; none of it is taken for a key."""
    looked = 0
    for file in some(5):
        cassette = vcr.read(file)
        for before, after in zip(cassette.exchanges, scrub(cassette).exchanges, strict=True):
            assert (after.body, after.request_body) == (before.body, before.request_body), file.name
            looked += 1
    assert looked
