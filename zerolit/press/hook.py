"""The mkdocs hook: blocks that fail the build, results in the prose, and both languages at once."""

import logging
import posixpath
import sys
from contextlib import contextmanager
from pathlib import Path

from mkdocs.config import load_config
from mkdocs.exceptions import PluginError
from mkdocs.plugins import CombinedEvent, event_priority
from mkdocs.structure.files import File

from zerolit.press import early, finish, formulas, gate, head, made, polish, searching, serve
from zerolit.press.blocks import run_blocks
from zerolit.press.fences import PageError
from zerolit.press.page import current, open_page, site
from zerolit.press.source import read_sources

NAMES = {"en": "English", "zh": "中文"}


def _language(config) -> str:
    return config.theme["language"]


def _root(config) -> Path:
    folder = Path(config.config_file_path).resolve().parent
    return folder if _language(config) == "en" else folder.parent


@contextmanager
def _plain_error():
    """Turn a page's error into mkdocs's own kind, which it prints without a traceback."""
    try:
        yield
    except PageError as error:
        raise PluginError(str(error)) from None


def on_startup(command, dirty):
    """Keep `-q` from hiding what `--strict` counts, and `-v` from skipping the check of anchors."""
    logger = logging.getLogger("mkdocs")
    logger.setLevel(min(logger.level or logging.WARNING, logging.WARNING))
    if logger.level <= logging.DEBUG:
        logging.getLogger("mkdocs.structure.pages").setLevel(logging.INFO)
    if command == "serve":
        site.draft = True


@event_priority(-100)  # after markdown-exec has added its fences
def on_config(config):
    """Wrap the fences, and settle what must not depend on the configuration file's folder."""
    if _language(config) == "en":
        if site.draft:
            _forget_book()
        site.start(_root(config))
        site.limit = config.extra.get("seconds_per_page", type(site).limit)
    else:
        _translate_navigation(config)
        config.mdx_configs.setdefault("toc", {})["permalink_title"] = "链接"
    gate.wrap_fences(config.mdx_configs["pymdownx.superfences"]["custom_fences"])
    config.mdx_configs["pymdownx.snippets"]["base_path"] = [str(_root(config))]
    return config


def _forget_book() -> None:
    """Have what made and late pages call imported as it is now, not as `serve` found it."""
    for name in [name for name in sys.modules if name.startswith(("zerolit.book", "zerolit.labs"))]:
        del sys.modules[name]


def _translate_navigation(config) -> None:
    """The Chinese navigation is the English one, with the names of its groups translated."""
    words = config.extra.get("groups", {})
    config.nav = [
        {words.get(name, name): pages for name, pages in entry.items()}
        if isinstance(entry, dict)
        else entry
        for entry in config.nav or []
    ] or None


def on_pre_build(config):
    """Read and check all pages, and have their blocks run, before any is rendered."""
    if _language(config) == "en":
        with _plain_error():
            site.sources = read_sources(site.root)
            run_blocks(site, site.sources)


def on_files(files, config):
    """Add the files that are made, such as the labs' notebooks."""
    with _plain_error():
        found = made.files(config.extra.get("files", []), _language(config))
    for name, text in found.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_nav(nav, config, files):
    """Remember the order of the pages."""
    if _language(config) == "en":
        site.pages = [page.file.dest_uri for page in nav.pages]
    serve.desk.nav[_language(config)] = nav


def on_page_read_source(page, config):
    """Render the text that was read when the build began, also of a page that is made."""
    with _plain_error():
        return made.page_text(site.root, _language(config), page.file.src_uri)


def on_page_markdown(markdown, page, config, files):
    """Start with nothing named, and write what is known of all pages."""
    name = f"{_language(config)}/{page.file.src_uri}"
    open_page(name, _language(config))
    with _plain_error():
        return early.fill_in(site, name, markdown)


def on_page_content(html, page, config, files):
    """Fill in the named results."""
    with _plain_error():
        html = gate.fill_in(current(), html)
        return formulas.render_formulas(current().uri, html)


@event_priority(100)
def _before_indexing(context, page, config, nav):
    """Show the search plugin the page without what reads badly in its results."""
    page.meta["shown"] = page.content
    page.content = searching.for_search(page.content)
    return context


@event_priority(-100)
def _after_indexing(context, page, config, nav):
    """Show readers the whole page again, and let the language switch keep them on it."""
    page.content = page.meta.pop("shown")
    index = config.plugins["material/search"].search_index.entries
    with _plain_error():
        searching.prefer(index, page.url, page.meta.get("explains", []))
    here = page.file.dest_uri if _language(config) == "en" else f"zh/{page.file.dest_uri}"
    config.extra["alternate"] = [
        {
            "name": NAMES[language],
            "lang": head.TAGS[language],
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
    html = head.complete_head(html, language, config.site_name, address, url)
    html = polish.polish(html, language)
    return polish.mark_draft(html, language) if site.draft else html


def on_env(env, config, files):
    """Remember what a page is rendered with, for `serve`."""
    serve.desk.rendered[_language(config)] = (config, files, env)


@event_priority(-200)
def on_post_build(config):
    """After the English site, build the Chinese one into its folder `zh`."""
    with _plain_error():
        polish.mend_search(Path(config.site_dir))
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
    with _plain_error():
        finish.finish(site.root, Path(config.site_dir), site)


def on_serve(server, config, builder):
    """Show an edit without building everything again."""
    server.builder = serve.Rebuild(builder, config)
    for path in filter(Path.is_dir, (site.root / "docs", site.root / "zerolit")):
        server.watch(str(path))
    return server
