"""``luthier mcp``: a server of the Model Context Protocol, by which coding assistants inspect, run and judge kernels.

Each tool is a command of ours in a process of its own, with the JSON that the command writes: a kernel that hangs or a damaged
file ends that process and not the server.
"""

from __future__ import annotations

import asyncio
import functools
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, LuthierError

#: Seconds that a command may take.
_TIMEOUT = 600
#: Characters of a listing.
_MOST = 60_000


def main(args: Any) -> int:
    """Serves on standard input and output until they end."""
    try:
        from mcp.server.mcpserver import MCPServer
    except ImportError:
        raise ArgumentError("luthier mcp needs the MCP SDK from 2.0 on: pip install 'luthier[mcp]'") from None
    from .. import __version__

    about = "AMD GPU kernels: read, instrument and run machine code on a mock device, with no GPU. Paths are this machine's."
    server = MCPServer("luthier", instructions=about, version=__version__)
    for tool in (inspect, kernels, disassemble, annotate, run, judge, replay, doctor):
        server.tool(structured_output=True)(_told(tool))
    server.run("stdio")
    return 0


def _told(tool: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """The same, with errors of ours as those that an assistant is told; it hears nothing of others."""
    from mcp.server.mcpserver.exceptions import ToolError

    @functools.wraps(tool)
    async def call(*args: Any, **options: Any) -> Any:
        try:
            return await tool(*args, **options)
        except LuthierError as error:
            raise ToolError(str(error)) from None

    return call


async def inspect(file: str, target: str | None = None) -> dict[str, Any]:
    """Target, kernels with arguments and descriptors, metadata, symbols and sections of a code object, host binary or bundle."""
    return {"inspect": await _json("inspect", file, "--json", *_option("--target", target))}


async def kernels(file: str, target: str | None = None) -> dict[str, Any]:
    """The kernels of a file: names, registers, LDS, scratch, number of arguments, bytes of code."""
    return {"kernels": await _json("kernels", file, "--json", *_option("--target", target))}


async def disassemble(file: str, kernel: str, target: str | None = None) -> dict[str, Any]:
    """A kernel's assembly with basic blocks, branch targets, live registers and source lines."""
    _, text, _ = await _command("disasm", file, "--kernel", kernel, *_option("--target", target))
    return {"text": text[:_MOST], "left_out": max(len(text) - _MOST, 0)}


async def annotate(file: str, kernel: str, results: list[str] | None = None, target: str | None = None) -> dict[str, Any]:
    """A kernel's source lines beside its assembly, with live registers. ``results`` are files that luthier run --json has written: the
    columns of their tools stand beside each instruction."""
    words = ["annotate", file, "--kernel", kernel, "--format", "text", "--color", "never", *_option("--target", target)]
    _, text, _ = await _command(*words, *[word for path in results or () for word in ("--with", path)])
    return {"text": text[:_MOST], "left_out": max(len(text) - _MOST, 0)}


async def run(
    file: str,
    kernel: str,
    blocks: list[int],
    block: list[int],
    args: list[str],
    strict: bool = True,
    tools: list[str] | None = None,
    target: str | None = None,
    schedule: str = "fair",
    lds: int = 0,
) -> dict[str, Any]:
    """Runs a kernel on the mock device. ``blocks`` are workgroups, ``block`` the work-items of one. ``args`` are as of luthier run
    --arg: buf:f32[1000]=zeros|ones|arange|random:SEED|FILE.npy, u32=7, null. ``strict`` looks for races, missing waits, undefined
    values and accesses out of bounds; ``tools`` are instr_count, opcode_hist or files. The result has instructions, findings and
    the tools' results."""
    words = ["run", file, "--kernel", kernel, "--blocks", _sizes(blocks), "--block", _sizes(block), "--schedule", schedule]
    words += [word for arg in args for word in ("--arg", arg)] + [word for tool in tools or () for word in ("--tool", tool)]
    words += ["--lds", str(lds), *_option("--target", target), *(["--strict"] if strict else [])]
    return await _report(*words)


async def judge(file: str, targets: list[str] | None = None) -> dict[str, Any]:
    """Judges a kernel against a reference: a Python file that defines kernel, reference and case (docs/judge.md). The result says for
    each check how often it was made and failed, with the first failures, the error in ulps, and instructions."""
    return await _report("judge", file, *[word for target in targets or () for word in ("--target", target)])


async def replay(file: str, strict: bool = True) -> dict[str, Any]:
    """Runs a recorded launch (luthier capture) again and compares what it leaves."""
    return await _report("replay", file, *(["--strict"] if strict else []))


async def doctor() -> dict[str, Any]:
    """What is installed here, what each part is for, and the command that brings what is missing."""
    return {"parts": await _json("doctor", "--json")}


def _option(name: str, value: str | None) -> list[str]:
    return [] if value is None else [name, value]


def _sizes(sizes: list[int]) -> str:
    return ",".join(map(str, sizes))


async def _json(*words: str) -> Any:
    _, text, _ = await _command(*words)
    return json.loads(text)


async def _report(*words: str) -> dict[str, Any]:
    """The report of a command that writes one, and what it said on standard error."""
    with tempfile.TemporaryDirectory(prefix="luthier-mcp-") as folder:
        path = Path(folder) / "report.json"
        status, _, said = await _command(*words, "--json", str(path))
        return {"status": status, "said": said, "report": json.loads(path.read_text())}


async def _command(*words: str) -> tuple[int, str, str]:
    """Status, standard output and error of a command; a LuthierError with its line where it could not do it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "luthier",
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), _TIMEOUT)
    except asyncio.TimeoutError:
        raise LuthierError(f"luthier {words[0]} took longer than {_TIMEOUT} seconds") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    status = process.returncode or 0
    text = err.decode(errors="replace")
    if status not in (0, 1):
        raise LuthierError(text.strip() or f"luthier {words[0]} ended with status {status}")
    return status, out.decode(errors="replace"), text
