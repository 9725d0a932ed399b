"""The mkdocs hook: blocks that fail the build, results in the prose, and both languages at once.

Everything from the package is imported when it is needed, so that `mkdocs serve` sees edits.
"""

import importlib
import logging
import posixpath
import sys
import time
from pathlib import Path

from mkdocs.config import load_config
from mkdocs.exceptions import PluginError
from mkdocs.plugins import CombinedEvent, event_priority

ROOT = Path(__file__).resolve().parents[2]
SECONDS_PER_PAGE = 300  # unless `extra: seconds_per_page` says something else
NAMES = {"en": "English", "zh": "中文"}


def _press(module: str):
    return importlib.import_module(f"zerolit.press.{module}")


def _language(config) -> str:
    return config.theme["language"]


def on_startup(command, dirty):
    """Keep `-q` from hiding what `--strict` counts, and `-v` from skipping the check of anchors."""
    logger = logging.getLogger("mkdocs")
    logger.setLevel(min(logger.level or logging.WARNING, logging.WARNING))
    if logger.level <= logging.DEBUG:
        logging.getLogger("mkdocs.structure.pages").setLevel(logging.INFO)


@event_priority(-100)  # after markdown-exec has added its fences
def on_config(config):
    """Wrap the fences, and settle what must not depend on the configuration file's folder."""
    if _language(config) == "en":
        if "serve" in sys.argv:
            _forget_package()
        _press("page").site.start()
    _press("gate").wrap_fences(config.mdx_configs["pymdownx.superfences"]["custom_fences"])
    config.mdx_configs["pymdownx.snippets"]["base_path"] = [str(_root(config))]
    _check_notebooks(config)
    return config


def _root(config) -> Path:
    folder = Path(config.config_file_path).resolve().parent
    return folder if _language(config) == "en" else folder.parent


def _forget_package() -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "zerolit"]:
        del sys.modules[name]


def _check_notebooks(config) -> None:
    """mkdocs-jupyter shows a notebook that raised, or an old result, unless it is told not to."""
    plugin = config.plugins.get("mkdocs-jupyter")
    wanted = {"execute": True, "allow_errors": False, "cache": False}
    for name, value in wanted.items() if plugin else ():
        if plugin.config[name] != value:
            raise PluginError(f"mkdocs-jupyter: {name} is {plugin.config[name]}; must be {value}")


def on_nav(nav, config, files):
    """Remember the order of the pages."""
    if _language(config) == "en":
        _press("page").site.pages = [page.file.dest_uri for page in nav.pages]


def on_page_markdown(markdown, page, config, files):
    """Check the page's source, and start with nothing named."""
    gate, uri, language = _press("gate"), page.file.src_uri, _language(config)
    here = _press("page").open_page(f"{language}/{uri}", language)
    gate.clear_sessions()
    gate.start_clock(config.extra.get("seconds_per_page", SECONDS_PER_PAGE))
    site = _press("page").site
    site.seconds[here.uri] = -time.perf_counter()
    with _plain_error():
        *source, here.sections = _check(gate, here.uri, page.file.content_string, markdown)
        if language == "en":
            site.sources[uri] = source
        elif uri not in site.sources:
            raise _press("fences").PageError(f"zh/{uri}: there is no such page in English")
        else:
            gate.check_twins(uri, site.sources[uri], source)
    return markdown


def _check(gate, name, file, markdown):
    """Check the page's source under the line numbers of its file, front matter included."""
    if not name.endswith(".md"):
        return [], [], {}  # a notebook; mkdocs-jupyter runs it
    above = file.count("\n", 0, max(file.find(markdown.strip()), 0))
    return gate.check_markdown(name, "\n" * above + markdown.lstrip("\n"))


def on_page_content(html, page, config, files):
    """Fill in the named results, now that the page's blocks have run."""
    name = f"{_language(config)}/{page.file.src_uri}"
    with _plain_error():
        html = _press("gate").fill_in(_press("page").current(), html)
        html = _press("formulas").render_formulas(name, html)
    _press("gate").stop_clock()
    site = _press("page").site
    site.seconds[name] += time.perf_counter()
    site.on_page(name)
    return html


def on_build_error(error, **_):
    """A page that failed is not waited for."""
    _press("gate").stop_clock()


class _plain_error:
    """Turn a page's error into mkdocs's own kind, which it prints without a traceback."""

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None and kind.__name__ == "PageError":
            raise PluginError(str(error)) from None


@event_priority(100)
def _before_indexing(context, page, config, nav):
    """Show the search plugin the page without what reads badly in its results."""
    page.meta["shown"] = page.content
    page.content = _press("searching").for_search(page.content)
    return context


@event_priority(-100)
def _after_indexing(context, page, config, nav):
    """Show readers the whole page again, and let the language switch keep them on it."""
    page.content = page.meta.pop("shown")
    index = config.plugins["material/search"].search_index.entries
    with _plain_error():
        _press("searching").prefer(index, page.url, page.meta.get("explains", []))
    here = page.file.dest_uri if _language(config) == "en" else f"zh/{page.file.dest_uri}"
    config.extra["alternate"] = [
        {
            "name": NAMES[language],
            "lang": _press("head").TAGS[language],
            "link": posixpath.relpath(
                page.file.dest_uri if language == "en" else f"zh/{page.file.dest_uri}",
                posixpath.dirname(here) or ".",
            ),
        }
        for language in NAMES
    ]
    return context


on_page_context = CombinedEvent(_before_indexing, _after_indexing)


def on_post_page(output, page, config):
    """Repair what Material's templates get wrong, and give the page a head of its own."""
    return _finish_html(output, config, page.file.dest_uri)


def on_post_template(output_content, template_name, config):
    """The same for the page that a host shows where there is none."""
    return _finish_html(output_content, config) if template_name == "404.html" else output_content


def _finish_html(html, config, address=""):
    language = _language(config)
    url = (config.site_url or "").removesuffix("" if language == "en" else "zh/")
    html = _press("head").complete_head(html, language, config.site_name, address, url)
    return _press("polish").polish(html, language)


@event_priority(-200)
def on_post_build(config):
    """After the English site, build the Chinese one into its folder `zh`."""
    with _plain_error():
        _press("polish").mend_search(Path(config.site_dir))
    if _language(config) != "en":
        return
    from mkdocs.commands.build import build

    chinese = load_config(
        str(_root(config) / "docs" / "mkdocs.zh.yml"),
        strict=config.strict,
        site_dir=str(Path(config.site_dir) / "zh"),
        site_url=config.site_url and f"{config.site_url}zh/",
    )
    chinese.plugins.on_startup(command="build", dirty=False)
    build(chinese)
    site = _press("page").site
    missing = {f"zh/{uri}" for uri in site.sources} - set(site.seconds)
    if missing:
        raise PluginError(f"pages without a Chinese twin: {', '.join(sorted(missing))}")
    with _plain_error():
        _press("finish").finish(_root(config), Path(config.site_dir), site)
