def test_a_file_is_made_with_its_folders_and_replaced(use, tmp_path):
    assert use("write", path="a/b/c.txt", content="é").text == "Wrote 2 bytes to a/b/c.txt"
    use("write", path="a/b/c.txt", content="two")
    assert (tmp_path / "a" / "b" / "c.txt").read_text() == "two"


def test_nothing_is_written_outside(use, tmp_path):
    outcome = use("write", path="../escaped.txt", content="x")
    assert outcome.is_error
    assert not (tmp_path.parent / "escaped.txt").exists()
