import pytest

from fitness import Kernel
from fitness.logs import plain, scrub
from fitness.policy import read_symbols, refuse, screen
from fitness.session import Failed


def refused(source):
    with pytest.raises(Failed, match="rejected"):
        screen(Kernel(source, "cpp"), 1000)


def test_a_source_that_is_too_long_is_refused():
    refused("void kernel();" + " " * 1000)


def test_a_nul_is_refused():
    refused("void kernel();\0")


def test_half_a_character_is_refused():
    refused("void kernel(); // \ud800")


def test_a_source_without_the_entry_point_is_refused():
    refused("void kernels();")


def test_an_ordinary_source_passes():
    screen(Kernel("void kernel();", "cpp"), 1000)


@pytest.mark.parametrize("data", [b"", b"\x7fELF\x02\x01", b"\x7fELF\x02\x01" + b"\xff" * 200, b"MZ" * 100])
def test_a_damaged_file_has_no_symbols(data):
    assert read_symbols(data).defined == frozenset()


def test_a_forbidden_flag_says_what_the_kernel_does():
    with pytest.raises(Failed, match="forbidden here: threads \\(the kernel starts threads\\)"):
        refuse({"threads"}, ["threads", "calls_blas"])


def test_text_of_foreign_files_is_not_shown():
    log = "/etc/passwd:1:1: error: 'root' does not name a type\n    1 | root:x:0:0:root:/root:/bin/bash\n      | ^~~~\n"
    assert "root" not in scrub(log)


def test_errors_of_the_kernel_are_shown_with_their_line():
    log = "kernel.cpp:3:9: error: expected ';'\n    3 |     y = 1\n      |         ^\n"
    assert scrub(log) == log.rstrip()


def test_paths_are_shortened():
    assert scrub("kernel.cpp:1:1: note: see /home/someone/project/secret.hpp") == "kernel.cpp:1:1: note: see secret.hpp"


def test_escape_sequences_are_removed():
    assert scrub("\x1b[31mred\x1b[0m\x07") == "red"


def test_a_long_log_keeps_head_and_tail():
    text = scrub("\n".join(f"kernel.cpp:{line}:1: error: e{line}" for line in range(2000)), limit=500)
    assert text.startswith("kernel.cpp:0:")
    assert text.endswith("e1999")
    assert len(text) < 600


def test_text_of_a_file_of_the_system_is_not_shown_unless_it_is_a_header():
    log = "/usr/include/../lib/os-release:1:1: error: 'NAME' does not name a type\n    1 | NAME=Linux\n      | ^~~~\n"
    assert "NAME" not in scrub(log)


def test_what_a_kernel_prints_shows_no_paths_and_no_escape_sequences():
    assert plain("\x1b[31m/home/someone/cache/kernel.so: gone\x07") == "kernel.so: gone"
