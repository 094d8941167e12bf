"""Files outside of docs that pages link to (examples, schemas, sources) become part of the site, so that their links hold there."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
_LINK = re.compile(r"\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]*)?\)")
_FOLDER = "files"


def _outside(page: str, link: str) -> str | None:
    """The path from the project's folder, of a link that leaves docs."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link))
    return None if path.startswith("docs/") or path == "docs" else path


def on_files(files: Files, config) -> Files:
    wanted: set[str] = set()
    made: set[str] = set()

    def add(path: str, content: bytes) -> None:
        if path not in made:
            made.add(path)
            files.append(File.generated(config, f"{_FOLDER}/{path}", content=content))

    for page in files.documentation_pages():
        for link, _ in _LINK.findall(Path(page.abs_src_path).read_text()):
            if (path := _outside(page.src_uri, link)) is not None:
                wanted.add(path)
    for path in sorted(wanted):
        source = ROOT / path
        if source.is_dir():
            listed = sorted(p for p in source.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
            names = [file.relative_to(source).as_posix() for file in listed]
            for file, name in zip(listed, names):
                add(_published(f"{path}/{name}"), file.read_bytes())
            lines = [f"# {path}", "", *(f"- [{name}]({_published(name)})" for name in names)]
            add(f"{path}/index.md", ("\n".join(lines) + "\n").encode())
        elif source.is_file():
            add(_published(path), source.read_bytes())
    return files


def _published(path: str) -> str:
    """The name on the site: browsers show text, and names that begin with a dot are left out there."""
    return "/".join(part.lstrip(".") for part in path.split("/")) + ".txt"


def on_page_markdown(markdown: str, page, config, files) -> str:
    def moved(match: re.Match[str]) -> str:
        path = _outside(page.file.src_uri, match[1])
        if path is None:
            return match[0]
        target = f"{_FOLDER}/{path}/index.md" if (ROOT / path).is_dir() else f"{_FOLDER}/{_published(path)}"
        return f"]({posixpath.relpath(target, posixpath.dirname(page.file.src_uri) or '.')})"

    # Options in brackets are no references.
    lines = [re.sub(r"(?<!\\)\[", r"\\[", line) if line.startswith("## luthier ") else line for line in markdown.split("\n")]
    return _LINK.sub(moved, "\n".join(lines))
