# ruff: noqa: F821, UP037 (an address space is a word in quotes, not a type)
"""Hooks that cannot be: each is refused in a sentence, with file, line and caret wherever the hook's own line is at fault; nothing
else comes of it."""

from __future__ import annotations

import re
import subprocess

import compiled
import pytest

import luthier as lt

TARGET = "gfx90a"


class Inserts(lt.Tool):
    """Some hook, given an array, at a kernel's entry."""

    out = lt.DeviceArray(lt.u32, 64)

    def __init__(self, hook, *more):
        self.hook, self.more = hook, more

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.hook, self.out, *self.more)


def refusal(kind, hook, *more, target=TARGET):
    """What is said of a hook, which is refused with this kind of error."""
    with pytest.raises(kind) as error:
        lt.instrument(compiled.code_object("vecadd", target=target), [Inserts(hook, *more)])
    assert type(error.value) is kind
    return error.value


def shows(error, file, source, word):
    """The error shows a line of this file, with the caret under a word of it."""
    head, shown, caret = str(error).splitlines()
    assert head.startswith(f"{file}:{error.line}:{error.col}: error: ")
    assert shown.endswith(source) and shown[caret.index("^") :].startswith(word), str(error)


# In Python


@lt.device
def ping(x: lt.u32) -> lt.u32:
    return pong(x) if x > 0 else 0


@lt.device
def pong(x: lt.u32) -> lt.u32:
    return ping(x - 1)


@lt.hook
def goes_round(out: lt.ptr[lt.u32]):
    out[0] = ping(3)


@lt.hook
def calls_itself(out: lt.ptr[lt.u32]):
    calls_itself(out)


@lt.hook
def array_of_no_size(out: lt.ptr[lt.u32]):
    kept = lt.array(lt.u32, 40000)
    out[0] = kept[3]


@lt.hook
def asks_for_the_die(out: lt.ptr[lt.u32]):
    out[0] = lt.hw_xcc()


@lt.hook
def counts_by_lane(out: lt.ptr[lt.u32], count: lt.counter):
    count += lt.lane_id()


@pytest.mark.parametrize(
    ("hook", "message", "source", "word"),
    [
        (goes_round, "ping calls itself: the hook language has no recursion", "return ping(x - 1)", "ping"),
        (calls_itself, "calls_itself calls itself", "calls_itself(out)", "calls_itself"),
        (array_of_no_size, "an array's length is a constant from 1 to 4096", "kept = lt.array(lt.u32, 40000)", "40000"),
        (asks_for_the_die, "hw_xcc: gfx90a does not tell", "out[0] = lt.hw_xcc()", "lt.hw_xcc()"),
    ],
)
def test_a_hook_in_python_is_shown_where_it_is_wrong(hook, message, source, word):
    error = refusal(lt.HookError, hook)
    assert message in error.message
    shows(error, __file__, source, word)


def test_a_value_of_each_lane_where_the_wave_has_one_is_shown():
    counter = lt.Counter(name="count")
    error = refusal(lt.HookError, counts_by_lane, counter)
    assert "count is one value for the whole wave" in error.message
    shows(error, __file__, "count += lt.lane_id()", "count")


@pytest.mark.parametrize("kind", ["int", "float", "str", "list", "complex", "lt.ptr", "lt.Tool", "'lt.u7'"])
def test_a_parameter_of_a_type_that_hooks_do_not_have_is_shown(tmp_path, kind):
    path = tmp_path / "tool.py"
    path.write_text(f"import luthier as lt\n@lt.hook\ndef hook(a: {kind}):\n    pass\n")
    scope: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    with pytest.raises(lt.HookError, match="is not a type|has no u7") as error:
        scope["hook"].check()
    shows(error.value, path, f"def hook(a: {kind}):", kind)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lt.ptr[int], "needs an element type such as lt.u32"),
        (lambda: lt.ptr[lt.u32, "nowhere"], "unknown address space 'nowhere': one of global, lds, scratch, const"),
        (lambda: lt.inout[lt.u8], "needs a type of 16, 32 or 64 bits, not u8"),
        (lambda: lt.inout[lt.u32, 17], "has 1 to 16 elements, not 17"),
    ],
)
def test_a_type_that_there_is_not_is_an_error_of_its_own_line(make, message):
    with pytest.raises(TypeError) as error:
        make()
    assert message in str(error.value)


# In other languages

HEAD = "#include <luthier/hooks.h>\n"


def library(text, language="hip"):
    return lt.HookLibrary(text, language)["f"]


@pytest.mark.parametrize(
    ("text", "message", "source", "word"),
    [
        ("LT_HOOK void f(void (*p)(int)) {\n  p(3);\n}\n", "the hook calls a function through a pointer", "p(3);", "p"),
        (
            "LT_HOOK void f(unsigned *p) {\n  __builtin_amdgcn_s_barrier();\n}\n",
            "a barrier, which not all waves need come to",
            "__builtin_amdgcn_s_barrier();",
            "__builtin",
        ),
        ("LT_HOOK void f(unsigned *p) {\n  *p = nothing;\n}\n", "undeclared identifier 'nothing'", "*p = nothing;", "nothing"),
    ],
)
def test_a_hook_in_hip_is_shown_where_it_is_wrong_though_it_is_in_no_file(text, message, source, word):
    error = refusal(lt.HookError, library(HEAD + text))
    assert message in error.message and error.line == 3
    shows(error, error.file, source, word)
    assert error.file.startswith("<hip library ")


