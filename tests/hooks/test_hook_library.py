"""Hooks in HIP, C, C++, OpenCL C and LLVM IR: what they compute is what the same hooks in Python compute, or NumPy."""

from __future__ import annotations

import subprocess
from pathlib import Path

import compiled
import numpy as np
import pytest

import luthier as lt

TARGETS = ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250"]
KERNEL = """
KERNEL triple(u32 *p) {
    u32 i = global_x();
    p[i] = p[i] * 3 + 1;
}
"""
LANES, BLOCKS = 100, 2

HIP = """
#include <luthier/hooks.h>

__device__ unsigned long long calls;
__device__ unsigned sums[64];
__constant__ unsigned weights[4] = {1, 20, 300, 4000};
__device__ __managed__ unsigned most = 5;
static __device__ unsigned hidden = 7;

static const unsigned squares[16] = {0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225};

// Not inlined by clang.
static __device__ __attribute__((noinline)) unsigned fold(const unsigned *from, int n) {
  unsigned sum = 0;
  for (int i = 0; i < n; i++) sum = sum * 31 + from[i];
  return sum;
}

LT_HOOK void count(lt::counter waves, unsigned long long *lanes) {
  *waves += 1;
  lt::wave_atomic_add(lanes, __popcll(__activemask()));
  lt::wave_atomic_add(&calls, 1ull);
}

LT_HOOK void look(unsigned value) {
  atomicAdd(&sums[value & 63], weights[value & 3] + squares[(value >> 2) & 15] + hidden);
  atomicMax(&most, value);
}

// An array of each lane that no register holds.
LT_HOOK void deep(unsigned value, unsigned *out) {
  unsigned table[100];
  for (int i = 0; i < 100; i++) table[i] = value ^ (i * 2654435761u);
  for (unsigned i = 0; i < 200; i++) table[(value + i * 7) % 100] += i;
  atomicAdd(out + (value & 7), fold(table, 60 + (value & 31)));
}

LT_HOOK void change(lt::inout<unsigned> value, unsigned by) { *value += by; }

LT_HOOK void assembly(unsigned value, unsigned *out) {
  unsigned twice;
  __asm__ volatile("v_add_u32 %0, %1, %1" : "=v"(twice) : "v"(value));
  atomicAdd(out, twice);
}
"""


@pytest.fixture
def library():
    return lt.HookLibrary(HIP, "hip")


def kernel(target: str) -> Path:
    return compiled.build(KERNEL, target)


def numbers() -> np.ndarray:
    return np.arange(LANES * BLOCKS, dtype=np.uint32) * 5 + 3


def run(target: str, tool: lt.Tool):
    data = numbers()
    module = lt.Device(target).load(kernel(target), tools=[tool], on_rejected="raise")
    result = module.run("triple", blocks=BLOCKS, block=LANES, args=[data], strict=True)
    assert not result.findings
    return data, result, module.instrumentation


def stores(kernel: lt.Kernel):
    return [i for i in kernel.instructions if i.access_count and "store" in i.opcode]


class InHip(lt.Tool):
    hooks: lt.HookLibrary
    waves = lt.Counter()
    lanes = lt.DeviceArray(lt.u64, 1)
    out = lt.DeviceArray(lt.u32, 8)

    def __init__(self, library: lt.HookLibrary, *which: str):
        self.library, self.which = library, which

    def on_kernel(self, kernel: lt.Kernel) -> None:
        (store,) = stores(kernel)
        value = next(operand for operand in store.operands if operand.name == "vdata")
        for name in self.which:
            arguments = {
                "count": (self.waves, self.lanes), "look": (value,), "deep": (value, self.out), "change": (value, 10),
                "assembly": (value, self.out),
            }[name]  # fmt: skip
            kernel.insert_before(store, self.library[name], *arguments)


def expected() -> np.ndarray:
    return numbers() * 3 + 1


@pytest.mark.parametrize("target", TARGETS)
def test_counters_atomics_tables_and_variables_give_what_numpy_does(library, target):
    tool = InHip(library, "count", "look")
    data, result, _ = run(target, tool)
    values = expected()
    assert (data == values).all()
    assert int(tool.waves) == result.waves == tool.library.variables["calls"][0] and tool.lanes[0] == LANES * BLOCKS
    sums = np.zeros(64, np.uint32)
    weights = np.array([1, 20, 300, 4000], np.uint32)
    np.add.at(sums, values & 63, weights[values & 3] + ((values >> 2) & 15) ** 2 + 7)
    assert (tool.library.variables["sums"].read() == sums).all()
    assert tool.library.variables["most"][0] == values.max()


