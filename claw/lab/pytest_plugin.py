"""Scenario files as pytest items."""
