"""`host.ports` puts the real ports together, and any of them may be another."""

from claw import host


def test_every_port_is_there_and_an_override_takes_its_place():
    files = object()
    made = host.ports(files=files)
    assert made.files is files
    assert all(getattr(made, name) is not None for name in made.__struct_fields__)


def test_a_seed_makes_ids_repeat():
    assert host.ports(seed=1).ids.session() == host.ports(seed=1).ids.session()
    assert host.ports().ids.session() != host.ports().ids.session()


def test_public_names():
    assert host.__all__ == sorted(host.__all__)
    assert all(hasattr(host, name) for name in host.__all__)
