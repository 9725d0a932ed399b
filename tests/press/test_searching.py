"""What the search reads, where it looks first, and the mended scripts of Material's."""

import gzip
import json
import shutil
import urllib.error
import urllib.request
from pathlib import Path

import material
import pytest

from tests.press.conftest import GOOD
from zerolit.press.build import BuildFailed, build_site
from zerolit.press.fences import PageError
from zerolit.press.formulas import render_formulas
from zerolit.press.polish import mend_search, polish
from zerolit.press.searching import EXPLAINS, for_search
from zerolit.press.serving import compressed_size, serving

TABLE = """
| card | says |
|---|---|
| 1 | hangs |
| 2 | waits |
"""


def entries(tiny, language="en"):
    folder = tiny.root / "site" / ("zh" if language == "zh" else "")
    found = json.loads((folder / "search" / "search_index.json").read_text())["docs"]
    return {entry["location"]: entry for entry in found}


def test_cells_are_apart_in_the_index_and_as_they_were_on_the_page(tiny):
    config = (tiny.root / "mkdocs.yml").read_text()
    config = config.replace("  attr_list: {}", "  attr_list: {}\n  tables: {}")
    (tiny.root / "mkdocs.yml").write_text(config)
    tiny.add(f"## Cards {{ #cards }}\n{TABLE}")
    build_site(tiny.root)
    for language in ("en", "zh"):
        text = entries(tiny, language)["index.html#cards"]["text"]
        assert "<p> card · says </p>" in text and "<p> 1 · hangs </p>" in text
        assert "·" not in tiny.page(language) and "<td>hangs</td>" in tiny.page(language)


def test_drawings_and_permalinks_are_not_read_and_formulas_once():
    caption = '<figcaption>It. <a class="headerlink" href="#x">#</a></figcaption>'
    assert (
        for_search(f"<svg><text>1</text></svg>{caption}") == "<figcaption><p>It. </p></figcaption>"
    )
    formula = render_formulas("x", '<p><span class="arithmatex">\\(\\alpha\\)</span></p>')
    assert "\\alpha" in formula and "\\alpha" not in for_search(formula)
    assert for_search(formula).count("α") == 1


def test_a_section_that_explains_counts_for_more(tiny):
    tiny.write("---\nexplains: [new]\n---\n" + GOOD + "\n## New { #new }\n\nIt.\n")
    build_site(tiny.root)
    found = entries(tiny, "zh")
    assert found["index.html#new"]["boost"] == EXPLAINS and "boost" not in found["index.html"]


def test_a_section_that_is_not_there_explains_nothing(tiny):
    tiny.write("---\nexplains: [old]\n---\n" + GOOD)
    with pytest.raises(BuildFailed, match="explains 'old', but has no such section"):
        build_site(tiny.root)


@pytest.fixture
def scripts(tmp_path):
    theirs = Path(material.__file__).parent / "templates" / "assets" / "javascripts"
    shutil.copytree(theirs, tmp_path / "assets" / "javascripts")
    return tmp_path / "assets" / "javascripts"


def contents(folder):
    return {path: path.read_text() for path in folder.rglob("*.min.js")}


def test_the_search_is_mended_once_and_in_two_files(scripts):
    before = contents(scripts)
    mend_search(scripts.parents[1])
    after = contents(scripts)
    changed = {path.name.split(".")[0] for path in before if before[path] != after[path]}
    assert changed == {"bundle", "search"}
    mend_search(scripts.parents[1])
    assert contents(scripts) == after


@pytest.mark.parametrize("name", ["bundle.*.min.js", "workers/search.*.min.js"])
def test_another_search_is_not_mended_in_silence(scripts, name):
    (path,) = scripts.glob(name)
    path.write_text("other()")
    with pytest.raises(PageError, match=rf"{path.name} of Material is not the one"):
        mend_search(scripts.parents[1])


def test_styles_come_only_where_they_are_used_and_the_worker_after_the_text():
    style = '<link rel="stylesheet" href="../assets/_mkdocstrings.css">'
    worker = '<script src="../assets/iframe-worker.js"></script>'
    bundle = '<script src="../assets/javascripts/bundle.a.min.js"></script>'
    page = f"<head>{style}{worker}</head><body>text {bundle}</body>"
    assert polish(page, "en") == f"<head></head><body>text {worker}{bundle}</body>"
    assert style in polish(page.replace("text", '<div class="doc doc-object">'), "en")


def test_the_site_is_served_compressed(tmp_path):
    text = "word " * 1000
    (tmp_path / "index.html").write_text(text)
    (tmp_path / "font.woff2").write_bytes(b"123")
    with serving(tmp_path) as address:
        with urllib.request.urlopen(address) as answer:
            body = answer.read()
            assert answer.headers["Content-Encoding"] == "gzip"
            assert answer.headers["Content-Type"] == "text/html"
        with urllib.request.urlopen(address + "font.woff2") as answer:
            assert answer.read() == b"123" and answer.headers["Content-Encoding"] is None
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(address + "gone.html")
    assert gzip.decompress(body).decode() == text
    assert len(body) == compressed_size(tmp_path / "index.html") < 100
    assert compressed_size(tmp_path / "font.woff2") == 3
