import pytest

from fitness import Kernel, ToolchainError
from fitness.compiler import find_compiler
from fitness.languages import Cpp
from fitness.languages.cpp import leading_headers
from fitness.targets import Cpu


def test_headers_before_anything_else_are_found():
    assert leading_headers("#include <cmath>\n#include <algorithm>\nint x;") == ("algorithm", "cmath")


def test_comments_before_headers_do_not_matter():
    assert leading_headers("/* #define X */\n// a kernel\n#include <cmath>  // exp\n") == ("cmath",)


@pytest.mark.parametrize("first", ["#define NDEBUG", "#pragma GCC optimize(3)", "#if 1", '#include "own.h"'])
def test_headers_after_another_directive_stay_where_they_are(first):
    assert leading_headers(f"#include <cmath>\n{first}\n#include <vector>\n") == ("cmath",)


def test_a_path_is_no_header():
    assert leading_headers("#include </etc/passwd>\n#include <../x>\n") == ()


def test_a_build_names_its_artifact(tmp_path):
    build = Cpp().build(Kernel("int x;", "cpp"), Cpu(), tmp_path)
    assert ("kernel.so", "shared_object") == (str(build.artifact), build.kind)


def test_the_source_is_written_as_it_is(tmp_path):
    Cpp().build(Kernel("// é\r\nint x;", "cpp"), Cpu(), tmp_path)
    assert (tmp_path / "kernel.cpp").read_bytes() == "// é\r\nint x;".encode()


def test_undefined_symbols_are_errors_of_the_build(tmp_path):
    assert "-Wl,-z,defs" in Cpp().build(Kernel("int x;", "cpp"), Cpu(), tmp_path).argv


def test_the_standard_headers_are_a_need_of_the_build(tmp_path):
    (need,) = Cpp().build(Kernel("#include <cmath>\n", "cpp"), Cpu(), tmp_path).needs
    assert need.files == {"prelude.hpp": "#include <cmath>\n"}


def test_precompiling_can_be_switched_off(tmp_path):
    assert Cpp(precompile=False).build(Kernel("#include <cmath>\n", "cpp"), Cpu(), tmp_path).needs == ()


def test_the_fingerprint_knows_the_flags():
    assert Cpp(flags=("-O2",)).fingerprint(Cpu()) != Cpp().fingerprint(Cpu())


def test_the_fingerprint_knows_the_compiler():
    assert find_compiler().version in Cpp().fingerprint(Cpu())


def test_a_missing_compiler_is_named():
    with pytest.raises(ToolchainError, match="'no-such-compiler'"):
        Cpp(compiler="no-such-compiler").fingerprint(Cpu())


def test_no_compiler_at_all_says_what_to_install(monkeypatch):
    monkeypatch.setattr("fitness.compiler._system", lambda name: None)
    monkeypatch.setattr("fitness.compiler._zig", lambda: None)
    with pytest.raises(ToolchainError, match=r"apt-get install g\+\+"):
        find_compiler.__wrapped__()
