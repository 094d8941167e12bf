"""Code objects looked into and changed from Python: fat binaries, target ids, descriptors, metadata, notes."""

from __future__ import annotations

import ctypes
import os

import pytest
from bundles import bundle
from compiled import code_object

import luthier as lt


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> bytes:
    return code_object("vecadd").read_bytes()


def entry(features: str = "", processor: str = "gfx90a") -> str:
    return f"hipv4-amdgcn-amd-amdhsa--{processor}{features}"


def test_target_ids():
    target = lt.TargetId("amdgcn-amd-amdhsa--gfx90a:xnack-:sramecc+")
    assert str(target) == "gfx90a:sramecc+:xnack-" and repr(target) == "TargetId('gfx90a:sramecc+:xnack-')"
    assert (target.processor, target.sramecc, target.xnack) == ("gfx90a", True, False)
    assert target == lt.TargetId(str(target)) and len({target, lt.TargetId(str(target))}) == 1
    assert lt.TargetId("gfx90a:xnack-").runs_on(target) and not lt.TargetId("gfx90a:xnack+").runs_on(target)
    generic = lt.TargetId("gfx9-generic")
    assert generic.is_generic and generic.runs_on(lt.TargetId("gfx906:sramecc+:xnack-")) and not generic.runs_on(target)
    assert lt.TargetId("gfx1036").generic == "gfx10-3-generic" and target.generic is None
    target.check()
    for bad in ("gfx1100:xnack+", "gfx9999"):
        with pytest.raises(lt.ArgumentError, match=bad.split(":")[0]):
            lt.TargetId(bad).check()
    with pytest.raises(lt.ArgumentError, match="sramecc and xnack"):
        lt.TargetId("gfx90a:fast+")


def test_an_entry_is_chosen_by_target_id(data, tmp_path):
    other = code_object("matmul").read_bytes()
    path = tmp_path / "fat"
    path.write_bytes(bundle({"host-x86_64-unknown-linux--": b"", entry(":xnack+"): other, entry(":xnack-"): data}))
    assert lt.CodeObject.open(path, target="gfx90a:xnack-").data == data
    assert lt.CodeObject.open(path, target="gfx90a:sramecc+:xnack+").data == other
    # What is left open is taken as the hardware has it by default.
    assert lt.CodeObject.open(path, target="gfx90a").data == data
    with pytest.raises(lt.LoadError, match="no code object for gfx942"):
        lt.CodeObject.open(path, target="gfx942")
    # The same of a plain code object, which is all that there is to choose.
    assert lt.CodeObject.open(data, target="gfx90a:xnack-").data == data
    with pytest.raises(lt.LoadError, match="no code object for gfx942"):
        lt.CodeObject.open(data, target="gfx942")
    container = lt.Container.open(str(path))
    assert container.read(container.select("gfx90a:xnack-")[0]) == data


def test_ranges_of_files_and_memory(data, tmp_path):
    path = tmp_path / "with space"
    path.write_bytes(b"?" * 100 + data + b"!" * 10)
    uri = f"file://{tmp_path}/with%20space#offset=100&size={len(data)}"
    assert lt.CodeObject.open(uri).data == data
    assert lt.Container.open_range(str(path), 100, len(data)).read(0) == data
    with pytest.raises(lt.LoadError, match="truncated"):
        lt.Container.open_range(str(path), 100, len(data) + 11)
    buffer = ctypes.create_string_buffer(data, len(data))
    address = ctypes.addressof(buffer)
    assert lt.Container.from_memory(address, len(data)).read(0) == data
    assert lt.CodeObject.open(f"memory://{os.getpid()}#offset={address:#x}&size={len(data)}").data == data
    with pytest.raises(lt.LoadError, match="/proc/self/mem"):
        lt.Container.from_memory(0x1000, 64)


def test_a_descriptor_is_changed_and_written_back(data):
    co = lt.CodeObject.open(data)
    before = co.descriptor("vecadd")
    assert len(before.data) == 64 and before.processor == "gfx90a"
    assert before == lt.KernelDescriptor(before.data, "gfx90a")
    assert before.fields["kernarg_size"] == before["kernarg_size"] > 0
    assert before.vgpr_count == (before["granulated_workitem_vgpr_count"] + 1) * 8
    assert (before.wavefront_size, before.reserved_bits) == (64, [])
    assert before.accum_offset == (before["granulated_accum_offset"] + 1) * 4
    after = before.replace(priority=3, group_segment_fixed_size=4096).with_vgpr_count(100)
    assert (after["priority"], after["group_segment_fixed_size"], after.vgpr_count) == (3, 4096, 104)
    assert before["priority"] == 0, "descriptors never change"
    changed = lt.CodeObject.open(co.with_descriptor("vecadd.kd", after).data)
    assert changed.descriptor("vecadd") == after
    place = data.index(before.data)
    assert changed.data == data[:place] + after.data + data[place + 64 :]
    # Taken back, the file is the old one.
    assert changed.with_descriptor("vecadd", before).data == data
    # Unknown bits survive.
    odd = bytearray(before.data)
    odd[30], odd[62] = 0x5A, 0xFF
    odd = lt.KernelDescriptor(bytes(odd), "gfx90a")
    assert odd.reserved_bits == [(30, 0x5A), (62, 0xFF)]
    assert odd.replace(priority=1).replace(priority=0) == odd


def test_impossible_descriptors_are_refused(data):
    descriptor = lt.CodeObject.open(data).descriptor("vecadd")
    for fields, message in (
        ({"priority": 4}, "priority cannot be 4: it holds 0 to 3"),
        ({"priority": -1}, "priority cannot be -1"),
        ({"wgp_mode": 1}, "no field wgp_mode"),
        ({"kernarg_size": 1 << 32}, "kernarg_size cannot be 4294967296"),
    ):
        with pytest.raises(lt.ArgumentError, match=message):
            descriptor.replace(**fields)
    with pytest.raises(lt.ArgumentError, match="64 bytes, not 63"):
        lt.KernelDescriptor(bytes(63), "gfx90a")
    with pytest.raises(lt.ArgumentError, match="sm_90"):
        lt.KernelDescriptor(bytes(64), "sm_90")
    co = lt.CodeObject.open(data)
    with pytest.raises(lt.ArgumentError, match="vecad"):
        co.descriptor("vecad")
    # An entry outside of the code is found when the object is checked again.
    with pytest.raises(lt.LoadError, match="in no executable segment"):
        co.with_descriptor("vecadd", descriptor.replace(kernel_code_entry_byte_offset=1 << 40))


def test_metadata_and_notes(data):
    co = lt.CodeObject.open(data)
    assert co.os_abi == "AMDHSA" and co.runs_on("gfx90a:sramecc+:xnack-") and not co.runs_on("gfx908:sramecc+:xnack-")
    (kernel,) = co.metadata["amdhsa.kernels"]
    assert kernel[".name"] == "vecadd" and kernel[".wavefront_size"] == 64
    assert co.metadata["amdhsa.target"].endswith("gfx90a")
    note = next(n for n in co.notes if n["kind_name"] == "NT_AMDGPU_METADATA")
    assert note["owner"] == "AMDGPU" and note["kind"] == 32 and note["size"] > 100
