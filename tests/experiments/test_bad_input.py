"""What a user can get wrong is answered in one line on standard error, with a status and without a traceback."""

import re
import sys

import pytest

from experiments import evaluate, run


@pytest.fixture
def start(monkeypatch, capsys, tmp_path):
    """Runs the command in this process; nothing gets as far as a measurement."""

    def start(*arguments: str):
        monkeypatch.setattr(sys, "argv", ["kernelwright", *arguments, f"hydra.run.dir={tmp_path / 'run'}"])
        status = run.main()
        return status, capsys.readouterr().err

    return start


WRONG = [
    (["task=softmx"], r"task=softmx: unknown task; did you mean softmax\? choose from .*row_sum"),
    (["target=h20"], r"target=h20: unknown target; .*choose from .*cpu"),
    (["language=cp"], r"language=cp: unknown language; did you mean cpp\? choose from "),
    (["operators=none"], r"operators=none: unknown operators; choose from .*syntactic"),
    (["search=best"], r"search=best: unknown search; .*choose from .*mu_plus_lambda"),
    (["llm=null"], r"llm=null: a group cannot be null; did you mean none\? choose from .*server"),
    (["operators=null"], r"operators=null: a group cannot be null; choose from .*syntactic"),
    (
        ["operators.mutate.kinds=[swap]"],
        r"operators\.mutate\.kinds: unknown key; .* is added by \+operators\.mutate\.kinds=…",
    ),
    (
        ["operators=llm", "llm=scripted", "operators.mutate.ingredients.notes=2"],
        r"operators\.mutate\.ingredients\.notes: unknown key; choose from advice, suggestion; another one is added by \+operators",
    ),
    (["--resolve"], r"--resolve: only together with --cfg job"),
    (["--package", "x"], r"--package: only together with --cfg job"),
    (["task=söftmax"], r"cannot read the override 'task=söftmax'; write key=value, .* letters beyond ASCII"),
    (["-m", "operators=syntactic,null"], r"operators=null: a group cannot be null; choose from .*syntactic"),
    (
        ["+search.choice={_target_: evolve.policies.UBC1}"],
        r"search\.choice\._target_: cannot import 'evolve.policies.UBC1'",
    ),
    (["experiment=dmo"], r"experiment=dmo: unknown experiment; did you mean demo\?"),
    (["lambda=3"], r"lambda: unknown key; did you mean lambda_\? choose from .*budget"),
    (["budget.evals=3"], r"budget\.evals: unknown key; .*choose from evaluations, seconds, tokens"),
    (["task.size=3"], r"task\.size: unknown key; .*choose from time_sizes"),
    (["+task.size=3"], r"task\.size: unknown key; "),
    (["evaluator.repeats=3"], r"evaluator\.repeats: unknown key; "),
    (["+nothing=1"], r"nothing: unknown key; "),
    (["mu=0"], r"mu: must be a whole number of at least 1, is 0"),
    (["mu=eight"], r"mu: must be a whole number of at least 1, is 'eight'"),
    (["mu=null"], r"mu: must be a whole number of at least 1, is None"),
    (["lambda_=0"], r"lambda_: must be a whole number of at least 1, is 0"),
    (["lambda_=-1"], r"lambda_: must be a whole number of at least 1, is -1"),
    (["seed=-1"], r"seed: must be a whole number of at least 0, is -1"),
    (["generations=null"], r"generations: nothing ends this run; set one of "),
    (["budget.seconds=0"], r"budget\.seconds: must be a number above 0 or null, is 0"),
    (["language.flags=-O3"], r"language\.flags: must be a list, is '-O3'"),
    (["language.compiler=3"], r"language\.compiler: must be text or null, is 3"),
    (["objectives=[speed]"], r"run: unknown objective 'speed'; known are latency_us"),
    (["target.threads=1000"], r"target: target\.threads must be between 1 and \d+ on this machine, is 1000"),
    (
        ["+search.choice={_target_: evolve.choice.Weights, weights: {mutate: 0, crossover: 0}}"],
        r"search: the weights of the operators sum to 0: give at least one a positive weight",
    ),
    (
        ["+search.choice={_target_: evolve.choice.Weights, weights: {mutate: -1}}"],
        r"search: the weight of operator mutate must be at least 0, is -1",
    ),
    (["evaluator.min_pairs=1"], r"evaluator: evaluator\.min_pairs must be at least 2, is 1"),
    (["mu.x=3"], r"mu\.x: unknown key; nothing is allowed here"),
    (["task.time_sizes.M=7"], r"'M' stands in an override where a list is: items have numbers, as in "),
    (["task.time_sizes.9.M=7"], r"task\.time_sizes\[9\]: list index out of range"),
    (["-m", "task.time_sizes.M=7,8"], r"'M' stands in an override where a list is: items have numbers, as in "),
    (["llm.model=x"], r"llm\.model: the llm that is chosen has no keys; choose another with llm=NAME"),
    (
        ["target=interpret", "language=cuda"],
        r"target=interpret gives verdicts and no times, and objectives has latency_us",
    ),
    (["operators=llm"], r"operators\.\w+: needs a model; choose llm=server"),
    (["mu"], r"cannot read the override 'mu'; write key=value"),
    (["mu=[1"], r"cannot read the override 'mu=\[1'; write key=value"),
    (["mu=1,2"], r"Ambiguous value for argument 'mu=1,2'"),
    (["mu=${nope}"], r"mu: .*nope"),
    (["--config-dir=/no/such/folder"], r"Additional config directory '/no/such/folder' not found"),
    (["-m", "seed=0,1", "mu=4,0"], r"mu: must be a whole number of at least 1, is 0"),
    (["-m", "task=softmax,softmx"], r"task=softmx: unknown task; did you mean softmax\?"),
    (["-m", "seed=range(a)"], r"cannot read the override 'seed=range\(a\)'"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[" ".join(arguments) for arguments, _ in WRONG])
def test_wrong_configuration_is_one_line_and_status_2(start, arguments, message):
    status, err = start(*arguments)

    assert (2, 1) == (status, len(err.splitlines())), err
    assert re.match(f"error: {message}", err), err


def test_nothing_is_created_for_a_wrong_name(start, tmp_path):
    start("task=softmx")

    assert [] == list(tmp_path.iterdir())


def test_no_job_of_a_sweep_starts_when_one_value_is_wrong(start, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    start("-m", "seed=0,1,-1", f"hydra.sweep.dir={tmp_path / 'sweep'}")

    assert [] == list(tmp_path.glob("sweep/*"))


def test_a_compiler_that_is_missing_says_what_to_install(start):
    status, err = start("language.compiler=no-such-compiler")

    assert (1, 1) == (status, len(err.splitlines())), err
    assert re.match(r"error: the C\+\+ compiler 'no-such-compiler' does not run; install it", err)


@pytest.mark.parametrize("folder", ["/proc/kernelwright", "/dev/null/run"])
def test_a_run_directory_that_cannot_be_made_is_named(monkeypatch, capsys, folder):
    monkeypatch.setattr(sys, "argv", ["kernelwright", f"hydra.run.dir={folder}"])
    status, err = run.main(), capsys.readouterr().err

    assert (1, 1) == (status, len(err.splitlines())), err
    assert folder in err


def test_options_that_do_not_exist_are_answered_by_the_usage(start):
    status, err = start("--nothing")

    assert 2 == status
    assert "unrecognized arguments: --nothing" in err


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (None, ["kernel=missing.cpp"], r"kernel: missing\.cpp does not exist"),
        (b"", ["kernel=mine.cpp"], r"kernel: mine\.cpp is empty"),
        (b" \n\t", ["kernel=mine.cpp"], r"kernel: mine\.cpp is empty"),
        (b"int a;\xff\xfe", ["kernel=mine.cpp"], r"kernel: mine\.cpp is not UTF-8 text \(byte 6\)"),
        (None, ["kernel=/dev/zero"], r"kernel: /dev/zero is no plain file"),
        (None, ["kernel=."], r"kernel: \. cannot be read: Is a directory"),
        (b"int a;", ["task=softmax"], r"kernel: missing; give kernel=…"),
        (b"int a;", ["mine.cpp"], r"cannot read 'mine\.cpp'; write key=value"),
        (b"int a;", ["kernel=mine.cpp", "task=softmx"], r"task=softmx: unknown task; did you mean softmax\?"),
        (b"int a;", ["kernel=mine.cpp", "evaluator.min_pairs=few"], r"evaluator\.min_pairs: must be a whole number"),
        (
            b"int a;",
            ["kernel=mine.cpp", "language=triton", "target=interpret"],
            r"kernel: mine\.cpp is not written in triton; choose language=cpp",
        ),
        (b"int a;", ["kernel=mine.cpp", "--config-dir", "nowhere"], r"--config-dir: nowhere is not a folder"),
    ],
)
def test_evaluate_refuses_with_a_line(monkeypatch, capsys, tmp_path, content, arguments, message):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / "mine.cpp").write_bytes(content)
    status = evaluate.main(arguments)
    told = capsys.readouterr()

    assert (2, "") == (status, told.out)
    assert re.match(f"error: {message}", told.err), told.err
    assert 1 == len(told.err.splitlines())
