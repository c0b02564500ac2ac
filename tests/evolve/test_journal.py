from __future__ import annotations

import gzip
import json
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evolve import (
    Journal,
    JournalCorrupt,
    JournalError,
    JournalLocked,
    JournalMismatch,
    JournalMiss,
    JournalUnwritable,
    read_journal,
)


def answers(value: Any) -> Callable[[], dict[str, Any]]:
    return lambda: {"value": value}


def never() -> dict[str, Any]:
    raise AssertionError("nobody should be asked")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def filled(path: Path, count: int = 3, **options: Any) -> bytes:
    with Journal(path, **options) as journal:
        for i in range(count):
            journal.once("evaluation", f"key{i}", answers(i))
    return path.read_bytes()


def test_an_answer_is_asked_for_once(path: Path) -> None:
    with Journal(path) as journal:
        journal.once("evaluation", "key", answers(1))

        assert {"value": 1} == journal.once("evaluation", "key", never)


def test_an_answer_survives_the_process(path: Path) -> None:
    filled(path)
    with Journal(path) as journal:
        assert {"value": 2} == journal.once("evaluation", "key2", never)


def test_kinds_are_kept_apart(path: Path) -> None:
    with Journal(path) as journal:
        journal.once("evaluation", "key", answers(1))

        assert {"value": 2} == journal.once("duel", "key", answers(2))


def test_what_is_returned_has_passed_through_json_the_first_time_too(path: Path) -> None:
    with Journal(path) as journal:
        assert {"value": [1, 2]} == journal.once("evaluation", "key", answers((1, 2)))


def test_floats_come_back_equal(path: Path) -> None:
    numbers = [0.1 + 0.2, 1e-300, 2.0**-1074, 123456789.123456789]
    with Journal(path) as journal:
        journal.once("evaluation", "key", answers(numbers))

        assert numbers == journal.lookup("evaluation", "key")["value"]  # type: ignore[index]


def test_a_long_answer_is_read_back_whole(path: Path) -> None:
    text = "x" * 100_000
    with Journal(path) as journal:
        journal.once("completion", "key", answers(text))
        journal.once("completion", "next", answers("short"))

        assert text == journal.lookup("completion", "key")["value"]  # type: ignore[index]


def test_a_strict_journal_answers_from_the_record(path: Path) -> None:
    filled(path)
    with Journal(path, strict=True) as journal:
        assert {"value": 0} == journal.once("evaluation", "key0", never)


def test_a_strict_journal_refuses_what_is_not_recorded(path: Path) -> None:
    filled(path)
    with Journal(path, strict=True) as journal, pytest.raises(JournalMiss) as caught:
        journal.once("evaluation", "unknown", never)

    assert ("evaluation", "unknown") == (caught.value.kind, caught.value.key)


def test_a_strict_journal_needs_no_write_permission_and_changes_nothing(path: Path) -> None:
    whole = filled(path)
    path.write_bytes(whole + b'{"kind": "torn')
    with Journal(path, strict=True) as journal:
        journal.once("evaluation", "key0", never)

    assert whole + b'{"kind": "torn' == path.read_bytes()


def test_a_strict_journal_must_exist(path: Path) -> None:
    with pytest.raises(JournalError, match="cannot be read"):
        Journal(path, strict=True)


def test_a_torn_last_line_is_dropped(path: Path) -> None:
    whole = filled(path)
    path.write_bytes(whole[:-5])
    with Journal(path) as journal:
        assert {"value": 7} == journal.once("evaluation", "key2", answers(7))
        assert {"value": 1} == journal.once("evaluation", "key1", never)
    assert 4 == len(path.read_bytes().splitlines())


def test_a_journal_that_is_torn_in_its_first_line_begins_anew(path: Path) -> None:
    path.write_bytes(b'{"schema": "kernelw')
    with Journal(path) as journal:
        assert {"value": 1} == journal.once("evaluation", "key", answers(1))


