"""Fakes for tests of claw, and of what is built on it."""
