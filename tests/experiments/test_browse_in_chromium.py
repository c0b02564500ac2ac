"""The pages in a real browser, with and without scripts, by keyboard, on dark paper and on a phone."""

import threading

import pytest

from evolve import Journal
from experiments.browser import Collection, application, listening
from stored_run import HOSTILE, make_run

pytestmark = pytest.mark.browser

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    make_run(root / "good")
    make_run(root / "other", generations=2)
    make_run(root / HOSTILE.replace("/", ""), generations=1)
    return root


@pytest.fixture(scope="module")
def address(root):
    with listening(application(Collection(root)), 0, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium, address):
    """Opens a page; fails at the end if a script failed, a rule was broken, or a stranger's script ran."""
    contexts, complaints = [], []

    def open_(path, **options):
        context = chromium.new_context(base_url=address, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.goto(path)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert [] == complaints


def drawn(page):
    """Waits for the figures of a page; returns how wide they are."""
    page.wait_for_load_state("networkidle")
    return [image.evaluate("image => image.naturalWidth") for image in page.locator("img").all()]


@pytest.mark.parametrize("scripts", [True, False])
def test_from_the_list_to_a_comparison_and_a_diff(opened, scripts):
    page = opened("/", java_script_enabled=scripts)
    page.locator("input[type=search]").fill("name=good,other")
    page.get_by_role("button", name="show").click()
    for name in ("good", "other"):
        page.get_by_label(f"compare {name}", exact=True).check()
    page.get_by_role("button", name="compare chosen runs").click()
    assert "Best so far of 2 runs" == page.locator("h1").inner_text()
    if scripts:
        assert all(drawn(page))

    page.get_by_role("link", name="good", exact=True).click()
    page.get_by_role("link", name="candidates", exact=True).click()
    page.get_by_role("link", name="slot 5", exact=True).click()
    assert HOSTILE in page.locator("main").inner_text()
    page.get_by_role("link", name="diff", exact=True).last.click()
    assert page.locator("pre.diff .add").count() >= 1


def test_a_run_is_explained(opened):
    page = opened("/run?run=good")
    assert 1 == len([width for width in drawn(page) if width > 0])
    page.get_by_role("link", name="lineage", exact=True).first.click()
    assert page.locator("ul.tree li").count() > 5
    assert all(drawn(page))
    page.locator("ul.tree .onpath a").last.click()
    assert "the best kernel" in page.locator("h2").first.inner_text()
    assert 2 == len(drawn(page))


def test_the_keyboard_is_enough(opened):
    page = opened("/")
    page.keyboard.press("Tab")
    assert "to the content" == page.evaluate("document.activeElement.innerText")
    page.keyboard.press("/")
    page.keyboard.type("name=other")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=name%3Dother**")
    assert ["other"] == [link.inner_text() for link in page.locator("td.path a").all()]


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/run?run=good",
        "/candidates?run=good",
        "/candidate?run=good&slot=5",
        "/lineage?run=good",
        "/compare?run=good&run=other",
        "/diff?run=good&a=-1&b=5",
    ],
)
def test_nothing_overflows_a_phone(opened, path):
    page = opened(path, viewport={"width": 360, "height": 740}, color_scheme="dark")

    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_dark_paper_has_dark_figures(opened):
    page = opened("/run?run=good", color_scheme="dark")
    drawn(page)

    assert "paper=dark" in page.locator("img").first.evaluate("image => image.currentSrc")
    assert "rgb(18, 23, 28)" == page.locator("body").evaluate("body => getComputedStyle(body).backgroundColor")


def test_a_page_follows_a_run_that_goes_on(opened, root):
    make_run(root / "growing")
    path = root / "growing" / "generations.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:2]))
    with Journal(root / "growing" / "journal.jsonl"):
        page = opened("/candidates?run=growing")
        assert "9 of 9 candidates" == page.locator("#count").inner_text()
        with path.open("a") as file:
            file.write("".join(lines[2:]))
        page.get_by_text("33 of 33 candidates").wait_for(timeout=60_000)

        assert 33 == page.locator("#rows tr").count()
