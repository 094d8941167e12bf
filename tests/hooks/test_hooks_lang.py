# ruff: noqa: F821, F841 (the hooks are wrong on purpose)
"""The hook language's front end: what it accepts, what it refuses, and where it points."""

import json
import math
import os

import hook_sources
import pytest
from places import ROOT

import luthier.lang as lt

FIXTURES = ROOT / "crates/codegen/src/hook/fixtures"
WIDTH = 8
SCALE = 2.5


@pytest.mark.parametrize("name", [n for n, h in vars(hook_sources).items() if isinstance(h, lt.Hook)])
def test_fixtures_are_current(name):
    """The Rust tests' trees are what the front end makes. LUTHIER_BLESS=1 rewrites them."""
    tree = json.loads(getattr(hook_sources, name).json)
    for function in tree["functions"]:
        function["file"] = "hook_sources.py"
    path = FIXTURES / f"{name}.json"
    text = json.dumps(tree, separators=(",", ":")) + "\n"
    if os.environ.get("LUTHIER_BLESS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.read_text() == text


def refused(hook, *parts):
    """The hook's error, which has to contain ``parts``."""
    with pytest.raises(lt.HookError) as caught:
        hook.check()
    text = str(caught.value)
    for part in parts:
        assert part in text
    return text


def type_of_store(hook):
    """The type of the value that the hook's last statement stores."""
    return hook.tree["functions"][0]["body"][-1]["kind"]["store"]["value"]


def test_an_error_shows_the_place():
    @lt.hook
    def hook(a: lt.u32, b: lt.i32):
        total = a + b

    text = refused(hook, "u32 and i32 have no common type")
    head, source, caret = text.splitlines()
    assert head.startswith(f"{__file__}:") and ": error: " in head
    assert source.endswith("total = a + b")
    assert source[caret.index("^")] == "b"


def test_the_caret_spans_the_expression():
    @lt.hook
    def hook(p: lt.ptr[lt.u32]):
        p[0] = missing.thing + 1

    source, caret = refused(hook, "unknown name missing.thing").splitlines()[1:]
    start = caret.index("^")
    assert source[start : start + caret.count("~") + 1] == "missing.thing"


def test_constants_are_exact_until_they_meet_a_type():
    @lt.hook
    def hook(p: lt.ptr[lt.u64]):
        p[0] = (1 << 64) - 2**3 * WIDTH

    assert type_of_store(hook)["kind"] == {"int": 2**64 - 64}


def test_constants_from_outside():
    inner = 3

    @lt.hook
    def hook(p: lt.ptr[lt.f64]):
        p[inner] = math.pi * SCALE

    value = type_of_store(hook)
    assert value["type"] == "f64" and "float" in value["kind"]


def test_widening_is_written_out_for_the_compiler():
    @lt.hook
    def hook(p: lt.ptr[lt.i64], a: lt.u32):
        p[0] = a

    value = type_of_store(hook)
    assert value["type"] == "i64" and value["kind"]["cast"]["type"] == "u32"


def test_a_constant_condition_leaves_the_other_side_unchecked():
    @lt.hook
    def hook(p: lt.ptr[lt.u32]):
        if WIDTH == 8:
            p[0] = 1
        else:
            p[0] = nonsense()

    hook.check()


def test_device_functions_are_collected_once():
    @lt.device
    def twice(x: lt.u32) -> lt.u32:
        return x + x

    @lt.device
    def four_times(x: lt.u32) -> lt.u32:
        return twice(twice(x))

    @lt.hook
    def hook(p: lt.ptr[lt.u32]):
        p[0] = four_times(p[1]) + twice(1)

    assert [f["name"].rsplit(".", 1)[1] for f in hook.tree["functions"]] == ["hook", "four_times", "twice"]


def test_a_loop_variable_between_constants_takes_the_type_that_it_meets():
    @lt.hook
    def hook(p: lt.ptr[lt.u8], n: lt.u16, wide: lt.u64):
        for i in range(4):
            p[i] = i
            wide += i * wide
        for j in range(1, n, 2):
            p[j] = lt.u8(j)

    kinds = {v["name"]: v["type"] for v in hook.tree["functions"][0]["locals"]}
    assert kinds == {"i": "i32", "j": "u16"}


def test_a_hook_is_not_called():
    with pytest.raises(TypeError, match="insert it"):
        hook_sources.count()
    with pytest.raises(TypeError, match="inside a hook"):
        lt.popcount(3)


def test_arguments_are_packed_by_type():
    @lt.hook
    def hook(a: lt.i8, b: lt.f32, p: lt.ptr[lt.u8]):
        pass

    a, b, p = hook.params
    assert (a.raw_bits(-1), b.raw_bits(1.0), p.raw_bits(2**40)) == (0xFF, 0x3F800000, 2**40)
    with pytest.raises(lt.HookError, match="argument a must be i8: 200 does not fit"):
        a.raw_bits(200)


# What is refused: the hook's body and a part of the message.
REFUSED = [
    ("x = a / a", "/ divides floats"),
    ("x = f // f", "use lt.floor(a / b)"),
    ("x = a + f", "u32 and f32 have no common type"),
    ("x: lt.u8 = 300", "300 does not fit u8"),
    ("x: lt.u8 = a", "u32 does not become u8 by itself"),
    ("x = 0\nx = a", "x is an i32 since line"),
    ("p[0] = y", "unknown name y"),
    ("if a:\n    y = a\np[0] = y", "y may be used before it is assigned"),
    ("while a:\n    y = a\np[0] = y", "y may be used before it is assigned"),
    ("for i in [1, 2]:\n    pass", "can only loop over range"),
    ("for i in range(300):\n    x: lt.u8 = i", "i32 does not become u8 by itself"),
    ("for i in range(-1, 3):\n    x = i + a", "u32 does not hold all values of i32 here"),
    ("for i in range(3):\n    i += 1\n    x = i + a", "i32 and u32 have no common type"),
    ("for i in range(3):\n    for i in range(300):\n        pass\n    x: lt.u8 = i", "i32 does not become u8 by itself"),
    ("for i in range(0, 8, a):\n    pass", "step must be a constant"),
    ("x = [1]", "a list cannot be used"),
    ("x = lambda: 1", "a lambda cannot be used"),
    ("x = 'text'", "a str cannot be used"),
    ("x = a if p else 1", "a ptr[u32] is neither true nor false"),
    ("x = p * 2", "* cannot be applied to a ptr[u32]"),
    ("x = p + 1.5", "a pointer is moved by an integer"),
    ("x = a[0]", "a is not a pointer or an array"),
    ("c[0] = a", "it can only be read"),
    ("x = a is a", "`is` cannot be used"),
    ("x = a ** a", "** needs constants"),
    ("x = print(a)", "print cannot be called on the GPU"),
    ("x = int(a)", "int() has no width"),
    ("x = lt.memory_address()", "lt has no memory_address"),
    ("x = lt.workgroup_id_x(a)", "workgroup_id_x() -> u32 takes 0 arguments, 1 given"),
    ("x = lt.kernel_arg('n')", 'kernel_arg("name", type) takes 2 arguments'),
    ("x = lt.kernel_arg(a, lt.u32)", "kernel_arg takes the argument's name as text"),
    ("x = lt.kernel_arg('n', lt.ptr[lt.u32, 'lds'])", "a kernel has no argument of type"),
    ("x = lt.popcount(f)", "popcount needs an integer, not f32"),
    ("x = lt.popcount(a, a)", "takes 1 arguments, 2 given"),
    ("lt.atomic_add(a, 1)", "needs a pointer"),
    ("lt.atomic_and(lt.ptr[lt.f32](lt.u64(p)), 1)", "has no form for ptr[f32]"),
    ("lt.wave_atomic_add(p, f)", "f32 does not become u32 by itself"),
    ("t = lt.array(lt.u32, a)", "an array's length is a constant"),
    ("t = lt.array(lt.u32, 4)\nt[4] = 1", "t has 4 elements, 4 is outside"),
    ("return a", "a hook gives no value"),
    ("x = lt.trap()", "lt.trap() has no value"),
    ("with a:\n    pass", "cannot be used in a hook"),
    ("x, y = a, a", "cannot assign to"),
    ("x = 1 << 70", "does not fit in 64 bits"),
    ("x = True + a", "no common type"),
    ("x = f + 10**400", "an integer of 1329 bits does not fit f32"),
    ("x = (-2.0) ** 0.5", "the result is a complex number"),
    ("x = min(1)", "takes 2 arguments, 1 given"),
    ("x = abs(1, 2)", "takes 1 arguments, 2 given"),
    ("x: 'lt.u32 +' = a", "'lt.u32 +' is not a type"),
    ("x = -(a < 3)", "- cannot be applied to a bool"),
    ("x = a" + " + a" * 200, "more than 150 operators deep"),
    ("x = WIDTH.real", "cannot read attributes"),
]  # fmt: skip


@pytest.mark.parametrize("body, message", REFUSED, ids=[b.splitlines()[-1].strip()[:40] for b, _ in REFUSED])
def test_refused(tmp_path, body, message):
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    path = tmp_path / "tool.py"
    path.write_text(
        "import luthier.lang as lt\nWIDTH = 8\n@lt.hook\n"
        f'def hook(a: lt.u32, f: lt.f32, p: lt.ptr[lt.u32], c: lt.ptr[lt.u32, "const"]):\n{lines}'
    )
    scope: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    text = refused(scope["hook"], message)
    assert text.startswith(f"{path}:") and "^" in text


def test_signatures_are_checked():
    @lt.hook
    def untyped(a):
        pass

    @lt.hook
    def wide(a: int):
        pass

    @lt.hook
    def default(a: lt.u32 = 3):
        pass

    refused(untyped, "parameter a has no type")
    refused(wide, "int is not a type of the hook language: use lt.i32")
    refused(default, "parameters are plain")


def test_recursion_is_refused():
    refused(recursive_hook, "the hook language has no recursion")


@lt.device
def forever(x: lt.u32) -> lt.u32:
    return forever(x)


@lt.hook
def recursive_hook(p: lt.ptr[lt.u32]):
    p[0] = forever(1)


def test_a_device_function_returns_on_every_way():
    @lt.device
    def half(x: lt.u32) -> lt.u32:
        if x > 3:
            return 1

    @lt.hook
    def hook(p: lt.ptr[lt.u32]):
        p[0] = half(1)

    refused(hook, "its end can be reached without a return")


def test_a_hook_without_source():
    scope: dict = {}
    exec("import luthier.lang as lt\n@lt.hook\ndef hook(a: lt.u32):\n    pass\n", scope)
    refused(scope["hook"], "a hook has to be written in a file")


def test_numbers_that_nothing_holds_are_refused_at_once():
    huge = 1 << 100_000

    @lt.hook
    def shifted(p: lt.ptr[lt.u32]):
        p[0] = 1 << 100000

    @lt.hook
    def outside(p: lt.ptr[lt.u32]):
        p[0] = huge

    @lt.hook
    def raised(p: lt.ptr[lt.u32]):
        p[0] = 7**1000000000

    @lt.hook
    def far(p: lt.ptr[lt.u32]):
        p[0] = 1 << (1 << 60)

    @lt.hook
    def multiplied(p: lt.ptr[lt.u32]):
        p[0] = (1 << 3000) * (1 << 3000)

    for hook in (shifted, outside, raised, far, multiplied):
        refused(hook, "the number has more than 4096 bits")

    @lt.hook
    def narrow(p: lt.ptr[lt.u32]):
        p[0] = ((1 << 1000) >> 990) + 2**10 + (0 << 5000) + 1**100000

    narrow.check()


def test_variables_do_not_take_the_names_of_the_language():
    from luthier.lang import u32  # noqa: F401

    @lt.hook
    def assigned(p: lt.ptr[lt.u32]):
        range = 3
        p[0] = range

    @lt.hook
    def module(p: lt.ptr[lt.u32]):
        lt = 3
        p[0] = lt

    @lt.hook
    def counted(p: lt.ptr[lt.u32]):
        for max in range(3):
            p[max] = 1

    @lt.hook
    def declared(p: lt.ptr[lt.u32]):
        min: lt.u32 = 3
        p[0] = min

    @lt.hook
    def added(p: lt.ptr[lt.u32], len: lt.u32):
        p[0] = len

    for hook, name in ((assigned, "range"), (module, "lt"), (counted, "max"), (declared, "min"), (added, "len")):
        refused(hook, f"{name} has a meaning in hooks")

    @lt.hook
    def others(p: lt.ptr[lt.u32], count: lt.u32):
        sum = count
        list = sum + 1
        json = list + 1
        p[0] = json

    others.check()
