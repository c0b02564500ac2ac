import io
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from experiments.batches import Batch, _last_words, multirun_batch, plain_batches, run_batches
from experiments.benchmarks.synthetic import Invented, write_run
from experiments.experiment import Experiment, from_plain
from experiments.faults import ConfigError, RunError
from experiments.jobs import Job, alone, jobs_of, keep_failure, quoted
from experiments.sweep_command import check_jobs, main, read_order
from experiments.sweep_progress import Watch, summary

WORKER = textwrap.dedent(
    """
    import fcntl, json, os, pathlib, re, sys, time
    run_dir = pathlib.Path(re.search(r"hydra.run.dir='(.*)'", " ".join(sys.argv[1:]))[1])
    arm = next(arg for arg in sys.argv if arg.startswith("operators=")).split("=")[1]
    run_dir.mkdir(parents=True, exist_ok=True)
    with (run_dir / "starts").open("a") as file:
        file.write("-\\n")
    if arm == "broken":
        sys.exit("error: no compiler here")
    if arm == "killed":
        os.kill(os.getpid(), 9)
    if arm == "slow":
        time.sleep(60)
    if arm == "late":
        journal = (run_dir / "journal.jsonl").open("wb")
        fcntl.flock(journal, fcntl.LOCK_EX)
        (run_dir / "locked").touch()
        time.sleep(3)
    if arm == "beside":
        import subprocess
        other = "import fcntl, pathlib, sys, time; run_dir = pathlib.Path(sys.argv[1]); "
        other += "journal = (run_dir / 'journal.jsonl').open('wb'); fcntl.flock(journal, fcntl.LOCK_EX); "
        other += "(run_dir / 'locked').touch(); time.sleep(2); (run_dir / 'result.json').write_text('{}')"
        subprocess.Popen([sys.executable, "-c", other, str(run_dir)], start_new_session=True)
        while not (run_dir / "locked").exists():
            time.sleep(0.02)
        sys.exit("error: another process is running in this folder")
    (run_dir / "result.json").write_text(json.dumps({"ended": "evaluations", "elapsed_s": 1.0}))
    """
)
"""Stands in for a run: ends well, with an error, by a signal, later, or at once since another process is at work on it
and will end well, as its operators say."""


def experiment(*arms: str, seeds: int = 2, **more: object) -> Experiment:
    plain = {"arms": {arm: [f"operators={arm}"] for arm in arms}, "tasks": ["softmax"], "seeds": seeds, **more}
    return from_plain(plain, "demo")


def worker(tmp_path: Path) -> list[str]:
    path = tmp_path / "worker.py"
    path.write_text(WORKER)
    return [sys.executable, str(path)]


def run(tmp_path: Path, wanted: Experiment, places: int = 2) -> list[Job]:
    """Works through what is left of an experiment."""
    jobs = jobs_of(wanted, tmp_path / "sweep")
    left = [job for job in jobs if job.state != "finished"]
    run_batches(plain_batches(left), places, lambda running: None, worker(tmp_path))
    return jobs


def states(jobs: list[Job]) -> dict[str, str]:
    return {job.name: job.state for job in jobs}


def starts(job: Job) -> list[str]:
    return (job.run_dir / "starts").read_text().split()


def test_jobs_are_named_by_what_they_are(tmp_path: Path) -> None:
    jobs = jobs_of(experiment("a", "b"), tmp_path)

    assert [tmp_path / arm / "softmax" / f"seed_{seed}" for seed in (0, 1) for arm in ("a", "b")] == [
        job.run_dir for job in jobs
    ]


def test_overrides_end_with_those_of_the_arm_and_the_seed(tmp_path: Path) -> None:
    job = jobs_of(experiment("a", overrides=["mu=4"], budget={"evaluations": 16}), tmp_path)[0]

    assert (
        "mu=4",
        "budget.evaluations=16",
        "generations=null",
        "task=softmax",
        "operators=a",
        "seed=0",
    ) == job.overrides


@pytest.mark.parametrize("value", [1_234_567, 0.123456789])
def test_a_budget_keeps_its_digits(tmp_path: Path, value: float) -> None:
    job = jobs_of(experiment("a", budget={"seconds": value}), tmp_path)[0]

    assert f"budget.seconds={value}" in job.overrides


