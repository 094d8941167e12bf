"""Hooks that are not written in Python: functions of HIP, C, C++, OpenCL C or LLVM IR."""

from __future__ import annotations

import hashlib
import linecache
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _core
from ..errors import ArgumentError, LoadError, ToolError
from ..lang import facts
from ..lang.facts import Fact
from ..lang.functions import Param
from ..lang.records import PrintedInHip
from ..lang.types import SCALARS, InOut, Pointer, Scalar, bool_, counter, f16, f32, f64, u8
from .channels import Printing
from .embedded import Embedded
from .values import Counter, DeviceArray, Variable

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..objects.code_object import CodeObject
    from .tool import Tool

#: By the end of a file's name.
_SUFFIXES = {
    ".hip": "hip", ".cu": "hip", ".c": "c", ".cc": "c++", ".cpp": "c++", ".cxx": "c++", ".cl": "opencl", ".ll": "ir", ".bc": "bitcode",
}  # fmt: skip
_BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
#: The ring of what is printed, as ``luthier/hooks.h`` calls it.
_PRINTED = "__lt_printed"
#: What variables are looked up for before any code object is known.
_USUAL = ("gfx90a", 64)


class _AnyInteger(Scalar):
    """An integer of the IR, which has no sign."""

    @property
    def low(self) -> int:
        return -(1 << (self.bits - 1))

    @property
    def high(self) -> int:
        return (1 << self.bits) - 1


class _Anything(Scalar):
    """What a pointer of the IR points to."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scalar)

    def __hash__(self) -> int:
        return 0


class _AnyPointer(Pointer):
    @property
    def name(self) -> str:  # type: ignore[override]
        return "a pointer"


_FLOATS: dict[str, Scalar] = {"half": f16, "float": f32, "double": f64}
_ADDRESS = _AnyPointer(_Anything("anything", "int", 8), "global")
_LDS = _AnyPointer(_Anything("anything", "int", 8), "lds")


class LibraryParam(Param):
    """A parameter of a function of a library. One that is a pointer to memory of each lane (``lt::inout``) is a counter's
    if it is given a counter, and else a register's."""

    def __init__(self, name: str, text: str, span: Any):
        super().__init__(name, _type(text), span)
        object.__setattr__(self, "is_place", text == "ptr addrspace(5)")

    def given(self, argument: object) -> Any:
        """The parameter's type for an argument."""
        if not getattr(self, "is_place", False):
            return self.type
        return counter if isinstance(argument, Counter) else InOut(_AnyInteger("a register", "int", 32))


def _type(text: str) -> Any:
    if text in _FLOATS:
        return _FLOATS[text]
    if text == "i1":
        return bool_
    if text.startswith("i") and text[1:].isdigit():
        return _AnyInteger(text, "int", int(text[1:]))
    return {"ptr addrspace(3)": _LDS, "ptr addrspace(5)": counter}.get(text, _ADDRESS)


class BoundHook:
    """A function of a library for a code object and a tool, as placement takes it."""

    def __init__(self, name: str, params: list[LibraryParam], core: _core.LibraryHook, facts: list[Fact]):
        self.name, self.params, self.core, self.facts = name, params, core, facts

    def check(self) -> None:
        """Nothing is left to be checked: the module was verified when it was read."""


class LibraryHook:
    """A function of a library, which is inserted like any hook."""

    def __init__(self, library: HookLibrary, name: str):
        self.library, self.name = library, name

    def bound(
        self, code_object: CodeObject, tool: Tool, symbol: Callable[[Variable], str], shared: tuple[int, ...] = ()
    ) -> BoundHook:
        """For a code object's processor and a tool's variables; ``symbol`` gives a variable its symbol. The arguments
        ``shared``, from 0, are LDS of the tools' own."""
        target, wave = code_object.target.split(":")[0], code_object.program.wavefront_size
        module = self.library.module(target, wave)
        found = next((f for f in module.functions if f[0] == self.name), None)
        if found is None:
            known = ", ".join(name for name, _, refused in module.functions if refused is None)
            raise ToolError(f"{tool.name}: {self.library!r} has no function {self.name}: it has {known or 'none'}")
        _, params, refused = found
        if refused is not None:
            raise ToolError(f"{tool.name}: {self.name} of {self.library!r} cannot be a hook: {refused}")
        span: Any = None
        listed = [LibraryParam(name or f"parameter {n + 1}", text, span) for n, (name, text) in enumerate(params)]
        symbols = {name: symbol(self.library.variables[spoken]) for name, spoken in self.library.names().items()}
        own = {variable.name: variable for variable in tool.variables()}
        symbols.update({name: symbol(own[name]) for name in module.externals if name in own})
        if module.prints(self.name):
            texts = [PrintedInHip.of(text) for text in module.texts]
            symbols[_PRINTED] = symbol(Printing.of(tool, {text.number: text for text in texts}))
        given: list[Fact] = [getattr(facts, fact) for fact in module.given(self.name, target, bool(shared))]
        return BoundHook(self.name, listed, module.hook(self.name, symbols, list(shared)), given)

    def __repr__(self) -> str:
        return f"<hook {self.name} of {self.library!r}>"


