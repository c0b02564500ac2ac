"""What a compiled GPU kernel tells without being run: registers, spills, shared memory, instruction mix.

Everything is read from the binary or from the assembly text in this process; neither is executed.
Numbers of several kernels of one source are combined: resources by their maximum, instruction
counts by their sum, occupancy by its minimum.
"""

from __future__ import annotations

import io
import re
import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

Metrics = dict[str, float]

# Attributes of a cubin's .nv.info section that carry (symbol, value) pairs.
_NV_SVAL, _NV_REGISTERS, _NV_FRAME = 0x04, 0x2F, 0x11

# Registers, threads, bytes of shared memory and blocks of one multiprocessor, by compute
# capability: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
_MULTIPROCESSORS = {
    75: (65536, 1024, 65536, 16),
    80: (65536, 2048, 167936, 32),
    86: (65536, 1536, 102400, 16),
    89: (65536, 1536, 102400, 24),
    90: (65536, 2048, 233472, 32),
    100: (65536, 2048, 233472, 32),
    120: (65536, 1536, 102400, 24),
}

_ELF, _EM_CUDA = b"\x7fELF\x02\x01", b"\xbe\x00"

_AMD_METADATA = {
    "vgprs": ".vgpr_count",
    "agprs": ".agpr_count",
    "sgprs": ".sgpr_count",
    "vgpr_spills": ".vgpr_spill_count",
    "sgpr_spills": ".sgpr_spill_count",
    "shared_bytes": ".group_segment_fixed_size",
    "scratch_bytes": ".private_segment_fixed_size",
    "wavefront": ".wavefront_size",
}

_SASS_FAMILIES = {
    "tensor": ("HMMA", "HGMMA", "IMMA", "IGMMA", "QGMMA", "QMMA", "DMMA", "UTCHMMA", "UTCQMMA", "BMMA"),
    "global_load": ("LDG", "LDGSTS", "UBLKCP", "UTMALDG", "LD"),
    "global_store": ("STG", "UTMASTG", "ST"),
    "shared": ("LDS", "STS", "LDSM", "STSM", "ATOMS"),
    "local": ("LDL", "STL"),
    "float": ("FFMA", "FADD", "FMUL", "HFMA2", "HADD2", "HMUL2", "DFMA", "DADD", "DMUL", "FFMA2"),
    "special": ("MUFU",),
    "barrier": ("BAR", "SYNCS", "WARPSYNC"),
    "branch": ("BRA", "BRX"),
}
_AMD_FAMILIES = {
    "matrix": ("v_mfma", "v_smfmac", "v_wmma"),
    "global_load": ("global_load", "buffer_load", "flat_load", "s_load", "s_buffer_load"),
    "global_store": ("global_store", "buffer_store", "flat_store"),
    "shared": ("ds_",),
    "scratch": ("scratch_",),
    "barrier": ("s_barrier",),
    "branch": ("s_cbranch", "s_branch"),
    "vector": ("v_",),
    "scalar": ("s_",),
}


def cubin_metrics(cubin: bytes) -> Metrics:
    """Reads registers, stack and static shared memory from an NVIDIA binary.

    Raises:
        ValueError: ``cubin`` is no ELF file.
    """
    elf = _elf(cubin)
    metrics: Metrics = {"registers": 0, "stack_bytes": 0, "shared_bytes": 0, "code_bytes": 0}
    for section in elf.iter_sections():
        if section.name == ".nv.info":
            for attribute, value in _sval_pairs(section.data()):
                key = {_NV_REGISTERS: "registers", _NV_FRAME: "stack_bytes"}.get(attribute)
                if key:
                    metrics[key] = max(metrics[key], value)
        elif section.name.startswith(".nv.shared."):
            metrics["shared_bytes"] = max(metrics["shared_bytes"], section["sh_size"])
        elif section.name.startswith(".text."):
            metrics["code_bytes"] += section["sh_size"]
    return metrics


