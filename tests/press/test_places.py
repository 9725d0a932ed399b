"""Places: what is found in a page, what was published must stay, links lead somewhere."""

import json
import subprocess
import zlib

import pytest

from zerolit.press.fences import PageError
from zerolit.press.places import (
    Place,
    broken_links,
    check_published,
    find_places,
    forgotten,
    missing_twins,
    publish,
    write_index,
    write_redirects,
)

PAGE = """<html><body><nav><h2 id="not-here">Menu</h2></nav><article>
<h1 id="top">3.1 {word}<a class="headerlink" href="#top">#</a></h1>
<div class="zl-table" id="t"><table><caption>Counts. By card.<a class="headerlink" href="#t">#</a>
</caption></table></div>
<figure class="zl-figure" id="f"><svg><g id="f-axes"></g></svg>
<figcaption>A curve</figcaption></figure>
<a href="{twin}">twin</a> {more}</article></body></html>"""


@pytest.fixture
def site(tmp_path):
    (tmp_path / "zh").mkdir()
    write(tmp_path)
    return tmp_path


def write(site, more="", chinese=""):
    (site / "a.html").write_text(PAGE.format(word="Ring", twin="zh/a.html", more=more))
    (site / "zh" / "a.html").write_text(PAGE.format(word="环", twin="../a.html", more=chinese))


def test_sections_tables_and_figures_are_found_with_their_titles(site):
    places = find_places(site, ["a.html"])
    assert [(p.address, p.kind, p.titles["en"]) for p in places] == [
        ("a.html#top", "section", "3.1 Ring"),
        ("a.html#t", "table", "3.1 · Counts"),
        ("a.html#f", "figure", "3.1 · A curve"),
    ]
    assert places[0].titles["zh"] == "3.1 环"


def test_an_id_that_one_language_lacks(site):
    write(site, more='<h2 id="extra">More</h2>')
    with pytest.raises(PageError, match=r"a.html: ids differ between the languages: \['extra'\]"):
        find_places(site, ["a.html"])


HERE = [Place("a.html", name, "section", {"en": name, "zh": name}) for name in ("one", "two")]


def test_a_published_place_that_is_gone(tmp_path):
    (tmp_path / "docs").mkdir()
    publish(tmp_path, ["a.html#one", "a.html#old", "b.html#x"])
    with pytest.raises(PageError, match=r"^a\.html#old, b\.html#x: published once, gone now"):
        check_published(tmp_path, HERE)
    (tmp_path / "docs" / "redirects.txt").write_text(
        "a.html#old -> a.html#one\nb.html#x -> a.html\n"
    )
    assert check_published(tmp_path, HERE) == ["a.html#two"]  # new, not yet in the list


def test_a_last_line_without_a_newline_counts(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "anchors.txt").write_text("a.html#one\na.html#old")
    with pytest.raises(PageError, match=r"^a\.html#old: published once"):
        check_published(tmp_path, HERE)
    (tmp_path / "docs" / "redirects.txt").write_text("a.html#old -> a.html#none")
    with pytest.raises(PageError, match="leads to"):
        check_published(tmp_path, HERE)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("a.html#two -> a.html#one", "a.html#two is still there"),
        (
            "a.html#old -> a.html#nowhere",
            "a.html#old leads to a.html#nowhere, which does not exist",
        ),
        ("a.html#old a.html#one", "redirects.txt:1: 'a.html#old a.html#one'; it must be"),
    ],
)
def test_a_bad_redirect(tmp_path, line, told):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "redirects.txt").write_text(line + "\n")
    with pytest.raises(PageError, match=told):
        check_published(tmp_path, HERE)


def git(folder, *arguments):
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def test_the_list_can_only_grow(tmp_path):
    assert forgotten(tmp_path) is None  # no history
    (tmp_path / "docs").mkdir()
    git(tmp_path, "init")
    for addresses in (["a.html#one"], ["a.html#two"]):
        publish(tmp_path, addresses)
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-m", "more")
    assert forgotten(tmp_path) == set()
    (tmp_path / "docs" / "anchors.txt").write_text("a.html#two\n")
    assert forgotten(tmp_path) == {"a.html#one"}
    git(tmp_path, "commit", "-am", "less")
    assert forgotten(tmp_path) == {"a.html#one"}
    git(tmp_path, "clone", "--depth", "1", f"file://{tmp_path}", "shallow")
    assert forgotten(tmp_path / "shallow") is None  # not nothing: it cannot be known


@pytest.mark.parametrize(
    ("link", "good"),
    [
        ("a.html#f", True),
        ("#f-axes", True),
        ("zh/a.html#top", True),
        ("https://example.org/", True),
        ("#none", False),
        ("b.html", False),
        ("zh/a.html#none", False),
        ("../a.html", False),
        ("/a.html", False),
    ],
)
def test_a_link(site, link, good):
    write(site, more=f'<a href="{link}">x</a>')
    assert broken_links(site) == ([] if good else [f"a.html: {link}"])


def test_an_image_and_a_script_are_links_too(site):
    write(site, chinese='<img src="none.png"><script src="none.js"></script>')
    assert broken_links(site) == ["zh/a.html: none.png", "zh/a.html: none.js"]


def test_a_page_without_a_link_to_its_twin(site):
    assert list(missing_twins(site, ["a.html"])) == []
    page = site / "zh" / "a.html"
    page.write_text(page.read_text().replace("../a.html", "../b.html"))
    assert list(missing_twins(site, ["a.html"])) == ["zh/a.html: no link to its twin, ../a.html"]


def test_machines_can_read_the_places(site):
    write_index(site, find_places(site, ["a.html"]))
    first = json.loads((site / "anchors.json").read_text())[0]
    assert first["url"] == {"en": "a.html#top", "zh": "zh/a.html#top"}
    for folder, title in (("", "3.1 Ring"), ("zh", "3.1 环")):
        *head, body = (site / folder / "objects.inv").read_bytes().split(b"\n", 4)
        assert head[0] == b"# Sphinx inventory version 2"
        assert f"a/top std:label -1 a.html#top {title}\n" in zlib.decompress(body).decode()


def test_a_page_that_is_gone_leaves_a_stub(site):
    write_redirects(site, {"labs/old.html#x": "a.html#t"})
    for folder, words in ((site, "This page has moved"), (site / "zh", "本页已移至")):
        stub = (folder / "labs" / "old.html").read_text()
        assert 'href="../a.html#t"' in stub and words in stub
        assert '"labs/old.html#x": "a.html#t"' in (folder / "assets/redirects.js").read_text()
