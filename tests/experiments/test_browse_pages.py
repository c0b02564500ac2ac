"""The pages show what was recorded, escape what is not ours, and answer nobody but this machine."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import urlencode

import pytest

from evolve import Journal
from evolve.policies import MuPlusLambda
from evolve.recording import RecordedClient
from experiments.browser import Collection, application
from experiments.browser.pages import PAGES
from experiments.records import load_run
from llm import Completion, Message, Request, ScriptedClient
from stored_run import HOSTILE, make_run
from toy_search import ToyOperator, brief, engine, flip


class Elements(HTMLParser):
    """Collects elements, attributes and text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text, self.open = [], [], "", []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in ("meta", "img", "br", "link", "input", "source"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert tag == self.open.pop()

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    make_run(root / "good")
    make_run(root / "other", generations=2, verify=False)
    make_run(root / HOSTILE.replace("/", ""))
    (root / "broken").mkdir()
    (root / "broken" / "journal.jsonl").write_text("no journal\n")
    (root / "empty").mkdir()
    return root


@pytest.fixture(scope="module")
def client(root):
    app = application(Collection(root))
    app.config["PROPAGATE_EXCEPTIONS"] = True
    return app.test_client()


def get(client, page, /, **query):
    return client.get(f"{page}?{urlencode(query, doseq=True)}", base_url="http://127.0.0.1:8765")


def shown(client, page, /, **query):
    answer = get(client, page, **query)
    assert 200 == answer.status_code
    return Elements(answer.text)


def pages_of(root):
    """Every page of every run, with its query."""
    for path in ("good", "other", HOSTILE.replace("/", ""), "broken"):
        yield from ((page, {"run": path}) for page in ("/run", "/candidates", "/lineage", "/compare", "/diff"))
        for slot in ("-1", "5") if path != "broken" else ():
            yield "/candidate", {"run": path, "slot": slot}
            yield "/diff", {"run": path, "a": "-1", "b": slot, "whole": "1"}
    yield "/", {}
    yield "/", {"q": HOSTILE}
    yield "/compare", {"run": ["good", "other"], "by": "state", "cost": "seconds"}


def test_every_page_of_every_run_is_whole_holds_no_stranger_and_writes_nothing(root, client):
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    for page, query in pages_of(root):
        found = shown(client, page, **query)

        assert [] == found.open, (page, query)
        assert ["/browse.js"] == [value for tag, name, value in found.attributes if tag == "script" and name == "src"]
        assert [] == [each for each in found.attributes if each[1].startswith("on") or each[1] == "style"]
        links = [value for _, name, value in found.attributes if name in ("href", "src", "srcset", "action")]
        assert [] == [link for link in links if not link.startswith(("/", "#", "?"))]
    assert before == {path: path.stat().st_mtime_ns for path in root.rglob("*")}


def test_a_repeat_is_explained_beside_the_verdicts(client):
    assert re.search(
        r"repeat\d+a kernel that was known already; it cost nothing", shown(client, "/run", run="good").text
    )


def test_hostile_text_is_shown_as_text(client):
    slot = shown(client, "/candidate", run="good", slot="5")

    assert HOSTILE in slot.text
    assert HOSTILE.replace("/", "") in shown(client, "/").text


@pytest.mark.parametrize("figure", ["/best_so_far.svg", "/lineage.svg", "/curves.svg"])
@pytest.mark.parametrize("path", ["good", "broken"])
def test_figures_are_drawn_of_every_run(client, figure, path):
    light, dark = (get(client, figure, run=path, paper=paper) for paper in ("light", "dark"))

    assert ["image/svg+xml"] * 2 == [light.mimetype, dark.mimetype]
    assert "<script>" not in light.text
    assert "#e8edf2" in dark.text
    assert "#e8edf2" not in light.text


def test_the_list_shows_speedups_states_and_what_is_wrong(root, client):
    run, text = load_run(root / "good"), shown(client, "/").text

    assert f"{run.best.speedup:.2f}×" in text
    assert {"finished", "unfinished", "broken", "empty"} <= set(re.findall(r"[a-z]+", text))
    assert "journal.jsonl: line 1" in text or "Expecting value" in text


def test_the_list_can_be_filtered(client):
    found = shown(client, "/", q="state=unfinished")
    paths = [value for tag, name, value in found.attributes if tag == "input" and name == "value"]

    assert "other" in paths
    assert "good" not in paths


def test_the_overview_claims_what_the_report_claims(root, client):
    run = load_run(root / "good")

    assert f"{run.verification.speedup:.2f}× as fast as the naive seed" in shown(client, "/run", run="good").text


def test_candidates_come_in_pages(root, client, monkeypatch):
    monkeypatch.setattr("experiments.browser.run_page.CANDIDATES_A_PAGE", 10)
    numbers = []
    for index in range(4):
        rows = [
            value
            for _, name, value in shown(client, "/candidates", run="good", page=index).attributes
            if name == "href"
        ]
        numbers += [int(each.group(1)) for value in rows if (each := re.search(r"/candidate\?.*slot=(-?\d+)", value))]

    assert list(range(-1, 32)) == numbers


def test_candidates_can_be_filtered_by_verdict_and_parent(root, client):
    run = load_run(root / "good")
    failed = [each for each in run.candidates if each.evaluation and not each.evaluation.ok and not each.repeated]
    children = [each for each in run.candidates if run.best_digest in each.parents]

    assert f"{len(failed)} of 33 candidates" in shown(client, "/candidates", run="good", verdict="build failed").text
    assert f"{len(children)} of 33" in shown(client, "/candidates", run="good", parent=run.best_digest).text


def test_a_candidate_shows_measurements_log_and_what_changed(root, client):
    run = load_run(root / "good")
    failed = next(each for each in run.evaluated if not each.evaluation.ok)

    best = shown(client, "/candidate", run="good", slot=run.best.slot)
    assert "Measurements of the re-verification" in best.text
    assert f"+// {run.sources[run.best_digest].split()[1]}" in best.text
    assert f"error: {HOSTILE}" in shown(client, "/candidate", run="good", slot=failed.slot).text


def test_two_kernels_of_two_runs_are_compared(root, client):
    run = load_run(root / "good")
    found = shown(client, "/diff", run="other", a="-1", other="good", b=run.best_digest[:10])

    assert f"+// {run.sources[run.best_digest].split()[1]}" in found.text
    assert "1 line added, 1 removed" in found.text


def test_equal_kernels_are_said_to_be_equal(client):
    assert "The two sources are the same" in shown(client, "/diff", run="good", a="-1", other="other", b="-1").text


def test_curves_of_several_runs_stand_in_one_table(root, client):
    found = shown(client, "/compare", run=["good", "other"])

    assert f"{load_run(root / 'other').best.speedup:.2f}×" in found.text
    assert re.search(r"mean over the first \d+ evaluations", found.text)


def test_the_report_is_made_anew(client):
    assert "re-verified" in get(client, "/report", run="good").text


class AskingOperator(ToyOperator):
    """Asks the model of the brief, and flips bits whatever it says."""

    def propose(self, parents, brief, rng):
        request = Request((Message("system", "Be brief."), Message("user", HOSTILE)), seed=int(rng.integers(1000)))
        brief.client.complete(request)
        return replace(super().propose(parents, brief, rng), requests=(request.digest,))


@pytest.fixture(scope="module")
def talked(tmp_path_factory):
    """A run whose model answers with markup, control characters and half a surrogate pair."""
    root = tmp_path_factory.mktemp("talk")
    answer = Completion(f"{HOSTILE} \x1b[31m \u202e \ud800", model="m", reasoning="I think.")
    with Journal(root / "run" / "journal.jsonl") as journal:
        client = RecordedClient(ScriptedClient([answer]), journal)
        made = engine(
            MuPlusLambda(mu=1, lambda_=2),
            root / "run",
            journal,
            operators={"ask": AskingOperator(flip)},
            brief=brief(client=client),
        )
        for _ in made.run(generations=1):
            pass
    return application(Collection(root)).test_client()


def test_the_transcript_of_a_candidate_is_shown(talked):
    text = shown(talked, "/candidate", run="run", slot="0").text

    assert HOSTILE in text
    assert "I think." in text
    assert r"\x1b[31m \u202e \ud800" in text


@pytest.mark.parametrize(
    ("page", "query", "told"),
    [
        ("/run", {"run": "../../etc"}, "there is no run '../../etc'"),
        ("/run", {}, "there is no run ''"),
        ("/candidate", {"run": "good", "slot": "99"}, "no slot and no kernel '99'"),
        ("/candidate", {"run": "good"}, "no slot and no kernel ''"),
        ("/compare", {"run": "nothing"}, "there is no run 'nothing'"),
        ("/diff", {"run": "good", "a": "x", "b": "1"}, "no slot and no kernel 'x'"),
        ("/samples.svg", {"run": "good", "slot": "x"}, "no slot"),
        ("/../secret", {}, "there is no page"),
        ("/static/../pages.py", {}, "there is no page"),
    ],
)
def test_what_is_not_there_is_told_in_a_page(client, page, query, told):
    answer = get(client, page, **query)

    assert 404 == answer.status_code
    assert told in Elements(answer.text).text


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8765", "localhost.evil.example"])
def test_a_name_that_was_made_to_point_here_is_refused(client, host):
    assert 400 == client.get("/", headers={"Host": host}).status_code


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "localhost"])
def test_this_machine_is_answered(client, host):
    assert 200 == client.get("/", headers={"Host": host}).status_code


