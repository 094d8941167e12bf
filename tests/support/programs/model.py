"""What random programs are written in: types, and statements that can be dropped one by one."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Type:
    name: str
    bits: int
    kind: str  # 'i' for signed, 'u' for unsigned, 'f' for floating point
    #: The number of elements of a vector, the element's type being `of`.
    length: int = 1
    of: Type | None = None

    def __str__(self) -> str:
        return self.name


INTEGERS = [Type(f"{kind}{bits}", bits, kind) for bits in (8, 16, 32, 64) for kind in "iu"]
FLOATS = [Type("f16", 16, "f"), Type("bf16", 16, "f"), Type("f32", 32, "f"), Type("f64", 64, "f")]
NAMED = {t.name: t for t in INTEGERS + FLOATS}
U8, U16, U32, U64, I32, F32 = (NAMED[name] for name in ("u8", "u16", "u32", "u64", "i32", "f32"))
VECTORS = [
    Type(f"{name}x{length}", NAMED[name].bits, NAMED[name].kind, length, NAMED[name])
    for name in ("u8", "u16", "u32", "u64", "f16", "f32", "f64")
    for length in (2, 3, 4, 8)
]


@dataclass
class Statement:
    """A line of text, or a block: a head, statements and a tail. Without it, its function is still a whole one."""

    text: str
    inside: list[Statement] = field(default_factory=list)
    tail: str = ""

    def lines(self, indent: int = 1) -> list[str]:
        own = ["    " * indent + self.text]
        for statement in self.inside:
            own += statement.lines(indent + 1)
        return [*own, "    " * indent + self.tail] if self.tail else own


@dataclass
class Function:
    """A function: what it is called with, its variables, which stay, and its statements, which need not."""

    name: str
    returns: str
    parameters: list[tuple[str, str]]
    attribute: str
    variables: list[str] = field(default_factory=list)
    body: list[Statement] = field(default_factory=list)
    ending: list[str] = field(default_factory=list)
    #: How many simple operations it takes at most, roughly.
    cost: int = 1

    def text(self) -> str:
        listed = ", ".join(f"{kind} {name}" for kind, name in self.parameters)
        lines = [f"{self.attribute} {self.returns} {self.name}({listed}) {{"]
        lines += ["    " + variable for variable in self.variables]
        for statement in self.body:
            lines += statement.lines()
        return "\n".join([*lines, *("    " + line for line in self.ending), "}"])


@dataclass
class Program:
    """One kernel: the types, tables and functions that it needs, and its launch."""

    name: str
    block: int
    types: list[str]
    functions: list[Function | str]
    #: PROGRAM's arguments behind the block: DPP control, what neighbours differ in, the kernel's attributes.
    launch: str

    def text(self) -> str:
        functions = [function if isinstance(function, str) else function.text() for function in self.functions]
        inside = "\n".join([*self.types, *functions])
        return f"{BEGIN}\n{inside}\n{END}\nPROGRAM({self.name}, {self.block}, {self.launch})\n"


BEGIN = "#ifdef __AMDGCN__\n#pragma clang force_cuda_host_device begin\n#endif"
END = "#ifdef __AMDGCN__\n#pragma clang force_cuda_host_device end\n#endif"


def source(programs: list[Program]) -> str:
    return '#include "frame.h"\n' + "".join(program.text() for program in programs)
