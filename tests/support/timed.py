"""Running a program that has to end: where it does not, the failure says where each of its threads was."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


def run(command, seconds: float, input: str | None = None, **options) -> subprocess.CompletedProcess:
    """``subprocess.run`` with the output as text. A program that does not end in time is killed and fails the test."""
    words = list(map(str, command))
    if input is not None:
        options["stdin"] = subprocess.PIPE
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options) as process:
        try:
            out, err = process.communicate(input, timeout=seconds)
        except subprocess.TimeoutExpired:
            tree = _tree(process.pid)
            where = "\n".join(map(_threads, tree))
            for pid in reversed(tree):
                subprocess.run(["kill", "-9", str(pid)], capture_output=True)
            out, err = process.communicate()
            said = f"{out[-2000:]}\n{err[-4000:]}"
            raise AssertionError(f"{' '.join(words)} has not ended in {seconds} seconds.\n{where}\n{said}") from None
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def _tree(pid: int) -> list[int]:
    """A process and those that it has started, parents first."""
    found = [pid]
    for one in found:
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            found += map(int, _read(task).split())
    return found


def _threads(pid: int) -> str:
    """Each thread's name, and what it waits for; with gdb its stack."""
    lines = [f"process {pid}: {_read(Path(f'/proc/{pid}/cmdline')).replace(chr(0), ' ')}"]
    for task in sorted(Path(f"/proc/{pid}/task").glob("*"), key=lambda task: int(task.name)):
        name, waits, call = (_read(task / what).strip() for what in ("comm", "wchan", "syscall"))
        lines.append(f"  {task.name} {name}: {waits or 'runs'}, system call {call}")
    if shutil.which("gdb"):
        stacks = ["gdb", "-p", str(pid), "-batch", "-nx", "-ex", "thread apply all backtrace 16"]
        try:
            lines.append(subprocess.run(stacks, capture_output=True, text=True, timeout=60).stdout)
        except subprocess.TimeoutExpired:
            lines.append("  gdb has not ended in 60 seconds")
    return "\n".join(lines)


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""  # the thread has ended