class HookLibrary:
    """Hooks in HIP, C, C++, OpenCL C, LLVM IR or bitcode.

    ``source``: a path, or the text itself if it has more than one line, or bytes of IR or bitcode. ``language``: ``"hip"``,
    ``"c"``, ``"c++"``, ``"opencl"``, ``"ir"`` or ``"bitcode"``; of a file its name says it. Clang makes IR of the first four, for
    each processor when a hook is first inserted into code for it: the ``clang`` that is named, that of ``LUTHIER_CLANG``, or
    one on the PATH. ``flags`` are passed to it, and ``define`` are macros.

    ``library["name"]`` is a function as a hook, which ``kernel.insert_before`` and its like take. Its device variables are
    ``library.variables``. As an attribute of a tool's class, each instance of the tool has its own variables.

    >>> library = HookLibrary("define void @nothing() {\\n  ret void\\n}", "ir")
    >>> library["nothing"]
    <hook nothing of <HookLibrary of ir>>
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | bytes,
        language: str | None = None,
        flags: Sequence[str] = (),
        define: Mapping[str, object] | None = None,
        *,
        clang: str | os.PathLike[str] | None = None,
    ):
        known = ("hip", "c", "c++", "opencl", "ir", "bitcode")
        if isinstance(flags, str):
            raise ArgumentError(f"HookLibrary: flags={flags!r}: expected a list of the compiler's flags")
        if language is not None and language not in known:
            raise ArgumentError(f"HookLibrary: language={language!r}: expected one of {', '.join(known)}")
        path = Path(source) if isinstance(source, os.PathLike) or isinstance(source, str) and "\n" not in source else None
        if path is not None and language is None:
            language = _SUFFIXES.get(path.suffix)
        if language is None and isinstance(source, bytes):
            language = "bitcode" if source.startswith(_BITCODE) else "ir"
        if language is None:
            what = path or "the source"
            raise ArgumentError(f"HookLibrary: the language of {what} is not known: language= is one of {', '.join(known)}")
        if path is not None and not path.is_file():
            raise LoadError(f"HookLibrary: there is no file {path}")
        self.language = language
        self.path = path
        self._flags, self._define, self._clang = tuple(flags), dict(define or {}), clang
        if language in ("ir", "bitcode"):
            self._source: Any = path.read_bytes() if path else source.encode() if isinstance(source, str) else source
        elif isinstance(source, bytes):
            self._source = source.decode()
        else:
            self._source = path or source
        self._embedded: Embedded | None = None
        #: What was made of it, by processor and wave size.
        self._modules: dict[tuple[str, int] | None, _core.HookModule] = {}
        self._begin()

    def _begin(self) -> None:
        self._hooks: dict[str, LibraryHook] = {}
        self._variables: dict[str, DeviceArray] | None = None

    @classmethod
    def from_code_object(cls, source: Any, *, identity: str | None = None) -> HookLibrary:
        """The bitcode that HIP has embedded (``-Xclang -fembed-bitcode=all``) in the code objects of ``source``, a file or its bytes: a program or a
        library with a fat binary, a bundle, or a code object. For each processor it has that processor's. Where a file has
        several translation units, ``identity`` chooses one: the end of its ``__hip_cuid_*``."""
        library = cls.__new__(cls)
        library.language, library._flags, library._define, library._clang = "bitcode", (), {}, None
        library.path = Path(source) if isinstance(source, (str, os.PathLike)) else None
        library._source, library._modules = None, {}
        library._embedded = Embedded(source, identity)
        library._begin()
        return library

    def module(self, processor: str, wave: int) -> _core.HookModule:
        """What LLVM has read, for a processor and a wave size: compiled now, if it was not before."""
        key = None if self.language in ("ir", "bitcode") and self._embedded is None else (processor, wave)
        if key not in self._modules:
            self._modules[key] = self._make(processor, wave)
        return self._modules[key]

    def _make(self, processor: str, wave: int) -> _core.HookModule:
        if self._embedded is not None:
            return self._embedded.module(processor)
        if self.language in ("ir", "bitcode"):
            data = self._source
        else:
            # It starts processes: no other hook needs what that takes.
            from . import clang

            data = clang.bitcode(
                self._source, self.language, processor=processor, wave=wave, flags=self._flags, define=self._define,
                clang=self._clang, name=self._name(),
            )  # fmt: skip
        try:
            return _core.HookModule(data)
        except ArgumentError as error:
            raise LoadError(f"{self!r} is not valid LLVM IR: {error}") from None

    def _name(self) -> str:
        """What stands for a file's name where the source is a text; errors and findings show its lines by that."""
        if not isinstance(self._source, str):
            return str(self.path)
        name = f"<{self.language} library {hashlib.sha256(self._source.encode()).hexdigest()[:8]}>"
        linecache.cache[name] = (0, None, self._source.splitlines(keepends=True), name)
        return name

    def _any(self) -> _core.HookModule:
        """The module for some processor."""
        if self._modules:
            return next(iter(self._modules.values()))
        first = self._embedded.first() if self._embedded is not None else None
        return self.module(*((first, 64) if first else _USUAL))

    @property
    def functions(self) -> list[str]:
        """The names of the functions that can be hooks."""
        return [name for name, _, refused in self._any().functions if refused is None]

    def __getitem__(self, name: str) -> LibraryHook:
        """A function as a hook. That there is such a function is checked when it is inserted."""
        return self._hooks.setdefault(name, LibraryHook(self, name))

    def __contains__(self, name: object) -> bool:
        return name in self.functions

    def __iter__(self) -> Iterator[LibraryHook]:
        return (self[name] for name in self.functions)

    @property
    def variables(self) -> dict[str, DeviceArray]:
        """Its ``__device__``, ``__constant__`` and ``__managed__`` variables (``global`` ones of OpenCL), by name: each an array of
        the numbers that it is made of, or of bytes. They read and write like any :class:`~luthier.DeviceArray`."""
        if self._variables is None:
            module = self._any()
            self._variables = {}
            for _, spoken, size, align, init, element, count, _ in module.variables:
                if spoken in module.with_addresses:
                    raise ToolError(
                        f"{self!r}: the variable {spoken} begins with addresses, which are known only when it is loaded"
                    )
                kind: Any = _element(element)
                variable = DeviceArray(kind, max(count if kind is not u8 else size, 1), name=spoken)
                variable.align = max(variable.align, align)
                contents: Any = bytes(init) or None
                variable.init = contents
                variable.is_numbers = kind is not u8
                self._variables[spoken] = variable
        return self._variables

    def names(self) -> dict[str, str]:
        """The variables' names, by their symbols in the IR."""
        return {name: spoken for name, spoken, *_ in self._any().variables}

    @property
    def identity(self) -> str | None:
        """What HIP has marked the source with, the same for all processors: the end of ``__hip_cuid_*``."""
        found = self._any().identity
        return found.removeprefix("__hip_cuid_") if found else None

    def __getstate__(self) -> dict[str, Any]:
        # What was compiled is compiled again in another process, which has bitcode of code objects and source, and no LLVM of ours.
        source = self._source.read_text() if isinstance(self._source, Path) else self._source
        return {**vars(self), "_modules": {}, "_hooks": {}, "_source": source}

    def __set_name__(self, owner: type, name: str) -> None:
        self._attribute = name

    def __get__(self, tool: Any, owner: type) -> HookLibrary:
        if tool is None:
            return self
        mine = HookLibrary.__new__(HookLibrary)
        # What was compiled is shared; variables are not.
        mine.__dict__.update(self.__dict__)
        mine._begin()
        tool.__dict__[self._attribute] = mine
        return mine

    def __repr__(self) -> str:
        return f"<HookLibrary of {self.path or self.language}>"


def _element(text: str) -> Scalar:
    if text in _FLOATS:
        return _FLOATS[text]
    return next((scalar for scalar in SCALARS if scalar.name == f"u{text[1:]}"), u8)
