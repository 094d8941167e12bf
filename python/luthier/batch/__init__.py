"""The same work over thousands of code objects: ``luthier batch``, and :func:`map` from Python.

A job is a code object (a file, a member of an archive, an entry of a bundle) and what is to be done with it. Each is done in
a process of its own making (:mod:`.isolated`), so that an object that crashes or hangs it is a row with its error and no more.
Threads of this machine or a Dask cluster keep such processes busy (:mod:`.schedule`), and results are a Parquet data set
that a later run completes (:mod:`.results`).
"""

from __future__ import annotations

from .engine import Batch, Progress, Summary, map
from .jobs import Job, Work

__all__ = ["Batch", "Job", "Progress", "Summary", "Work", "map"]