@pytest.mark.parametrize("damage", [b"not json\n", b"[1, 2]\n", b'{"kind": "evaluation"}\n', b"\0\0\0\n"])
def test_a_broken_line_in_the_middle_is_named(path: Path, damage: bytes) -> None:
    lines = filled(path).splitlines(keepends=True)
    lines[2] = damage
    path.write_bytes(b"".join(lines))
    with pytest.raises(JournalCorrupt, match="line 3") as caught:
        Journal(path)

    assert 3 == caught.value.line


def test_another_configuration_is_refused_and_the_difference_named(path: Path) -> None:
    filled(path, configuration={"task": {"name": "softmax"}, "width": 8, "same": [1]})
    with pytest.raises(JournalMismatch) as caught:
        Journal(path, configuration={"task": {"name": "matmul"}, "width": 8, "same": (1,)})

    assert 'task.name: "softmax" then, "matmul" now' in str(caught.value)
    assert "width" not in str(caught.value)


def test_the_same_configuration_is_accepted(path: Path) -> None:
    filled(path, configuration={"sizes": (1, 2)})
    with Journal(path, configuration={"sizes": [1, 2]}) as journal:
        assert {"value": 1} == journal.once("evaluation", "key1", never)


def test_another_schema_is_refused(path: Path) -> None:
    path.write_text('{"schema": "kernelwright.journal/999"}\n')
    with pytest.raises(JournalMismatch, match="schema"):
        Journal(path)


def test_a_second_process_is_refused(path: Path) -> None:
    code = "import sys, evolve\ntry:\n    evolve.Journal(sys.argv[1])\nexcept evolve.JournalLocked as e:\n    print(e)"
    with Journal(path):
        done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)

    assert 1 == len(done.stdout.splitlines())
    assert "another process" in done.stdout


def test_a_second_journal_in_the_same_process_is_refused(path: Path) -> None:
    with Journal(path), pytest.raises(JournalLocked):
        Journal(path)


def test_a_folder_that_is_not_writable_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalUnwritable, match="choose a writable folder"):
        Journal(tmp_path / "file" / "journal.jsonl")


