"""The Python interface: tools, variables, modules, results."""

from __future__ import annotations

import subprocess
from collections import Counter

import compiled
import numpy as np
import pytest

import luthier as lt

N = 700


class Marks(lt.Tool):
    """One mark a wave at the kernel's first instruction, in every kind of variable."""

    marks = lt.DeviceArray(lt.u32, 4, init=[10, 0, 0, 40])
    waves = lt.Counter()

    def __init__(self, where: int = 1):
        self.where = where

    @lt.hook
    def mark(marks: lt.ptr[lt.u32], index: lt.u32, waves: lt.counter):
        lt.wave_atomic_add(marks + index, 1)
        waves += 1

    def on_kernel(self, kernel):
        kernel.insert_before(kernel.instructions[0], self.mark, self.marks, lt.Imm(self.where), self.waves)

    def on_exit(self, report):
        report.table("marks", self.marks.nonzero())


@pytest.fixture
def vecadd():
    return lt.CodeObject.open(compiled.code_object("vecadd"))


def arguments():
    a, b = np.arange(N, dtype=np.float32), np.full(N, 2, np.float32)
    return [a, b, np.zeros(N, np.float32), np.uint32(N)]


def run(source, tools=(), device=None, **options):
    args = arguments()
    result = (device or lt.Device("gfx90a")).run(source, "vecadd", grid=768, block=256, args=args, tools=tools, **options)
    np.testing.assert_array_equal(args[2], args[0] + 2)
    return result


def test_code_object(vecadd):
    assert (vecadd.processor, vecadd.version, vecadd.instrumented) == ("gfx90a", 5, False)
    (kernel,) = vecadd.kernels
    assert kernel.name == "vecadd" and vecadd.kernel("vecadd.kd") is kernel
    assert [a["kind"] for a in kernel.arguments] == ["global_buffer"] * 3 + ["by_value"]
    with pytest.raises(lt.ArgumentError, match="no kernel nothing: it has vecadd"):
        vecadd.kernel("nothing")
    assert lt.CodeObject.open(vecadd.data).data == vecadd.data


def test_a_kernels_code(vecadd):
    kernel = vecadd.kernel("vecadd")
    assert [f.name for f in kernel.functions] == ["vecadd"]
    instrs = kernel.instructions
    assert [i.address for b in kernel.blocks for i in b.instructions] == [i.address for i in instrs]
    assert all(a.address + a.size == b.address for a, b in zip(instrs, instrs[1:]))
    end = instrs[-1]
    assert end.is_end and not end.falls_through and end.mnemonic == "s_endpgm"
    assert end.block in kernel.blocks and end.function == kernel.functions[0]
    (store,) = (i for i in instrs if i.is_store)
    assert store.opcode == "global_store_dword" and {"vmem", "global"} <= store.flags and store.falls_through
    assert store.text.startswith("global_store_dword v[")
    branch = next(i for i in instrs if i.is_branch)
    assert branch.branch_target in {s.address for s in branch.block.successors}
    assert vecadd.data[0x100:].find(store.data) > 0
    add = next(i for i in instrs if i.opcode == "v_add_f32")
    assert [r.file for r in add.writes] == ["vgpr"] and {"exec_lo", "exec_hi"} <= {r.name for r in add.reads}
    with pytest.raises(lt.ToolError, match="on_kernel only"):
        kernel.insert_before(end, Marks.mark)


def test_variables(vecadd):
    tool = Marks(where=2)
    assert tool.marks.read().tolist() == [10, 0, 0, 40]  # before it is in use: what it starts with
    result = run(vecadd, [tool])
    assert result.waves == 12
    assert tool.marks.read().dtype == np.uint32 and list(tool.marks) == [10, 0, 12, 40]
    assert tool.marks[2] == 12 and len(tool.marks) == 4 and np.asarray(tool.marks).sum() == 62
    assert int(tool.waves) == tool.waves.value == 12
    assert result.tools == {"marks": {"marks": {0: 10, 2: 12, 3: 40}}}
    tool.marks.write([0, 0, 5, 0])
    assert tool.marks.nonzero() == {2: 5}
    assert result.module.read_symbol("marks.marks", "u4").tolist() == [0, 0, 5, 0]
    assert result.module.read_symbol("marks.waves", "u8").tolist() == [12]
    with pytest.raises(lt.ArgumentError, match="no symbol nothing"):
        result.module.read_symbol("nothing")


def test_instances_have_their_own_variables(vecadd):
    first, second = Marks(where=1), Marks(where=3)
    result = run(vecadd, [first, second])
    assert list(first.marks) == [10, 12, 0, 40] and list(second.marks) == [10, 0, 0, 52]
    assert list(result.tools) == ["marks", "marks_2"]
    assert result.module.read_symbol("marks_2.marks", "u4").tolist() == [10, 0, 0, 52]


def test_counts_add_up_over_the_launches_of_a_module(vecadd):
    device, tool = lt.Device("gfx90a"), lt.tools.load("instr_count")
    results = [run(vecadd, [tool], device) for _ in range(3)]
    assert int(tool.count) == sum(r.app_instructions for r in results)
    assert results[0].module is results[2].module


def test_a_tool_that_goes_by_addresses_serves_one_code_object(vecadd):
    tool = lt.tools.load("opcode_hist")
    run(vecadd, [tool])
    with pytest.raises(lt.ToolError, match="in use with another code object"):
        run(lt.CodeObject.open(compiled.code_object("vecadd", "O1")), [tool])


def test_an_instance_is_given_once_to_a_module(vecadd):
    with pytest.raises(lt.ToolError, match="same instance"):
        run(vecadd, [Marks(), *[Marks()] * 2])


