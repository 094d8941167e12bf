"""Code as it is loaded, with the ELF file as a hint: lifted, instrumented and run out of a mock loader, out of memory, and
without sections."""

from __future__ import annotations

import ctypes
import struct
import subprocess
import sys

import compiled
import numpy as np
import pytest

import luthier as lt

TARGETS = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250")
SOURCE = """
CONSTANT u32 table[4] = {10, 20, 30, 40};
GLOBAL_VARIABLE u32 total = 5;
static NOINLINE u32 helper(u32 x) { return table[x & 3] + total; }
KERNEL work(u32 *p) { u32 i = global_x(); p[i] = helper(p[i]); __atomic_fetch_add(&total, 0, __ATOMIC_RELAXED); }
"""
OTHER = "GLOBAL_VARIABLE u32 elsewhere = 3; KERNEL other(u32 *p) { p[global_x()] = elsewhere; }"
VALUES = np.arange(64, dtype=np.uint32)
EXPECTED = np.array([10, 20, 30, 40], np.uint32)[VALUES & 3] + 5


class Lanes(lt.Tool):
    lanes = lt.DeviceArray(lt.u64, 1)

    @lt.hook
    def add(lanes: lt.ptr[lt.u64]):
        lt.wave_atomic_add(lanes, lt.active_lanes())

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.add, self.lanes)

    def on_exit(self, report):
        report.result = self.lanes[0]


def run(module, kernel="work", **more) -> tuple[np.ndarray, lt.RunResult]:
    array = VALUES.copy()
    return array, module.run(kernel, grid=64, block=64, args=[array], strict=["out-of-bounds", "missing-wait"], **more)


@pytest.mark.parametrize("target", TARGETS)
def test_kernels_of_a_finalized_loader_are_instrumented(target):
    with lt.MockLoader(target) as loader:
        for source in (OTHER, SOURCE):
            loader.load(compiled.build(source, target))
    plain, before = run(lt.Device(target).load(loader))
    assert (plain == EXPECTED).all()
    counts, lanes = lt.tools.load("instr_count"), Lanes()
    linked = lt.Device(target).load(loader, tools=[counts, lanes], check=True)
    array, result = run(linked)
    assert (array == EXPECTED).all() and result.findings == []
    assert result.app_instructions == before.instructions < result.instructions
    assert int(counts.count) == before.instructions and lanes.lanes[0] == 64
    array, result = run(linked, variant="original")
    assert (array == EXPECTED).all() and result.instructions == before.instructions and lanes.lanes[0] == 64
    array, result = run(linked, "other")
    assert (array == 3).all() and lanes.lanes[0] == 128, "one tool over both objects"
    assert [report.result for report in linked.reports()] == [result.tools["instr_count"], 128]


def test_only_the_named_kernels_of_a_loader_are_instrumented():
    with lt.MockLoader("gfx90a") as loader:
        for source in (OTHER, SOURCE):
            loader.load(compiled.build(source, "gfx90a"))
    lanes = Lanes()
    linked = lt.Device("gfx90a").load(loader, tools=[lanes], kernels=["other"])
    run(linked)
    assert lanes.lanes[0] == 0 and run(linked, "other")[1].variant == "full" and lanes.lanes[0] == 64
    with pytest.raises(lt.ArgumentError, match="none of the loader's objects has a kernel nope"):
        lt.Device("gfx90a").load(loader, tools=[Lanes()], kernels=["nope"])


def test_what_was_written_into_loaded_code_is_what_is_lifted_and_runs():
    path = compiled.build(OTHER.replace("global_x", "local_x"), "gfx90a")
    with lt.MockLoader("gfx90a") as loader:
        (loaded,) = loader.load(path)
    code = lt.CodeObject.open(path)
    [load] = [i for i in code.kernel("other").instructions if i.mnemonic == "s_load_dword"]
    [store] = [i for i in code.kernel("other").instructions if i.is_store]
    # s_mov_b32 of a literal in the place of the load, over the same 8 bytes.
    register = int(str(load.writes[0]).removeprefix("s"))
    loader.memory.write(loaded.base + load.address, struct.pack("<II", 0xBE8000FF | register << 16, 77))
    found = lt.CodeObject.from_memory(loaded)
    assert [i.mnemonic for i in found.kernel("other").instructions].count("s_mov_b32") == 1
    assert found.kernel("other").functions[0].name == "other" and store.text in found.disasm("other")
    lanes = Lanes()
    array, result = run(lt.Device("gfx90a").load(loader, tools=[lanes]), "other")
    assert (array == 77).all() and lanes.lanes[0] == 64
    array, result = run(lt.Device("gfx90a").load(lt.instrument(found, [Lanes()])), "other")
    assert (array == 77).all() and result.instructions > result.app_instructions


def image(data: bytes) -> ctypes.Array:
    """A file as a loader has its segments in memory."""
    (phoff,), (count,) = struct.unpack_from("<Q", data, 0x20), struct.unpack_from("<H", data, 0x38)
    loads = [p for p in struct.iter_unpack("<IIQQQQQQ", data[phoff : phoff + 56 * count]) if p[0] == 1]
    memory = ctypes.create_string_buffer(max(p[3] + p[6] for p in loads))
    for _, _, offset, vaddr, _, filesz, _, _ in loads:
        memory[vaddr : vaddr + filesz] = data[offset : offset + filesz]
    return memory


