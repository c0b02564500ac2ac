import multiprocessing
import os
import threading

import pytest

from fitness.cache import Cache, cache_folder, digest_of
from fitness.errors import MachineError


def write(text):
    return lambda folder: (folder / "file").write_text(text)


def test_what_was_made_is_found(tmp_path):
    made = Cache(tmp_path).make("kind", "key", write("one"))
    assert (Cache(tmp_path).find("kind", "key"), (made / "file").read_text()) == (made, "one")


def test_nothing_is_made_twice(tmp_path):
    Cache(tmp_path).make("kind", "key", write("one"))
    assert (Cache(tmp_path).make("kind", "key", write("two")) / "file").read_text() == "one"


def test_a_failure_leaves_nothing(tmp_path):
    def fail(folder):
        (folder / "half").write_text("half")
        raise KeyError("broken")

    with pytest.raises(KeyError):
        Cache(tmp_path).make("kind", "key", fail)
    assert list((tmp_path / "kind").iterdir()) == []


def test_a_changed_file_is_not_believed(tmp_path):
    (Cache(tmp_path).make("kind", "key", write("one")) / "file").write_text("planted")
    assert Cache(tmp_path).find("kind", "key") is None


def test_a_changed_file_is_made_again(tmp_path):
    (Cache(tmp_path).make("kind", "key", write("one")) / "file").write_text("planted")
    assert (Cache(tmp_path).make("kind", "key", write("one")) / "file").read_text() == "one"


def test_rubbish_of_a_killed_writer_is_removed(tmp_path):
    (tmp_path / "kind" / ".key.left").mkdir(parents=True)
    Cache(tmp_path).make("kind", "key", write("one"))
    assert sorted(path.name for path in (tmp_path / "kind").iterdir()) == ["key"]


def test_parallel_writers_make_it_once(tmp_path):
    made = []

    def fill(folder):
        made.append(1)
        threading.Event().wait(0.02)
        (folder / "file").write_text("one")

    threads = [threading.Thread(target=lambda: Cache(tmp_path).make("kind", "key", fill)) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert made == [1]


def hold_for_ever(folder):
    with Cache(folder).lock("name"):
        os.kill(os.getpid(), 9)


def test_the_lock_of_a_killed_process_is_free(tmp_path):
    process = multiprocessing.get_context("spawn").Process(target=hold_for_ever, args=(tmp_path,))
    process.start()
    process.join(60)
    with Cache(tmp_path).lock("name"):
        assert process.exitcode == -9


def test_the_users_own_cache_folder_is_taken(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "kernelwright"


def test_a_full_disk_is_a_fault_of_the_machine(tmp_path):
    def fill(folder):
        raise OSError(28, "No space left on device")

    with pytest.raises(MachineError, match="No space left"):
        Cache(tmp_path).make("kind", "key", fill)


def test_no_two_splits_of_a_text_agree():
    assert digest_of("ab", "c") != digest_of("a", "bc")


def test_two_machines_that_share_a_folder_do_not_wait_for_each_other(tmp_path, monkeypatch):
    with Cache(tmp_path).machine_lock("timing"):
        monkeypatch.setattr("fitness.cache._machine", lambda: "another")
        with Cache(tmp_path).machine_lock("timing"):
            assert 2 == len(list((tmp_path / "locks").iterdir()))


def test_a_sign_is_seen_while_it_is_held(tmp_path):
    cache = Cache(tmp_path)
    before = cache.shows(os.getpid())
    held = cache.show()
    during = cache.shows(os.getpid())
    os.close(held)

    assert (False, True, False) == (before, during, cache.shows(os.getpid()))


def test_nobody_waits_to_show_a_sign(tmp_path):
    """Threads may come together, and containers that share a cache have processes of one number."""
    held = [Cache(tmp_path).show()]
    other = threading.Thread(target=lambda: held.append(Cache(tmp_path).show()), daemon=True)
    other.start()
    other.join(20.0)

    assert 2 == len(held)
    for descriptor in held:
        os.close(descriptor)
