"""What a page's head tells browsers and search engines: language, title, summary, other addresses.

Material's own head says "zh" for Chinese as it is written in China, calls the first page and the
page for what is not there by the site's name alone, describes every page alike, and links the
languages by relative addresses, which no search engine takes.
"""

import re
from html import escape, unescape

from .formulas import STYLESHEET, has_formula

TAGS = {"en": "en", "zh": "zh-CN"}  # BCP 47
LONGEST = 160  # characters of a description; search engines cut what is longer
_SUMMARY = re.compile(r'<div class="summary">(.*?)</div>', re.S)
_PARAGRAPH = re.compile(r"<article\b.*?<p>(.*?)</p>", re.S)
_HEADING = re.compile(r"<h1\b[^>]*>(.*?)</h1>", re.S)
_LINK = re.compile(r'<a class="headerlink".*?</a>', re.S)
# A full stop in "et al. 2019" ends nothing.
_SENTENCE = re.compile(r"(?<=[.!?]) (?=[A-Z(])|(?<=[。！？])")
_CHINESE_BREAK = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uffef]) (?=[\u3000-\u9fff\uff00-\uffef])")
_ALTERNATE = re.compile(r' *<link rel="alternate"[^>]*\bhreflang="[^>]*>\n?')


def complete_head(
    html: str, language: str, site_name: str, address: str = "", url: str = ""
) -> str:
    """The page with a head of its own.

    Args:
        html: the page as Material made it.
        language: `"en"` or `"zh"`.
        site_name: comes after the heading in the title.
        address: the page's, from the root of its language, as `zero.html`; none has the page for
            what is not there.
        url: where the English site will be, with a slash at its end; without it there are no links
            to the other language, since they have to be absolute.
    """
    title = f"<title>{escape(_text(_HEADING, html))} - {site_name}</title>"
    summary = shorten(_text(_SUMMARY, html) or _text(_PARAGRAPH, html))
    description = f'<meta name="description" content="{escape(summary)}">'
    links = _language_links(address, url) if url and address else ""
    if has_formula(html):
        links += f'<link rel="stylesheet" href="{"../" * address.count("/")}{STYLESHEET}">\n'
    html = _ALTERNATE.sub("", html)
    html = html.replace(f'<html lang="{language}"', f'<html lang="{TAGS[language]}"', 1)
    html = re.sub(r"<title>.*?</title>", lambda _: title, html, count=1, flags=re.S)
    html = re.sub(r'<meta name="description"[^>]*>\n?', "", html, count=1)
    return html.replace("</title>", f"</title>\n{description}\n{links}", 1)


def _text(where: re.Pattern, html: str) -> str:
    """The text of the first match; "" without one."""
    found = where.search(html)
    text = re.sub(r"<!--.*?-->|<[^>]*>", "", _LINK.sub("", found[1]), flags=re.S) if found else ""
    return _CHINESE_BREAK.sub("", " ".join(unescape(text).split()))


def shorten(text: str) -> str:
    """The first sentence, and those after it while all have at most `LONGEST` characters."""
    ends = [match.start() for match in _SENTENCE.finditer(text)] + [len(text)]
    return text[: max((end for end in ends if end <= LONGEST), default=ends[0])]


def _language_links(address: str, url: str) -> str:
    where = {"en": url + address, "zh-CN": f"{url}zh/{address}", "x-default": url + address}
    links = (
        f'<link rel="alternate" hreflang="{tag}" href="{href}">' for tag, href in where.items()
    )
    return "".join(f"{link}\n" for link in links)