def test_a_declared_number_of_generations_stays(tmp_path: Path) -> None:
    job = jobs_of(experiment("a", overrides=["generations=3"], budget={"evaluations": 16}), tmp_path)[0]

    assert "generations=null" not in job.overrides


def test_every_job_is_run(tmp_path: Path) -> None:
    assert {"finished"} == set(states(run(tmp_path, experiment("a", "b"))).values())


@pytest.mark.parametrize(("arm", "error"), [("broken", "no compiler here"), ("killed", "ended by signal 9")])
def test_a_failed_job_says_why_and_takes_no_other_along(tmp_path: Path, arm: str, error: str) -> None:
    jobs = run(tmp_path, experiment(arm, "a", seeds=1))

    assert {f"{arm}/softmax/seed_0": "failed", "a/softmax/seed_0": "finished"} == states(jobs)
    assert error == json.loads((jobs[0].run_dir / "failed.json").read_text())["error"]


def test_a_job_that_another_process_is_at_work_on_has_not_failed(tmp_path: Path) -> None:
    beside, done = run(tmp_path, experiment("beside", "a", seeds=1))

    assert ({"finished"}, 1) == ({beside.state, done.state}, len(starts(beside)))
    assert not (beside.run_dir / "failed.json").exists()


def test_a_failure_that_is_told_too_late_leaves_a_finished_run_alone(tmp_path: Path) -> None:
    keep_failure(tmp_path, "the disk is full", 1, [])
    before = (tmp_path / "failed.json").exists()
    (tmp_path / "result.json").write_text("{}")
    keep_failure(tmp_path, "the disk is full", 1, [])

    assert (True, False) == (before, (tmp_path / "failed.json").exists())


ALONE = "import sys, time; from pathlib import Path; from experiments.jobs import alone\n"
ALONE += "with alone(Path(sys.argv[1])): print('in', flush=True); time.sleep(60)"


def test_a_second_sweep_is_refused_until_the_first_one_is_gone(tmp_path: Path) -> None:
    root = str(Path(__file__).parents[2])
    first = subprocess.Popen(
        [sys.executable, "-c", ALONE, str(tmp_path / "sweep")],
        env={**os.environ, "PYTHONPATH": root},
        stdout=subprocess.PIPE,
    )
    assert first.stdout is not None
    with first, first.stdout as said:
        said.readline()
        with (
            pytest.raises(RunError, match="another sweep is at work in this folder; wait for it, or use another"),
            alone(tmp_path / "sweep"),
        ):
            pass
        first.kill()
    with alone(tmp_path / "sweep"):
        entered = True

    assert entered


def test_a_refused_sweep_changes_nothing_and_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [f"experiment={order_file(tmp_path)}", f"hydra.sweep.dir={tmp_path / 'sweep'}"]
    with alone(tmp_path / "sweep"):
        status = main(arguments)
    said = capsys.readouterr().err.splitlines()

    assert (1, 1) == (status, len(said))
    assert "another sweep is at work in this folder" in said[0]
    assert [".lock"] == [path.name for path in (tmp_path / "sweep").iterdir()]


def test_the_reason_is_found_behind_any_amount_of_output(tmp_path: Path) -> None:
    console = tmp_path / "console.log"
    with console.open("wb") as file:
        file.truncate(1_000_000_000)
        file.seek(0, os.SEEK_END)
        file.write(b"\nerror: no compiler here\n")

    assert "no compiler here" == _last_words(tmp_path / "run.log", console, 1)


def test_the_same_again_runs_only_what_is_not_finished(tmp_path: Path) -> None:
    run(tmp_path, experiment("broken", "a", seeds=1))
    broken, done = run(tmp_path, experiment("broken", "a", seeds=1))

    assert (2, 1) == (len(starts(broken)), len(starts(done)))


def test_seeds_added_later_keep_what_exists(tmp_path: Path) -> None:
    run(tmp_path, experiment("a", seeds=1))
    jobs = run(tmp_path, experiment("a", seeds=3))

    assert [1, 1, 1] == [len(starts(job)) for job in jobs]


