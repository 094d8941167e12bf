"""Metadata in which a kernel's argument lacks what a launch needs: it is inspected as it is, and refused where it is needed."""

from __future__ import annotations

import compiled
import numpy as np
import pytest
from cli import fails, succeeds

import luthier as lt


@pytest.fixture(params=[b".offset", b".size", b".value_kind"], ids=lambda key: key.decode())
def gap(request, tmp_path):
    """An object whose arguments have no such key, but another that no loader knows, and the key's name."""
    key = request.param
    data = compiled.code_object("vecadd").read_bytes()
    damaged = data.replace(bytes([0xA0 | len(key)]) + key, bytes([0xA0 | len(key)]) + b"." + b"x" * (len(key) - 1))
    assert damaged != data
    path = tmp_path / "gap.hsaco"
    path.write_bytes(damaged)
    return path, key.decode()


def test_what_lacks_is_shown_as_unknown(gap):
    path, _ = gap
    assert "?" in succeeds("inspect", path)
    succeeds("inspect", path, "--json")
    succeeds("disasm", path)


def test_a_launch_says_what_lacks(gap):
    path, key = gap
    arrays = [np.zeros(64, np.float32) for _ in "abc"]
    with pytest.raises(lt.ArgumentError, match=f"kernel vecadd: the metadata's argument 0 has no {key}"):
        lt.Device("gfx90a").run(path, "vecadd", grid=64, block=64, args=[*arrays, np.uint32(64)])
    run = ["--kernel", "vecadd", "--grid", "64", "--block", "64", "--arg", "null"]
    assert f"argument 0 has no {key}" in fails("run", path, *run)
