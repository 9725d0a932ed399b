"""The head of a page: language, title, description, addresses."""

import re

import pytest

from tests.press.conftest import GOOD
from zerolit import cli
from zerolit.press.build import build_site
from zerolit.press.head import shorten

SUMMARY = """
# Home { #home }

<div class="summary">
One & only. <b>Two</b>
</div>
"""
GOOD_BLOCK = GOOD.split("{ #home }")[1]
WHERE = "https://example.org/course/"


def head(page):
    return page[: page.index("</head>")]


def links(page):
    found = re.findall(
        r'<link rel="(alternate|canonical)"(?: hreflang="(.*?)")? href="(.*?)"', page
    )
    return {tag or rel: href for rel, tag, href in found}


def test_title_and_description_are_the_pages_own(tiny):
    tiny.write(SUMMARY + GOOD_BLOCK)
    tiny.write("# Other { #other }\n\nFirst.\n\nSecond.\n", "other.md")
    build_site(tiny.root)
    for language in ("en", "zh"):
        assert "<title>Home - tiny</title>" in head(tiny.page(language))
        assert '<meta name="description" content="One &amp; only. Two">' in tiny.page(language)
        other = tiny.page(language, "other.html")
        assert "<title>Other - tiny</title>" in other
        assert '<meta name="description" content="First.">' in other


def test_chinese_pages_say_that_they_are(tiny):
    build_site(tiny.root)
    assert '<html lang="en"' in tiny.page() and '<html lang="zh-CN"' in tiny.page("zh")


def test_without_an_address_no_page_names_one(tiny):
    build_site(tiny.root)
    assert links(head(tiny.page())) == links(head(tiny.page("zh"))) == {}
    assert 'href="zh/index.html" hreflang="zh-CN"' in tiny.page()  # the switch


@pytest.mark.parametrize("given", [WHERE, WHERE.rstrip("/")])
def test_with_an_address_both_languages_name_the_same_pages(tiny, given):
    build_site(tiny.root, url=given)
    same = {tag: WHERE + "index.html" for tag in ("en", "x-default")}
    same["zh-CN"] = WHERE + "zh/index.html"
    assert links(head(tiny.page())) == same | {"canonical": same["en"]}
    assert links(head(tiny.page("zh"))) == same | {"canonical": same["zh-CN"]}
    assert 'href="zh/index.html" hreflang="zh-CN"' in tiny.page()  # works from disk as well
    assert links(head(tiny.page(name="404.html"))) == {}


def test_an_address_without_a_scheme_is_refused(capsys):
    assert cli.main(["build", "--url", "example.org"]) == 2
    assert "--url is example.org; it must start with https://" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("", ""),
        (
            "ZeRO (Rajbhandari et al. 2019) is one. " + "X" * 160 + ".",
            "ZeRO (Rajbhandari et al. 2019) is one.",
        ),
        ("A. B. " + "C" * 153 + ".", "A. B. " + "C" * 153 + "."),  # 160
        ("A. B. " + "C" * 154 + ".", "A. B."),  # 161
        ("x" * 170 + ". Next.", "x" * 170 + "."),
        ("第一句。" + "长" * 160 + "。", "第一句。"),
    ],
)
def test_a_description_ends_with_a_sentence(text, short):
    assert shorten(text) == short
