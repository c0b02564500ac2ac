"""Stands in for ``vllm serve``: loads for a moment, has helpers that outlive a careless stop, asks for its key.

Usage: fake_vllm.py MODEL PORT PIDS_FILE [--fail]
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HELPER = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        pages = {"/health": "", "/version": {"version": "0.0"}, "/v1/models": {"data": [{"id": sys.argv[1]}]}}
        self.reply(200, pages.get(self.path, ""))

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Authorization"] != f"Bearer {os.environ['VLLM_API_KEY']}":
            self.reply(401, {"error": {"message": "Unauthorized"}})
            return
        told = {
            "gpus": os.environ.get("CUDA_VISIBLE_DEVICES"),
            "secret": os.environ.get("OTHER_SECRET"),
            "argv": sys.argv,
        }
        choice = {"message": {"content": json.dumps(told)}, "finish_reason": "stop"}
        self.reply(200, {"model": sys.argv[1], "choices": [choice]})

    def reply(self, status: int, value: object) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def main() -> None:
    sys.stdout.write("loading weights\n")
    sys.stdout.flush()
    if "--fail" in sys.argv:
        sys.stdout.write("ValueError: No available memory for the cache blocks.\n")
        sys.exit(3)
    helpers = [subprocess.Popen([sys.executable, "-c", HELPER], start_new_session=alone) for alone in (False, True)]
    Path(sys.argv[3]).write_text(" ".join(str(pid) for pid in [os.getpid(), *(helper.pid for helper in helpers)]))
    signal.signal(signal.SIGTERM, lambda *args: sys.exit(0))
    time.sleep(0.3)
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()


if __name__ == "__main__":
    main()