@pytest.mark.parametrize("target", TARGETS)
def test_an_array_of_each_lane_lies_on_the_hooks_own_stack(library, target):
    tool = InHip(library, "deep")
    data, _, instrumentation = run(target, tool)
    assert (data == expected()).all()
    out = [0] * 8
    for value in expected().tolist():
        table = [(value ^ (i * 2654435761)) & 0xFFFFFFFF for i in range(100)]
        for i in range(200):
            table[(value + i * 7) % 100] = (table[(value + i * 7) % 100] + i) & 0xFFFFFFFF
        total = 0
        for entry in table[: 60 + (value & 31)]:
            total = (total * 31 + entry) & 0xFFFFFFFF
        out[value & 7] = (out[value & 7] + total) & 0xFFFFFFFF
    assert tool.out.read().tolist() == out
    (registers,) = instrumentation["registers"].values()
    assert registers["scratch"] == [0, 416]


def test_a_register_that_a_hook_changes_stays_changed(library):
    data, _, _ = run("gfx90a", InHip(library, "change"))
    assert (data == expected() + 10).all()


def test_assembly_with_constraints_is_placed(library):
    tool = InHip(library, "assembly")
    run("gfx90a", tool)
    assert tool.out[0] == (2 * expected()).sum(dtype=np.uint32)


class SameInPython(lt.Tool):
    sums = lt.DeviceArray(lt.u32, 64)

    @lt.hook
    def look(value: lt.u32, sums: lt.ptr[lt.u32]):
        lt.atomic_add(sums + (value & 63), value * 7 + (value >> 3))

    def on_kernel(self, kernel: lt.Kernel) -> None:
        (store,) = stores(kernel)
        value = next(operand for operand in store.operands if operand.name == "vdata")
        kernel.insert_before(store, self.hook_of(), value, self.sums)

    def hook_of(self):
        return self.look


SAME = {
    "hip": "#include <luthier/hooks.h>\nLT_HOOK void look(unsigned v, unsigned *s) { atomicAdd(s + (v & 63), v * 7 + (v >> 3)); }\n",
    "c": "void look(unsigned v, unsigned *s) {\n  __atomic_fetch_add(s + (v & 63), v * 7 + (v >> 3), __ATOMIC_RELAXED);\n}\n",
    "c++": 'extern "C" void look(unsigned v, unsigned *s) {\n  __atomic_fetch_add(&s[v & 63], v * 7 + (v >> 3), __ATOMIC_RELAXED);\n}\n',
    "opencl": "void look(uint v, volatile global uint *s) {\n  atomic_add(s + (v & 63), v * 7 + (v >> 3));\n}\n",
    "ir": """
define void @look(i32 %v, ptr addrspace(1) %s) {
  %low = and i32 %v, 63
  %at = getelementptr i32, ptr addrspace(1) %s, i32 %low
  %seven = mul i32 %v, 7
  %shifted = lshr i32 %v, 3
  %sum = add i32 %seven, %shifted
  %old = atomicrmw add ptr addrspace(1) %at, i32 %sum syncscope("agent") monotonic
  ret void
}
""",
}


@pytest.mark.parametrize("target", TARGETS)
def test_every_language_gives_what_the_same_hook_in_python_gives(target):
    wanted = SameInPython()
    run(target, wanted)
    for language, text in SAME.items():
        if language == "opencl":
            text = text.replace("atomic_add(", "__opencl_atomic_fetch_add((volatile global atomic_uint *)(").replace(
                "(v & 63), ", "(v & 63)), "
            )
            text = text.replace("(v >> 3))", "(v >> 3), memory_order_relaxed, memory_scope_device)")
        library = lt.HookLibrary(text, language)

        class Other(SameInPython):
            def hook_of(self, library=library):
                return library["look"]

        tool = Other()
        run(target, tool)
        assert (tool.sums.read() == wanted.sums.read()).all(), language


