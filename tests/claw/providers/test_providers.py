"""Providers are found by their files, and loading one imports no SDK."""

import subprocess
import sys

import pytest

from claw import providers
from claw.core.errors import ClawError


def test_every_file_is_a_provider_that_can_connect():
    assert "anthropic" in providers.names()
    for name in providers.names():
        assert callable(providers.load(name).connect)


def test_a_wrong_name_is_told_with_the_nearest():
    with pytest.raises(ClawError, match="did you mean `anthropic`"):
        providers.load("antropic")


def test_loading_imports_no_sdk():
    code = "import sys; from claw import host, providers; host.ports(); [providers.load(n) for n in providers.names()];"
    code += "print([m for m in ('anthropic', 'openai', 'google.genai', 'httpx2') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert found.stdout.strip() == "[]", found.stderr
