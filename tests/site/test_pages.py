"""The built site, opened from disk in a browser, in both languages."""

import re
from pathlib import Path

import pytest

from tests.site.browser import chromium
from tests.site.conftest import ROOT
from zerolit.book.build import build_into

PAGES = [
    "index",
    "ring-all-reduce",
    "traffic-and-time",
    "bigger-batch",
    "zero",
    "reproduce",
    "links",
    "reference",
]
ALL = [f"{folder}{page}.html" for page in PAGES for folder in ("", "zh/")]


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "site"
    build_into(ROOT, folder)
    return folder


@pytest.fixture(scope="session")
def browser():
    with chromium() as browser:
        yield browser


def test_every_page_is_tested(site):
    built = {str(path.relative_to(site)) for path in site.rglob("*.html")}
    assert built == {*ALL, "404.html", "zh/404.html"}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_a_page_stands_alone_and_fits(site, browser, name, scheme, width):
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    asked, broken = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: broken.append(str(error)))
    page.goto((site / name).as_uri())
    page.wait_for_load_state("networkidle")
    assert [url for url in asked if not url.startswith((site.as_uri(), "data:", "blob:"))] == []
    assert broken == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    formulas = "document.querySelectorAll('.arithmatex').length"
    assert page.evaluate(formulas) == page.evaluate("document.querySelectorAll('.katex').length")
    assert page.evaluate("document.querySelectorAll('.katex-error').length") == 0
    assert "{{" not in page.inner_text("article")
    wanted = "slate" if scheme == "dark" else "default"
    assert page.get_attribute("body", "data-md-color-scheme") == wanted
    page.close()


@pytest.mark.parametrize(("folder", "words"), [("", "bottleneck"), ("zh/", "瓶颈")])
def test_search_works_from_disk(site, browser, folder, words):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto((site / f"{folder}index.html").as_uri())
    page.click(".md-search__input")
    page.type(".md-search__input", words)
    page.keyboard.press("End")  # typed Chinese has no keyup of its own here, as an input method has
    page.wait_for_selector(".md-search-result__link", timeout=30_000)
    assert "ring-all-reduce.html" in page.get_attribute(".md-search-result__link", "href")
    page.close()


@pytest.mark.parametrize("name", [f"{page}.html" for page in PAGES])
def test_the_language_switch_stays_on_the_page(site, browser, name):
    page = browser.new_page()
    for here, there, code in ((name, f"zh/{name}", "zh"), (f"zh/{name}", name, "en")):
        page.goto((site / here).as_uri())
        link = page.locator(f'a.md-select__link[hreflang="{code}"]')
        assert link.evaluate("element => element.href") == (site / there).as_uri()
    page.close()


def test_figures_take_the_schemes_colours(site, browser):
    colours = {}
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme)
        page.goto((site / "traffic-and-time.html").as_uri())
        text = page.locator("#traffic-time-curve svg text").first
        colours[scheme] = text.evaluate("element => getComputedStyle(element).fill")
        page.close()
    assert colours["light"] != colours["dark"]


def tables(site: Path, name: str) -> dict[str, list[list[str]]]:
    """The cells of every table of a page that are numbers, by the table's id."""
    html = (site / name).read_text()
    found = re.findall(r'<div class="zl-table" id="([\w-]+)".*?<tbody>(.*?)</tbody>', html, re.S)
    rows = {name: re.findall(r"<tr>(.*?)</tr>", body, re.S) for name, body in found}
    cell = re.compile(r'<td class="zl-number">(.*?)</td>')
    return {name: [cell.findall(row) for row in body] for name, body in rows.items()}


def test_the_counted_traffic_is_the_lectures(site):
    assert tables(site, "traffic-and-time.html")["traffic-counted"] == [
        ["2", "1,200", "2", "2,400", "1,200"],
        ["4", "1,800", "6", "7,200", "1,200"],
        ["8", "2,100", "14", "16,800", "1,200"],
        ["16", "2,250", "30", "36,000", "1,200"],
    ]


def test_the_modelled_times_are_the_lectures(site):
    rows = {row[0]: row[2:] for row in tables(site, "traffic-and-time.html")["traffic-time"]}
    # compute, ring, server, no overlap, (under backward,) perfect overlap
    assert rows["8"][:4] + rows["8"][5:] == ["6.250", "0.364", "2.9", "94%", "100%"]
    assert rows["512"][:4] + rows["512"][5:] == ["0.098", "0.420", "212.6", "19%", "23%"]
    assert rows["2048"][:4] + rows["2048"][5:] == ["0.024", "0.436", "851.6", "5%", "6%"]
    assert list(rows) == ["8", "32", "128", "512", "2048"]


def test_the_published_measurement_is_reproduced(site):
    *given, algbw, busbw = tables(site, "traffic-and-time.html")["traffic-busbw"][-1]
    assert given == ["16", "8,589,934,592", "47,535"]
    assert algbw == "180.71"
    # nccl-tests printed 338.82 from a time that it did not round to whole microseconds.
    assert abs(float(busbw) - 338.82) < 0.015


@pytest.mark.parametrize("folder", ["", "zh/"])
def test_programs_are_shown_from_the_package(site, folder):
    for name, line in (("ring-all-reduce", "yield from reduce_scatter"), ("zero", "def stage3")):
        html = (site / f"{folder}{name}.html").read_text()
        assert line in re.sub(r"<[^>]*>", "", html)


def test_the_stages_store_and_send_what_the_paper_says(site):
    # differs, stored, sent, in units of Ψ on 4 cards; the peak is the stages' own
    rows = [row[:3] for row in tables(site, "zero.html")["zero-stages"]]
    assert rows == [
        ["0.0", "4", "1.5"],
        ["0.0", "2.5", "1.5"],
        ["0.0", "1.75", "1.5"],
        ["0.0", "1", "2.25"],
    ]
    assert tables(site, "zero.html")["zero-accumulation"] == [
        ["2", "2"],
        ["2", "2"],
        ["2", "5"],
        ["3", "12"],
    ]


def test_every_hop_is_shown(site):
    hops = tables(site, "ring-all-reduce.html")["ring-hops"]
    # step s, card r: chunk (r - s + 1) mod 4, in both halves
    expected = [[s, r, (r + 1) % 4, (r - s + 1) % 4] for s in range(1, 7) for r in range(4)]
    assert [[int(cell) for cell in row] for row in hops] == expected


@pytest.mark.parametrize("page", PAGES)
def test_both_languages_show_the_same(site, page):
    english, chinese = ((site / folder / f"{page}.html").read_text() for folder in ("", "zh"))
    assert tables(site, f"{page}.html") == tables(site, f"zh/{page}.html")
    ids = [re.findall(r'<(?:h[1-6]|figure|div)[^>]* id="([\w.-]+)"', p) for p in (english, chinese)]
    assert ids[0] == ids[1] and ids[0]
