"""The document as it is written."""

import msgspec
import pytest

from simulators.core.account_file import AccountFile, On


@pytest.mark.parametrize(
    ("on", "calls"),
    [
        (On(), [1, 2, 3, 4, 5]),
        (On(call=3), [3]),
        (On(call=3, times=2), [3, 4]),
        (On(times=2), [1, 2]),
        (On(probability=0.5), [1, 2, 3, 4, 5]),
    ],
)
def test_which_calls_a_window_covers(on: On, calls: list[int]) -> None:
    assert [n for n in range(1, 6) if on.covers(n)] == calls


def test_editors_get_a_schema() -> None:
    schema = msgspec.json.schema(AccountFile)
    assert schema["$defs"]["AccountFile"]["additionalProperties"] is False
    assert "Unix" not in str(schema) and "turns" in schema["$defs"]["AccountFile"]["properties"]
