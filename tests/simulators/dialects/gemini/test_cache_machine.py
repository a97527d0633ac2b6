"""Both caches of this vendor against a model of them that is as naive as can be."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from simulators import Simulator
from tests.simulators.dialects.gemini.asking import NOW, account, ask, body, request, user

MINIMUM, LIFE = 10, 300.0
MODELS = ("gemini-3.8-flash", "gemini-2.5-flash")
LENGTHS = {"a": 3, "b": 4, "c": 6, "d": 9, "e": 1}  # words of a content
Talk = tuple[str, ...]


def tokens(talk: Talk) -> int:
    return sum(LENGTHS[name] for name in talk)


class Naive:
    """Every prefix that was ever sent with its last use; every cached content with its end."""

    def __init__(self) -> None:
        self.used: dict[tuple[str, Talk], float] = {}
        self.kept: dict[str, tuple[str, Talk, float]] = {}

    def read(self, model: str, talk: Talk, held: int, now: float) -> int:
        """The longest prefix in use within its life, or what is held; then all of them are in use."""
        best = tokens(talk[:held])
        for end in range(len(talk) + 1):
            last = self.used.get((model, talk[:end]))
            if last is not None and now < last + LIFE and tokens(talk[:end]) >= MINIMUM:
                best = max(best, tokens(talk[:end]))
        for end in range(len(talk) + 1):
            self.used[model, talk[:end]] = now
        return best


class Caches(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        small: dict[str, Any] = {name: {"min_cacheable_tokens": MINIMUM} for name in MODELS}
        self.simulator: Simulator = account({"models": small})
        self.naive, self.at = Naive(), 0.0

    def contents(self, talk: Talk) -> list[dict[str, Any]]:
        return [user(" ".join([name] * LENGTHS[name])) for name in talk]

    @rule(seconds=st.sampled_from([1.0, 60.0, 150.0, 299.0, 300.0, 700.0]))
    def wait(self, seconds: float) -> None:
        self.at += seconds

    @rule(model=st.sampled_from(MODELS), talk=st.lists(st.sampled_from("abcde"), min_size=1, max_size=5).map(tuple))
    def say(self, model: str, talk: Talk) -> None:
        self.check(model, talk, talk, 0)

    @rule(
        model=st.sampled_from(MODELS),
        talk=st.lists(st.sampled_from("abcde"), min_size=1, max_size=4).map(tuple),
        life=st.sampled_from([50.0, 400.0]),
    )
    def store(self, model: str, talk: Talk, life: float) -> None:
        given = {"model": f"models/{model}", "contents": self.contents(talk), "ttl": f"{life:g}s"}
        reply = ask(self.simulator, request(given, path="/v1beta/cachedContents"), at=self.at)
        assert (reply.status == 200) == (tokens(talk) >= MINIMUM)
        if reply.status == 200:
            self.naive.kept[reply.json["name"]] = (model, talk, self.at + life)

    @precondition(lambda self: self.naive.kept)
    @rule(data=st.data(), more=st.sampled_from("abcde"))
    def use(self, data: st.DataObject, more: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.naive.kept)))
        model, talk, _ = self.naive.kept[name]
        self.check(model, (more,), (*talk, more), len(talk), cachedContent=name)

    @precondition(lambda self: self.naive.kept)
    @rule(data=st.data(), life=st.sampled_from([20.0, 1000.0]))
    def prolong(self, data: st.DataObject, life: float) -> None:
        name = data.draw(st.sampled_from(sorted(self.naive.kept)))
        model, talk, end = self.naive.kept[name]
        asked = request({"ttl": f"{life:g}s"}, path=f"/v1beta/{name}", verb="PATCH")
        assert ask(self.simulator, asked, at=self.at).status == (200 if self.at < end else 403)
        if self.at < end:
            self.naive.kept[name] = (model, talk, self.at + life)

    @precondition(lambda self: self.naive.kept)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.naive.kept)))
        _, _, end = self.naive.kept.pop(name)
        asked = request(path=f"/v1beta/{name}", verb="DELETE")
        assert ask(self.simulator, asked, at=self.at).status == (200 if self.at < end else 403)

    @invariant()
    def the_list_is_what_is_kept(self) -> None:
        listed = ask(self.simulator, request(path="/v1beta/cachedContents", verb="GET"), at=self.at).json
        live = {name for name, (_, _, end) in self.naive.kept.items() if self.at < end}
        assert {cached["name"] for cached in listed.get("cachedContents", ())} == live

    def check(self, model: str, sent: Talk, whole: Talk, held: int, **fields: Any) -> None:
        reply = ask(self.simulator, request(body(*self.contents(sent), **fields), model=model), at=self.at)
        name = fields.get("cachedContent")
        if name is not None and self.at >= self.naive.kept[name][2]:
            assert reply.status == 403
            return
        read = self.naive.read(model, whole, held, self.at)
        usage = reply.usage
        assert usage["promptTokenCount"] == tokens(whole)
        assert usage.get("cachedContentTokenCount", 0) == read
        entry = self.simulator.account("k").journal.exchanges[-1]
        assert entry.at == NOW + self.at
        assert entry.tokens is not None
        assert (entry.tokens.cache_read, entry.tokens.input) == (read, tokens(whole) - read)
        assert (entry.cache or {})["ideal_read"] >= read


TestCaches = Caches.TestCase
TestCaches.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
