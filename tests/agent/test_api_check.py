"""Memory that a program keeps, frees that are wrong, and calls that fail are told, and nothing else is."""

from __future__ import annotations

import importlib
import re

import rocm
from cli import luthier

import luthier as lt
from luthier.tools import BUILTIN, HEAR_HIP, load


def checked(program, *arguments: str, options: str = "") -> tuple[dict, str]:
    done = lt.trace([program, *arguments], [f"api_check{options}"], mock="gfx90a", capture=True)
    assert done.status == 0, done.stderr
    (told,) = [told for told in done.results("api_check") if told]
    return told, done.stdout or ""


def test_each_mistake_is_told_once_and_by_its_address():
    rocm.need("hipcc")
    told, said = checked(rocm.hip("wrong_calls"))
    at = dict(re.findall(r"(\w+) (0x[0-9a-f]+)", said))
    assert [(leak["function"], leak["bytes"], leak["address"]) for leak in told["leaks"]] == [
        ("hipMallocManaged", 5000, at["managed"]),
        ("hipMalloc", 1000, at["kept"]),
    ]
    assert [(free["address"], free["why"]) for free in told["invalid frees"]] == [
        (at["twice"], "freed before"),
        (at["inside"], "inside of other memory"),
        ("0x1234500", "never allocated"),
    ]
    failed = [(call["function"], call["error"], call["asked"]) for call in told["failed"]]
    # What fails behind the last question is not asked about.
    assert failed == [
        ("hipFree", "hipErrorInvalidValue", True),
        ("hipFree", "hipErrorInvalidValue", True),
        ("hipMemcpy", "hipErrorInvalidValue", True),
        ("hipSetDevice", "hipErrorInvalidDevice", False),
    ]
    assert sorted({call["call"] for call in told["failed"]}) == [call["call"] for call in told["failed"]]
    assert 15 < told["calls"] < 40
    # Each in its line of the source, which HIP's and the agent's own frames are not.
    source = (rocm.SOURCES / "wrong_calls.hip").read_text().splitlines()

    def line(text: str, nth: int = 0) -> str:
        return f"wrong_calls.hip:{[i for i, words in enumerate(source, 1) if text in words][nth]} in main"

    assert [leak["site"] for leak in told["leaks"]] == [line("hipMallocManaged("), line("hipMalloc(&kept")]
    assert [free["site"] for free in told["invalid frees"]] == [
        line("hipFree(twice)", 1),
        line("whole + 512)", 1),
        line("0x1234500"),
    ]
    assert [call["site"] for call in told["failed"][2:]] == [line("hipMemcpy("), line("hipSetDevice(")]
    assert all(leak["site"] in leak["stack"] for leak in told["leaks"])


def test_failures_that_are_no_news_are_left_out():
    rocm.need("hipcc")
    told, _ = checked(rocm.hip("wrong_calls"), options=":quiet=hipFree*+hipSetDevice")
    assert [call["function"] for call in told["failed"]] == ["hipMemcpy"] and len(told["invalid frees"]) == 3


def test_nothing_is_told_of_a_program_that_is_right():
    rocm.need("hipcc")
    told, _ = checked(rocm.hip("memory"), "pitched")
    assert told["invalid frees"] == told["failed"] == [] and told["calls"] > 0


def test_tools_that_hear_of_hip_hear_of_it_by_their_names_alone_too():
    """The command knows which of its own tools need the agent in front of HIP, without importing them."""
    rocm.need("hipcc")
    classes = {name: getattr(importlib.import_module(f"luthier.tools.{name}"), BUILTIN[name]) for name in BUILTIN}
    hearing = [name for name, cls in classes.items() if cls.on_hip is not lt.Tool.on_hip]
    assert sorted(HEAR_HIP) == sorted(hearing)
    done = luthier("trace", "--mock", "gfx90a", "--tool", "api_check", "--", rocm.hip("wrong_calls"))
    assert done.returncode == 0 and re.search(r"hipMallocManaged +1 +5,000", done.stderr), done.stderr
    done = luthier("trace", "--mock", "gfx90a", "--tool", "launches", "--", rocm.hip("kernels"), "lds")
    assert re.search(r"^ hipLaunchKernel ", done.stderr, re.MULTILINE), done.stderr


def test_that_nothing_was_heard_is_said():
    tool, report = load("api_check"), lt.Report("api_check")
    tool.on_start(None)
    tool.on_exit(report)
    assert [table.rows for table in report.tables] == [[("no call of HIP was heard of: nothing was checked",)]]
