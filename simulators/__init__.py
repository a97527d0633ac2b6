"""Simulated model providers and CLI fakes. Never imports `claw`."""
