"""Tools of the agent: one file each, found by listing this folder (`claw.tools.registry`)."""
