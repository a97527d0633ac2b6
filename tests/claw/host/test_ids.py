import re
import uuid

from claw.host import HostIds, SeededIds


def test_ids_have_their_shapes():
    for ids in (HostIds(), SeededIds(1)):
        assert re.fullmatch(r"[0-9a-f]{8}", ids.entry())
        assert uuid.UUID(ids.session()).version == 4
        assert 0 <= ids.fraction() < 1


def test_the_same_seed_repeats_and_another_does_not():
    def draw(seed):
        ids = SeededIds(seed)
        return [ids.entry(), ids.entry(), ids.session(), ids.fraction()]

    assert draw(7) == draw(7)
    assert draw(7) != draw(8)
    assert len(set(map(str, draw(7)))) == 4


def test_one_more_draw_of_a_kind_shifts_no_other():
    plain, busy = SeededIds(7), SeededIds(7)
    busy.fraction()
    assert plain.session() == busy.session()


def test_the_systems_ids_differ():
    assert len({HostIds().entry() for _ in range(20)}) > 15
