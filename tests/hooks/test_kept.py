"""Compiled hooks are kept in a folder, where that is safe."""

from __future__ import annotations

import os

import cli
import compiled

from luthier.agent.warm import processors


def instrument(folder, out, **variables):
    environment = {name: value for name, value in os.environ.items() if name not in ("LUTHIER_CACHE", "XDG_CACHE_HOME")}
    words = ("instrument", compiled.code_object("vecadd"), "--tool", "instr_count", "-o", out)
    return cli.luthier(*words, env={**environment, "HOME": str(folder), **variables})


def written(folder):
    return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.iterdir()}


def test_a_hook_is_compiled_once_for_all_processes_and_is_the_same(tmp_path):
    outs = [tmp_path / name for name in ("first", "second", "without", "damaged")]
    assert instrument(tmp_path, outs[0]).returncode == 0
    folder = tmp_path / ".cache/luthier"
    kept = written(folder)
    assert kept and folder.stat().st_mode & 0o777 == 0o700
    assert instrument(tmp_path, outs[1]).returncode == 0 and written(folder) == kept
    assert instrument(tmp_path, outs[2], LUTHIER_CACHE="off").returncode == 0 and written(folder) == kept
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    assert instrument(tmp_path, outs[3]).returncode == 0
    assert {name: data for name, (_, data) in written(folder).items()} == {name: data for name, (_, data) in kept.items()}
    assert len({out.read_bytes() for out in outs}) == 1


def test_the_folder_is_where_the_environment_says(tmp_path):
    for variables in ({"LUTHIER_CACHE": str(tmp_path / "mine")}, {"XDG_CACHE_HOME": str(tmp_path / "caches")}):
        assert instrument(tmp_path, tmp_path / "out", **variables).returncode == 0
    assert list((tmp_path / "mine").iterdir()) and list((tmp_path / "caches/luthier").iterdir())
    assert not (tmp_path / ".cache").exists()


def test_a_folder_that_others_may_write_to_is_refused_if_it_is_named_and_left_alone_if_not(tmp_path):
    folder = tmp_path / ".cache/luthier"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    done = instrument(tmp_path, tmp_path / "out", LUTHIER_CACHE=str(folder))
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "others may write to it" in done.stderr
    assert not (tmp_path / "out").exists()
    assert instrument(tmp_path, tmp_path / "out").returncode == 0 and not written(folder)


def test_a_folder_that_cannot_be_made_is_refused_if_it_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    done = instrument(tmp_path, tmp_path / "out", LUTHIER_CACHE=str(tmp_path / "file/cache"))
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "not a directory" in done.stderr
    assert instrument(tmp_path / "file", tmp_path / "out").returncode == 0


def test_the_machines_processors_are_those_that_linux_lists(tmp_path):
    for number, version in (("0", 0), ("1", 90010), ("2", 110001), ("3", 90402)):
        node = tmp_path / "topology" / number
        node.mkdir(parents=True)
        (node / "properties").write_text(f"cpu_cores_count 8\ngfx_target_version {version}\nvendor_id 4098\n")
    (tmp_path / "topology/4").mkdir()
    assert processors({}, str(tmp_path / "topology")) == {"gfx90a", "gfx1101", "gfx942"}
    assert processors({"LUTHIER_MOCK": "gfx1030,2"}, str(tmp_path / "topology")) == {"gfx1030"}
    assert processors({}, str(tmp_path / "none")) == set()
