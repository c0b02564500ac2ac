import struct

import pytest

from fitness import static

pytest.importorskip("elftools")


def test_what_is_no_elf_file_is_refused():
    with pytest.raises(ValueError, match="not an ELF file"):
        static.cubin_metrics(b"nothing of the kind")


def test_sized_attributes_are_read_in_order():
    data = (
        struct.pack("<BBHII", 4, 0x2F, 8, 7, 42)
        + struct.pack("<BBH", 3, 0x1B, 255)
        + struct.pack("<BBHII", 4, 0x11, 8, 7, 16)
    )

    assert [(0x2F, 42), (0x11, 16)] == list(static._sval_pairs(data))


def test_instructions_are_counted_by_family():
    text = """
        /*0000*/                   LDG.E.64 R2, [R2.64] ;
        /*0010*/              @!P0 FFMA R4, R2, R3, R4 ;
        /*0020*/                   HMMA.16816.F32 R4, R2, R3, R4 ;
        /*0030*/                   EXIT ;
    """
    metrics = static.sass_metrics(text)

    assert 1 == metrics["instructions_global_load"]
    assert 1 == metrics["instructions_float"]
    assert 1 == metrics["instructions_tensor"]
    assert 4 == metrics["instructions_total"]


def test_amd_assembly_tells_registers_and_mix():
    text = (
        "\tv_mfma_f32_32x32x1f32 a[0:31], v0, v1\n\tglobal_load_dword v1, v2\n  - .vgpr_count:     38\n; Occupancy: 5\n"
    )
    metrics = static.amd_assembly_metrics(text)

    assert 1 == metrics["instructions_matrix"]
    assert 1 == metrics["instructions_global_load"]
    assert 38 == metrics["vgprs"]
    assert 5 == metrics["occupancy_waves"]


def test_the_assemblers_report_is_read():
    log = "ptxas info    : Used 31 registers, used 1 barriers, 8192 bytes smem\n 0 bytes stack frame, 12 bytes spill stores"
    metrics = static.ptxas_metrics(log)

    assert (31, 8192, 12) == (metrics["registers"], metrics["shared_bytes"], metrics["spill_store_bytes"])


@pytest.mark.parametrize(
    ("registers", "shared_bytes", "threads", "expected"),
    [
        (32, 0, 256, 1.0),  # 8 blocks of 256 threads fill 2048
        (64, 0, 256, 0.5),  # 65536 / (64 * 256) = 4 blocks
        (255, 0, 1024, 0.0),  # one block needs more registers than there are
        (32, 100 * 1024, 256, 0.25),  # shared memory for two blocks
    ],
)
def test_occupancy_on_hopper(registers, shared_bytes, threads, expected):
    assert expected == static.nvidia_occupancy("sm_90a", registers, shared_bytes, threads)


def test_several_kernels_combine():
    combined = static.combine(
        [
            {"registers": 10, "instructions_total": 5, "occupancy": 0.5},
            {"registers": 30, "instructions_total": 7, "occupancy": 1.0},
        ]
    )

    assert {"registers": 30, "instructions_total": 12, "occupancy": 0.5} == combined
