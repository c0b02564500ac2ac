"""A stand-in for Nsight Compute's command line: runs the program and writes a table of invented counts, in ncu's form.

It has what ncu does that matters here: it starts the program, refuses metrics that it does not list, and writes
messages before its table.
"""

import argparse
import subprocess
import sys

LISTED = {
    "gpu__time_duration": "1,234.5",
    "dram__throughput": "78.25",
    "sm__throughput": "31.5",
    "sm__pipe_tensor_cycles_active": "0",
    "l1tex__t_sector_hit_rate": "12.5",
    "lts__t_sector_hit_rate": "50.75",
    "sm__warps_active": "61.4",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld": "4,096",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld": "1,024",
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active": "7.1",
    "smsp__average_warps_issue_stalled_wait_per_issue_active": "2.9",
}
COLUMNS = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC")  # fmt: skip
LAUNCH = ("0", "42", "python3", "127.0.0.1", "void sum_row<float>(const float *, float *)", "1", "7", "(128, 1, 1)", "(64, 1, 1)", "0", "9.0")  # fmt: skip


def table(metrics, launch=LAUNCH, values=None):
    """The table of one launch."""
    values = values or [LISTED[metric.split(".")[0]] for metric in metrics]
    units = ["" for _ in COLUMNS] + ["%" if ".pct" in metric else "" for metric in metrics]
    rows = ([*COLUMNS, *metrics], units, [*launch, *values])
    return "".join(",".join(f'"{each}"' for each in row) + "\n" for row in rows)


def main():
    if sys.argv[1:] == ["--query-metrics"]:
        lines = [f"{name:<80} Counter {'%':<10} what it counts\n" for name in LISTED]
        sys.stdout.write("".join(["Device NVIDIA H200 (GH100)\n", "-" * 120, "\n", *lines]))
        return 0
    parser = argparse.ArgumentParser()
    for name in ("target-processes", "profile-from-start", "replay-mode", "clock-control", "cache-control"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("launch-count", "metrics", "page", "print-units", "log-file"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--csv", action="store_true", required=True)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    chosen = parser.parse_args()
    metrics = chosen.metrics.split(",")
    with open(chosen.log_file, "w") as log:
        log.write("==PROF== Connected to process 42 (/usr/bin/python3)\n")
        unknown = [metric for metric in metrics if metric.split(".")[0] not in LISTED]
        if unknown or chosen.clock_control != "none":
            log.write(f"==ERROR== Failed to find metric {unknown}\n")
            return 1
        code = subprocess.run(chosen.command, check=False).returncode
        log.write("==PROF== Disconnected from process 42\n")
        log.write("==ERROR== The application returned an error code\n" if code else table(metrics))
    return code


if __name__ == "__main__":
    sys.exit(main())
