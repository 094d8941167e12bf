"""Mistakes of the first day get a message that says what was meant."""

from __future__ import annotations

import math

import compiled
import numpy as np
import pytest

import luthier as lt

TABLE = np.arange(4, dtype=np.float32)
NAMES = ["a", "b"]


@pytest.fixture(scope="module")
def vecadd():
    return lt.CodeObject.open(compiled.code_object("vecadd"))


@lt.hook
def with_self(self, n: lt.u32):
    pass


@lt.hook
def square_root(x: lt.f32):
    y = math.sqrt(x)  # noqa: F841


@lt.hook
def printing(x: lt.f32):
    print(x)


@lt.hook
def smallest(x: lt.u32):
    y = lt.min(x, 3) + lt.max(x, 4) + lt.abs(x)  # noqa: F841


@lt.hook
def all_of_an_array(i: lt.u32):
    y = TABLE  # noqa: F841


@lt.hook
def reading_a_list(i: lt.u32):
    y = NAMES[i]  # noqa: F841


@lt.hook
def reading_self(i: lt.u32):
    y = self.counts[i]  # noqa: F821, F841


@pytest.mark.parametrize(
    "hook, said",
    [
        (with_self, "a hook has no self, as it runs on the GPU: leave the parameter out"),
        (square_root, "math.sqrt is Python's and runs on the host: lt.sqrt is the hook language's"),
        (printing, 'print cannot be called on the GPU: lt.printf("%d", x) can'),
        (all_of_an_array, "TABLE is a table of constants: name one of its elements, TABLE[0]"),
        (
            reading_a_list,
            "NAMES is a list of the host's, which a hook cannot read: make it a tuple, or pass a parameter lt.ptr[...]",
        ),
        (reading_self, "give it a parameter counts, and pass self.counts where it is inserted"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_hook_that_takes_itself_for_python(hook, said):
    with pytest.raises(lt.HookError) as error:
        hook.check()
    assert said in str(error.value)


def test_minima_have_luthiers_name_too():
    smallest.check()


class Takes(lt.Tool):
    """Passes what it is told to."""

    def __init__(self, value=None):
        self.value = value

    @lt.hook
    def take(n: lt.u32):
        pass

    def on_kernel(self, kernel):
        value = kernel.instructions[0].writes[0] if self.value is None else self.value
        kernel.insert_before(kernel.instructions[0], self.take, value)


def test_a_register_where_a_number_is_meant(vecadd):
    with pytest.raises(lt.ToolError, match='lt.Reg\\("v3"\\) passes what the register holds'):
        lt.instrument(vecadd, [Takes("v3")])
    with pytest.raises(lt.ToolError, match="needs a number, not 'three'$"):
        lt.instrument(vecadd, [Takes("three")])
    # An operand's register stands for its value.
    assert lt.instrument(vecadd, [Takes(None)]).instrumentation["points"] == 1


@pytest.mark.parametrize(
    "tools, said",
    [
        (["instr_counts"], "there is no tool 'instr_counts'"),
        ([dict], "makes {}, and no tool: its class has to derive from lt.Tool"),
        ([3], "3 is not a tool, nor a name, a class or a function that makes one"),
        ("instr_count", "expected a list of tools"),
        (Takes(1), "expected a list of tools"),
    ],
)
def test_what_is_no_tool(vecadd, tools, said):
    for use in (lambda: lt.instrument(vecadd, tools), lambda: lt.Device("gfx90a").load(vecadd, tools=tools)):
        with pytest.raises(lt.ToolError) as error:
            use()
        assert said in str(error.value)


def _run(vecadd, args=None, **launch):
    a, b, c = (np.zeros((64, 4), np.float32) for _ in "abc")
    return lt.Device("gfx90a").run(vecadd, "vecadd", args=args or [a, b, c, np.uint32(64)], **launch)


def test_sizes_that_are_no_whole_numbers(vecadd):
    with pytest.raises(lt.ArgumentError, match="grid=1024.0: expected an integer, or up to three"):
        _run(vecadd, grid=1024.0, block=64)
    with pytest.raises(lt.ArgumentError, match="block='64'"):
        _run(vecadd, grid=64, block="64")


def test_arrays_in_fortrans_order(vecadd):
    array = np.zeros((64, 4), np.float32, order="F")
    with pytest.raises(lt.ArgumentError, match="in Fortran's order .* numpy.ascontiguousarray"):
        _run(vecadd, [array, array, array, np.uint32(4)], grid=64, block=64)


def test_launch_keywords_that_do_not_exist(vecadd):
    with pytest.raises(TypeError, match="no keyword 'blok': block"):
        _run(vecadd, grid=64, blok=64)
    with pytest.raises(TypeError, match="either grid=.* or blocks="):
        _run(vecadd, block=64)
    with pytest.raises(TypeError, match="either grid=.* or blocks="):
        _run(vecadd, grid=64, blocks=1, block=64)


@pytest.mark.parametrize("name", ["v99", "a0"])
def test_registers_that_the_kernel_does_not_have_are_refused_where_they_are_passed(vecadd, name):
    with pytest.raises(lt.ToolError, match=f"there is no {name}: the kernel vecadd has "):
        lt.instrument(vecadd, [Takes(lt.Reg(name))])
    assert lt.instrument(vecadd, [Takes(lt.Reg("v2"))]).instrumentation["points"] == 1