def test_each_instance_of_a_tool_has_its_own_variables():
    class Counting(lt.Tool):
        hooks = lt.HookLibrary(HIP, "hip")
        waves = lt.Counter()
        lanes = lt.DeviceArray(lt.u64, 1)

        def on_kernel(self, kernel: lt.Kernel) -> None:
            kernel.insert_at_entry(self.hooks["count"], self.waves, self.lanes)

    first, second = Counting(), Counting()
    run("gfx90a", first)
    run("gfx942", second)
    assert first.hooks.variables["calls"][0] == int(first.waves) > 0
    assert second.hooks.variables["calls"][0] == int(second.waves) > 0
    assert Counting.hooks.variables["calls"][0] == 0


def test_what_a_library_does_not_define_is_the_tools_then_the_applications():
    text = "extern unsigned long long total;\nvoid add(unsigned n) {\n  __atomic_fetch_add(&total, n, __ATOMIC_RELAXED);\n}\n"

    class Adding(lt.Tool):
        total = lt.DeviceArray(lt.u64, 1)

        def on_kernel(self, kernel: lt.Kernel) -> None:
            kernel.insert_at_entry(lt.HookLibrary(text, "c")["add"], 3)

    tool = Adding()
    run("gfx90a", tool)
    assert tool.total[0] == 3 * LANES * BLOCKS

    class Nobody(lt.Tool):
        on_kernel = Adding.on_kernel

    with pytest.raises(lt.RejectedError, match="total"):
        run("gfx90a", Nobody())


def test_bitcode_that_hip_has_embedded_is_found(tmp_path):
    source = tmp_path / "tool.hip"
    source.write_text(HIP)
    made = tmp_path / "tool.co"
    include = Path(lt.__file__).parent / "include"
    subprocess.run(
        ["clang-22", "-x", "hip", "--cuda-device-only", "--offload-arch=gfx90a", "-nogpuinc", "-nogpulib", f"-I{include}",
         "-DLT_WAVE_SIZE=64", "-Xclang", "-fembed-bitcode=all", "--no-gpu-bundle-output", source, "-o", made],
        check=True,
    )  # fmt: skip
    library = lt.HookLibrary.from_code_object(made)
    assert {"count", "look", "deep"} <= set(library.functions) and library.identity
    tool = InHip(library, "count")
    run("gfx90a", tool)
    assert library.variables["calls"][0] == int(tool.waves) > 0
    with pytest.raises(lt.LoadError, match="no bitcode for gfx1100"):
        run("gfx1100", InHip(lt.HookLibrary.from_code_object(made), "count"))


def test_what_clang_refuses_says_where(tmp_path):
    source = tmp_path / "wrong.hip"
    source.write_text("#include <luthier/hooks.h>\nLT_HOOK void f() {\n  undeclared();\n}\n")
    with pytest.raises(lt.lang.HookError) as caught:
        lt.HookLibrary(source).functions  # noqa: B018
    error = caught.value
    assert error.file == str(source) and error.line == 3 and "undeclared" in error.message
    assert "undeclared();" in error.diagnostics


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("define i32 @f() {\n ret i32 1\n}", "returns a value"),
        ("define void @f(<4 x float> %v) {\n ret void\n}", "parameter 1 is <4 x float>"),
        ("define void @g() {\n ret void\n}", "has no function f: it has g"),
    ],
)
def test_a_function_that_cannot_be_a_hook_is_refused_by_name(text, what):
    library = lt.HookLibrary(text, "ir")

    class Wrong(lt.Tool):
        def on_kernel(self, kernel: lt.Kernel) -> None:
            kernel.insert_at_entry(library["f"])

    with pytest.raises(lt.ToolError, match=what):
        run("gfx90a", Wrong())


@pytest.mark.parametrize("text", ["define void @f() {\n garbage\n}", "define void @f() {\n %x = add i32 %y, 1\n ret void\n}"])
def test_ir_that_is_not_valid_is_refused(text):
    with pytest.raises(lt.LoadError, match="not valid LLVM IR"):
        lt.HookLibrary(text, "ir").functions  # noqa: B018


def test_a_compiler_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setenv("LUTHIER_CLANG", "/nowhere/clang")
    with pytest.raises(lt.ToolError, match="/nowhere/clang"):
        lt.HookLibrary(HIP, "hip").functions  # noqa: B018