def test_threads_that_ask_the_same_share_one_call(path: Path) -> None:
    calls, values = [], []

    def slow() -> dict[str, Any]:
        calls.append(1)
        time.sleep(0.05)
        return {"value": len(calls)}

    with Journal(path) as journal:
        threads = [
            threading.Thread(target=lambda: values.append(journal.once("completion", "key", slow))) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert 1 == len(calls)
    assert [{"value": 1}] * 8 == values


def test_a_failed_call_is_not_recorded_and_may_be_repeated(path: Path) -> None:
    with Journal(path) as journal:
        with pytest.raises(ZeroDivisionError):
            journal.once("completion", "key", lambda: {"value": 1 / 0})

        assert {"value": 2} == journal.once("completion", "key", answers(2))


def test_many_threads_write_whole_lines(path: Path) -> None:
    with Journal(path) as journal:

        def write(thread: int) -> None:
            for i in range(50):
                journal.once("completion", f"{thread}-{i}", answers("x" * (i * 37 % 500)))

        threads = [threading.Thread(target=write, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert 400 == len(list(read_journal(path)))


def test_a_closed_journal_refuses_late_answers(path: Path) -> None:
    journal = Journal(path)
    journal.close()
    with pytest.raises(JournalUnwritable, match="closed"):
        journal.record("completion", "key", {"value": 1})


FILL_UNTIL_FULL = """
import resource, signal, sys, evolve
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
with evolve.Journal(sys.argv[1]) as journal:
    try:
        for i in range(100):
            journal.once("completion", f"key{i}", lambda: {"value": "x" * 300})
    except evolve.JournalUnwritable as error:
        print(i, error, sep="|")
        try:
            journal.once("completion", "later", lambda: {"value": 1})
        except evolve.JournalUnwritable as again:
            print(i, again, sep="|")
"""


def test_a_full_disk_is_one_line_and_loses_nothing(path: Path) -> None:
    # A limit on the file's size makes the kernel write part of a line and then refuse, as a full disk does.
    done = subprocess.run(
        [sys.executable, "-c", FILL_UNTIL_FULL, str(path)], capture_output=True, text=True, check=True
    )
    reached, message = done.stdout.splitlines()[0].split("|")

    assert "run the same command again" in message
    assert 2 == len(done.stdout.splitlines())
    assert path.read_bytes().endswith(b"}\n")
    with Journal(path) as journal:
        assert int(reached) == len(journal)
        assert {"value": 5} == journal.once("completion", f"key{reached}", answers(5))


def test_a_disk_without_space_is_one_line(path: Path) -> None:
    unshare = shutil.which("unshare")
    mount = 'mount -t tmpfs -o size=16k none "$0" && exec "$1" -c "$2" "$0/journal.jsonl"'
    code = FILL_UNTIL_FULL.replace("resource.setrlimit", "0 and resource.setrlimit")
    command = [str(unshare), "-rm", "sh", "-c", mount, str(path.parent), sys.executable, code]
    if unshare is None or subprocess.run([unshare, "-rm", "true"], check=False, capture_output=True).returncode:
        pytest.skip("this machine allows no private mounts")
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert "No space left on device" in done.stdout


def test_a_compressed_journal_can_be_replayed_but_not_continued(tmp_path: Path, path: Path) -> None:
    packed = tmp_path / "journal.jsonl.gz"
    packed.write_bytes(gzip.compress(filled(path)))
    with Journal(packed, strict=True) as journal:
        assert {"value": 1} == journal.once("evaluation", "key1", never)
    with pytest.raises(JournalUnwritable, match="unpack"):
        Journal(packed)


@pytest.mark.parametrize("damage", [lambda whole: whole[:30], lambda whole: whole[:12] + b"\xff" * 40])
def test_a_damaged_compressed_journal_is_told(tmp_path: Path, path: Path, damage) -> None:
    packed = tmp_path / "journal.jsonl.gz"
    packed.write_bytes(damage(gzip.compress(filled(path))))

    with pytest.raises(JournalError, match="cannot be read"):
        list(read_journal(packed))


def test_reading_yields_every_answer_with_its_time(path: Path) -> None:
    filled(path)

    read = list(read_journal(path))

    assert [("evaluation", f"key{i}", {"value": i}) for i in range(3)] == [(kind, key, v) for kind, key, _, v in read]
    assert sorted(at_s for _, _, at_s, _ in read) == [at_s for _, _, at_s, _ in read]


def test_time_goes_on_from_the_last_attempt(path: Path) -> None:
    lines = [{"schema": "kernelwright.journal/1"}, {"kind": "clock", "key": "0", "at_s": 100.5, "value": {}}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with Journal(path) as journal:
        assert 100.5 <= journal.elapsed_s() < 200


def test_what_was_not_asked_for_again_is_known(path: Path) -> None:
    filled(path)
    with Journal(path) as journal:
        journal.lookup("evaluation", "key1")
        journal.once("evaluation", "new", answers(0))

        assert [("evaluation", "key0"), ("evaluation", "key2")] == journal.unused("evaluation")
        assert [] == journal.unused("completion")


def test_memory_does_not_hold_the_answers(path: Path) -> None:
    with Journal(path) as journal:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for i in range(2000):
            journal.record("completion", f"key{i}", {"value": "x" * 20_000})

        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KiB; the answers are 40 MB


def test_a_killed_writer_leaves_a_journal_that_opens(path: Path) -> None:
    code = (
        "import sys, evolve\nwith evolve.Journal(sys.argv[1]) as journal:\n"
        "    print('ready', flush=True)\n    i = 0\n"
        "    while True:\n        i += 1\n        journal.once('completion', str(i), lambda: {'value': 'x' * 5000})"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while path.stat().st_size < 100_000:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
    with Journal(path) as journal:
        assert {"value": "x" * 5000} == journal.once("completion", "1", never)
        assert {"value": 1} == journal.once("completion", "new", answers(1))