AGAIN = """static __device__ __attribute__((noinline)) unsigned again(unsigned n) {
  if (n == 0) return 1;
  return n * again(n - 1) + again(n / 2);
}
LT_HOOK void f(unsigned *p) { *p = again(*p); }
"""
PING = """static __device__ unsigned pong(unsigned n);
static __device__ unsigned ping(unsigned n) { return n ? pong(n - 1) + 2 * pong(n / 3) : 1; }
static __device__ unsigned pong(unsigned n) { return n ? ping(n - 1) * 3 + ping(n / 2) : 2; }
LT_HOOK void f(unsigned *p) { *p = ping(*p); }
"""
OF_NO_SIZE = """LT_HOOK void f(unsigned *p) {
  volatile unsigned *a = (unsigned *)__builtin_alloca(*p);
  a[1] = 2; *p = a[*p];
}
"""
TOO_LARGE = """LT_HOOK void f(unsigned *p) {
  unsigned n = *p;
  volatile unsigned kept[100000];
  kept[n] = 2; *p = kept[n + 1];
}
"""
IN_LDS = """__shared__ unsigned together[8];
LT_HOOK void f(unsigned *p) {
  together[*p & 7] = 2;
}
"""
ELSEWHERE = """__device__ unsigned elsewhere(unsigned n);
LT_HOOK void f(unsigned *p) {
  *p = elsewhere(*p);
}
"""
PRINTS = """extern "C" __device__ int puts(const char *);
LT_HOOK void f(unsigned *p) {
  puts("hello");
}
"""
ASSERTS = """LT_HOOK void f(unsigned *p) {
  assert(*p == 3);
}
"""
WRONG_TEXT = """LT_HOOK void f(unsigned *p) {
  printf("%f\\n", *p);
}
"""
BARRIER = """LT_HOOK void f(unsigned *p) {
  asm volatile("s_barrier");
}
"""


@pytest.mark.parametrize(
    ("text", "message", "source", "word"),
    [
        (AGAIN, "again.*, which calls itself: all that a hook calls becomes part of it", "return n * again(n - 1) + again(n / 2);", "again"),
        (PING, "p[io]ng.*, which calls itself", None, "p"),
        (OF_NO_SIZE, "an array whose size is known only as it runs", "__builtin_alloca(*p);", "__builtin_alloca"),
        (TOO_LARGE, "a stack of more than 131072 bytes for each lane", "volatile unsigned kept[100000];", "volatile"),
        (IN_LDS, "the LDS variable together.*give the hook an lt.shared", "together[*p & 7] = 2;", "together"),
        (ELSEWHERE, "elsewhere.*, which is not in the module", "*p = elsewhere(*p);", "elsewhere"),
        (PRINTS, r"calls printf \(puts\), which asks the application's host: in an lt.HookLibrary, include <luthier/hooks.h>", 'puts("hello");', "puts"),
        (ASSERTS, r"calls assert \(__lt_assert\), which would end the application's kernel", "assert(*p == 3);", "assert"),
        (WRONG_TEXT, "^<hip.*error: printf: a value is not of the type that the text prints", 'printf("%f\\n", *p);', "printf"),
        (BARRIER, "the hook has s_barrier, which concerns all of the wave", 'asm volatile("s_barrier");', "asm"),
    ],
    ids=lambda one: None,
)  # fmt: skip
def test_what_no_hook_in_hip_can_have_is_shown_where_it_is(text, message, source, word):
    error = refusal(lt.HookError, library(HEAD + text))
    assert re.search(message, str(error).splitlines()[0]), error
    shows(error, error.file, source or str(error).splitlines()[1], word)


def test_what_is_wrong_with_all_of_a_hook_is_shown_at_its_beginning(tmp_path):
    (tmp_path / "whole.c").write_text("\nvoid f(unsigned *p) {\n  *p = 1;\n}\n")
    command = ["clang-22", "--target=amdgcn-amd-amdhsa", "-mcpu=gfx1100", "-gline-tables-only", "-O1", "-emit-llvm", "-nogpulib"]
    subprocess.run([*command, "-c", "whole.c", "-o", "whole.bc"], check=True, cwd=tmp_path)
    error = refusal(lt.HookError, lt.HookLibrary(tmp_path / "whole.bc")["f"])
    assert "f is compiled for gfx1100, not for gfx90a" in error.message and (error.file, error.line) == ("whole.c", 2)


C = """unsigned again(unsigned n) {
  return n ? n * again(n - 1) + again(n / 2) : 1;
}
void f(unsigned *p) {
  *p = again(*p);
}
"""