ARRAYS = """
KERNEL triple(u32 *p) {
    u32 i = global_x();
    volatile u32 mine[40];
    for (u32 n = 0; n < 40; n++) mine[n] = p[i] + n;
    u32 sum = 0;
    for (u32 n = 0; n < 40; n++) sum += mine[(i + n * 7) % 40];
    p[i] = sum;
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_the_stack_lies_above_the_kernels_own_scratch(library, target):
    class Deep(lt.Tool):
        out = lt.DeviceArray(lt.u32, 8)

        def on_kernel(self, kernel: lt.Kernel) -> None:
            for number, instr in enumerate(kernel.instructions):
                if "scratch_store" in instr.opcode or "buffer_store" in instr.opcode or number % 5 == 0:
                    kernel.insert_before(instr, library["deep"], 7, self.out)

    path = compiled.build(ARRAYS, target)
    plain, data = numbers(), numbers()
    launch = {"blocks": BLOCKS, "block": LANES, "strict": True}
    lt.Device(target).run(path, "triple", args=[plain], **launch)
    module = lt.Device(target).load(path, tools=[Deep()], on_rejected="raise")
    result = module.run("triple", args=[data], **launch)
    assert (plain == data).all() and not result.findings
    instrumentation = module.instrumentation
    assert instrumentation["points"] > 10
    (registers,) = instrumentation["registers"].values()
    before, after = registers["scratch"]
    assert before >= 160 and after >= before + 400


def test_large_arrays_of_hooks_in_python_lie_on_the_stack():
    class Large(lt.Tool):
        out = lt.DeviceArray(lt.u32, 256)

        @lt.hook
        def sort(value: lt.u32, out: lt.ptr[lt.u32]):
            table = lt.array(lt.u32, 64)
            for i in range(200):
                table[(value * 5 + lt.u32(i * i)) % 64] += lt.u32(i)
            lt.atomic_add(out + (value & 255), table[value % 64])

        def on_kernel(self, kernel: lt.Kernel) -> None:
            (store,) = stores(kernel)
            value = next(operand for operand in store.operands if operand.name == "vdata")
            kernel.insert_before(store, self.sort, value, self.out)

    out = np.zeros(256, np.uint32)
    for value in expected().tolist():
        table = [0] * 64
        for i in range(200):
            table[(value * 5 + i * i) % 64] += i
        out[value & 255] += np.uint32(table[value % 64])
    for target in TARGETS:
        tool = Large()
        run(target, tool)
        assert (tool.out.read() == out).all(), target


WITH_MISTAKES = """#include <luthier/hooks.h>
__device__ void store(unsigned *p, unsigned i) {
  p[i] = 7;
}
LT_HOOK void far(unsigned *out) {
  store(out, 1000000);
}
LT_HOOK void asks(unsigned *out) {
  out[0] = __builtin_amdgcn_groupstaticsize();
}
"""


class Mistaken(lt.Tool):
    out = lt.DeviceArray(lt.u32, 4)

    def __init__(self, library=None, name=None):
        self.library, self.hook = library, name

    def on_kernel(self, kernel):
        kernel.insert_before(kernel.instructions[0], self.library[self.hook], self.out)


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100", "gfx1250"])
def test_a_fault_in_a_hook_in_hip_has_its_file_and_line(tmp_path, target):
    path = tmp_path / "mistakes.hip"
    path.write_text(WITH_MISTAKES)
    module = lt.Device(target).load(lt.CodeObject.open(kernel(target)), tools=[Mistaken(lt.HookLibrary(path), "far")])
    result = module.run("triple", grid=64, block=64, args=[np.zeros(64, np.uint32)], strict=True)
    found = str(result.findings[0])
    assert "out-of-bounds" in found and "mistakes.hip:3:8" in found and "source: p[i] = 7;" in found


def test_what_a_hook_in_hip_may_not_ask_for_is_refused_at_its_place(tmp_path):
    path = tmp_path / "mistakes.hip"
    path.write_text(WITH_MISTAKES)
    with pytest.raises(lt.HookError) as error:
        lt.instrument(kernel("gfx90a"), [Mistaken(lt.HookLibrary(path), "asks")])
    assert (error.value.file, error.value.line, error.value.col) == (str(path), 9, 12)
    said, source, caret = str(error.value).splitlines()
    assert "the hook calls llvm.amdgcn.groupstaticsize, but the size of the kernel's LDS is nothing that a hook is given" in said
    assert source.endswith("out[0] = __builtin_amdgcn_groupstaticsize();") and caret.index("^") == source.index("__builtin")
