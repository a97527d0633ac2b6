"""The object that `--json` prints."""

from claw.core.commands import Outcome
from claw.core.usage import Usage
from claw.runtime.result import RunResult, UsageReport

USED = Usage(input=1, cache_read=85_000, cache_write_5m=500, output=4)


def test_the_context_is_the_sum_of_the_prompt_counters_of_the_last_call() -> None:
    report = UsageReport.of(USED, window=200_000)
    assert (report.context_tokens, report.context_window, report.context_percent) == (85_501, 200_000, 43)


def test_the_context_figures_are_none_when_they_are_not_known() -> None:
    for report in (UsageReport.of(None, window=200_000), UsageReport.of(USED, window=200_000, known=False)):
        assert (report.context_tokens, report.context_window, report.context_percent) == (None, None, None)
    assert UsageReport.of(USED, window=200_000, known=False).cache_read == 85_000
    assert UsageReport.of(USED, window=None).context_percent is None


def test_a_result_says_which_path_it_took() -> None:
    def result(cli: bool) -> RunResult:
        return RunResult.of("s", Outcome(reply="r", stop="end_turn", provider="p", model="m", cli=cli, window=1))

    assert (result(True).path, result(False).path, result(True).model) == ("cli", "embedded", "p/m")
