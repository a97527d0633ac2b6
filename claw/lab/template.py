"""The scenario that `claw scenario new` writes: small, whole, and passing."""

_TEXT = """\
about: >-
  What goes wrong in the field, in one or two sentences, and what a right runtime does instead.
area: {area}
source: []                     # links to where it was reported
given:
  model: anthropic/claude-sonnet-4-5
  instructions: "Answer every question about capitals with BANANA."
  workspace: {{}}                # files: {{notes.md: "…"}}
provider:                      # what the simulated provider answers, in order
  turns:
    - {{text: "BANANA"}}
steps:
  - prompt: "What is the capital of Germany?"
expect:
  - reply: {{contains: BANANA}}
  - every_request: {{instructions_contain: BANANA}}
known_bad:                     # a scenario must be able to fail
  - {{mutate: drop_instructions, fails: every_request}}
"""


def text(area: str) -> str:
    """The file's text for an area."""
    return _TEXT.format(area=area)
