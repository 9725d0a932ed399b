"""KaTeX while the page is built."""

import re

import pytest

from tests.press.conftest import ROOT
from zerolit.press.build import BuildFailed, build_site
from zerolit.press.fences import PageError
from zerolit.press.formulas import render_formulas


def inline(tex):
    return f'<p>So <span class="arithmatex">\\({tex}\\)</span>.</p>'


def test_a_formula_becomes_katex_html_and_mathml_in_its_place():
    html = render_formulas("en/x.md", inline("a &lt; b"))
    assert html.startswith('<p>So <span class="arithmatex"><span class="katex">')
    assert html.endswith("</span></span>.</p>")
    assert "<mo>&lt;</mo>" in html and 'class="katex-html" aria-hidden="true"' in html
    assert "katex-display" not in html


def test_a_displayed_formula_is_displayed_and_its_brackets_grow():
    aligned = r"\begin{aligned} x &amp;= \left(\frac{a}{b}\right) \\ y &amp;= c \end{aligned}"
    html = render_formulas("en/x.md", f'<div class="arithmatex">\\[\n{aligned}\n\\]</div>')
    assert html.startswith('<div class="arithmatex"><span class="katex-display">')
    assert "delimsizing" in html


@pytest.mark.parametrize(
    ("tex", "reason"),
    [
        (r"\foo", r"Undefined control sequence: \foo"),
        (r"\frac{a", "Unexpected end of input"),
        ("卡", "卡"),  # in math mode, where TeX has no such letter
        (r"\mathtt{x}", "needs a font for mathtt"),
        (r"\boldsymbol{x}", "needs a font for boldsymbol"),
    ],
)
def test_an_error_names_page_and_formula(tex, reason):
    with pytest.raises(PageError) as failed:
        render_formulas("zh/x.md", inline(tex))
    told = str(failed.value)
    assert told.startswith(f"zh/x.md: the formula {tex!r} ") and reason in told
    assert "\n" not in told


def test_chinese_stands_in_text():
    assert "每张卡" in render_formulas("zh/x.md", inline(r"n_{\text{每张卡}}"))


def test_every_font_of_the_style_sheet_is_shipped_and_no_other():
    folder = ROOT / "docs/theme/assets/katex"
    css = (folder / "katex.min.css").read_text()
    wanted = set(re.findall(r"url\((fonts/[\w.-]+)\)", css))
    assert wanted == {f"fonts/{path.name}" for path in (folder / "fonts").iterdir()}
    faces = set(re.findall(r"@font-face\{[^}]*font-family:(\w+)", css))
    assert faces == set(re.findall(r"font-family:(KaTeX_\w+)", css))
    assert all(name.endswith(".woff2") for name in wanted)


def with_formulas(tiny):
    config = (tiny.root / "mkdocs.yml").read_text()
    config = config.replace(
        "  attr_list: {}", "  attr_list: {}\n  pymdownx.arithmatex: {generic: true}"
    )
    theme = f'custom_dir: "{ROOT}/docs/theme", '
    (tiny.root / "mkdocs.yml").write_text(config.replace("theme: {", "theme: {" + theme))
    chinese = tiny.root / "docs" / "mkdocs.zh.yml"
    chinese.write_text(chinese.read_text().replace("theme: {", "theme: {" + theme))


def test_only_a_page_with_a_formula_has_the_style_sheet_and_none_the_script(tiny):
    with_formulas(tiny)
    tiny.write("# Formula { #formula }\n\n$a$\n", "formula.md")
    build_site(tiny.root)
    for language in ("en", "zh"):
        home, page = tiny.page(language), tiny.page(language, "formula.html")
        assert 'href="assets/katex/katex.min.css"' in page and 'class="katex"' in page
        assert "katex" not in home
    assert list((tiny.root / "site").rglob("katex*.js")) == []


def test_a_wrong_formula_fails_the_build(tiny):
    with_formulas(tiny)
    tiny.add(r"$\frac{a$")
    with pytest.raises(BuildFailed, match=r"en/index.md: the formula '\\\\frac{a' cannot be set"):
        build_site(tiny.root)