def test_a_job_that_is_mended_is_no_longer_failed(tmp_path: Path) -> None:
    (job,) = run(tmp_path, experiment("broken", seeds=1))
    mended = Job(job.placed, job.run_dir, ("operators=a",))
    run_batches(plain_batches([mended]), 1, lambda running: None, worker(tmp_path))

    assert ("finished", False) == (mended.state, (job.run_dir / "failed.json").exists())


def test_no_more_jobs_run_at_once_than_asked_for(tmp_path: Path) -> None:
    jobs = jobs_of(experiment("a", "b", seeds=3), tmp_path / "sweep")
    at_once = []
    run_batches(plain_batches(jobs), 2, lambda running: at_once.append(len(running)), worker(tmp_path))

    assert ({"finished"}, 2) == (set(states(jobs).values()), max(at_once))


def test_an_interrupted_sweep_ends_its_processes(tmp_path: Path) -> None:
    jobs = jobs_of(experiment("slow", seeds=2), tmp_path / "sweep")

    def interrupt(running: object) -> None:
        if all((job.run_dir / "starts").exists() for job in jobs):
            raise KeyboardInterrupt

    begin_s = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_batches(plain_batches(jobs), 2, interrupt, worker(tmp_path))

    assert ({"unfinished"}, True) == (set(states(jobs).values()), time.monotonic() - begin_s < 55)


def test_a_sweep_that_is_stopped_says_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("experiments.sweep_command.run_batches", interrupted)
    status = main([f"experiment={order_file(tmp_path)}", f"hydra.sweep.dir={tmp_path / 'sweep'}"])

    assert 130 == status
    assert "stopped; what was done is kept. The same command goes on." == capsys.readouterr().err.strip()


def test_a_multirun_lists_all_jobs_with_their_folders(tmp_path: Path) -> None:
    jobs = jobs_of(experiment("a", "b", seeds=1), tmp_path)
    (batch,) = multirun_batch(jobs, tmp_path, ["hydra/launcher=joblib"])
    batch.prepare()
    listed = json.loads((tmp_path / "jobs.json").read_text())

    assert [[*job.overrides, f"hydra.sweep.subdir='{job.name}'"] for job in jobs] == listed
    assert {"-m", "hydra/launcher=joblib", "hydra/sweeper=listed"} <= set(batch.argv)


LAUNCHER = textwrap.dedent(
    """
    import json, pathlib, re, sys
    sweep = pathlib.Path(re.search(r"hydra.sweep.dir='(.*)'", " ".join(sys.argv[1:]))[1])
    for overrides in json.loads((sweep / "jobs.json").read_text()):
        run_dir = sweep / overrides[-1].split("'")[1]
        run_dir.mkdir(parents=True, exist_ok=True)
        with (run_dir / "starts").open("a") as file:
            file.write("-\\n")
        if "operators=fatal" in overrides:
            sys.exit("error: a worker was killed")
        (run_dir / "result.json").write_text(json.dumps({"ended": "evaluations", "elapsed_s": 1.0}))
    """
)
"""Stands in for a launcher that gives up everything when one of its workers is killed."""


def test_jobs_that_a_killed_worker_took_along_are_launched_again(tmp_path: Path) -> None:
    (tmp_path / "launcher.py").write_text(LAUNCHER)
    jobs = jobs_of(experiment("a", "fatal", "b", seeds=2), tmp_path / "sweep")
    command = [sys.executable, str(tmp_path / "launcher.py")]
    run_batches(multirun_batch(jobs, tmp_path / "sweep", []), 1, lambda running: None, command)
    ended = {job.name: (job.state, len(starts(job)) if (job.run_dir / "starts").exists() else 0) for job in jobs}

    assert ("finished", 1) == ended["a/softmax/seed_0"]
    assert {"finished", "failed"} == {state for state, _ in ended.values()}
    assert ("failed", "finished") == (ended["fatal/softmax/seed_1"][0], ended["b/softmax/seed_1"][0])


