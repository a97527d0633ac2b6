import base64

from claw.core.messages import ImagePart


def test_a_file_comes_whole(use, tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo")
    assert use("read", path="a.txt").text == "one\ntwo"


def test_a_page_says_how_to_read_on(use, tmp_path):
    (tmp_path / "a.txt").write_text("".join(f"{n}\n" for n in range(1, 3001)))
    first = use("read", path="a.txt").text
    assert first.startswith("1\n2\n")
    assert first.endswith("2000\n\n[lines 1–2000 of 3000; read on with offset=2001]")
    assert use("read", path="a.txt", offset=2999).text == "2999\n3000\n"
    assert (
        use("read", path="a.txt", offset="10", limit="1").text == "10\n\n[lines 10–10 of 3000; read on with offset=11]"
    )
    beyond = use("read", path="a.txt", offset=3001)
    assert beyond.is_error
    assert "has 3000 lines" in beyond.text


def test_a_page_of_long_lines_ends_by_size_and_one_endless_line_is_cut(use, tmp_path):
    (tmp_path / "wide.txt").write_text(("x" * 20_000 + "\n") * 5)
    assert "[lines 1–2 of 5; read on with offset=3]" in use("read", path="wide.txt").text
    (tmp_path / "endless.txt").write_text("y" * 200_000)
    text = use("read", path="endless.txt").text
    assert len(text) < 60_000
    assert "line 1 is cut" in text


def test_only_a_newline_ends_a_line(use, tmp_path):
    (tmp_path / "a.txt").write_text("a\u2028b\x0cc\nd")
    assert use("read", path="a.txt", offset=2).text == "d"


def test_an_image_comes_as_an_image(use, tmp_path):
    data = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
    (tmp_path / "a.png").write_bytes(data)
    outcome = use("read", path="a.png")
    assert outcome.text == "a.png: image/png, 28 bytes"
    assert outcome.parts[1] == ImagePart("image/png", base64.b64encode(data).decode())


def test_an_empty_file_and_bytes_that_are_no_text(use, tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "odd").write_bytes(b"a\xffb")
    assert use("read", path="empty").text == "(the file is empty)"
    assert use("read", path="odd").text == "a\ufffdb"


def test_a_folder_and_a_path_outside_are_refused(use):
    assert use("read", path=".").is_error
    assert use("read", path="/etc/passwd").is_error
