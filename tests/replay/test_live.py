"""A program's launch waits until the next one is asked for, whichever of program and debugger is first."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from luthier.errors import CaseError
from luthier.replay.live import Program


def arrives(program: Program, threads: list[threading.Thread], number: int, case: object) -> None:
    """A launch is recorded, or cannot be, and waits in a thread of its own."""
    program._wanted.case = case
    launch = SimpleNamespace(kernel="k")
    threads.append(threading.Thread(target=program.meet, args=(launch, number, case, lambda: False), daemon=True))
    threads[-1].start()


@pytest.mark.parametrize("program_is_first", [True, False])
def test_each_launch_waits_from_when_it_is_given_until_the_next_is_asked_for(program_is_first):
    program = Program("/bin/true", ["true"], {}, "k")
    threads: list[threading.Thread] = []

    first, second = object(), object()
    if program_is_first:
        arrives(program, threads, 1, first)
        threads[0].join(0.3)
    else:
        threading.Timer(0.3, arrives, (program, threads, 1, first)).start()
    assert program.next() is first
    threads[0].join(0.3)
    assert threads[0].is_alive()
    threading.Timer(0.3, arrives, (program, threads, 2, second)).start()
    assert program.next() is second
    threads[0].join(5)
    threads[1].join(0.3)
    assert not threads[0].is_alive() and threads[1].is_alive()
    program.kill()
    threads[1].join(5)
    assert not threads[1].is_alive()


def test_a_launch_that_cannot_be_recorded_waits_as_well_and_the_next_one_comes():
    program = Program("/bin/true", ["true"], {}, "k")
    threads: list[threading.Thread] = []
    arrives(program, threads, 1, None)
    with pytest.raises(CaseError, match="cannot be recorded"):
        program.next()
    threads[0].join(0.3)
    assert threads[0].is_alive()
    case = object()
    threading.Timer(0.3, arrives, (program, threads, 2, case)).start()
    assert program.next() is case
    threads[0].join(5)
    assert not threads[0].is_alive()
    program.kill()
