"""Calls one candidate once where a profiler looks at it; started by ncu as ``python -I counted.py manifest.json``.

The manifest says what `device.py` is told to load, the sizes of the call (``sizes``) and how many inputs there are:
``0.npy``, ``1.npy`` and so on lie beside it. Two calls go before, so that nothing compiles or tunes while counters
run. An empty manifest adds one to a number instead: whether counters can be read at all.
"""

import importlib.util
import json
import pathlib
import sys

WARM_UP = 2


def program():
    """Returns the worker's program as a module."""
    path = pathlib.Path(__file__).with_name("device.py")
    spec = importlib.util.spec_from_file_location("device", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def prepared(device, worker, manifest):
    """Returns a call without arguments."""
    import numpy

    if not manifest:
        number = device.torch.zeros(1 << 20, device=device.name)
        return lambda: number.add_(1)
    candidate = worker.Candidate(device, manifest)
    arrays = {str(each): numpy.load(f"{each}.npy", allow_pickle=False) for each in range(manifest["inputs"])}
    session = worker.Session(None, device)
    inputs = [session.owned(device.torch.from_numpy(array)).tensor for array in arrays.values()]
    axes = manifest["sizes"]
    outputs = candidate.outputs(axes)
    return lambda: candidate.call(inputs, outputs, axes)


def main(path):
    """Makes the call, between the profiler's start and stop."""
    worker = program()
    device = worker.Device()
    call = prepared(device, worker, json.loads(pathlib.Path(path).read_text(encoding="utf-8")))
    for _ in range(WARM_UP):
        call()
    device.synchronize()
    if device.gpu:
        device.torch.cuda.profiler.start()
    call()
    device.synchronize()
    if device.gpu:
        device.torch.cuda.profiler.stop()


if __name__ == "__main__":
    main(sys.argv[1])
