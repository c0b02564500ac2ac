"""A run whose records are damaged or were made to do harm spoils its own pages at most, never the list of all runs."""

import gzip
import json

import pytest

from experiments.browser import Collection, application
from experiments.browser.pages import PAGES
from experiments.records import load_run
from experiments.report import render
from stored_run import make_run

HEADER = '{"schema":"kernelwright.journal/1","configuration":{"seed":1}}\n'
HUGE = "1" + "0" * 400
NESTED = '{"a":' * 450 + "1" + "}" * 450
SLOT = (
    '{"slot":0,"operator":"s","outcome":"parsed","note":"","tokens":0,"parents":[],"kernel":"abc","status":"ok",'
    '"latency_us":1,"speedup":1.0,"duplicate_of":null}'
)
TOTALS = '"population":[],"evaluations":1,"tokens":1,"duels":1,"best":{"speedup":1,"kernel":"abc"},"funnel":{}'
CASES = {
    "a whole number that no float holds": {
        "journal.jsonl": HEADER,
        "result.json": f'{{"elapsed_s":{HUGE},"verification":{{"speedup":{HUGE},"interval":[{HUGE},1]}}}}',
        "generations.jsonl": f'{{"generation":0,"slots":[{SLOT.replace("1.0", HUGE)}],{TOTALS.replace("1", HUGE)}}}\n',
    },
    "no number": {"journal.jsonl": HEADER, "result.json": '{"elapsed_s":NaN,"verification":{"speedup":Infinity}}'},
    "an answer at no time": {"journal.jsonl": f'{HEADER}{{"kind":"evaluation","key":"a","at_s":1e999,"value":{{}}}}\n'},
    "a configuration that is nested deep": {"journal.jsonl": HEADER.replace('{"seed":1}', NESTED)},
    "half a compressed journal": {"journal.jsonl.gz": gzip.compress(HEADER.encode())[:30]},
    "half a surrogate pair": {
        "journal.jsonl": HEADER.replace("1}", r'"\ud800"}'),
        "environment.json": r'{"choices":{"task":"\ud800"}}',
        "failed.json": r'{"error":"\ud800"}',
    },
    "choices that are none": {"journal.jsonl": HEADER, "environment.json": '{"choices":{"task":{"a":1}}}'},
    "a best kernel without a verdict": {
        "journal.jsonl": HEADER,
        "generations.jsonl": f'{{"generation":0,"slots":[{SLOT}],{TOTALS}}}\n',
    },
}


@pytest.fixture(params=CASES)
def client(request, tmp_path):
    make_run(tmp_path / "good", generations=1, verify=False)
    for name, content in CASES[request.param].items():
        path = tmp_path / "hostile" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return application(Collection(tmp_path)).test_client()


def test_a_hostile_run_spoils_no_page(client):
    query = "run=hostile&slot=0"
    answers = {page: client.get(f"{page}?{query}").status_code for page in PAGES if page != "/"}

    assert {} == {page: status for page, status in answers.items() if status >= 500}
    assert 200 == client.get("/?q=").status_code
    assert 'href="/run?run=good"' in client.get("/").text


def test_a_line_that_is_to_fill_the_memory_is_not_read_on(tmp_path):
    run_dir = make_run(tmp_path / "run", generations=1, verify=False)
    with (run_dir / "generations.jsonl").open("r+b") as file:
        file.truncate(file.seek(0, 2) + 1_000_000_000)
    recording = Collection(tmp_path).recording("run")

    said = (
        "generations.jsonl: a line is longer than 32,000,000 bytes, which no line of a run is; the file is not read on"
    )
    assert said in recording.problems
    assert len(recording.run.candidates) > 1


def test_a_report_of_a_best_kernel_without_a_verdict_is_made(tmp_path):
    run_dir = make_run(tmp_path / "run", generations=1, verify=False)
    lines = [
        json.loads(line)
        for line in (run_dir / "journal.jsonl").read_text().splitlines()
        if '"kind":"evaluation"' not in line
    ]
    (run_dir / "journal.jsonl").write_text("".join(json.dumps(each, separators=(",", ":")) + "\n" for each in lines))

    assert "<html" in render(load_run(run_dir))
