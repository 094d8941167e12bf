"""Programs without code for the GPU. HIP 5 says so itself; HIP 7 ends by SIGSEGV, and Luthier says why."""

from __future__ import annotations

import re
import sys

import pytest
import rocm

import luthier as lt


@pytest.fixture(scope="module", autouse=True)
def runtime():
    rocm.need_rocm7()


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("luthier")]


def explained(program, has: str, wants: str) -> str:
    return rf"luthier: SIGSEGV in \S+/libamdhip64\.so\.7\S*, called by {program}, which has code for {has} and none for {wants}"


# Targets with features, and which of them the line says.
MISSING = [
    (("gfx90a",), "gfx942", "gfx90a", r"gfx942:sramecc\+:xnack-"),
    (("gfx90a", "gfx1030"), "gfx1201", "gfx1030, gfx90a", "gfx1201"),
    (("gfx942:xnack+",), "gfx942", r"gfx942:xnack\+", r"gfx942:sramecc\+:xnack-"),
    (("gfx11-generic",), "gfx1030", "gfx11-generic", "gfx1030"),
]


@pytest.mark.parametrize("built, target, has, wants", MISSING)
def test_what_a_program_has_code_for_is_said_where_hip_crashes(built, target, has, wants):
    program = rocm.hip7("no_code", built)
    done = rocm.mock(program, "one_launch", target=target)
    assert done.returncode == -11
    [line] = lines(done.stderr)
    assert re.fullmatch(explained(program, has, wants), line), line


@pytest.mark.parametrize("built", [("gfx90a", "gfx1100"), ("gfx11-generic",)])
def test_nothing_is_said_where_there_is_code(built):
    done = rocm.mock(rocm.hip7("no_code", built), "one_launch", target="gfx1100")
    assert done.returncode == 0 and not lines(done.stderr), done.stderr


@pytest.mark.parametrize("how", [{"options": ("--strict",)}, {"options": ("--tool", "instr_count", "--json", "/dev/null")}])
def test_it_is_said_in_strict_mode_and_under_tools(how):
    program = rocm.hip7("no_code")
    done = rocm.mock(program, "one_launch", target="gfx942", **how)
    assert done.returncode == -11
    assert re.search(explained(program, "gfx90a", r"gfx942:sramecc\+:xnack-") + "\n", done.stderr), done.stderr


def test_it_is_said_from_python():
    program = rocm.hip7("no_code")
    done = lt.trace([program, "one_launch"], strict=True, mock="gfx942", env=rocm.ENVIRONMENT, capture=True)
    assert done.status == -11
    assert re.search(explained(program, "gfx90a", r"gfx942:sramecc\+:xnack-") + "\n", done.stderr), done.stderr


def test_a_handler_of_the_programs_is_called_after_it():
    done = rocm.mock(rocm.hip7("no_code"), "handled", target="gfx942")
    assert (done.returncode, done.stdout) == (9, "the program's own handler\n")
    assert len(lines(done.stderr)) == 1


def test_a_handler_that_the_program_sets_later_stands():
    done = rocm.mock(rocm.hip7("no_code"), "handled_later", target="gfx942")
    assert (done.returncode, done.stdout, lines(done.stderr)) == (9, "the program's own handler\n", [])


@pytest.mark.parametrize("case", ["own_fault", "sent"])
def test_other_ends_by_that_signal_are_as_they_are(case):
    done = rocm.mock(rocm.hip7("no_code"), case, target="gfx942")
    assert done.returncode == -11 and not lines(done.stderr), done.stderr


def test_a_child_ends_by_a_fault_of_its_own():
    done = rocm.mock(rocm.hip7("no_code"), "forked", target="gfx942")
    assert done.returncode == 0 and not lines(done.stderr), done.stderr


LIBRARY = r"""
import ctypes, faulthandler, sys
faulthandler.enable()
program = ctypes.CDLL(sys.argv[1])
program.launches()
"""


def test_a_librarys_missing_code_is_said_of_the_library():
    """Of what a Python program has loaded; its interpreter has no code for GPUs."""
    library = rocm.hip7("no_code_library", shared=True)
    done = rocm.mock(sys.executable, "-c", LIBRARY, library, target="gfx942", options=("--rocm", "7"))
    assert done.returncode == -11 and "Segmentation fault" in done.stderr
    [line] = lines(done.stderr)
    assert re.fullmatch(explained(library, "gfx90a", r"gfx942:sramecc\+:xnack-"), line), line


def test_older_hip_says_so_itself():
    if rocm.RUNTIME == "7":
        pytest.skip("this is about HIP 5.2.3, and LUTHIER_TEST_ROCM=7 runs programs on 7.2.4")
    rocm.need("hipcc")
    done = rocm.mock(rocm.hip("no_code"), "one_launch", target="gfx1030")
    assert done.returncode == -6 and "hipErrorNoBinaryForGpu" in done.stderr and not lines(done.stderr), done.stderr
