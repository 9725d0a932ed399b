"""Reproduce: how the comparison with the reference ended, and every result."""

import re
from collections.abc import Sequence
from html import escape
from typing import Any

from zerolit.press import current
from zerolit.press.ledger import Drift, environment
from zerolit.press.page import Site
from zerolit.press.source import Source

from .table import Column, Table
from .words import Words, choose, say

_WHAT = {
    "same": ("same", "一致"),
    "drifted": ("drifted", "有偏差"),
    "appeared": ("new", "新增"),
    "vanished": ("gone", "消失"),
    "restated": ("restated", "容差或单位改变"),
}
_HOME = Words("Home", "首页")
_RESULT, _PLACE = Column("result", "s", "result", "结果"), Column("place", "link", "place", "位置")


def status(site: Site, _: str) -> str:
    """One sentence, and the drift if there is any."""
    good = Words(
        "All {total} results are as the reference says.", "全部 {total} 个结果与参考值一致。"
    )
    bad = Words(
        "{drift} of {total} results are not as the reference says:",
        "{total} 个结果中有 {drift} 个与参考值不一致：",
    )
    drift = _shown(site)
    text = say(bad if drift else good, total=len(site.ledger), drift=len(drift))
    table = str(drift_table(site, drift)) if drift else ""
    return f'<p class="zl-status"><strong>{escape(text)}</strong></p>\n{table}'


def _shown(site: Site) -> list[Drift]:
    """None where the results are about to become the reference."""
    return [] if site.accept else site.drift or []


def drift_table(site: Site, drift: Sequence[Drift]) -> Table:
    """Every result that is not what the reference says."""
    columns = [
        _RESULT,
        _PLACE,
        Column("what", "s", "what", "情况"),
        Column("expected", "s", "expected", "参考值"),
        Column("got", "s", "got", "本次"),
        Column("tolerances off", "s", "tolerances off", "偏差（容差的倍数）"),
    ]
    rows = [
        (
            d.name,
            _place(d.page, d.section, _titles(site, d.page)) if d.page else None,
            choose(d.what, _WHAT),
            "" if d.what == "appeared" else _short(d.expected),
            "" if d.what == "vanished" else _short(d.got),
            f"{d.off:.3g}" if d.what == "drifted" else "",
        )
        for d in drift
    ]
    return Table("drift", Words("What drifted.", "有偏差的结果。"), columns, rows, linkable=False)


_COMPONENTS = {
    "Python": ("Python", "Python"),
    "numpy": ("numpy", "numpy"),
    "torch": ("torch", "torch"),
    "processor": ("processor", "处理器"),
    "system": ("system", "系统"),
    "commit": ("commit", "提交"),
}


def ran_on(site: Site, _: str) -> Table:
    """What this very build ran on."""
    caption = Words("What this build ran on.", "本次构建的环境。")
    columns = [
        Column("thing", "s", "component", "组件"),
        Column("version", "s", "version", "版本"),
    ]
    rows = [(choose(name, _COMPONENTS), what) for name, what in environment(site.root).items()]
    return Table("environment", caption, columns, rows)


def results(site: Site, page: str) -> Table:
    """All results of a page: value, tolerance, and whether the reference says the same."""
    columns = [
        Column("status", "s", "status", "状态"),  # first, where no screen is too narrow for it
        _RESULT,
        Column("value", "s", "value", "值"),
        Column("unit", "s", "unit", "单位"),
        Column("tolerance", "s", "tolerance", "容差"),
        _PLACE,
    ]
    titles = _titles(site, page)
    off = {drift.name: drift.what for drift in _shown(site)}
    rows = [
        (
            choose(off.get(name, "same"), _WHAT),
            name,
            _short(entry.value),
            choose(entry.unit, _UNITS) if entry.unit in _UNITS else entry.unit,
            entry.tolerance,
            _place(entry.page, entry.section, titles),
        )
        for name, entry in site.ledger.items()
        if entry.page == page
    ]
    name, caption = f"all-{page.removesuffix('.md')}", Words("{n} results.", "共 {n} 个结果。")
    return Table(name, caption, columns, rows, {"n": len(rows)})


_UNITS = {
    "Ψ elements": ("Ψ", "Ψ"),
    "elements": ("elements", "个元素"),
    "bytes": ("bytes", "字节"),
    "ranks": ("ranks", "个 rank"),
    "tokens": ("tokens", "个 token"),
    "s": ("s", "秒"),
    "µs": ("µs", "微秒"),
    "cards": ("cards", "张卡"),
    "years": ("years", "年"),
    "days": ("days", "天"),
    "hours": ("hours", "小时"),
    "billion parameters": ("billion parameters", "十亿参数"),
    "bytes per parameter": ("bytes per parameter", "字节/参数"),
    "1e22 operations": ("10²² operations", "10²² 次运算"),
    "(p-1)/p·Ψ elements": ("(p−1)/p · Ψ", "(p−1)/p · Ψ"),
}


def _titles(site: Site, page: str) -> dict[str, str]:
    """What the headings of a page are called, by their ids."""
    path = site.root / "docs" / current().language / page
    if not path.is_file():  # a result of a page that is gone
        return {}
    headings = re.findall(r"^#+ (.+?) *\{ *#([\w-]+)", path.read_text("utf-8"), re.M)
    return {id: title for title, id in headings}


def _place(page: str, section: str, titles: dict[str, str]) -> tuple[str, str]:
    address = f"{page.removesuffix('.md')}.html"
    return (titles.get(section, page), f"{address}#{section}" if section else address)


def _short(value: Any) -> str:
    """A value in few characters."""
    if isinstance(value, list):
        shown = ", ".join(_short(part) for part in value[:3])
        return f"{shown}, … ({len(value)})" if len(value) > 3 else shown
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def sections(pages: Sequence[Source]) -> str:
    """A section for each page whose blocks give results, in Markdown; see `results`."""
    told = []
    for page in pages:
        if page.blocks:
            id = f"results-{page.uri.removesuffix('.md')}"
            late = f"<!-- late: zerolit.book.reproduce.results {page.uri} -->"
            title = page.title if page.uri != "index.md" else _HOME.fill(page.language)
            told.append(f"### {title} {{ #{id} }}\n\n{late}")
    return "\n\n".join(told)
