"""Conversations that took place before a scenario begins: made with Faker, the same bytes for the same seed.

A vocabulary is made once and its words are counted once with the account's tokenizer; a conversation is choices from
it until the tokens are reached. So 110,000 words cost hundredths of a second.
"""

import random
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import accumulate

from claw.lab.schema import History

Count = Callable[[str], int]
WORDS = 1_000
DRAWS = 350  # of each kind of word
SENTENCE = (7, 15)  # words, fewest and most
USER_SHARE = 0.3  # of the tokens of a turn


@lru_cache(maxsize=1)
def vocabulary() -> tuple[str, ...]:
    """Words to choose from: what Faker knows of names, trades and towns, plus plain words. Always the same."""
    from faker import Faker

    fake = Faker("en_US")
    fake.seed_instance(20260101)
    words: dict[str, None] = {}
    for make in (fake.word, fake.word, fake.first_name, fake.last_name, fake.city_suffix, fake.domain_word):
        for text in (make() for _ in range(DRAWS)):
            words[text.split()[0]] = None
    return tuple(words)[:WORDS]


def conversation(history: History, count: Count) -> list[tuple[str, str]]:
    """(prompt, answer) of each turn; together `history.tokens` tokens, less than one word off a message."""
    chance = random.Random(history.seed)
    costs = _costs(count)
    per_turn, rest = divmod(history.tokens, history.turns)
    turns = []
    for n in range(history.turns):
        tokens = per_turn + (1 if n < rest else 0)
        asked = max(1, round(tokens * USER_SHARE))
        turns.append((_text(asked, chance, costs), _text(max(1, tokens - asked), chance, costs)))
    return turns


def _text(tokens: int, chance: random.Random, costs: dict[str, float]) -> str:
    """Sentences of `tokens` tokens."""
    pieces: list[str] = []
    spent = 0.0
    for sentence in _sentences(chance):
        totals = list(accumulate((costs[word] for word in sentence), initial=spent))
        fits = sum(total <= tokens for total in totals[1:])
        pieces += sentence[:fits]
        spent = totals[fits]
        if fits < len(sentence):
            break
    pieces += _cheapest(costs) * int(tokens - spent)
    return " ".join(pieces)


def _sentences(chance: random.Random) -> Iterator[list[str]]:
    words = vocabulary()
    while True:
        chosen = chance.choices(words, k=chance.randint(*SENTENCE))
        yield [chosen[0].capitalize(), *chosen[1:-1], chosen[-1] + "."]


def _cheapest(costs: dict[str, float]) -> list[str]:
    """One word that costs one token, to fill up with; none if the tokenizer has none."""
    return [word for word, cost in costs.items() if cost == 1][:1]


def _costs(count: Count) -> dict[str, float]:
    """Tokens of each word as it stands in a sentence: behind a space; capitalised; before a full stop."""
    forms = dict.fromkeys(form for word in vocabulary() for form in (word, word.capitalize(), f"{word}."))
    costs = {form: float(count(f" {form}")) for form in forms}
    sample = list(forms)[::5]
    scale = count(" " + " ".join(sample)) / sum(costs[form] for form in sample)
    return costs if scale == 1 else {form: cost * scale for form, cost in costs.items()}
