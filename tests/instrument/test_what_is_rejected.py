"""Each kind of rejection: the kernel does what it did, and what was not seen is said instead of counted as nothing."""

from __future__ import annotations

import cli
import compiled
import numpy as np
import pytest
from instrumented import TARGETS, on_every_target

import luthier as lt

SOURCE = """
NOINLINE u32 leaf(u32 a) { u32 s = a; for (u32 i = 0; i < (a & 3); i++) s += s * i; return s; }
KERNEL k(const u32 *in, u32 *out, u32 n) {
    u32 i = global_x(), x = in[i];
    if (x & 1) x = leaf(x);
    asm volatile("v_xor_b32 %0, 0x5a5a, %0" : "+v"(x));
    if (n == 7) { barrier(); x *= 5; }
    out[i] = x;
}
"""


class One(lt.Tool):
    """What ``place`` asks for, and nothing else."""

    count = lt.Counter()
    total = lt.DeviceArray(lt.u64, 1)

    def __init__(self, place):
        self.place = place

    @lt.hook
    def tick(count: lt.counter):
        count += 1

    @lt.hook
    def told(total: lt.ptr[lt.u64], what: lt.u64):
        lt.wave_atomic_add(total, what)

    @lt.hook
    def give(d: lt.inout[lt.u32], what: lt.u32):
        d = what  # noqa: F841

    @lt.hook
    def both(a: lt.inout[lt.u64], b: lt.inout[lt.u32]):
        a = 7  # noqa: F841
        b = 5  # noqa: F841

    def on_kernel(self, kernel):
        instrs = list(kernel.instructions)
        self.xor = next(i for i in instrs if "0x5a5a" in i.text)
        self.end = next(i for i in instrs if i.is_end)
        self.call = next(i for i in instrs if i.is_call)
        own = kernel.functions[0].blocks
        self.block = next(b for b in own if b.terminator == "cond_branch")
        self.branch = self.block.instructions[-1]
        self.place(self, kernel)

    def on_exit(self, report):
        report.result = {"ticks": int(self.count)}


def taken(t):
    return next(s for s in t.block.successors if s.address == t.branch.branch_target)


def remove_branch(t, k):
    k.insert_on_edge(t.block, taken(t), t.tick, t.count)
    k.remove(t.branch)


def two_replacements(t, k):
    k.replace(t.xor, t.give, t.xor.operands[0], 3)
    k.replace(t.xor, t.told, t.total, lt.Address())


#: By kind: what to ask for, and how many of that are rejected.
KINDS = {
    "no_access": (lambda t, k: k.insert_before(t.xor, t.give, lt.Reg(t.xor.operands[0].register), lt.AccessWidth()), 1),
    "no_address": (lambda t, k: k.insert_after(t.xor, t.told, t.total, lt.Address()), 1),
    "no_address, instead": (lambda t, k: k.replace(t.xor, t.told, t.total, lt.Address()), 1),
    "no_access, instead": (lambda t, k: k.replace(t.xor, t.give, t.xor.operands[0], lt.AccessWidth()), 1),
    "old_over_call": (lambda t, k: k.insert_after(t.call, t.told, t.total, lt.Old(lt.Reg("s[4:5]"))), 1),
    "nothing_follows": (lambda t, k: k.insert_after(t.end, t.tick, t.count), 1),
    "control_flow": (lambda t, k: k.remove(t.end), 1),
    "control_flow, call": (lambda t, k: k.replace(t.call, t.tick, t.count), 1),
    "never_taken": (remove_branch, None),
    "stays": (two_replacements, 2),
    "two_values": (lambda t, k: k.insert_before(t.xor, t.both, lt.Reg("v[0:1]"), lt.Reg("v1")), 1),
    "two_values, instead": (lambda t, k: k.replace(t.xor, t.both, lt.Reg("v[0:1]"), lt.Reg("v1")), 1),
    "raw_instruction": (lambda t, k: k.insert_asm(t.xor, "s_branch 0"), 1),
}


def run(target, tools):
    values = np.random.default_rng(5).integers(0, 1 << 32, 128, np.uint32)
    out = np.zeros(128, np.uint32)
    path = compiled.build(SOURCE, target[0], target[1], "O1")
    module = lt.Device(target[0], threads=1).load(path, tools=tools, check=True, on_rejected="report")
    return out, module, module.run("k", grid=128, block=64, args=[values, out, np.uint32(7)])


@on_every_target
def test_what_is_rejected_changes_nothing_and_is_told(target):
    plain, _, reference = run(target, [])
    for name, (place, wanted) in KINDS.items():
        kind, tool = name.split(",")[0], One(place)
        out, module, result = run(target, [tool])
        did = module.instrumentation
        assert kind in {r["kind"] for r in did["rejected"]}, (name, did["rejected"])
        assert tool.rejected == did["rejected"]
        assert did["tools"] == {"one": {"points": did["points"], "rejected": len(did["rejected"])}}
        if wanted is None:  # something else of it was made, which changes what runs
            continue
        np.testing.assert_array_equal(out, plain, err_msg=name)
        assert result.app_histogram == reference.histogram, name
        assert did["points"] == 0 and len(did["rejected"]) == wanted, (name, did)


