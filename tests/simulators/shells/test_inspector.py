"""The inspector page in a real browser without a window: what it shows of an exchange, by day and by night."""

import re
import shutil
import struct
import subprocess
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import httpx2
import pytest

from simulators import Simulator
from simulators.shells.serving import RealClock, ServedOnThread

SCRIPT = """
tokenizer: words
limits: {rpm: 50, itpm: 30000}
turns: [{text: one two}, {text: three four}, {text: "<img src=x onerror=alert(1)>"}]
faults: [{kind: overloaded, on: {call: 3}}]
"""
PREFIX = "word " * 2000
LATER = [{"role": "assistant", "content": "ok"}, {"role": "user", "content": "and more " * 250}]
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The page after four calls: one that fills the cache, one that reads it, a refusal, and one whose prefix moved."""
    if BROWSER is None:
        pytest.skip("no Chromium on the PATH: the page was not looked at")
    ephemeral = {"type": "ephemeral"}
    with ServedOnThread(Simulator(clock=RealClock(), script=SCRIPT).app()) as served:
        with httpx2.Client(
            headers={"x-api-key": "sk-looked-at-1234567890", "anthropic-version": "2023-06-01"}
        ) as client:
            for text in (PREFIX, PREFIX, PREFIX, PREFIX.replace("word", "clock", 1)):
                system = [{"type": "text", "text": "rule " * 1500, "cache_control": ephemeral}]
                content = [{"type": "text", "text": text, "cache_control": ephemeral}]
                messages = [{"role": "user", "content": content}, *LATER]
                body = {"model": "claude-sonnet-4-5", "max_tokens": 50, "system": system, "messages": messages}
                client.post(f"{served.url}/v1/messages", json=body)
        yield f"{served.url}/__sim__/#~1/4"


def browser(url: str, folder: Path, *options: str) -> str:
    command = [
        str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1600,1000",
        "--virtual-time-budget=3000", f"--user-data-dir={folder}", *options, url,
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


class Text(HTMLParser):
    """What stands in the elements of a page, by their id; and every class with its `style`."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.parts: list[tuple[str, str]] = []
        self.images = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.parts.append((given.get("class") or "", given.get("style") or ""))
        self.images += tag == "img"

    def handle_data(self, data: str) -> None:
        if data.strip() and self.get_starttag_text() not in ("<script>", "<style>"):
            self.words.append(data.strip())


@pytest.mark.slow
def test_an_exchange_is_shown_whole(url: str, tmp_path: Path) -> None:
    """List, script position, buckets, timing; the bar of its prefix with breakpoints and where it broke; the answer."""
    page = Text(browser(url, tmp_path, "--dump-dom"))
    said = " ".join(page.words)
    for expected in (
        "live", "4 requests", "turn 3 of 3", "requests 4", "of 50", "input tokens", "fault:overloaded", "529",
        "Prompt, 4,001 tokens", "read 1,500", "written 2,000", "new 501", "broke at messages[0].content[0] (messages)",
        "content changed", "tokens lost 2,000", "took", " ms", "What was answered", "ended complete",
    ):  # fmt: skip
        assert expected in said, expected
    assert "sk-looked-at-1234567890" not in said
    styles = {name: [style for given, style in page.parts if given == name] for name in ("breakpoint", "broke", "read")}
    assert len(styles["breakpoint"]) == 2
    assert re.search(r"left: 37\.49\d*%", styles["broke"][0]), "where the read part of 1,500 tokens in 4,001 ends"
    assert "1500" in styles["read"][0]


@pytest.mark.slow
def test_what_a_client_sent_is_shown_and_never_run(url: str, tmp_path: Path) -> None:
    page = Text(browser(url, tmp_path, "--dump-dom"))
    assert page.images == 0
    assert any("onerror=alert(1)" in words for words in page.words)


@pytest.mark.slow
def test_it_is_light_by_day_and_dark_by_night(url: str, tmp_path: Path) -> None:
    corner = {}
    for name, option in (
        ("light", "--blink-settings=preferredColorScheme=1"),
        ("dark", "--blink-settings=preferredColorScheme=0"),
    ):
        picture = tmp_path / f"{name}.png"
        browser(url, tmp_path / name, option, f"--screenshot={picture}")
        corner[name] = first_pixel(picture.read_bytes())
    assert min(corner["light"]) > 200
    assert max(corner["dark"]) < 60


def first_pixel(png: bytes) -> tuple[int, ...]:
    """Red, green and blue of a PNG's upper left corner (8 bits a channel; no filter looks back there)."""
    at, data = 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at : at + 8])
        if kind == b"IDAT":
            data += png[at + 8 : at + 8 + size]
        at += 12 + size
    return tuple(zlib.decompress(data)[1:4])
