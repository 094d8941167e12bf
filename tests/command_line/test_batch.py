"""luthier batch: folders, wheels and archives; objects that crash or hang their worker; runs that are stopped and completed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import cli
import compiled
import pyarrow.parquet as parquet
import pytest
from bundles import bundle

import luthier as lt
from luthier.batch import map as batch_map
from luthier.batch.jobs import Job, candidates
from luthier.batch.results import Results

KERNELS = ("vecadd", "saxpy", "reduce")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Three code objects for two targets, a wheel and a tar archive with one each, a damaged object, and files that are none."""
    made = tmp_path_factory.mktemp("objects")
    for name in KERNELS:
        for target in ("gfx90a", "gfx1100"):
            (made / target).mkdir(exist_ok=True)
            shutil.copy(compiled.code_object(name, target=target), made / target / f"{name}.hsaco")
    with zipfile.ZipFile(made / "some-1.0-py3-none-any.whl", "w") as archive:
        archive.write(compiled.code_object("vecadd"), "some/kernels/vecadd.hsaco")
        archive.writestr("some/__init__.py", "x = 1\n")
    with tarfile.open(made / "some.tar.gz", "w:gz") as archive:
        archive.add(compiled.code_object("saxpy"), "kernels/saxpy.hsaco")
    data = bytearray(compiled.code_object("vecadd").read_bytes())
    (made / "damaged.hsaco").write_bytes(data[: len(data) // 2])
    (made / "README").write_text("nothing\n")
    (made / "empty").write_text("")
    return made


def _table(out: Path, name: str):
    results = Results.__new__(Results)
    results.folder = out
    return results.table(name)


def _same(table) -> list[dict]:
    """Rows without what differs from run to run."""
    names = [n for n in table.column_names if not n.endswith("seconds") and n != "tries"]
    return table.select(names).to_pylist()


def test_every_kernel_of_folders_wheels_and_archives_has_a_row(folder, tmp_path):
    done = cli.luthier("batch", "count", folder, "--out", tmp_path / "out", "--workers", "2")
    assert done.returncode == 1 and "9 code objects" in done.stdout and "1 errors" in done.stdout, (done.stdout, done.stderr)
    kernels = _table(tmp_path / "out", "kernels").to_pylist()
    places = {(Path(row["path"]).name, row["member"]) for row in kernels}
    assert ("some-1.0-py3-none-any.whl", "some/kernels/vecadd.hsaco") in places and (
        "some.tar.gz",
        "kernels/saxpy.hsaco",
    ) in places
    assert len([row for row in kernels if row["kernel"] == "vecadd"]) == 3
    for row in kernels:
        path = row["path"] if not row["member"] else compiled.code_object(row["kernel"])
        kernel = lt.CodeObject.open(path).kernel(row["kernel"])
        assert row["instructions"] == len(kernel.instructions) == sum(dict(row["operations"]).values())
        assert row["store"] == sum(i.is_store for i in kernel.instructions)
    (bad,) = [row for row in _table(tmp_path / "out", "objects").to_pylist() if row["error"] is not None]
    assert bad["path"].endswith("damaged.hsaco") and bad["error_kind"] == "LoadError"


def test_a_second_run_does_nothing_again_and_another_batch_is_refused(folder, tmp_path):
    out = tmp_path / "out"
    cli.luthier("batch", "lift", folder, "--out", out)
    before = _same(_table(out, "objects"))
    again = cli.luthier("batch", "lift", folder, "--out", out)
    assert "0 code objects" in again.stdout and "9 done before" in again.stdout
    assert _same(_table(out, "objects")) == before
    assert "holds another batch (action)" in cli.fails("batch", "count", folder, "--out", out)
    # A row that is an error is done again if that is wanted.
    assert "1 code objects" in cli.luthier("batch", "lift", folder, "--out", out, "--redo-errors").stdout


def test_limits_samples_and_patterns(folder, tmp_path):
    def rows(*options):
        out = tmp_path / str(len(list(tmp_path.iterdir())))
        cli.luthier("batch", "lift", folder / "gfx90a", folder / "gfx1100", "--out", out, *options)
        return [(Path(r["path"]).parent.name, Path(r["path"]).stem) for r in _table(out, "objects").to_pylist()]

    assert len(rows("--limit", "2")) == 2
    assert rows("--sample", "3:7") == rows("--sample", "3:7") and len(rows("--sample", "3:7")) == 3
    assert {target for target, _ in rows("--target", "gfx11*")} == {"gfx1100"}
    assert "no such file" in cli.fails("batch", "lift", tmp_path / "none", "--out", tmp_path / "x")
    assert "needs a tool" in cli.fails("batch", "instrument", folder, "--out", tmp_path / "x")


def test_instrumented_objects_are_kept_and_run(folder, tmp_path):
    out = tmp_path / "out"
    done = cli.luthier("batch", "instrument", folder / "gfx90a/vecadd.hsaco", "--tool", "instr_count", "--write", "--out", out)
    assert done.returncode == 0, done.stderr
    (row,) = _table(out, "objects").to_pylist()
    assert row["points"] > 0 and row["rejected"] == 0
    (written,) = (out / "instrumented").iterdir()
    assert lt.CodeObject.open(written).instrumented
    (kernel,) = _table(out, "kernels").to_pylist()
    assert kernel["sgprs_after"] >= kernel["sgprs_before"] > 0


def test_kernels_run_with_the_launches_of_a_file(folder, tmp_path):
    launches = tmp_path / "launches.py"
    launches.write_text(
        "import numpy as np\n"
        "def launch(kernel):\n"
        "    if kernel.name != 'vecadd':\n"
        "        return None\n"
        "    n = 60 if 'gfx11' in kernel.code_object.target else 64\n"
        "    return dict(blocks=1, block=64, args=[np.ones(64, 'f4'), np.ones(64, 'f4'), np.zeros(n, 'f4'), np.uint32(64)])\n"
    )
    out = tmp_path / "out"
    words = ["batch", "run", folder / "gfx90a", folder / "gfx1100", "--launches", launches, "--out", out]
    assert cli.luthier(*words).returncode == 0
    rows = {row["target"][:7]: row for row in _table(out, "kernels").to_pylist() if row["ran"]}
    assert rows["gfx90a"[:7]]["findings"] == 0 and rows["gfx90a"]["instructions"] > 0
    assert rows["gfx1100"]["kinds"] == "out-of-bounds"


#: A tool that crashes, hangs, grows, or prints, by the name of the kernel.
HOSTILE = """
import os, signal, sys, time
import luthier as lt
class Hostile(lt.Tool):
    def on_kernel(self, kernel):
        where = os.path.basename(kernel.code_object.path)
        print("noise on standard output")
        if "crash" in where:
            os.kill(os.getpid(), signal.SIGSEGV)
        if "hang" in where:
            time.sleep(1000)
        if "huge" in where:
            self.much = bytearray(8 << 30)
        if "raise" in where:
            raise ValueError("a mistake in a tool")
        if "slow" in where:
            time.sleep(0.2)
"""


def _hostile(folder: Path) -> Path:
    for name in ("good1", "crash", "hang", "good2", "huge", "raise", "good3"):
        shutil.copy(compiled.code_object("vecadd"), folder / f"{name}.hsaco")
    (folder / "hostile.py").write_text(HOSTILE)
    return folder / "hostile.py"


def test_an_object_that_crashes_hangs_or_grows_is_a_row_with_its_error(tmp_path):
    tool, out = _hostile(tmp_path), tmp_path / "out"
    words = [
        "batch",
        "instrument",
        tmp_path,
        "--tool",
        tool,
        "--out",
        out,
        "--timeout",
        "5",
        "--memory",
        "6000",
        "--workers",
        "2",
        "--part",
        "2",
    ]
    begun = time.monotonic()
    done = cli.luthier(*words)
    assert done.returncode == 1 and "4 errors" in done.stdout, (done.stdout, done.stderr)
    assert time.monotonic() - begun < 60
    rows = {Path(row["path"]).stem: row for row in _table(out, "objects").to_pylist()}
    # Parts have the same columns, whatever is in them.
    schemas = {str(parquet.read_schema(part).field("error_kind").type) for part in (out / "objects").iterdir()}
    assert len(list((out / "objects").iterdir())) == 4 and schemas == {"string"}
    assert len(rows) == 7 and all(rows[f"good{n}"]["error"] is None for n in (1, 2, 3))
    assert "SIGSEGV" in rows["crash"]["error"] and rows["crash"]["tries"] == 2
    assert "longer than 5 seconds" in rows["hang"]["error"] and rows["hang"]["error_kind"] == "Lost"
    assert rows["huge"]["error_kind"] == "MemoryError"
    assert (rows["raise"]["error_kind"], rows["raise"]["error"], rows["raise"]["tries"]) == (
        "ValueError",
        "a mistake in a tool",
        1,
    )


def test_a_batch_that_is_killed_is_completed_to_the_same_table(tmp_path):
    source = tmp_path / "objects"
    source.mkdir()
    for number in range(40):
        shutil.copy(compiled.code_object("vecadd"), source / f"slow{number:02}.hsaco")
    tool = tmp_path / "hostile.py"
    tool.write_text(HOSTILE)
    words = [sys.executable, "-m", "luthier", "batch", "instrument", str(source), "--tool", str(tool), "--workers", "2"]
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    assert subprocess.run([*words, "--out", str(whole)], capture_output=True).returncode == 0
    process = subprocess.Popen([*words, "--part", "5", "--out", str(stopped)], start_new_session=True, stdout=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while len(list((stopped / "objects").glob("part-*"))) < 2 and time.monotonic() < until:
        time.sleep(0.02)
    workers = [int(pid) for pid in _children(process.pid)]
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)  # a worker alone: its job is tried again
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pid in workers:
        _wait_for_end(pid)
    (stopped / "kernels/part-000099.parquet").write_bytes(b"unfinished")
    done = subprocess.run([*words, "--out", str(stopped)], capture_output=True, text=True)
    assert done.returncode == 0 and "done before" in done.stdout, (done.stdout, done.stderr)
    for name in ("objects", "kernels"):
        assert _same(_table(stopped, name)) == _same(_table(whole, name))


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split() or [
        child for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]


def _wait_for_end(pid: int) -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] == "Z":
                return
        except OSError:
            return
        time.sleep(0.05)
    raise AssertionError(f"worker {pid} goes on without its batch")


def test_a_dask_cluster_gives_the_same_table(folder, tmp_path):
    distributed = pytest.importorskip("distributed", reason="DASK IS MISSING: make setup brings it")
    here, there = tmp_path / "here", tmp_path / "there"
    cli.luthier("batch", "count", folder, "--out", here)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        done = cli.luthier("batch", "count", folder, "--out", there, "--scheduler", cluster.scheduler_address)
        assert done.returncode == 1 and "9 code objects" in done.stdout, (done.stdout, done.stderr)
        hostile = tmp_path / "hostile"
        hostile.mkdir()
        tool = _hostile(hostile)
        words = ["batch", "instrument", hostile, "--tool", tool, "--timeout", "3", "--memory", "6000", "--retries", "0"]
        done = cli.luthier(*words, "--out", tmp_path / "out", "--scheduler", cluster.scheduler_address)
        assert done.returncode == 1 and "7 code objects" in done.stdout and "4 errors" in done.stdout, (done.stdout, done.stderr)
    for name in ("objects", "kernels"):
        assert _same(_table(there, name)) == _same(_table(here, name))
    assert "--scheduler" in cli.fails("batch", "count", folder, "--out", tmp_path / "x", "--scheduler", "tcp://127.0.0.1:1")


def test_map_calls_a_function_with_each_code_object(folder):
    def kernels(code_object):
        if code_object.processor == "gfx1100":
            raise ValueError("not this one")
        return [kernel.name for kernel in code_object.kernels]

    found = list(batch_map(kernels, folder, workers=2))
    assert len(found) == 9
    good = {(Path(job.path).name, tuple(names)) for job, names, error in found if error is None}
    assert ("vecadd.hsaco", ("vecadd",)) in good and ("some.tar.gz", ("saxpy",)) in good
    errors = [str(error) for _, _, error in found if error is not None]
    assert errors.count("not this one") == 3 and all(isinstance(error, lt.LuthierError) for _, _, error in found if error)
    with pytest.raises(lt.ArgumentError, match="no such file"):
        batch_map(kernels, "/does/not/exist")
    with pytest.raises(lt.ArgumentError, match="cannot be pickled"):
        lock = __import__("threading").Lock()
        batch_map(lambda code_object: lock, folder)


def test_bundles_and_damaged_archives(tmp_path):
    program = tmp_path / "some.hipfb"
    entries = {
        f"hipv4-amdgcn-amd-amdhsa--{t}": compiled.code_object("vecadd", target=t).read_bytes() for t in ("gfx90a", "gfx1100")
    }
    program.write_bytes(bundle({"host-x86_64-unknown-linux--": b"", **entries}))
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.write(compiled.code_object("vecadd"), "vecadd.hsaco")
    data = bytearray((tmp_path / "bad.zip").read_bytes())
    data[60:200] = bytes(140)
    (tmp_path / "bad.zip").write_bytes(data)
    jobs = list(candidates([tmp_path]))
    assert Job(str(program)) in jobs
    found = list(batch_map(lambda code_object: len(code_object.kernels), tmp_path, workers=1))
    assert [value for job, value, _ in found if job.path == str(program)] == [1, 1]
    ((_, _, error),) = [one for one in found if one[0].path.endswith("bad.zip")]
    assert error is not None


def test_the_folder_says_what_the_batch_was(folder, tmp_path):
    cli.luthier("batch", "lift", folder, "--out", tmp_path / "out", "--limit", "1")
    told = json.loads((tmp_path / "out/batch.json").read_text())
    assert told["action"] == "lift" and told["luthier-batch"] == 1
    for part in (tmp_path / "out/objects").iterdir():
        assert parquet.read_metadata(part).num_rows >= 1


def test_check_names_loads_that_nothing_waits_for(folder, tmp_path):
    import struct

    from waits import S_NOP, waits_of

    (tmp_path / "objects").mkdir()
    path = folder / "gfx90a/vecadd.hsaco"
    data, code = bytearray(path.read_bytes()), lt.CodeObject.open(path)
    shutil.copy(path, tmp_path / "objects/good.hsaco")
    struct.pack_into("<I", data, max(waits_of(code)), S_NOP)
    (tmp_path / "objects/bad.hsaco").write_bytes(data)
    done = cli.luthier("batch", "check", tmp_path / "objects", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    kernels = {Path(row["path"]).stem: row for row in _table(tmp_path / "out", "kernels").to_pylist()}
    assert (kernels["good"]["missing_waits"], kernels["good"]["first_missing_wait"]) == (0, None)
    assert kernels["bad"]["missing_waits"] >= 1 and "before the load at 0x" in kernels["bad"]["first_missing_wait"]
    assert [(k["missing_hazards"], k["first_missing_hazard"]) for k in kernels.values()] == [(0, None)] * 2
    objects = {Path(row["path"]).stem: row["missing_waits"] for row in _table(tmp_path / "out", "objects").to_pylist()}
    assert objects["good"] == 0 < objects["bad"]


def test_check_names_instructions_that_come_too_early(tmp_path):
    text = """__asm__ volatile("v_mov_b32 v20, v21\\nv_readlane_b32 s20, v20, 0" ::: "v20", "s20");"""
    path = compiled.build("KERNEL early(u32 *out) { " + text + " out[0] = 1; }", "gfx942")
    shutil.copy(path, tmp_path / "early.hsaco")
    done = cli.luthier("batch", "check", tmp_path / "early.hsaco", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    (kernel,) = _table(tmp_path / "out", "kernels").to_pylist()
    assert kernel["missing_hazards"] == 1 and kernel["missing_waits"] == 0
    assert re.fullmatch(
        r"v_readlane_b32 s20, v20, 0 at 0x.* 1 more wait state .* \(valu-vgpr-readlane\)", kernel["first_missing_hazard"]
    )
    (row,) = _table(tmp_path / "out", "objects").to_pylist()
    assert row["missing_hazards"] == 1
