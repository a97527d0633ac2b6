"""Many plays at once: a pool of processes. Plans are read again in each, so nothing but names crosses over."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from claw.lab.loader import Plan, load_file
from claw.lab.results import Result
from claw.lab.runner import run_one
from claw.lab.runtimes import named


def run(plans: Sequence[Plan], runtimes: Sequence[str], *, jobs: int, seed: int, fail_fast: bool) -> Iterator[Result]:
    """Like `runner.run`, in the same order, on `jobs` processes."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting = [
            pool.submit(_play, plan.path, plan.name, plan.variant, runtime, seed)
            for plan in plans
            for runtime in runtimes
        ]
        for future in waiting:
            result = future.result()
            yield result
            if fail_fast and result.status in ("fail", "error"):
                pool.shutdown(wait=False, cancel_futures=True)
                return


def _play(path: str, name: str, variant: str, runtime: str, seed: int) -> Result:
    plan = next(p for p in load_file(path) if (p.name, p.variant) == (name, variant))
    return run_one(plan, named(runtime), seed=seed)