def _sval_pairs(data: bytes) -> Iterable[tuple[int, int]]:
    """Yields (attribute, value) of every sized entry that holds a symbol and a number."""
    at = 0
    while at + 4 <= len(data):
        layout, attribute, size = struct.unpack_from("<BBH", data, at)
        at += 4
        if layout != _NV_SVAL:
            continue
        if size >= 8 and at + 8 <= len(data):
            yield attribute, struct.unpack_from("<I", data, at + 4)[0]
        at += size


def code_object_metrics(code_object: bytes) -> Metrics:
    """Reads registers, spills, LDS and scratch from the metadata note of an AMD code object.

    Raises:
        ValueError: It is no ELF file, or it has no AMDGPU metadata.
    """
    import msgpack

    for section in _elf(code_object).iter_sections():
        if section["sh_type"] != "SHT_NOTE":
            continue
        for note in section.iter_notes():
            if note["n_name"] == "AMDGPU":
                description = note["n_desc"]
                raw = description.encode("latin-1") if isinstance(description, str) else description
                return combine(_amd_kernel(each) for each in msgpack.unpackb(raw)["amdhsa.kernels"])
    raise ValueError("the code object has no AMDGPU metadata note")


def _amd_kernel(note: Mapping[str, int]) -> Metrics:
    """Renames the fields of one kernel's metadata."""
    return {ours: note[theirs] for ours, theirs in _AMD_METADATA.items() if theirs in note}


def _elf(data: bytes):  # type: ignore[no-untyped-def]  # pyelftools has no types
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        return ELFFile(io.BytesIO(data))
    except ELFError as error:
        raise ValueError(f"not an ELF file: {error}") from error


def amd_assembly_metrics(text: str) -> Metrics:
    """Reads metadata, instruction mix and the compiler's closing remarks from AMDGCN assembly."""
    metrics = {f"instructions_{family}": float(n) for family, n in _count(_amd_opcodes(text), _AMD_FAMILIES).items()}
    for ours, theirs in _AMD_METADATA.items():
        values = [int(value) for value in re.findall(rf"{re.escape(theirs)}:\s+(\d+)", text)]
        if values:
            metrics[ours] = max(values)
    for ours, theirs in {"occupancy_waves": "Occupancy", "code_bytes": "codeLenInByte"}.items():
        found = [int(value) for value in re.findall(rf"; {theirs}\s*[:=]\s*(\d+)", text)]
        if found:
            metrics[ours] = min(found) if ours == "occupancy_waves" else sum(found)
    return metrics


def _amd_opcodes(text: str) -> Iterable[str]:
    return re.findall(r"^\s+((?:v|s|ds|global|buffer|flat|scratch)_\w+)", text, re.MULTILINE)


def sass_metrics(text: str) -> Metrics:
    """Counts instructions by family in the output of ``nvdisasm`` or ``cuobjdump --dump-sass``."""
    opcodes = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)", text)
    return {f"instructions_{family}": float(n) for family, n in _count(opcodes, _SASS_FAMILIES, exact=True).items()}


def _count(opcodes: Iterable[str], families: Mapping[str, tuple[str, ...]], exact: bool = False) -> Counter[str]:
    """Counts by the first family that knows an opcode; ``total`` counts all."""
    counts: Counter[str] = Counter(dict.fromkeys(families, 0))
    for opcode, n in Counter(opcodes).items():
        counts["total"] += n
        for family, names in families.items():
            if opcode in names if exact else opcode.startswith(names):
                counts[family] += n
                break
    return counts


_X86_FAMILIES = {
    "fused": r"vfn?m(?:add|sub)",
    "packed_float": r"v?(?:add|sub|mul|div|min|max|sqrt)p[sd]$|vfn?m\w+p[sd]$",
    "scalar_float": r"v?(?:add|sub|mul|div|min|max|sqrt|u?comi)s[sd]$|vfn?m\w+s[sd]$",
    "branch": r"j\w+$",
    "call": r"call",
}


