import struct

import pytest

from fitness import Calibration, Evaluation, Evaluator, Kernel, Status
from fitness.languages import Cpp
from fitness.object_code import code_digest
from fitness.targets import Cpu
from small_task import HEAD, PLAIN, Twice

QUICK = {"run_timeout_s": 2.0, "build_timeout_s": 60.0, "min_pairs": 4, "max_pairs": 8, "time_limit_s": 0.1}
CALIBRATION = Calibration({"time-20000": 50.0}, 0.02)
WRONG = HEAD + "{ for (long i = 0; i < N; i++) y[i] = x[i]; }"


@pytest.fixture(scope="module")
def judged():
    evaluator = Evaluator(Twice(), Cpu(), Cpp(), **QUICK)
    found: dict[str, Evaluation] = {}

    def judge(source):
        if source not in found:
            found[source] = evaluator.evaluate(Kernel(source, "cpp"), CALIBRATION)
        return found[source]

    return judge


OTHER_NAME = HEAD + "{ for (long k = 0; k < N; k++) y[k] = 2.0f * x[k]; }"


@pytest.mark.parametrize("other", [f"// doubles\n\n{PLAIN}", OTHER_NAME])
def test_comments_and_names_make_no_other_artifact(judged, other):
    assert judged(PLAIN).artifact == judged(other).artifact


def test_other_code_makes_another_artifact(judged):
    assert judged(PLAIN).artifact != judged(WRONG).artifact


def test_a_kernel_that_was_built_and_fails_has_an_artifact(judged):
    assert (Status.WRONG_VALUE, 64) == (judged(WRONG).status, len(judged(WRONG).artifact))


@pytest.mark.parametrize("source", ["", PLAIN + "}"])
def test_what_was_not_built_has_none(judged, source):
    assert "" == judged(source).artifact


def test_a_record_without_the_field_loads():
    data = Evaluation("k", Status.CRASHED, artifact="ab").to_json()
    del data["artifact"]

    assert Evaluation("k", Status.CRASHED) == Evaluation.from_json(data)


def elf(*sections: tuple[int, int, bytes], count: int | None = None) -> bytes:
    """An ELF file with nothing but section headers and their bytes."""
    header = bytearray(64)
    header[:6] = b"\x7fELF\x02\x01"
    bodies, rows, at = b"", b"", 64
    for kind, flags, body in sections:
        rows += struct.pack("<IIQQQQIIQQ", 0, kind, flags, 0, at + len(bodies), len(body), 0, 0, 0, 0)
        bodies += body
    struct.pack_into("<Q", header, 0x28, at + len(bodies))
    struct.pack_into("<HH", header, 0x3A, 64, len(sections) if count is None else count)
    return bytes(header) + bodies + rows


CODE, DEBUG, NOTE = (1, 6, b"code"), (1, 0, b"line 1"), (7, 2, b"build id")


@pytest.fixture
def digest(tmp_path):
    def of(data: bytes) -> str:
        (tmp_path / "kernel.so").write_bytes(data)
        return code_digest(tmp_path / "kernel.so")

    return of


@pytest.mark.parametrize("other", [elf(CODE, (1, 0, b"line 22"), NOTE), elf(CODE, DEBUG, (7, 2, b"other id"))])
def test_debug_information_and_build_ids_do_not_count(digest, other):
    assert digest(elf(CODE, DEBUG, NOTE)) == digest(other)


def test_code_and_data_count(digest):
    assert digest(elf(CODE)) != digest(elf((1, 6, b"cod2")))


def lying(offset: int, form: str, *values: int) -> bytes:
    data = bytearray(elf(CODE))
    struct.pack_into(form, data, offset, *values)
    return bytes(data)


FAR, OVERLAPPING = lying(0x28, "<Q", 2**64 - 64), lying(0x3A, "<HH", 0, 60000)


@pytest.mark.parametrize("data", [b"no object", elf(CODE, count=60000), b"\x7fELF\x02\x01", FAR, OVERLAPPING])
def test_of_what_is_no_sound_object_every_byte_counts(digest, data):
    assert digest(data) != digest(data + b" ")
