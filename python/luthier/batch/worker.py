"""``python -m luthier.batch.worker BYTES``: does the jobs that come on standard input, in at most so much memory (0: any)."""

from __future__ import annotations

import ctypes
import os
import pickle
import resource
import signal
import struct
import sys
from typing import Any

_SIZE = struct.Struct("<Q")
_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Until standard input ends."""
    limit = int(sys.argv[1])
    if limit:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _end_with_parent()
    # What a tool prints is not to come between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    asked = sys.stdin.buffer
    from .actions import run

    while head := asked.read(_SIZE.size):
        (size,) = _SIZE.unpack(head)
        job, work = pickle.loads(asked.read(size))
        try:
            answer = _pickled((True, run(job, work)))
        except Exception as error:
            answer = _pickled((False, error))
        except BaseException as error:  # a panic in the native module
            answer = _pickled((False, RuntimeError(f"{type(error).__name__}: {error}")))
        answers.write(_SIZE.pack(len(answer)) + answer)
        answers.flush()


def _end_with_parent() -> None:
    """A batch that is killed takes its workers along, those that hang among them."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _pickled(answer: tuple[bool, Any]) -> bytes:
    is_well, value = answer
    try:
        data = pickle.dumps(answer)
        pickle.loads(data)  # some exceptions can be written and not read
        return data
    except Exception as error:
        what = f"{type(value).__name__}: {value}" if not is_well else f"its result cannot be pickled: {error}"
        return pickle.dumps((False, RuntimeError(what)))


if __name__ == "__main__":
    main()
