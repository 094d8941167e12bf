"""luthier mcp, spoken to by the SDK's own client."""

from __future__ import annotations

import asyncio
import json
import sys

import cli
import compiled
import planted
import pytest

mcp = pytest.importorskip("mcp", reason="THE MCP SDK IS MISSING: make setup brings it")


def _talk(*calls: tuple[str, dict]) -> tuple[set[str], list]:
    """The names of the tools, and what each call gives."""
    from mcp.client.stdio import StdioServerParameters, stdio_client

    async def talk():
        server = StdioServerParameters(command=sys.executable, args=["-m", "luthier", "mcp"])
        async with stdio_client(server) as (read, write), mcp.ClientSession(read, write) as session:
            await session.initialize()
            names = {tool.name for tool in (await session.list_tools()).tools}
            return names, [await session.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(asyncio.wait_for(talk(), 120))


def _content(result) -> dict:
    assert not result.is_error, result
    return json.loads(result.content[0].text)


def test_an_assistant_reads_runs_and_judges_kernels():
    vecadd = str(compiled.code_object("vecadd"))
    args = ["buf:f32[64]=arange", "buf:f32[64]=ones", "buf:f32[64]=zeros", "u32=64"]
    launch = {"file": vecadd, "kernel": "vecadd", "blocks": [1], "block": [64], "args": args, "tools": ["instr_count"]}
    wrong = {
        "file": str(planted.build("past_end")),
        "kernel": "planted",
        "blocks": [1],
        "block": [128],
        "args": ["buf:u32[128]=zeros"],
    }
    names, results = _talk(
        ("kernels", {"file": vecadd}),
        ("disassemble", {"file": vecadd, "kernel": "vecadd"}),
        ("run", launch),
        ("run", wrong),
        ("run", {**launch, "kernel": "none"}),
        ("inspect", {"file": vecadd}),
        ("annotate", {"file": str(compiled.code_object("vecadd", flags=("-g",))), "kernel": "vecadd"}),
    )
    assert names == {"inspect", "kernels", "disassemble", "annotate", "run", "judge", "replay", "doctor"}
    found, text, good, bad, none, inspected, annotated = results
    assert "vecadd.hip:" in _content(annotated)["text"] and "global_load_dword" in _content(annotated)["text"]
    assert [kernel["name"] for kernel in _content(found)["kernels"]] == ["vecadd"]
    assert "global_load_dword" in _content(text)["text"]
    report = _content(good)["report"]
    assert report["tools"]["instr_count"]["instructions"] == report["emulator"]["app_instructions"] > 0
    assert _content(bad)["status"] == 1 and "out-of-bounds" in _content(bad)["said"]
    assert none.is_error and "none" in none.content[0].text and "Traceback" not in none.content[0].text
    assert _content(inspected)["inspect"] == json.loads(cli.succeeds("inspect", vecadd, "--json"))
