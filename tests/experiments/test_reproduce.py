import os
import shutil
import signal
from concurrent.futures import ProcessPoolExecutor

from experiments import faults
from experiments.reproduce import RESULTS, stored_runs, stored_sweeps


def test_all_stored_results_come_out_byte_for_byte(command, tmp_path):
    """All tables, and a few runs of each sweep: replaying every one is what ``make reproduce`` does."""
    done = command("reproduce", "--replays", "3", "--out", str(tmp_path), timeout_s=600)

    assert 0 == done.returncode, done.stdout + done.stderr
    assert len(stored_runs(RESULTS)) + len(stored_sweeps(RESULTS)) == done.stdout.count("byte-identical")
    for name in ("report.html", "kernels/sources.jsonl"):
        assert all((tmp_path / run.relative_to(RESULTS) / name).is_file() for run in stored_runs(RESULTS))


def test_a_result_that_was_touched_is_found(command, tmp_path):
    run = stored_runs(RESULTS)[0]
    copy = tmp_path / "results" / run.name
    shutil.copytree(run, copy)
    lines = (copy / "generations.jsonl").read_text()
    (copy / "generations.jsonl").write_text(lines.replace('"status":"ok"', '"status":"crashed"', 1))
    done = command("reproduce", "--results", str(tmp_path / "results"), "--out", str(tmp_path / "out"), timeout_s=600)

    assert 1 == done.returncode
    assert "differs" in done.stdout


def test_an_empty_folder_is_said_to_be_empty(command, tmp_path):
    done = command("reproduce", "--results", str(tmp_path))

    assert 1 == done.returncode
    assert "holds no stored results" in done.stderr


def test_a_process_that_is_ended_from_outside_is_one_line(capsys):
    def command():
        with ProcessPoolExecutor(1) as pool:
            pool.submit(_killed).result()
        return 0

    assert 1 == faults.main(command)
    assert ["error: one of the processes of this command was ended from outside; run the same command again"] == (
        capsys.readouterr().err.splitlines()
    )


def _killed():
    os.kill(os.getpid(), signal.SIGKILL)
