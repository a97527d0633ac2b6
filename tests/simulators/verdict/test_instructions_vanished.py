"""Instructions stay in every call of a conversation."""

from tests.simulators.verdict.story import SYSTEM, Story, says, status, user

CHECK = "instructions_vanished"
HI, YES, NEXT = user("What is the capital of Germany?"), says("BANANA"), user("And of France?")


def goes_on(system: object, before: object = SYSTEM, **more: object) -> Story:
    return Story().ask(HI, system=before).ask(HI, YES, NEXT, system=system, **more)


def test_all_of_them_gone() -> None:
    story = goes_on(None)
    assert status(story, CHECK) == ("bad", (1, 2))
    assert "all instructions" in story.verdict(CHECK).why


def test_one_line_gone() -> None:
    story = goes_on("You are a helpful agent.\nKeep it short.")
    assert status(story, CHECK) == ("bad", (1, 2))
    assert "BANANA" in story.verdict(CHECK).why


def test_a_lone_instruction_swapped_for_another() -> None:
    assert (
        status(goes_on("You are Claude.", before="Answer every question about capitals with BANANA."), CHECK)[0]
        == "bad"
    )


def test_a_line_that_changed_is_still_there() -> None:
    clock = SYSTEM + "\nThe time is {} and the branch is main."
    assert status(goes_on(clock.format("10:05"), before=clock.format("10:00")), CHECK)[0] == "ok"
    assert status(goes_on("Time: 10:05:00 today", before="Time: 10:00:00 today"), CHECK)[0] == "ok"


def test_a_line_that_moved_into_the_conversation_is_still_there() -> None:
    moved = user("Answer every question about capitals with BANANA. And of France?")
    story = Story().ask(HI).ask(HI, YES, moved, system="You are a helpful agent.\nKeep it short.")
    assert status(story, CHECK)[0] == "ok"


def test_blocks_and_a_string_are_the_same_text() -> None:
    blocks = [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}]
    assert status(goes_on(blocks), CHECK)[0] == "ok"


def test_gone_after_a_compaction_is_gone() -> None:
    story = Story().ask(HI).ask(HI, YES, user("Summarise."), kind="summary")
    story.ask(user("Summary: capitals were asked for."), NEXT, system=None)
    assert status(story, CHECK) == ("bad", (1, 3))


def test_side_calls_and_other_agents_have_instructions_of_their_own() -> None:
    story = (
        Story()
        .ask(HI)
        .ask(HI, system="Write a title.", kind="title")
        .ask(user("explore the repo"), system="You explore.")
    )
    assert status(story.ask(HI, YES, NEXT), CHECK)[0] == "ok"
    plan = "Write a plan.\nNo code."
    assert status(goes_on(plan), CHECK)[0] == "ok"  # another agent took over with a prompt of its own


def test_the_same_question_in_a_new_conversation() -> None:
    assert status(Story().ask(HI).ask(HI, system=None), CHECK)[0] == "not_checked"


def test_lost_on_a_retry() -> None:
    assert status(Story().ask(HI, status=529).ask(HI, system=None), CHECK) == ("bad", (1, 2))


def test_openais_places_for_instructions() -> None:
    def responses(instructions: str | None, *items: dict) -> dict:
        kept = {"instructions": instructions} if instructions else {}
        return {"path": "/v1/responses", "system": None, "request": {"input": [HI, *items]} | kept}

    story = Story().ask(**responses(SYSTEM)).ask(**responses(None, {"role": "assistant", "content": "BANANA"}, NEXT))
    assert status(story, CHECK) == ("bad", (1, 2))
    lead = {"role": "developer", "content": SYSTEM}
    chat = {"path": "/v1/chat/completions", "system": None}
    first = Story().ask(**chat, request={"messages": [lead, HI]})
    assert status(first.ask(**chat, request={"messages": [HI, YES, NEXT]}), CHECK) == ("bad", (1, 2))


def test_a_conversation_without_instructions_or_of_one_call_proves_nothing() -> None:
    assert status(Story().ask(HI), CHECK)[0] == "not_checked"
    assert status(goes_on(None, before=None), CHECK)[0] == "not_checked"


def test_a_sub_agent_that_begins_with_the_same_words() -> None:
    parent, sub = "You are the lead.\nPlan all the work and delegate it.", "Explore the files and report what is there."
    story = Story().ask(HI, system=parent).ask(HI, system=sub).ask(HI, YES, NEXT, system=parent)
    assert status(story, CHECK)[0] != "bad"
    failed = Story().ask(HI, system=parent, status=529).ask(HI, system=sub).ask(HI, system=parent)
    assert status(failed, CHECK)[0] != "bad"


def test_a_prompt_that_is_gone_for_one_turn_or_thinner_is_still_missed() -> None:
    more = (HI, YES, NEXT, says("BANANA"), user("And of Spain?"))
    assert status(goes_on(None).ask(*more), CHECK)[0] == "bad"
    assert status(goes_on("You are a helpful agent.\nKeep it short.").ask(*more), CHECK)[0] == "bad"
