import pytest

from claw.core.errors import ClawError
from claw.tools import registry


def test_every_file_is_a_tool_under_its_own_name():
    tools = registry.load()
    assert list(tools) == registry.names() == ["edit", "exec", "read", "write"]
    for name, tool in tools.items():
        assert tool.spec.name == name
        assert tool.spec.description
        assert tool.spec.schema["type"] == "object"
        assert all("description" in part for part in tool.spec.schema["properties"].values())


def test_what_may_not_run_twice_says_so():
    assert {name: tool.side_effects for name, tool in registry.load().items()} == {
        "edit": True,
        "exec": True,
        "read": False,
        "write": True,
    }


def test_the_order_of_asking_does_not_move_the_prompt():
    assert list(registry.load(["exec", "read"])) == list(registry.load(["read", "bash", "exec"])) == ["exec", "read"]
    assert registry.load([]) == {}


def test_a_wrong_name_is_told_with_the_nearest():
    with pytest.raises(ClawError, match="did you mean `read`"):
        registry.load(["raed"])
