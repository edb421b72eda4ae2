"""Outside: a file is complete or as it was before, and nothing unfinished is left behind."""

import pytest

from grader.files import atomic_path, write_atomic


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_takes_the_place_of_another(tmp_path):
    """Folders are made, a link is replaced and not followed, and no other name is there afterwards."""
    (tmp_path / "stranger").write_text("precious")
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b").symlink_to(tmp_path / "stranger")
    for content in (b"one", b"two"):
        write_atomic(tmp_path / "a/b", content)
        write_atomic(tmp_path / "c/d/e", content)
        assert (tmp_path / "a/b").read_bytes() == (tmp_path / "c/d/e").read_bytes() == content
    assert (tmp_path / "stranger").read_text() == "precious"
    assert names(tmp_path / "a") == ["b"] and names(tmp_path / "c/d") == ["e"]


def test_a_file_that_cannot_be_put_there_leaves_nothing(tmp_path):
    """A folder in the way stays as it is, and what was written under another name is removed."""
    (tmp_path / "a/b").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        write_atomic(tmp_path / "a", b"content")
    assert names(tmp_path) == ["a"] and names(tmp_path / "a") == ["b"]


@pytest.mark.parametrize("stopped", [KeyboardInterrupt, ValueError])
def test_who_is_stopped_leaves_the_file_as_it_was(stopped, tmp_path):
    (tmp_path / "a").write_text("old")

    def write():
        with atomic_path(tmp_path / "a") as place:
            place.write_text("half")
            raise stopped

    with pytest.raises(stopped):
        write()
    assert names(tmp_path) == ["a"] and (tmp_path / "a").read_text() == "old"


def test_a_link_under_the_temporary_name_is_not_followed(tmp_path):
    (tmp_path / "stranger").write_text("precious")
    (tmp_path / "temporary").symlink_to(tmp_path / "stranger")
    write_atomic(tmp_path / "a", b"content", unfinished=tmp_path / "temporary")
    assert (tmp_path / "stranger").read_text() == "precious"
    assert names(tmp_path) == ["a", "stranger"] and not (tmp_path / "a").is_symlink()
