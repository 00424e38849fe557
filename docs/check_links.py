"""Follow every link within a built site: `python docs/check_links.py build/site`.

Sphinx warns of a page that a page names and that doesn't exist; this also looks at anchors, pictures, scripts and
everything else that the theme and the gallery put on a page.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links of a page and the places in it that links can name."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        self.anchors.update(found[key] for key in ("id", "name") if found.get(key))
        self.links.update(found[key] for key in ("href", "src") if found.get(key))


def main(site: Path) -> int:
    """Print each broken link; 1 if there is one."""
    site = site.resolve()
    pages = {path: Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}
    n_links, broken = 0, []
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            n_links += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            anchor = unquote(parts.fragment)
            if not target.is_relative_to(site) or not target.exists():
                broken.append(f"{path.relative_to(site)}: no file for {link}")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                broken.append(f"{path.relative_to(site)}: no such place, {link}")
    print(f"{len(pages)} pages, {n_links} links within the site, {len(broken)} broken", *broken, sep="\n")
    return int(bool(broken) or not pages)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