@pytest.mark.parametrize("name", ["plain", "a b", "it's", "a,b=c", "ü{x}"])
def test_paths_of_all_kinds_survive_as_overrides(name: str) -> None:
    from hydra.core.override_parser.overrides_parser import OverridesParser

    parsed = OverridesParser.create().parse_override(f"hydra.run.dir={quoted(Path('/tmp') / name)}")

    assert f"/tmp/{name}" == str(parsed.value())


def test_progress_is_read_from_the_last_generation(tmp_path: Path) -> None:
    job = jobs_of(experiment("a", seeds=1), tmp_path)[0]
    write_run(job.run_dir, Invented(evaluations=40), 0, {}, finished=False)

    assert 0.5 == job.progress({"evaluations": 80})


def test_a_job_that_has_not_begun_has_no_progress(tmp_path: Path) -> None:
    assert 0.0 == jobs_of(experiment("a"), tmp_path)[0].progress({"evaluations": 80})


def watched(tmp_path: Path) -> tuple[Watch, list[Job]]:
    wanted = experiment("a", seeds=4, budget={"evaluations": 40})
    jobs = jobs_of(wanted, tmp_path)
    return Watch(Console(quiet=True), jobs, wanted), jobs


def batch(*jobs: Job) -> list[Batch]:
    return plain_batches(jobs)


def test_time_left_is_not_guessed_before_anything_is_done(tmp_path: Path) -> None:
    watch, jobs = watched(tmp_path)
    watch(batch(jobs[0]))

    assert "0/4 finished" == watch.told()


def test_time_left_counts_jobs_and_parts_of_jobs(tmp_path: Path) -> None:
    watch, jobs = watched(tmp_path)
    watch(batch(*jobs[:2]))
    write_run(jobs[0].run_dir, Invented(evaluations=40), 0, {})
    write_run(jobs[1].run_dir, Invented(evaluations=20), 0, {}, finished=False)
    watch(batch(jobs[1]))
    watch._started_s = time.monotonic() - 300.0

    assert ("1/4 finished", "8 min") == (watch.told().split(",")[0], watch.time_left().split("about ")[1][:5])


def test_what_was_done_before_tells_nothing_about_speed(tmp_path: Path) -> None:
    write_run(tmp_path / "a" / "softmax" / "seed_0", Invented(evaluations=40), 0, {})
    watch, _ = watched(tmp_path)

    assert "1/4 finished" == watch.told()


def test_the_summary_counts_states_and_tells_errors(tmp_path: Path) -> None:
    jobs = run(tmp_path, experiment("broken", "a", seeds=1))
    console = Console(record=True, width=120, file=io.StringIO())
    complete = summary(jobs, console)
    text = console.export_text()

    assert (False, True) == (complete, "failed: broken/softmax/seed_0: no compiler here" in text)


def order_file(tmp_path: Path) -> Path:
    path = tmp_path / "demo.yaml"
    path.write_text("arms: {a: [operators=syntactic], b: [operators=parameter]}\ntasks: [softmax]\nseeds: 2\n")
    return path


def test_the_command_line_changes_seeds_budget_and_overrides(tmp_path: Path) -> None:
    order = read_order([f"experiment={order_file(tmp_path)}", "seeds=3", "budget.evaluations=8", "mu=2", "jobs=2"])

    assert ((0, 1, 2), {"evaluations": 8}, ("mu=2",), 2, Path("runs/demo")) == (
        order.experiment.seeds,
        order.experiment.budget,
        order.experiment.overrides,
        order.at_once,
        order.sweep_dir,
    )


def test_a_folder_of_ones_own_is_where_jobs_look_too(tmp_path: Path) -> None:
    (tmp_path / "operators").mkdir()
    (tmp_path / "operators" / "own.yaml").write_text("copy: {_target_: operators.Identity}\n")
    (tmp_path / "own.yaml").write_text("arms: {a: [operators=own], b: []}\ntasks: [softmax]\nseeds: 1\n")
    command = [f"experiment={tmp_path / 'own.yaml'}"]
    jobs = jobs_of(read_order(command).experiment, tmp_path)
    order = read_order(command, config_dir=tmp_path)
    check_jobs(jobs_of(order.experiment, tmp_path), order.here)

    with pytest.raises(ConfigError, match="operators=own: unknown operators"):
        check_jobs(jobs)
    assert [f"hydra.searchpath=['file://{tmp_path}']"] == order.here
    with pytest.raises(ConfigError, match=r"--config-dir: .*/nowhere is not a folder"):
        read_order(command, config_dir=tmp_path / "nowhere")


