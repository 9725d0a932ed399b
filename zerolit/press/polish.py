"""Small repairs to Material's own HTML: every page validates, everybody can use it."""

import re

_LABELS = {"en": ("Search", "Navigation"), "zh": ("搜索", "导航")}
_REPAIRS = (
    # autocomplete is not for check boxes, and a tabindex is a number (HTML standard)
    (r'(<input\b[^>]*type="(?:checkbox|radio)"[^>]*?) autocomplete="off"', r"\1"),
    (r'(<label\b[^>]*) tabindex=""', r'\1 tabindex="0"'),
    # a dialog and a check box need names (WCAG 4.1.2)
    (r'role="dialog"', r'role="dialog" aria-label="{search}"'),
    (r'(<input\b[^>]*id="__search")', r'\1 aria-label="{search}"'),
    (r'(<input\b[^>]*id="__drawer")', r'\1 aria-label="{menu}"'),
)


def polish(html: str, language: str) -> str:
    """The page, repaired."""
    search, menu = _LABELS[language]
    for wrong, right in _REPAIRS:
        html = re.sub(wrong, right.format(search=search, menu=menu), html)
    return html


_DRAFT = {
    "en": "Draft: some blocks were not run again. <code>zerolit build</code> runs all.",
    "zh": "草稿：部分代码块没有重新运行。<code>zerolit build</code> 会全部运行。",
}


def mark_draft(html: str, language: str) -> str:
    """The page, with a line above it that says that it is a draft."""
    line = f'<p class="zl-draft" role="status">{_DRAFT[language]}</p>'
    return re.sub(r"(<body\b[^>]*>)", lambda body: body[1] + line, html, count=1)
