"""The scenario and the runtime told the same story: nothing was asked that the script does not know, and all of it
was asked for. Otherwise a pass could come from a play that went elsewhere."""

from claw.lab.evidence import Evidence, Finding

NAMES = ("nothing_unmatched", "script_used_up")


def look(evidence: Evidence) -> list[Finding]:
    return [nothing_unmatched(evidence), script_used_up(evidence)]


def nothing_unmatched(evidence: Evidence) -> Finding:
    """No request got `no scripted answer`."""
    strays = [str(exchange["n"]) for exchange in evidence.exchanges if exchange.get("answered_by") == "unmatched"]
    saw = f"the script has no answer for request {', '.join(strays)}" if strays else "every request had an answer"
    return Finding(name="nothing_unmatched", status="fail" if strays else "pass", saw=saw)


def script_used_up(evidence: Evidence) -> Finding:
    """Every scripted turn and fault was used, unless the account says `unused: allow`."""
    left = evidence.unused
    saw = f"never used: {', '.join(left)}" if left else "all of it was used"
    return Finding(name="script_used_up", status="fail" if left else "pass", saw=saw)