def x86_metrics(text: str) -> Metrics:
    """Counts instructions by family in the output of ``objdump -d --no-show-raw-insn`` (AT&T syntax).

    An instruction may belong to several families: a fused multiply-add is also packed or scalar.
    """
    bodies = re.split(r"^(?:[0-9a-f]+ )?<([^>\n]+)>:$", text, flags=re.MULTILINE)
    own = "".join(body for name, body in zip(bodies[1::2], bodies[2::2], strict=True) if name not in _START_UP)
    lines = re.findall(r"^\s+(?:[0-9a-f]+:\s+)?([a-z]\w*)\b(.*)$", own, re.MULTILINE)
    counts: Counter[str] = Counter({"total": len(lines), "memory": 0, **dict.fromkeys(_X86_FAMILIES, 0)})
    widest = 0
    for opcode, operands in lines:
        counts["memory"] += "(%" in operands and not opcode.startswith(("lea", "nop"))
        for family, pattern in _X86_FAMILIES.items():
            counts[family] += bool(re.match(pattern, opcode))
        if re.match(_X86_FAMILIES["packed_float"], opcode):
            widest = max(widest, *(bits for name, bits in _VECTORS.items() if name in operands), 0)
    metrics = {f"instructions_{family}": float(count) for family, count in counts.items()}
    return {**metrics, "vector_bits": float(widest)}


_START_UP = {"_init", "_fini", "deregister_tm_clones", "register_tm_clones", "__do_global_dtors_aux", "frame_dummy"}
_VECTORS = {"%xmm": 128, "%ymm": 256, "%zmm": 512}


def embedded_cubins(data: bytes) -> Iterable[bytes]:
    """Yields the NVIDIA binaries that lie inside an object of the host."""
    at = data.find(_ELF, 1)
    while at > 0:
        if data[at + 18 : at + 20] == _EM_CUDA:
            yield data[at:]
        at = data.find(_ELF, at + 1)


def ptxas_metrics(log: str) -> Metrics:
    """Reads registers, spills and memory from the report of ``ptxas -v``."""
    patterns = {
        "registers": r"Used (\d+) registers",
        "stack_bytes": r"(\d+) bytes stack frame",
        "spill_store_bytes": r"(\d+) bytes spill stores",
        "spill_load_bytes": r"(\d+) bytes spill loads",
        "shared_bytes": r"(\d+) bytes smem",
    }
    found = {name: [int(n) for n in re.findall(pattern, log)] for name, pattern in patterns.items()}
    return {name: float(max(values)) for name, values in found.items() if values}


def nvidia_occupancy(arch: str, registers: float, shared_bytes: float, threads: int) -> float:
    """Returns the share of a multiprocessor's threads that can be resident, in [0, 1].

    Args:
        arch: E.g. ``"sm_90a"``; an unknown one counts as the newest that is known below it.
        registers: Of one thread.
        shared_bytes: Of one block.
        threads: Of one block.
    """
    capability = int(re.sub(r"\D", "", arch))
    known = max((each for each in _MULTIPROCESSORS if each <= capability), default=min(_MULTIPROCESSORS))
    all_registers, all_threads, all_shared, all_blocks = _MULTIPROCESSORS[known]
    warps = -(-threads // 32)
    warp_registers = -(-int(registers) * 32 // 256) * 256  # handed out in units of 256
    blocks = min(all_blocks, all_threads // (warps * 32))
    if registers:
        blocks = min(blocks, all_registers // (warp_registers * warps))
    if shared_bytes:
        blocks = min(blocks, int(all_shared // (shared_bytes + 1024)))  # 1 KiB a block is the system's
    return blocks * warps * 32 / all_threads


def combine(kernels: Iterable[Metrics]) -> Metrics:
    """Combines the metrics of several kernels of one source into one record."""
    total: Metrics = {}
    for metrics in kernels:
        for name, value in metrics.items():
            if name not in total:
                total[name] = value
            elif name.startswith(("instructions_", "code_bytes")):
                total[name] += value
            else:
                total[name] = min(total[name], value) if name.startswith("occupancy") else max(total[name], value)
    return total


def read_text(path: Path) -> str:
    """Returns a text that a compiler wrote; bytes that are no text do not stop the reading."""
    return path.read_text(encoding="utf-8", errors="replace")
