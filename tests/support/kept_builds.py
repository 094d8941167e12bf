"""What compilers made before of the same sources by the same commands: kept in target/compiled, for all of pytest's processes and
for later sessions. Half of the time of some tests was clang's."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from places import ROOT, TESTS

FOLDER = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "compiled"
#: Seconds after which what is not asked for is forgotten.
FORGOTTEN = 14 * 24 * 3600


def make(command: Sequence[str | Path], out: Path, text: str | None = None, timeout: float | None = None) -> None:
    """Has the file that a compiler makes, by ``command`` and ``-o out``, in the project's folder, with ``text`` as its input.

    Files of the command, the text, all headers of the tests and the compiler itself decide whether it is the same: sources must
    include nothing else. Where they are compiled with ``-g``, their paths do as well.

    Raises:
        subprocess.CalledProcessError: the compiler failed; it has the text that the compiler wrote.
        subprocess.TimeoutExpired: it took longer than ``timeout`` seconds.
    """
    words = [str(word) for word in command]
    kept = FOLDER / _key(words, text)
    # What is there may be loaded, so that another file takes its place.
    out.unlink(missing_ok=True)
    try:
        shutil.copyfile(kept, out)
        os.utime(kept)
        return
    except FileNotFoundError:
        pass
    subprocess.run([*words, "-o", str(out)], check=True, cwd=ROOT, input=text, stderr=subprocess.PIPE, text=True, timeout=timeout)
    _forget()
    with tempfile.NamedTemporaryFile(dir=FOLDER, delete=False) as new:
        new.write(out.read_bytes())
    os.replace(new.name, kept)


def _key(words: Sequence[str], text: str | None) -> str:
    found = hashlib.sha256()
    named = "-g" in words or "-gline-tables-only" in words
    for word in words:
        path = ROOT / word
        is_file = "/" in word and not word.startswith("-") and path.is_file()
        found.update(f"{'' if is_file and not named else word}\0".encode())
        if is_file:
            found.update(hashlib.sha256(path.read_bytes()).digest())
    found.update(f"{text}\0{_compiler(words[0])}\0{_headers()}".encode())
    return found.hexdigest()


@functools.cache
def _compiler(name: str) -> str:
    path = Path(shutil.which(name) or name).resolve()
    state = path.stat()
    return f"{path} {state.st_size} {state.st_mtime_ns}"


@functools.cache
def _headers() -> str:
    found = hashlib.sha256()
    for path in sorted(TESTS.rglob("*.h")):
        found.update(path.read_bytes())
    return found.hexdigest()


@functools.cache
def _forget() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in FOLDER.iterdir():
        try:
            if time.time() - path.stat().st_mtime > FORGOTTEN:
                path.unlink()
        except FileNotFoundError:  # another process did
            pass