def test_overrides_of_hydra_choose_its_multirun(tmp_path: Path) -> None:
    order = read_order([f"experiment={order_file(tmp_path)}", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2"])

    assert ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"] == order.launcher


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "experiment: missing"),
        (["experiment=nowhere"], "no such file or shipped experiment"),
        (["nonsense"], "write key=value"),
        (["jobs=0"], "whole number of at least 1"),
        (["jobs=2", "devices=0"], "leave one of the two out"),
        (["jobs=2", "hydra/launcher=basic"], "leave one of the two out"),
        (["devices=all"], "neither nvidia-smi nor rocminfo finds a GPU"),
        (["devices=0,0"], "devices: give different whole numbers"),
        (["devices=a"], "devices: give different whole numbers"),
        (["budget.seconds=soon"], "a number above 0"),
        (["seeds=x"], "give how many"),
        (["seeds=99999999999"], "give at most 10,000"),
    ],
)
def test_mistakes_on_the_command_line_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    given = [f"experiment={order_file(tmp_path)}"] if arguments and not arguments[0].startswith("experiment") else []
    status = main([*given, *arguments])
    said = capsys.readouterr().err.splitlines()

    assert (2, 1, True) == (status, len(said), message in said[0])


def test_a_mistake_in_an_arm_is_found_before_any_job_starts(tmp_path: Path) -> None:
    wanted = from_plain({"arms": {"a": ["operators=syntctic"]}, "tasks": ["softmax"], "seeds": 1}, "demo")

    with pytest.raises(ConfigError, match=r"arm a and task softmax: operators=syntctic.*did you mean syntactic"):
        check_jobs(jobs_of(wanted, tmp_path))


def test_a_task_without_the_tunable_kernel_that_all_start_from_is_found_before_any_job_starts(tmp_path: Path) -> None:
    wanted = experiment("syntactic", seeds=1, overrides=["start=[tunable]"])
    row_sum = replace(wanted, tasks={"row_sum": ("task=row_sum",)})
    scan = replace(wanted, tasks={"scan": ("task=prefix_sum",)})
    check_jobs(jobs_of(row_sum, tmp_path))

    with pytest.raises(ConfigError, match="task scan: start: task prefix_sum ships no tunable kernel in cpp"):
        check_jobs(jobs_of(scan, tmp_path))


def test_a_sweep_that_is_killed_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Kills a sweep as a power cut would, and starts it again while one of its runs is still at work."""
    plain = {"arms": {"a": ["operators=a"], "late": ["operators=late"]}, "tasks": ["t"], "seeds": 1}
    script = tmp_path / "sweep.py"
    script.write_text(
        "import sys; from pathlib import Path\n"
        "from experiments.experiment import from_plain\n"
        "from experiments.batches import plain_batches, run_batches\n"
        "from experiments.jobs import jobs_of\n"
        f"jobs = jobs_of(from_plain({plain}, 'demo'), Path(sys.argv[1]))\n"
        "run_batches(plain_batches(jobs), 1, lambda running: None, sys.argv[2:])\n"
    )
    arguments = [sys.executable, str(script), str(tmp_path / "sweep"), *worker(tmp_path)]
    root = str(Path(__file__).parents[2])
    sweep = subprocess.Popen(arguments, env={**os.environ, "PYTHONPATH": root}, start_new_session=True)
    while not (tmp_path / "sweep" / "late" / "t" / "seed_0" / "locked").exists():
        time.sleep(0.05)
        assert sweep.poll() is None
    os.killpg(sweep.pid, signal.SIGKILL)
    sweep.wait()
    done, late = run(tmp_path, from_plain(plain, "demo"))

    assert ({"finished"}, 1, 1) == ({done.state, late.state}, len(starts(done)), len(starts(late)))