@pytest.mark.parametrize("method", ["post", "put", "delete", "patch"])
@pytest.mark.parametrize("page", ["/", "/run", "/report"])
def test_nothing_but_get_is_answered(client, method, page):
    assert 405 == getattr(client, method)(page, base_url="http://127.0.0.1").status_code


@pytest.mark.parametrize("page", [*PAGES, "/nothing"])
def test_every_answer_forbids_strange_content(client, page):
    headers = get(client, page, run="good", slot="-1").headers

    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert "'unsafe-eval'" not in headers["Content-Security-Policy"]
    assert "nosniff" == headers["X-Content-Type-Options"]


def luminance(colour):
    channels = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_texts_stand_out_from_light_and_dark_paper(client):
    css = re.sub(r"#([0-9a-f])([0-9a-f])([0-9a-f])\b", r"#\1\1\2\2\3\3", get(client, "/style.css").text)
    light = dict(re.findall(r"--(\w+): (#\w{6})", css.split("@media (prefers-color-scheme: dark)")[0]))
    dark = light | dict(re.findall(r"--(\w+): (#\w{6})", css.split("@media (prefers-color-scheme: dark)")[1]))
    tokens = [
        re.findall(r"^\.code \.(?!w )\w+ \{ color: (#\w{6})", part, re.M)
        for part in css.rsplit("@media (prefers-color-scheme: dark)", 1)
    ]
    pairs = [
        (text, paper, colours)
        for colours in (light, dark)
        for text in ("ink", "muted", "blue", "red", "up")
        for paper in ("paper", "shade")
    ]
    weak = [
        (text, colours[text], colours[paper])
        for text, paper, colours in pairs
        if contrast(colours[text], colours[paper]) < 4.5
    ]
    weak += [
        ("token", token, colours["shade"])
        for found, colours in zip(tokens, (light, dark), strict=True)
        for token in found
        if contrast(token, colours["shade"]) < 4.5
    ]

    assert all(tokens)
    assert [] == weak