def test_offline(vecadd, tmp_path):
    plain = run(vecadd)
    counted = lt.instrument(vecadd, [lt.tools.load("instr_count"), Marks()], check=True)
    assert counted.instrumented and counted.instrumentation["points"] >= 3
    counted.save(tmp_path / "counted.hsaco")
    result = run(lt.CodeObject.open(tmp_path / "counted.hsaco"), strict=True)
    assert result.findings == []
    assert result.app_instructions == plain.instructions < result.instructions
    assert result.app_histogram == plain.histogram
    assert result.module.read_symbol("instr_count.count", "u8").tolist() == [plain.instructions]
    assert result.module.read_symbol("marks.marks", "u4").tolist() == [10, 12, 0, 40]


class Registers(lt.Tool):
    """What an application register holds."""

    sums = lt.DeviceArray(lt.u32, 1)

    @lt.hook
    def add(sums: lt.ptr[lt.u32], value: lt.u32):
        lt.atomic_add(sums, value)

    def on_kernel(self, kernel):
        kernel.insert_before(kernel.instructions[0], self.add, self.sums, lt.Reg("v0"))


def test_registers(vecadd):
    tool = Registers()
    run(vecadd, [tool])
    assert tool.sums[0] == 3 * sum(range(256))  # v0 begins as the work-item's number in its workgroup


def test_what_a_hook_is_given_is_checked(vecadd):
    def placing(*args, hook=Marks.mark):
        class Bad(Marks):
            other = lt.DeviceArray(lt.u64, 1)

            def on_kernel(self, kernel):
                kernel.insert_before(kernel.instructions[0], hook, *(getattr(self, a) if isinstance(a, str) else a for a in args))

        lt.instrument(vecadd, [Bad()])

    for args, error, why in (
        (("marks", 1), lt.ToolError, "takes 3 arguments, 2 were given"),
        (("other", 1, "waves"), lt.ToolError, "argument marks"),
        ((1.5, 1, "waves"), lt.LuthierError, "marks"),
        (("marks", -1, "waves"), lt.LuthierError, "index"),
        (("marks", 1.5, "waves"), lt.LuthierError, "index"),
        (("marks", 1, "marks"), lt.ToolError, "an lt.Counter"),
        (("marks", None, "waves"), lt.ToolError, "a number"),
        (("marks", np.ones(1, np.uint32), "waves"), lt.ToolError, "a number"),
        (("marks", [1], "waves"), lt.ToolError, "a number"),
    ):
        with pytest.raises(error, match=why):
            placing(*args)
    with pytest.raises(lt.ToolError, match="is not a hook"):
        placing("marks", hook=print)
    with pytest.raises(lt.ArgumentError, match="is not a register"):
        lt.Reg("x5")


SHARED = """
#define DEVICE __attribute__((device, noinline))
DEVICE unsigned twice(unsigned x) { unsigned s = 0; for (unsigned i = 0; i < (x & 7); i++) s += x ^ i; return s; }
extern "C" __attribute__((global)) void one(unsigned *p) { p[0] = twice(p[0]) + 1; }
extern "C" __attribute__((global)) void two(unsigned *p) { p[0] = twice(p[0] + 1) * 3; }
"""


@pytest.mark.parametrize("tool", ["instr_count", "instr_count:per=instruction", "opcode_hist", "opcode_hist:per=instruction"])
def test_a_function_that_two_kernels_share_is_counted_once(tool, tmp_path):
    (tmp_path / "shared.hip").write_text(SHARED)
    path = tmp_path / "shared.hsaco"
    command = ["clang-22", "-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", "--offload-arch=gfx90a", "--no-gpu-bundle-output",
               "-O1", str(tmp_path / "shared.hip"), "-o", str(path)]  # fmt: skip
    subprocess.run(command, check=True)
    module = lt.Device("gfx90a").load(path, tools=[lt.tools.load(tool)])
    counts, histograms = Counter(), {"one": Counter(), "two": Counter()}
    for kernel in ("one", "two", "one"):
        result = module.run(kernel, grid=64, block=64, args=[np.array([13], np.uint32)])
        counts[kernel] += result.app_instructions
        histograms[kernel].update(result.app_histogram)
    (measured,) = result.tools.values()
    if "count" in tool:
        assert measured == {"instructions": counts.total(), "kernels": counts}
    else:
        assert sum(measured.pop("classes").values()) == counts.total()
        assert measured == {"opcodes": histograms["one"] + histograms["two"], "kernels": histograms}


def test_device_errors(vecadd):
    with pytest.raises(lt.DeviceError, match="no mock device for gfx803"):
        lt.Device("gfx803")
    device = lt.Device("gfx90a", threads=1)
    address = device.core.alloc(16)
    device.core.write(address, b"0123456789abcdef")
    assert device.core.read(address + 10, 6) == b"abcdef"
    for bad in (
        lambda: device.core.read(address, 1 << 60),
        lambda: device.core.free(address + 1),
        lambda: device.core.read(0, 1),
    ):
        with pytest.raises(lt.DeviceError):
            bad()
    with pytest.raises(lt.DeviceError):
        device.run(vecadd, "vecadd", grid=64, block=64, args=[None, None, None, np.uint32(64)])


def test_every_error_is_a_luthier_error():
    for name in (
        "LoadError",
        "LiftError",
        "HookError",
        "InstrumentError",
        "DeviceError",
        "ArgumentError",
        "ToolError",
        "InternalError",
    ):
        assert issubclass(getattr(lt, name), lt.LuthierError), name


def test_names():
    assert set(lt.__all__) <= {*dir(lt), "__version__"}
    for name in lt.__all__:
        getattr(lt, name)
    with pytest.raises(AttributeError):
        _ = lt.nonsense
