"""What a process that is not believed may leave in its folder."""

import os

import pytest

from fitness.disk import Scratch, read_plain, remove


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """A folder with a deep tree, a folder that nobody may enter, and a link to a file that is not its own."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("mine")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "closed").mkdir()
    (folder / "closed" / "file").touch()
    (folder / "link").symlink_to(precious)
    (folder / "closed").chmod(0)
    monkeypatch.chdir(folder)
    for _ in range(3000):
        os.mkdir("d" * 9)
        os.chdir("d" * 9)
    os.chdir(tmp_path)
    return folder


def test_a_folder_goes_whatever_is_in_it(hostile):
    remove(hostile)

    assert not hostile.exists()
    assert "mine" == (hostile.parent / "precious" / "file").read_text()


def test_a_scratch_folder_goes_whatever_is_in_it(hostile):
    with Scratch(hostile.parent) as folder:
        hostile.rename(f"{folder}/moved")

    assert ["precious"] == [path.name for path in hostile.parent.iterdir()]


@pytest.mark.parametrize("kind", ["folder", "link", "pipe", "nothing"])
def test_what_is_no_plain_file_is_not_read(tmp_path, kind):
    path = tmp_path / "it"
    make = {"folder": path.mkdir, "link": lambda: path.symlink_to(__file__), "pipe": lambda: os.mkfifo(path)}
    make.get(kind, lambda: None)()
    with pytest.raises(OSError, match=r"no plain|symbolic|No such|directory"):
        read_plain(path, 10)


def test_no_more_is_read_than_was_asked_for(tmp_path):
    (tmp_path / "it").write_bytes(b"abcdef")

    assert b"abcd" == read_plain(tmp_path / "it", 4)
