"""Cassettes whose recorder put decoded bodies under `parsed_body`."""

from simulators.cassettes import vcr
from simulators.cassettes.format import Cassette
from simulators.cassettes.migrate import migrated

ABOUT = "cassettes with `parsed_body`, as pydantic-ai keeps them; also what vcrpy itself has written"


def read(data: bytes, *, source: str) -> Cassette:
    """The same exchanges with bodies."""
    return migrated(vcr.parse(data, source=source))