def test_an_edge_that_a_removed_branch_never_takes_is_rejected_and_the_other_way_runs():
    for target in TARGETS:

        def place(t, k):
            (other,) = [s for s in t.block.successors if s.address != t.branch.branch_target]
            k.insert_before(t.branch, t.told, t.total, 1)
            k.insert_on_edge(t.block, other, t.tick, t.count)
            remove_branch(t, k)

        tool = One(place)
        _, module, _ = run(target, [tool])
        (left,) = module.instrumentation["rejected"]
        assert left["kind"] == "never_taken" and "is taken out" in left["reason"]
        assert int(tool.count) == 128 // (32 if "wave32" in target[1] or wave32(target) else 64)


def wave32(target) -> bool:
    return not target[0].startswith("gfx9") and not target[1]


def test_what_names_registers_for_others_stays():
    indexed = """
    KERNEL k(u32 *a, u32 n) {
        typedef u32 V __attribute__((ext_vector_type(32)));
        u32 t = local_x(); V v = *(V *)(a + 32 * (t & 7)); v += t; u32 s = v[n & 31]; v[(n + 3) & 31] = s * 3;
        a[t] = s + v[(n + 1) & 31];
    }
    """

    class Without(lt.Tool):
        def on_kernel(self, kernel):
            for instr in kernel.instructions:
                if instr.mnemonic.startswith("s_set_gpr_idx"):
                    kernel.remove(instr)

    outs = []
    for tools in ([], [Without()]):
        values = np.arange(512, dtype=np.uint32)
        path = compiled.build(indexed, "gfx906")
        module = lt.Device("gfx906").load(path, tools=tools, on_rejected="report")
        module.run("k", grid=64, block=64, args=[values, np.uint32(11)])
        outs.append(values)
        if tools:
            kinds = {r["kind"] for r in module.instrumentation["rejected"]}
            assert kinds == {"names_registers"} and module.instrumentation["points"] == 0
    np.testing.assert_array_equal(*outs)


def test_a_tool_of_which_nothing_is_inserted_is_an_error_unless_only_the_report_is_wanted():
    path = compiled.build(SOURCE, "gfx90a", (), "O1")
    place, _ = KINDS["no_address"]
    with pytest.raises(lt.NothingInsertedError, match="nothing of the tool one was inserted.*1 of 1") as caught:
        lt.instrument(path, [One(place)])
    assert isinstance(caught.value, lt.RejectedError) and len(caught.value.rejected) == 1
    with pytest.raises(lt.NothingInsertedError):
        lt.Device("gfx90a").load(path, tools=[One(place)])
    report = lt.instrument(path, [One(place)], on_rejected="report").instrumentation
    assert report["tools"] == {"one": {"points": 0, "rejected": 1}}
    # Beside one that is inserted, too.
    with pytest.raises(lt.NothingInsertedError, match="the tool one was"):
        lt.instrument(path, [lt.tools.load("instr_count"), One(place)])


TOOL = """
import luthier as lt

class Blind(lt.Tool):
    total = lt.DeviceArray(lt.u64, 1)

    @lt.hook
    def told(total: lt.ptr[lt.u64], address: lt.u64):
        lt.wave_atomic_add(total, address)

    def on_kernel(self, kernel):
        kernel.insert_before(kernel.instructions[-1], self.told, self.total, lt.Address())

    def on_exit(self, report):
        report.result = {"total": self.total[0]}
"""


def test_the_command_line_says_that_a_tool_has_seen_nothing(tmp_path):
    (tmp_path / "blind.py").write_text(TOOL)
    path = compiled.build(SOURCE, "gfx90a", (), "O1")
    arguments = ["--arg", "buf:u32[64]=ones", "--arg", "buf:u32[64]=zeros", "--arg", "u32=1"]
    run = ["run", path, "--kernel", "k", "--grid", "64", "--block", "64", *arguments, "--tool", tmp_path / "blind.py"]
    done = cli.luthier(*run)
    assert done.returncode == 3 and "luthier: error: nothing of the tool blind was inserted" in done.stderr
    assert "not seen" in done.stdout
    assert cli.luthier(*run, "--on-rejected", "report").returncode == 0
    assert cli.luthier(*run, "--on-rejected", "raise").returncode == 2
    out = tmp_path / "out.hsaco"
    done = cli.luthier("instrument", path, "--tool", tmp_path / "blind.py", "-o", out)
    assert done.returncode == 3 and "luthier: error: nothing of the tool blind was inserted" in done.stderr


def test_tools_that_come_along_give_no_number_where_some_of_it_was_rejected():
    source = """
    KERNEL k(u32 *out) {
        typedef u32 V __attribute__((ext_vector_type(32)));
        u32 t = local_x(); V v = *(V *)(out + 32 * (t & 7)); v += t;
        u32 s = v[out[600] & 31]; v[(s + 3) & 31] = s * 3; out[t] = s + v[(s + 1) & 31];
    }
    """
    path = compiled.build(source, "gfx906")
    tool = lt.tools.load("opcode_hist:per=instruction")
    module = lt.Device("gfx906").load(path, tools=[tool], on_rejected="report")
    result = module.run("k", grid=64, block=64, args=[np.arange(1024, dtype=np.uint32)])
    left = module.instrumentation["rejected"]
    assert {r["kind"] for r in left} == {"indexed"}
    (counted,) = result.tools.values()
    assert counted["opcodes"] is None and counted["not_counted"]["insertions"] == len(left)
    assert counted["not_counted"]["why"].startswith(f"at {left[0]['address']:#x}: VGPR indexing")
