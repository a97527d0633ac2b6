"""Recorded traffic: cassettes that vcrpy reads, scrubbed of secrets, replayed, imported and rewritten.

`format` has the values, `vcr` the files, `match` and `playing` the replay, `secrets` and `scrub` the scrubbing.
"""