def texts(code: lt.CodeObject, kernel: str) -> list[tuple[int, str]]:
    return [(i.address, i.text) for i in code.kernel(kernel).instructions]


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_in_memory_is_a_code_object(target):
    file = lt.CodeObject.open(compiled.build(SOURCE, target))
    memory = image(file.data)
    found = lt.CodeObject.from_memory(ctypes.addressof(memory))
    assert found.target == file.target and texts(found, "work") == texts(file, "work")
    assert found.inspect()["sections"] == []
    lanes = Lanes()
    array, result = run(lt.Device(target).load(found, tools=[lanes], check=True))
    assert (array == EXPECTED).all() and lanes.lanes[0] == 64 and result.app_instructions < result.instructions


def test_an_image_in_the_memory_of_another_process_is_a_code_object():
    path = compiled.build(SOURCE, "gfx1100")
    program = "import ctypes, sys; m = ctypes.create_string_buffer(bytes.fromhex(sys.stdin.readline())); print(ctypes.addressof(m), flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None and other.stdout is not None
        other.stdin.write(bytes(image(path.read_bytes())).hex() + "\n")
        other.stdin.flush()
        found = lt.CodeObject.from_memory(int(other.stdout.readline()), process=other.pid)
        other.stdin.close()
    assert texts(found, "work") == texts(lt.CodeObject.open(path), "work")


@pytest.mark.parametrize("how", ["stripped", "beyond the file", "garbage"])
def test_sections_that_are_missing_or_damaged_do_not_matter(how):
    file = lt.CodeObject.open(compiled.build(SOURCE, "gfx90a"))
    (shoff,) = struct.unpack_from("<Q", file.data, 0x28)
    data = bytearray(file.data)
    if how == "stripped":
        data = data[:shoff]
    elif how == "beyond the file":
        data[0x28:0x30] = struct.pack("<Q", 1 << 40)
    else:
        data[shoff:] = b"\xa5" * (len(data) - shoff)
    with pytest.raises(lt.LoadError):
        lt.CodeObject.open(bytes(data))
    found = lt.CodeObject.from_memory(data)
    assert texts(found, "work") == texts(file, "work")
    lanes = Lanes()
    array, _ = run(lt.Device("gfx90a").load(found, tools=[lanes]))
    assert (array == EXPECTED).all() and lanes.lanes[0] == 64
    with lt.MockLoader("gfx90a") as loader:
        loader.load(found)
    array, _ = run(lt.Device("gfx90a").load(loader, tools=[Lanes()]))
    assert (array == EXPECTED).all()


def test_what_is_no_code_object_is_refused():
    with pytest.raises(lt.LoadError, match="there is no ELF header"):
        lt.CodeObject.from_memory(b"nothing of the kind" * 9)
    with pytest.raises(lt.LoadError, match="bytes at 0x10 of /proc"):
        lt.CodeObject.from_memory(0x10)
    with pytest.raises(lt.ArgumentError, match="process= goes with an address"):
        lt.CodeObject.from_memory(b"", process=3)
    memory = image(lt.CodeObject.open(compiled.build(SOURCE, "gfx90a")).data)
    memory[0x36:0x38] = struct.pack("<H", 40)
    with pytest.raises(lt.LoadError, match="e_phentsize"):
        lt.CodeObject.from_memory(ctypes.addressof(memory))


def test_a_kernel_that_calls_into_another_object_is_rejected_by_name_and_instrumented_before(tmp_path):
    shared = '__attribute__((visibility("default")))'
    sources = {
        "a": f"{shared} extern int other(int x);\nkernel void calls(__global int *p) "
        "{ p[__builtin_amdgcn_workitem_id_x()] = other(p[__builtin_amdgcn_workitem_id_x()]); }",
        "b": f"{shared} __attribute__((noinline)) int other(int x) {{ return x * 3; }}",
    }
    for name, text in sources.items():
        (tmp_path / f"{name}.cl").write_text(text)
        flags = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-nogpulib", "-w", "-cl-std=CL2.0", "-O1"]
        links = ["-Wl,--unresolved-symbols=ignore-all", str(tmp_path / f"{name}.cl"), "-o", str(tmp_path / f"{name}.hsaco")]
        subprocess.run(["clang-22", *flags, *links], check=True)
    with lt.MockLoader("gfx90a") as loader:
        for name in sources:
            loader.load(tmp_path / f"{name}.hsaco")
    assert (run(lt.Device("gfx90a").load(loader), "calls")[0] == VALUES * 3).all()
    with pytest.raises(lt.NothingInsertedError, match="calls through a pointer"):
        lt.Device("gfx90a").load(loader, tools=[Lanes()])
    with lt.MockLoader("gfx90a") as loader:
        loader.load(lt.instrument(tmp_path / "a.hsaco", [Lanes()]), name="a")
        loader.load(tmp_path / "b.hsaco")
    linked = lt.Device("gfx90a").load(loader)
    array, result = run(linked, "calls")
    assert (array == VALUES * 3).all() and result.instructions > result.app_instructions
    assert linked.read_symbol("lanes.lanes", "u8").tolist() == [64]
