"""The built pages as others judge them: validators, readers with a keyboard, a slow line."""

import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.press.browser import lacks, new_context, web_tool
from tests.press.conftest import ALL, PAGES, ROOT
from zerolit.press.places import forgotten


def test_every_page_validates(site):
    """The Nu Html Checker finds no error; that the API is in English on Chinese pages is meant."""
    if shutil.which("java") is None:
        lacks("no java on this machine (Debian: apt-get install default-jre-headless)")
    command = ["java", "-jar", web_tool("vnu-jar/build/dist/vnu.jar"), "--errors-only"]
    checked = [*ALL, "404.html", "zh/404.html"]
    files = [str(site / name) for name in checked]
    run = subprocess.run([*command, "--format", "gnu", *files], capture_output=True, text=True)
    assert run.stderr.replace(str(site), "") == "" and run.returncode == 0


def test_the_validator_is_listening(tmp_path):
    """It does find what is wrong."""
    if shutil.which("java") is None:
        lacks("no java on this machine (Debian: apt-get install default-jre-headless)")
    page = tmp_path / "bad.html"
    page.write_text("<!doctype html><html lang=en><title>x</title><p tabindex=''>x</p>")
    jar = web_tool("vnu-jar/build/dist/vnu.jar")
    assert subprocess.run(["java", "-jar", jar, page], capture_output=True).returncode == 1


@pytest.fixture
def reader(browser):
    """A page in a browser that lets it use the clipboard."""
    context = new_context(browser, permissions=["clipboard-read", "clipboard-write"])
    context.add_init_script(REMEMBER)
    yield context.new_page()
    context.close()


# That something was copied is shown for a moment only.
REMEMBER = """
window.copied = [];
new MutationObserver((changes) => changes.forEach(({ target }) => {
  if (target.matches(".zl-copied")) copied.push(target);
})).observe(document, { subtree: true, attributeFilter: ["class"] });
"""
COPIED = "copied.includes(document.activeElement)"


OPACITY = """([name, wanted]) => {
  const link = document.querySelector(`a.headerlink[href$="#${name}"]`);
  return Number(getComputedStyle(link).opacity) === wanted;
}"""


def clipboard(page):
    return page.evaluate("navigator.clipboard.readText()")


@pytest.mark.parametrize("folder", ["", "zh/"])
def test_a_permalink_is_seen_when_it_is_wanted_and_copies_the_full_address(site, reader, folder):
    page = site / f"{folder}zero.html"
    reader.goto(page.as_uri())
    for name in ("the-stages", "zero-stages", "zero-stored"):  # a section, a table, a figure
        link = reader.locator(f'a.headerlink[href$="#{name}"]')
        reader.mouse.move(0, 0)
        reader.wait_for_function(OPACITY, arg=[name, 0])
        link.locator("..").hover()  # the heading or caption that it belongs to
        reader.wait_for_function(OPACITY, arg=[name, 1])
        reader.mouse.move(0, 0)
        link.focus()
        reader.wait_for_function(OPACITY, arg=[name, 1])
        reader.keyboard.press("Enter")
        reader.wait_for_function(f"copied.some((link) => link.hash === '#{name}')")
        assert clipboard(reader) == f"{page.as_uri()}#{name}"


@pytest.mark.parametrize(("folder", "words"), [("", "moves WALL"), ("zh/", "重叠 推远")])
def test_the_page_of_links_filters_and_copies_by_keyboard(site, reader, folder, words):
    reader.goto((site / f"{folder}links.html").as_uri())
    rows = reader.locator("[data-table=places] tbody tr:not([hidden])")
    assert rows.count() > 90
    reader.focus("#zl-filter")
    reader.keyboard.insert_text(words)
    assert rows.count() == 1 and "traffic-efficiency" in rows.first.inner_text()
    for _ in range(2):  # the link to the place, then its Markdown in the page's own language
        reader.keyboard.press("Tab")
        if reader.evaluate("document.activeElement.matches('.zl-table')"):
            reader.keyboard.press("Tab")
    for there in (folder, "" if folder else "zh/"):
        reader.keyboard.press("Enter")
        reader.wait_for_function(COPIED)
        address = (site / f"{there}traffic-and-time.html").as_uri()
        assert clipboard(reader).endswith(f"]({address}#traffic-efficiency)")
        reader.keyboard.press("Tab")


def test_answers_open_and_search_starts_by_keyboard(site, reader):
    reader.goto((site / "zero.html").as_uri())
    reader.locator("details > summary").first.focus()
    reader.keyboard.press("Enter")
    reader.wait_for_function("document.querySelector('details').open")
    reader.keyboard.press("Escape")
    reader.evaluate("document.activeElement.blur()")
    reader.keyboard.press("/")
    reader.wait_for_function("document.activeElement.matches('.md-search__input')")


def test_old_addresses_work_in_a_browser(tiny, reader):
    from zerolit.press.build import build_site

    config = (tiny.root / "mkdocs.yml").read_text() + "extra_javascript: [assets/redirects.js]\n"
    (tiny.root / "mkdocs.yml").write_text(config)
    tiny.add("## New { #new }\n")
    moves = {"index.html#old": "index.html#new", "gone.html#x": "index.html#home"}
    moves["gone.html"] = "index.html"
    lines = [f"{old} -> {new}\n" for old, new in moves.items()]
    (tiny.root / "docs" / "redirects.txt").write_text("".join(lines))
    build_site(tiny.root)
    with serving(tiny.root / "site") as address:
        for root in ((tiny.root / "site").as_uri() + "/", address):
            for folder in ("", "zh/"):
                extra = {"gone.html#new": "index.html#new", "index.html?a=b#old": "index.html#new"}
                if root == address:
                    extra["#old"] = "index.html#new"
                for old, new in (moves | extra).items():
                    reader.goto("about:blank")
                    reader.goto(root + folder + old)
                    told = f"location.href === {root + folder + new!r}"
                    reader.wait_for_function(told)


@contextmanager
def serving(folder):
    """The folder at an address of this machine."""
    handler = partial(QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.mark.xdist_group("two builds")
def test_two_builds_of_one_commit_are_the_same_bytes(tmp_path, request):
    """The other one in a process of its own, which another worker may build the first beside."""
    code = "import sys; from pathlib import Path; from zerolit.press.build import build_into\n"
    code += "build_into(Path(sys.argv[1]), Path(sys.argv[2]))"
    command = [sys.executable, "-c", code, str(ROOT), str(tmp_path / "site")]
    subprocess.run(command, check=True, capture_output=True)
    one, other = contents(request.getfixturevalue("site")), contents(tmp_path / "site")
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []


def contents(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_the_site_is_as_its_reference_says(built):
    """The committed reference may come from another machine."""
    assert built[1].drift == [] and built[1].unpublished == []


def test_no_published_place_was_ever_forgotten():
    lost = forgotten(ROOT)
    if lost is None:
        pytest.skip("no git history here to compare docs/anchors.txt with")
    assert lost == set()


def test_every_chapter_links_its_own_results(site):
    for name in PAGES[1:5]:
        for folder in ("", "zh/"):
            assert (
                f'href="reproduce.html#results-{name}"'
                in (site / folder / f"{name}.html").read_text()
            )
