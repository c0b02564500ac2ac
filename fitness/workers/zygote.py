"""Imports torch and Triton once and forks itself for every candidate, so that none has to wait for the imports.

Started by path as ``python -I zygote.py LIBRARY``; standard input is a socket to its parent. A message holds the
settings of one fork as JSON ``{"confinement": ["key=value", ...], "environment": {...}}`` and four descriptors:
the socket of its init process, the two pipes of `device.py`, its log. The fork confines itself (`forked.cpp`) and
becomes a worker as `device.py` describes it. The zygote never meets a candidate and never wakes a GPU: a CUDA
context does not survive a fork.
"""

import ctypes
import gc
import importlib.util
import json
import os
import pathlib
import socket
import sys
import tempfile
import traceback

_BYTES = 1 << 18
_TRITON = ("triton", "triton.language", "triton.compiler", "triton.runtime.interpreter")


def load():
    """Imports what every worker needs; returns the worker's program as a module."""
    import numpy  # noqa: F401
    import torch

    if importlib.util.find_spec("triton"):
        for name in _TRITON:
            importlib.import_module(name)
        if torch.version.cuda or torch.version.hip:
            attempt(digest_triton)
        if torch.version.cuda:
            attempt(build_triton_driver)
    path = pathlib.Path(__file__).with_name("device.py")
    spec = importlib.util.spec_from_file_location("device", path)
    device = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(device)
    return device


def build_triton_driver():
    """Lets Triton compile its link to the driver into the cache that workers start with: a second of a C compiler.

    Nothing of it touches a GPU.
    """
    from triton.backends.nvidia.driver import CudaUtils

    CudaUtils()


def digest_triton():
    """Lets Triton do what it does once, at its first compilation: read all its files for the key of its cache."""
    import triton.experimental.gluon  # noqa: F401
    from triton.runtime.cache import triton_key

    triton_key()


def attempt(step):
    """Does what spares workers time; where another Triton has no use for it, each worker does without."""
    try:
        step()
    except Exception:  # noqa: BLE001  # a worker that cannot do without will say why
        traceback.print_exc()


def reap():
    """Takes leave of forks that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def enter(library, order, descriptors):
    """Confines this fork; returns the descriptors of its two pipes."""
    init, receive, send, log = descriptors
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)  # was the socket to the parent
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.clear()
    os.environ.update(order["environment"])
    tempfile.tempdir = None  # asked for anew, in the new environment
    settings = [b"", *(setting.encode() for setting in order["confinement"]), None]
    library.kw_enter((ctypes.c_char_p * len(settings))(*settings), init, receive, send)
    return receive, send


def main(path):
    """Serves the parent until it closes its end."""
    library = ctypes.PyDLL(path)  # keeps the interpreter's lock: no other thread may exist in a fork
    library.prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: the orphans of forks come here
    device = load()
    gc.freeze()  # forks neither look through all that was imported nor copy the memory that it lies in
    library.prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: nobody looks into its memory
    control = socket.socket(fileno=0)
    control.send(b"ready")
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, _BYTES, 4)
        if not message:
            return
        reap()
        if os.fork() == 0:
            try:
                control.detach()
                device.serve(device.Pipes(*enter(library, json.loads(message), descriptors)))
            except BaseException:  # noqa: BLE001  # a fork must never come back into this loop
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)


if __name__ == "__main__":
    main(sys.argv[1])
