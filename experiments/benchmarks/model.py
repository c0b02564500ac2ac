"""What asking a model costs on our side, and how full its batch is: ``python -m experiments.benchmarks.model``.

Without arguments it measures the client's CPU time against a stub that answers at once, one request after another and
many at once, and the reader's CPU time. With ``--url`` it asks a real vLLM server and reads its gauge of running
requests.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from evolve import json_text
from fitness.tasks import Softmax
from llm import Message, Request, ServerClient
from operators.contract import contract
from operators.reading import read_answer

from .. import faults

STUB = r"""
import json, socketserver
text = "Here it is:\n```cpp\n" + "y[i] = x[i] * scale;  // a line of code\n" * 60 + "```\n"
body = {"model": "stub", "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 900, "completion_tokens": 600}}
data = json.dumps(body).encode()
head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
reply = f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        while True:
            length, line = 0, b"-"
            while line.strip():
                line = self.rfile.readline()
                if not line:
                    return
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            self.rfile.read(length)
            self.wfile.write(reply)
socketserver.ThreadingTCPServer.request_queue_size = 1024
server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
"""

PROMPT = "for (long j = 0; j < N; j++) total += x[i * N + j];\n" * 80
"""About as long as a prompt with one parent, its log and one inspiration."""


def cpu_ms(work: Callable[[int], object], count: int, at_once: int = 1) -> float:
    """Returns this process's CPU time of one call, in ms, after first ones that are not counted."""
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(work, range(at_once)))
        start_s = time.process_time()
        list(pool.map(work, range(at_once, at_once + count)))
        return (time.process_time() - start_s) / count * 1e3


def client_cpu_ms(requests: int, in_flight: int) -> float:
    """Returns the client's CPU time a request, in ms, against a stub in a process of its own."""
    with subprocess.Popen([sys.executable, "-c", STUB], stdout=subprocess.PIPE, text=True) as stub:
        assert stub.stdout is not None
        url = f"http://127.0.0.1:{int(stub.stdout.readline())}/v1"
        try:
            with ServerClient(url, "stub", context_tokens=32768) as client:
                messages = (Message("system", "You write kernels."), Message("user", PROMPT))
                return cpu_ms(lambda turn: client.complete(Request(messages, seed=turn)), requests, in_flight)
        finally:
            stub.kill()


def reader_cpu_ms(count: int) -> float:
    """Returns the reader's CPU time an answer, in ms."""
    task = Softmax()
    source = task.seed_kernel("cpp").source
    answer = f"The kernel makes three passes.\n\n```cpp\n{source.replace('total', 'sum')}```\nIt is faster."
    wanted = contract(task, "cpp", "cpp")
    return cpu_ms(lambda _: read_answer(answer, wanted, source), count)


def batch_gauge(url: str, model: str, in_flight: int) -> dict[str, float]:
    """Returns what vLLM's gauge of running requests said while ``in_flight`` requests were open.

    Raises:
        LLMError: The server cannot be asked.
    """
    seen: list[float] = []
    done = threading.Event()
    with ServerClient(url, model) as client:

        def watch() -> None:
            while not done.wait(0.05):
                seen.append(client.running_requests() or 0.0)

        watcher = threading.Thread(target=watch)
        watcher.start()
        ask = [Request((Message("user", PROMPT),), seed=seed, max_tokens=128) for seed in range(3 * in_flight)]
        start_s = time.monotonic()
        with ThreadPoolExecutor(in_flight) as pool:
            answers = list(pool.map(client.complete, ask))
        wall_s = time.monotonic() - start_s
        done.set()
        watcher.join()
    busy = sorted(value for value in seen if value > 0)
    tokens = sum(answer.completion_tokens for answer in answers)
    return {
        "in_flight": in_flight,
        "running_max": max(busy, default=0.0),
        "running_median": busy[len(busy) // 2] if busy else 0.0,
        "tokens_per_s": tokens / wall_s,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m experiments.benchmarks.model", description=__doc__)
    parser.add_argument("--requests", type=int, default=500, help="calls that are measured")
    parser.add_argument("--url", help="base URL of a vLLM server, e.g. http://127.0.0.1:8000/v1")
    parser.add_argument("--model", default="", help="its model; the first on offer unless given")
    parser.add_argument("--in-flight", type=int, default=16, help="requests open at once")
    arguments = parser.parse_args(argv)
    told: dict[str, object] = {
        "schema": "kernelwright.benchmark.model/1",
        "client_cpu_ms": client_cpu_ms(arguments.requests, 1),
        "in_flight": arguments.in_flight,
        "client_cpu_ms_in_flight": client_cpu_ms(arguments.requests, arguments.in_flight),
        "reader_cpu_ms": reader_cpu_ms(arguments.requests),
    }
    if arguments.url:
        told["batch"] = batch_gauge(arguments.url, arguments.model, arguments.in_flight)
    print(json_text(told, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(faults.main(main))
