"""The report says what happened, shows hostile text as text, and works for runs that came to nothing."""

import re
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from experiments.faults import RunError
from experiments.records import load_run
from experiments.report import main, render, write_report
from experiments.verdicts import statuses
from experiments.wording import trust
from fitness import Status
from stored_run import HOSTILE, make_run


class Page(HTMLParser):
    """Collects elements, attributes and text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text, self.open = [], [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert tag == self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def page(finished):
    return Page(write_report(finished).read_text())


def test_hostile_text_becomes_no_element(page):
    assert [] == [tag for tag in page.tags if tag in ("script", "iframe", "object", "embed", "link", "form")]


def test_hostile_text_becomes_no_handler(page):
    assert [] == [name for name, _ in page.attributes if name.startswith("on")]


def test_hostile_text_is_still_shown(page):
    assert HOSTILE in "".join(page.text)


def test_speedups_over_torch_are_stated_and_so_is_why_there_is_none(page):
    cells = [text.strip() for text in page.text]
    assert "1.25× (1.20 – 1.30)" in cells
    assert f"not compared: it is run_timeout; {HOSTILE}" in cells


def test_every_element_is_closed(page):
    assert [] == page.open


def test_nothing_is_fetched(page):
    links = [value for name, value in page.attributes if name in ("src", "href", "action", "data")]

    assert [] == [link for link in links if not link.startswith("data:")]


def test_style_fetches_nothing(finished):
    html = write_report(finished).read_text()

    assert [] == re.findall(r"@import|url\(", html)


def test_both_speedups_stand_in_the_headline(finished):
    run = load_run(finished)
    claim = re.search(r'class="claim">(.*?)</p>', render(run), re.DOTALL).group(1)

    assert f"{run.verification.speedup:.2f}×" in claim


def test_the_headline_counts_the_candidates_that_the_funnel_counts(finished):
    run = load_run(finished)

    assert (
        f"Starting from the task&#39;s naive kernel, {run.funnel.rows[-1].counts[0]} candidates were made. With it, "
        in render(run)
    )


def test_the_lineage_leads_from_the_seed_to_the_best(finished):
    html = render(load_run(finished))

    assert html.index("<b>seed</b>") < html.index('class="best"')


def test_the_lineage_shows_what_changed(finished):
    assert '<span class="add">+//' in render(load_run(finished))


def test_the_picture_is_a_png(finished):
    write_report(finished)

    assert b"\x89PNG" == (finished / "best_so_far.png").read_bytes()[:4]


def test_equal_records_give_an_equal_page(finished):
    assert render(load_run(finished)) == render(load_run(finished))


def test_a_run_without_success_says_so(tmp_path):
    html = render(load_run(make_run(tmp_path, succeeds=False)))

    assert "Nothing faster than the seed kernel was found" in html


def test_a_start_that_was_not_surpassed_is_not_called_the_naive_seed(tmp_path):
    html = render(load_run(make_run(tmp_path, succeeds=False, seeds=2)))

    assert "Nothing faster than the best of the 2 kernels to start from (1.10× as fast as the naive seed) was" in html
    assert "Starting from 2 kernels, 32 candidates were made. With them, " in html


def test_a_run_of_a_benchmark_is_called_by_its_problem(finished):
    run = load_run(finished)
    problem = replace(
        run, choices={**run.choices, "task": "kernelbench"}, config={**run.config, "level": 1, "problem": 36}
    )

    assert problem.title.startswith("kernelbench 1/36 in ")


@pytest.mark.parametrize(
    ("target", "clock", "confined"),
    [
        ("fitness.targets.Cpu", "holds the clock itself", "Isolation of candidates in this run: "),
        ("fitness.targets.Nvidia", "The device's own events time them", "Isolation of candidates in this run: "),
        ("fitness.targets.External", "run by the target's own toolchain", "is the toolchain's own business"),
    ],
)
def test_who_holds_the_clock_and_confines_candidates_is_told_of_the_target(finished, target, clock, confined):
    run = load_run(finished)
    told = trust(
        replace(run, config={**run.config, "target": {"_target_": target}}, environment={"isolation": "limits"})
    )

    assert clock in told[0]
    assert 1 == len([each for each in told if confined in each])


def test_an_unfinished_run_is_called_unfinished(tmp_path):
    html = render(load_run(make_run(tmp_path, verify=False)))

    assert "unfinished" in html
    assert "has not been re-verified" in html


def test_a_winner_that_fails_its_verification_is_no_success(tmp_path):
    html = render(load_run(make_run(tmp_path, verdict=Status.WRONG_VALUE)))

    assert "did not survive its re-verification" in html


def test_a_run_that_recorded_no_generation_yet_has_a_report(tmp_path):
    (tmp_path / "journal.jsonl").write_text('{"schema":"kernelwright.journal/1","configuration":null}\n')

    assert "No timed kernel" in render(load_run(tmp_path))


def test_a_torn_last_generation_is_left_out(tmp_path):
    make_run(tmp_path)
    with (tmp_path / "generations.jsonl").open("a") as file:
        file.write('{"schema": "kernelw')

    assert 4 == load_run(tmp_path).generations


def test_the_funnel_counts_what_was_recorded(finished):
    run = load_run(finished)
    total = run.funnel.rows[-1]

    assert 32 == total.counts[0]
    assert sorted(total.counts, reverse=True) == list(total.counts)


def test_the_verdicts_count_the_candidates_of_the_funnel(finished, tmp_path):
    for run in (load_run(finished), load_run(make_run(tmp_path, succeeds=False, seeds=2))):
        rows, total = statuses(run), run.funnel.rows[-1]

        assert total.counts[0] == sum(row.count for row in rows) + total.repeats
        assert sum(each.operator == "seed" for each in run.candidates) == sum(row.founding for row in rows)


def test_a_folder_without_a_run_is_refused_with_a_line(tmp_path):
    with pytest.raises(RunError, match=r"holds no run \(no journal\.jsonl\)"):
        load_run(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.yaml", "mu: [", r"config\.yaml cannot be read: while parsing"),
        ("config.yaml", "- 3\n", r"config\.yaml holds no mapping"),
        ("environment.json", "{", r"environment\.json cannot be read"),
        ("config.yaml", "a: \udcff", r"config\.yaml: is not UTF-8 text \(byte 3\); restore it"),
        ("result.json", "[]", r"result\.json holds no mapping"),
        ("result.json", "\udcff", r"result\.json: is not UTF-8 text"),
    ],
)
def test_a_broken_file_is_refused_with_a_line(tmp_path, name, content, message):
    make_run(tmp_path)
    (tmp_path / name).write_text(content, "utf-8", "surrogateescape")

    with pytest.raises(RunError, match=message):
        load_run(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("generations.jsonl", b"\xff\xfe{}\n", r"generations\.jsonl: line 1 cannot be read"),
        ("generations.jsonl", b'{"slots": 3}\n', r"cannot be understood \(KeyError: 'best'\)"),
        ("generations.jsonl", b"[1]\n", r"cannot be understood \(TypeError"),
        ("kernels/sources.jsonl", b"{}\n", r"cannot be understood \(KeyError: 'kernel'\)"),
    ],
)
def test_records_that_are_no_runs_are_refused_with_a_line(tmp_path, name, content, message):
    make_run(tmp_path)
    (tmp_path / name).write_bytes(content)

    with pytest.raises(RunError, match=message):
        load_run(tmp_path)


def test_several_runs_are_reported_although_one_is_broken(tmp_path, capsys):
    make_run(tmp_path / "good")

    assert 1 == main([str(tmp_path / "nothing"), str(tmp_path / "good")])
    told = capsys.readouterr()
    assert f"{tmp_path / 'good' / 'report.html'}\n" == told.out
    assert 1 == len(told.err.splitlines())


@pytest.mark.browser
def test_a_real_browser_draws_it_and_runs_nothing(finished, tmp_path):
    page = write_report(finished)
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run(
        ["chromium", *flags, "--virtual-time-budget=2000", "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    drawn = Page(done.stdout)

    assert [] == [tag for tag in drawn.tags if tag == "script"]
    assert HOSTILE in "".join(drawn.text)
    assert 2 == sum(value.startswith("data:image/svg+xml") for name, value in drawn.attributes if name == "src")
