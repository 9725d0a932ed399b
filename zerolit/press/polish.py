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