@pytest.mark.parametrize("language", ["c", "c++", "opencl"])
def test_other_languages_show_the_line_too(language):
    text = C.replace("unsigned *", "__global unsigned *") if language == "opencl" else C
    text = text.replace("void f", 'extern "C" void f') if language == "c++" else text
    error = refusal(lt.HookError, library(text, language))
    assert "which calls itself" in error.message
    shows(error, error.file, "return n ? n * again(n - 1) + again(n / 2) : 1;", "again")


def test_ir_shows_the_line_that_its_debug_information_tells(tmp_path):
    (tmp_path / "lines.c").write_text(C)
    command = [
        "clang-22",
        "--target=amdgcn-amd-amdhsa",
        "-mcpu=gfx90a",
        "-gline-tables-only",
        "-O1",
        "-S",
        "-emit-llvm",
        "-nogpulib",
    ]
    subprocess.run([*command, "-Xclang", "-disable-llvm-passes", "lines.c", "-o", "lines.ll"], check=True, cwd=tmp_path)
    error = refusal(lt.HookError, lt.HookLibrary(tmp_path / "lines.ll")["f"])
    assert (error.file, error.line) == ("lines.c", 2) and "which calls itself" in error.message


@pytest.mark.parametrize("processor", ["gfx1100", None])
def test_bitcode_for_another_processor_is_refused_by_name(tmp_path, processor):
    out = tmp_path / "other.bc"
    amd = [
        "-x",
        "cl",
        "-cl-std=CL2.0",
        "-target",
        "amdgcn-amd-amdhsa",
        f"-mcpu={processor}",
        "-nogpulib",
        "-Xclang",
        "-finclude-default-header",
    ]
    text = "void f(__global unsigned *p) { *p = 1; }" if processor else "void f(unsigned *p) { *p = 1; }"
    command = ["clang-22", *(amd if processor else ["-x", "c"]), "-O1", "-emit-llvm", "-c", "-", "-o", out]
    subprocess.run(command, input=text.encode(), check=True)
    error = refusal(lt.HookError, lt.HookLibrary(out)["f"])
    assert f"f is compiled for {processor or 'x86-64'}, not for gfx90a" in error.message


def test_what_is_not_defined_anywhere_is_refused_by_name():
    body = "define void @f(ptr addrspace(1) %p) {{\n {}\n ret void\n}}\n"
    missing = library("declare void @nothing()\n" + body.format("call void @nothing()"), "ir")
    assert "the hook calls nothing, which is not in the module" in refusal(lt.HookError, missing).message
    gone = library("@gone = external addrspace(1) global i32\n" + body.format("store i32 1, ptr addrspace(1) @gone"), "ir")
    error = refusal(lt.NothingInsertedError, gone)
    assert [one["kind"] for one in error.rejected] == ["no_symbol"]
    assert "the hook f refers to gone, which is neither a variable of the plan nor a symbol of the object" in str(error)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("define void @f() {\n %x = add i32 %y, 1\n %y = add i32 %x, 1\n ret void\n}", "does not dominate all uses"),
        ("define void @f() {\n garbage\n}", "library:2:2: error: expected instruction opcode"),
        (b"BC\xc0\xde" + bytes(40), "not valid LLVM IR"),
    ],
)
def test_ir_that_does_not_verify_is_refused_before_it_is_used(source, message):
    with pytest.raises(lt.LoadError) as error:
        lt.HookLibrary(source, "ir" if isinstance(source, str) else "bitcode").functions  # noqa: B018
    assert message in str(error.value) and "\n" not in str(error.value)


# What a kernel cannot give


@lt.hook
def asks_for_an_argument(out: lt.ptr[lt.u32]):
    out[0] = lt.kernel_arg("nothing", lt.u32)


def test_what_the_kernel_does_not_have_is_a_rejection_at_its_place():
    error = refusal(lt.NothingInsertedError, asks_for_an_argument)
    (one,) = error.rejected
    assert one["kind"] == "no_kernel_argument" and one["reason"] == "vecadd has no argument nothing of 4 bytes"
    assert f"at {one['address']:#x}: {one['reason']}" in str(error)


@lt.hook
def asks_for_the_queue(out: lt.ptr[lt.u32]):
    out[0] = lt.u32(lt.queue_ptr())


def test_a_descriptor_that_cannot_grant_an_address_is_a_rejection_by_name():
    code = lt.CodeObject.open(compiled.code_object("vecadd", target=TARGET))
    # More than the hardware has: some tool has written it so.
    wrong = code.with_descriptor("vecadd", code.descriptor("vecadd").replace(user_sgpr_count=20))
    with pytest.raises(lt.NothingInsertedError) as error:
        lt.instrument(wrong, [Inserts(asks_for_the_queue)])
    (one,) = error.value.rejected
    assert one["kind"] == "user_sgprs"
    assert one["reason"].startswith("the kernel would have 20 user SGPRs with QueuePtr, and the hardware gives 16 at most")
