"""Each thing that a strict build lets through by itself, injected, and seen to fail the build."""

import subprocess
import sys

import pytest

from zerolit.press.build import BuildFailed, build_site


def fails(tiny, told):
    """The build fails and says `told`; the last good site is whole and nothing else is left."""
    site = tiny.root / "site"
    site.mkdir()
    (site / "index.html").write_text("the last good site")
    with pytest.raises(BuildFailed, match=told):
        build_site(tiny.root)
    assert (site / "index.html").read_text() == "the last good site"
    assert not list(tiny.root.glob(".site-*"))


def test_a_good_site_is_built_in_both_languages(tiny):
    pages = []
    built = build_site(tiny.root, pages.append)
    assert pages == list(built.seconds) == ["en/index.md", "zh/index.md"]
    for language in ("en", "zh"):
        assert "<strong>2</strong>" in tiny.page(language)
        assert "The sum is 2." in tiny.page(language)


def test_a_new_site_replaces_the_old_one_whole(tiny):
    (tiny.root / "site").mkdir()
    (tiny.root / "site" / "gone.html").write_text("from before")
    build_site(tiny.root)
    assert not (tiny.root / "site" / "gone.html").exists()
    assert not list(tiny.root.glob(".site-*"))


BLOCKS = {
    "raises": ('exec="true" id="b"', "1 / 0", "en/index.md:12, block 'b': ZeroDivisionError"),
    "exits": (
        'exec="true" id="b"',
        "raise SystemExit(0)",
        "en/index.md:12, block 'b': SystemExit: 0",
    ),
    "warns": (
        'exec="true" id="b"',
        "import warnings; warnings.warn('careful')",
        "en/index.md:12, block 'b': UserWarning: careful",
    ),
    "bad source": ('exec="true" id="b" source="upside"', "1", "en/index.md:11: source is 'upside'"),
    "workdir": ('exec="true" id="b" workdir="/nowhere"', "1", "unknown option 'workdir'"),
    "returncode": ('exec="true" id="b" returncode="no"', "1", "unknown option 'returncode'"),
    "misspelt": ('exce="true" id="b"', "1", "en/index.md:11: unknown option 'exce'"),
    "unquoted": ('exec=true id="b"', "1", 'options are written name="value"'),
    "false": ('exec="false" id="b"', "1", "exec is 'false'; allowed: true"),
    "no id": ('exec="true"', "1", "en/index.md:11: a block that runs needs an id"),
    "id twice": ('exec="true" id="sum"', "1", "en/index.md:11: the id 'sum' is used twice"),
    "named twice": (
        'exec="true" id="b"',
        "from zerolit.book import result; result('tiny.sum', 3)",
        "the result 'tiny.sum' is named twice on this page",
    ),
    "no dot": (
        'exec="true" id="b"',
        "from zerolit.book import result; result('sum', 3)",
        "the result's name is 'sum'; it needs a dot",
    ),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_bad_block(tiny, name):
    options, code, told = BLOCKS[name]
    tiny.add(f"```python {options}\n{code}\n```")
    fails(tiny, told)


def test_a_block_that_raises_inside_hidden_answers(tiny):
    tiny.add('??? question "Why?"\n\n    ```python exec="true" id="b"\n    1 / 0\n    ```\n')
    text = (tiny.root / "mkdocs.yml").read_text()
    details = text.replace("  attr_list: {}", "  attr_list: {}\n  pymdownx.details: {}")
    (tiny.root / "mkdocs.yml").write_text(details)
    fails(tiny, "block 'b': ZeroDivisionError")


def test_a_bash_block(tiny):
    tiny.add('```bash exec="true" id="b"\nfalse\ntrue\n```')
    fails(tiny, "en/index.md:11: a bash block cannot run; only python")


def test_an_unclosed_fence(tiny):
    tiny.add("```python\nprint(1)\n")
    fails(tiny, "en/index.md:11: the code fence is never closed")


def test_a_fence_left_as_text(tiny):
    tiny.add('Text right before\n````` and `````\n\n<p>```python exec="true"</p>')
    fails(tiny, "en/index.md: a code fence was left as text")


def test_a_name_that_no_block_gives(tiny):
    tiny.add("And {{ tiny.difference }}.")
    fails(tiny, "no block names the result 'tiny.difference'; named are: tiny.sum")


def test_a_variable_of_another_page(tiny):
    tiny.write(
        '# Two { #two }\n\n```python exec="true" id="b" session="s"\nprint(result)\n```', "two.md"
    )
    fails(tiny, "en/two.md:4, block 'b': NameError")


def test_a_result_of_another_page(tiny):
    tiny.write("# Two { #two }\n\n{{ tiny.sum }}\n", "two.md")
    fails(tiny, "en/two.md: no block names the result 'tiny.sum'; named are: none")


def test_a_missing_snippet(tiny):
    tiny.add('```python\n--8<-- "nowhere.py"\n```')
    fails(tiny, "nowhere.py")


def test_a_snippet_left_as_text(tiny):
    tiny.add('```python\n--8 < --"nowhere.py"\n```')
    fails(tiny, "en/index.md: a snippet was left as text")


def test_a_heading_without_an_id(tiny):
    tiny.add("## Loose\n")
    fails(tiny, "en/index.md: the heading '## Loose' needs an id")


@pytest.mark.parametrize("link", ["nowhere.md", "index.md#nowhere", "#nowhere", "/absolute.md"])
def test_a_link_that_leads_nowhere(tiny, link):
    tiny.add(f"[there]({link})")
    fails(tiny, link)


def test_a_page_without_its_chinese_twin(tiny):
    tiny.write("# Two { #two }\n", "two.md", languages=["en"])
    fails(tiny, "pages without a Chinese twin: zh/two.md")


def test_a_page_without_its_english_twin(tiny):
    tiny.write("# Two { #two }\n", "two.md", languages=["zh"])
    fails(tiny, "zh/two.md: there is no such page in English")


def test_another_block_in_chinese(tiny):
    page = (tiny.root / "docs" / "zh" / "index.md").read_text()
    tiny.write(page.replace("1 + 1", "1 + 2"), languages=["zh"])
    fails(tiny, "index.md: blocks differ between the languages")


def test_a_block_that_only_english_has(tiny):
    tiny.write("# Home { #home }\n", languages=["zh"])
    fails(tiny, "index.md: 1 blocks in English, 0 in Chinese")


def test_another_heading_id_in_chinese(tiny):
    page = (tiny.root / "docs" / "zh" / "index.md").read_text()
    tiny.write(page.replace("#home", "#house"), languages=["zh"])
    fails(tiny, "index.md: heading ids differ between the languages: home and house")


def test_a_page_that_is_made(tiny):
    (tiny.root / "docs/en/made.md").write_text("<!-- made: tests.press.made.page lab -->\n")
    (tiny.root / "docs/zh/made.md").write_text("<!-- made: tests.press.made.page lab -->\n")
    build_site(tiny.root)
    assert "The word is lab." in tiny.page("en", "made.html")
    assert "这个词是 lab。" in tiny.page("zh", "made.html")


def test_a_page_that_cannot_be_made(tiny):
    tiny.write("<!-- made: tests.press.made.nothing lab -->\n", "made.md")
    fails(tiny, "en/made.md: it cannot be made: module 'tests.press.made' has no attribute")


def mkdocs(tiny, *flags):
    command = [sys.executable, "-m", "mkdocs", "build", *flags, "-f", f"{tiny.root}/mkdocs.yml"]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def test_plain_mkdocs_builds_both_languages(tiny):
    assert mkdocs(tiny, "--strict").returncode == 0
    assert "The sum is 2." in tiny.page("zh")


@pytest.mark.parametrize("flag", ["-q", "-v"])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('```python exec="true" id="b"\n1 / 0\n```', "block 'b': ZeroDivisionError"),
        ("[there](index.md#nowhere)", "nowhere"),
    ],
)
def test_flags_do_not_hide_a_failure(tiny, flag, text, told):
    tiny.add(text)
    run = mkdocs(tiny, "--strict", flag)
    assert run.returncode != 0 and told in run.stderr
