"""`zerolit bench --pages`, without Lighthouse itself."""

import json
import shutil
import sys

import pytest
from rich.console import Console

from zerolit import cli
from zerolit.bench import pages


@pytest.fixture
def site(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("<p>Hello</p>")
    return tmp_path / "site"


def lighthouse(tmp_path, text):
    command = tmp_path / "lighthouse"
    command.write_text(f"#!{sys.executable}\n{text}\n")
    command.chmod(0o755)
    return [str(command)]


def test_it_says_how_to_get_lighthouse(site, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ValueError, match=r"npm install .* lighthouse@12.2.3` fetches it"):
        pages.print_pages(Console(), site)


def test_it_needs_a_built_site(tmp_path, monkeypatch, capsys):
    with pytest.raises(ValueError, match="run `zerolit build` first"):
        pages.find_lighthouse(tmp_path)


def test_the_scores_of_the_page_that_it_serves_are_read(site, tmp_path, monkeypatch):
    """The stand-in fetches the address that it is given and scores what it finds there."""
    told = json.dumps({"categories": {"performance": {"score": 0.97}, "seo": {"score": 1}}})
    code = "import gzip, sys, urllib.request\n"
    code += "page = gzip.decompress(urllib.request.urlopen(sys.argv[1]).read())\n"
    command = lighthouse(tmp_path, code + f"assert b'Hello' in page\nprint({told!r})")
    with pages.serving(site) as address:
        assert pages.judge(command, address + "index.html") == [97, 100]
        with pytest.raises(ValueError, match=r"lighthouse http.*gone.html"):
            pages.judge(command, address + "gone.html")


def test_the_command_line_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert cli.main(["bench", "--pages"]) == 2
    assert "zerolit bench: no " in capsys.readouterr().err
