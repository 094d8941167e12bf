"""What compilers made before of the same sources by the same commands: kept in target/compiled, for all of pytest's processes and
for later sessions. Half of the time of some tests was clang's."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from places import ROOT, TESTS

FOLDER = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "compiled"
#: Folders whose headers sources may include.
HEADERS = (TESTS, ROOT / "python/luthier/include")
#: Seconds after which what is not asked for is forgotten.
FORGOTTEN = 14 * 24 * 3600


def make(command: Sequence[str | Path], out: Path, text: str | None = None, timeout: float | None = None) -> None:
    """Has the file that a compiler makes, by ``command`` and ``-o out``, in the project's folder, with ``text`` as its input.

    Raises:
        subprocess.CalledProcessError: the compiler failed; it has the text that the compiler wrote.
        subprocess.TimeoutExpired: it took longer than ``timeout`` seconds.
    """
    kept = keep(command, text=text, timeout=timeout)
    # What is there may be loaded, so that another file takes its place.
    out.unlink(missing_ok=True)
    shutil.copyfile(kept, out)


def keep(
    command: Sequence[str | Path],
    name: str = "",
    *,
    text: str | None = None,
    joined: bool = False,
    timeout: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> Path:
    """The file where it is kept: callers read it and do not change it. Its name begins with ``name``. ``joined``: the command's last
    word and the output's name are one, without ``-o``.

    Files of the command, the text, all headers of the tests and of hooks, and the compiler itself decide whether it is the
    same: sources must include nothing else of the project's. Where they are compiled with ``-g``, their paths do as well.
    ``environment`` is the compiler's, and decides nothing.

    Raises:
        As :func:`make`.
    """
    words = [str(word) for word in command]
    key = _key(words, text, joined)
    kept = FOLDER / (f"{name}-{key[:16]}" if name else key)
    if _is_there(kept):
        return kept
    _forget()
    # Processes that want the same file at the same time have it made once.
    with _alone(key), tempfile.TemporaryDirectory(dir=FOLDER, prefix="new-") as folder:
        if not _is_there(kept):
            new = Path(folder) / "out"
            whole = [*words[:-1], f"{words[-1]}={new}"] if joined else [*words, "-o", str(new)]
            how = {"cwd": ROOT, "input": text, "stderr": subprocess.PIPE, "text": True, "timeout": timeout, "env": environment}
            subprocess.run(whole, check=True, **how)
            new.replace(kept)
    return kept


def _is_there(kept: Path) -> bool:
    """It is there, and is remembered for as long as if it were new."""
    try:
        os.utime(kept)
    except FileNotFoundError:
        return False
    return True


@contextlib.contextmanager
def _alone(key: str) -> Iterator[None]:
    """No other process makes a file of this key meanwhile. Few locks serve for all keys."""
    folder = FOLDER / "locks"
    folder.mkdir(exist_ok=True)
    with open(folder / key[:2], "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _key(words: Sequence[str], text: str | None, joined: bool) -> str:
    found = hashlib.sha256()
    named = "-g" in words or "-gline-tables-only" in words
    for word in words:
        path = ROOT / word
        is_file = "/" in word and not word.startswith("-") and path.is_file()
        found.update(f"{'' if is_file and not named else word}\0".encode())
        if is_file:
            found.update(hashlib.sha256(path.read_bytes()).digest())
    found.update(f"{text}\0{joined}\0{_compiler(words[0])}\0{_headers()}".encode())
    return found.hexdigest()


@functools.cache
def _compiler(name: str) -> str:
    path = Path(shutil.which(name) or name).resolve()
    state = path.stat()
    return f"{path} {state.st_size} {state.st_mtime_ns}"


@functools.cache
def _headers() -> str:
    found = hashlib.sha256()
    for folder in HEADERS:
        for path in sorted(folder.rglob("*.h")):
            found.update(path.read_bytes())
    return found.hexdigest()


@functools.cache
def _forget() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in FOLDER.iterdir():
        try:
            if path.is_file() and time.time() - path.stat().st_mtime > FORGOTTEN:
                path.unlink()
        except FileNotFoundError:  # another process did
            pass
