"""Code objects, out of files and bytes of any wrapping."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .. import _core
from ..errors import ArgumentError, LoadError
from .images import as_loaded, file_of, reader, without_sections
from .shown import show_in_notebooks

if TYPE_CHECKING:
    import numpy as np

    from .kernel import Kernel
    from .loader import LoadedObject

show_in_notebooks()


class CodeObject:
    """One AMDGPU code object.

    >>> co = CodeObject.open("vecadd.hsaco")
    >>> co.target, co.kernels
    ('gfx90a', [<Kernel vecadd>])
    """

    def __init__(self, core: _core.CodeObject | _core.NativeBytes, path: str | None = None):
        #: The native object, or the bytes of its file, taken apart when that is asked for.
        self._core = core
        #: Where it was read from, if it was a file.
        self.path = path
        #: What instrumenting it did, for a result of :func:`luthier.instrument`; else None.
        self.instrumentation: dict[str, Any] | None = None
        self._named_registers: dict[str, dict[str, int]] = {}

    @classmethod
    def open(cls, source: Any, *, target: str | None = None, kernel: str | None = None) -> CodeObject:
        """From a file name or bytes: a code object, a host binary with a ``.hip_fatbin`` section, an offload bundle. Or
        from the runtime's name of a loaded code object, ``file:///...#offset=N&size=N`` or ``memory://...``.

        Of a file that holds several, ``target`` (such as ``"gfx90a"`` or ``"gfx90a:xnack-"``) selects, by the rules of
        the runtime, and nothing but what was selected is read; where that leaves several, one for each translation
        unit, the one that has ``kernel`` is taken. A code object that does not suit ``target`` is a
        :class:`~luthier.LoadError`.

        :param source: the path of a file, or bytes.
        :param target: a processor, with features where they matter.
        :param kernel: a name that the code object has to have.
        :returns: the code object; nothing of its code is decoded yet.
        :raises LoadError: for a file that cannot be read, holds no code object, is damaged, or holds several that suit.
        """
        container, path = open_container(source)
        return cls.of_container(container, path, target=target, kernel=kernel)

    @classmethod
    def of_container(
        cls, container: _core.Container, path: str | None, *, target: str | None = None, kernel: str | None = None
    ) -> CodeObject:
        """The same of a file that is open already.

        :param container: what was opened.
        :param path: where, if it is a file.
        :param target: as for :meth:`open`.
        :param kernel: as for :meth:`open`.
        :returns: the code object; nothing of its code is decoded yet.
        :raises LoadError: as :meth:`open` does.
        """
        if container.kind == "code object":
            if target is not None:
                container.select(target)
            return cls(container.code_object(0), path)
        name = path or "the bytes"
        wanted = target or next(t for t in [*_core.TARGETS, None] if t is None or _holds(container, t)) or _core.TARGETS[0]
        found = container.select(wanted)
        if len(found) == 1:
            return cls(container.code_object(found[0]), path)
        if kernel is None:
            raise LoadError(f"{name}: there are {len(found)} code objects for {wanted}: name a kernel, which one of them has")
        for index in found:
            core = container.code_object(index)
            if core.kernel(kernel) is not None:
                return cls(core, path)
        raise LoadError(f"{name}: none of the {len(found)} code objects for {wanted} has a kernel {kernel}")

    @classmethod
    def from_memory(
        cls, source: LoadedObject | bytes | bytearray | memoryview | int, *, process: int | None = None
    ) -> CodeObject:
        """What is in memory, with its ELF file as a hint only. ``source`` is

        - a :class:`LoadedObject` of a finalized :class:`MockLoader`: its code, constants and variables as they are now, relocated; the
          file's sections tell more (local symbols, lines), where they can be read;
        - the address of the ELF header of an object that some loader has loaded, in this process or in the one of number
          ``process``: what its program headers say, and its dynamic symbols. There are no sections in memory;
        - bytes of a file whose sections are missing or damaged: they are not looked at.

        :param source: one of these.
        :param process: the number of the process that an address is of; this one without.
        :returns: the code object, which can be lifted, instrumented and run as any.
        :raises LoadError: for memory that cannot be read, or in which there is no code object.
        """
        from .loader import LoadedObject

        if isinstance(source, LoadedObject):
            loader, base = source.loader, source.base
            data = as_loaded(source.code_object.data, loader.memory.read, base)
            return cls(_core.CodeObject.parse(data), source.name)
        if isinstance(source, int):
            return cls(_core.CodeObject.parse(file_of(reader(process), source)))
        if process is not None:
            raise ArgumentError("from_memory: process= goes with an address")
        return cls(_core.CodeObject.parse(without_sections(bytes(source))))

    @classmethod
    def of(cls, source: Any, *, target: str | None = None, kernel: str | None = None) -> CodeObject:
        """``source`` itself if it is a code object already, else :meth:`open` of it. ``target`` and ``kernel`` are those of
        :meth:`open`."""
        return source if isinstance(source, CodeObject) else cls.open(source, target=target, kernel=kernel)

    def named_registers(self, kernel: str) -> dict[str, int]:
        """How many registers of each file (``s``, ``v``, ``a``) a kernel can name; nothing where there are no hooks."""
        if kernel not in self._named_registers:
            self._named_registers[kernel] = self.program.named_registers(kernel) or {}
        return self._named_registers[kernel]

    @property
    def core(self) -> _core.CodeObject:
        """The native object."""
        if isinstance(self._core, _core.NativeBytes):
            self._core = self._core.code_object()
        return self._core

    @property
    def data(self) -> bytes:
        """The bytes of the ELF file."""
        return bytes(self._core) if isinstance(self._core, _core.NativeBytes) else self._core.data

    @property
    def size(self) -> int:
        """Bytes of the ELF file."""
        return len(self._core) if isinstance(self._core, _core.NativeBytes) else self._core.size

    def write_to(self, descriptor: int) -> None:
        """Writes :attr:`data` to a file that is open, without making a copy of a result of :func:`luthier.instrument` first.

        :param descriptor: the number of the file.
        :raises OSError: if it cannot be written.
        """
        if isinstance(self._core, _core.NativeBytes):
            self._core.write_to(descriptor)
            return
        rest = memoryview(self.data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]

    @property
    def target(self) -> str:
        """The target id, ``gfx90a:sramecc+:xnack-`` for example."""
        return self.core.target

    @property
    def processor(self) -> str:
        """The target id without its features."""
        return self.core.processor

    @property
    def devices(self) -> list[str]:
        """The processors of the mock device that the code runs on: its own, or the members of a generic one."""
        return _core.devices_for(self.processor)

    @property
    def target_id(self) -> _core.TargetId:
        """The target id, taken apart."""
        return self.core.target_id

    @property
    def version(self) -> int:
        """The code object version, 3 to 6."""
        return self.core.version

    @property
    def os_abi(self) -> str:
        """Whose loader it is for: ``AMDHSA``, ``AMDPAL`` or ``Mesa3D``."""
        return self.core.os_abi

    def runs_on(self, agent: str | _core.TargetId) -> bool:
        """Whether the HSA runtime would load it on an agent with this target id, ``gfx90a:sramecc+:xnack-`` say."""
        return self.core.runs_on(agent if isinstance(agent, _core.TargetId) else _core.TargetId(agent))

    @cached_property
    def metadata(self) -> dict[str, Any] | None:
        """The metadata note as it is, unknown keys included; None without one."""
        return self.core.metadata()

    @property
    def notes(self) -> list[dict[str, Any]]:
        """``owner``, ``kind``, ``kind_name``, ``offset``, ``size`` and ``content`` of each note."""
        return self.core.notes()

    def descriptor(self, kernel: str) -> _core.KernelDescriptor:
        """The descriptor of a kernel, with or without ``.kd`` in its name."""
        found = self.core.descriptor(kernel)
        if found is None:
            raise ArgumentError(no_kernel(self, kernel))
        return found

    def with_descriptor(self, kernel: str, descriptor: _core.KernelDescriptor) -> CodeObject:
        """A copy of the code object in which a kernel has another descriptor; all other bytes are the same.

        >>> co.with_descriptor("vecadd", co.descriptor("vecadd").replace(priority=3)).save("out.hsaco")
        """
        self.descriptor(kernel)
        return CodeObject(self.core.with_descriptor(kernel, descriptor), self.path)

    @property
    def instrumented(self) -> bool:
        """Whether Luthier wrote it."""
        return self.core.instrumented

    @cached_property
    def kernels(self) -> list[Kernel]:
        """Its kernels, in the order of the metadata."""
        from .kernel import Kernel

        return [Kernel(self, name) for name in self.core.kernels]

    def kernel(self, name: str) -> Kernel:
        """The kernel of that name, with or without ``.kd``."""
        for kernel in self.kernels:
            if kernel.name == name.removesuffix(".kd"):
                return kernel
        raise ArgumentError(no_kernel(self, name))

    @cached_property
    def program(self) -> _core.Program:
        """Its code, taken apart into functions, blocks and instructions."""
        return _core.Program(self.core)

    @property
    def functions(self) -> list[_core.Function]:
        """All its functions, by address: kernels and device functions."""
        return self.program.functions

    @property
    def blocks(self) -> _core.Blocks:
        """All basic blocks, by address."""
        return self.program.blocks

    @property
    def instructions(self) -> _core.Instructions:
        """All instructions in functions, by address: a sequence that makes objects when it is asked for them."""
        return self.program.instructions

    def columns(self, *names: str) -> dict[str, np.ndarray[Any, Any]]:
        """The :attr:`instructions` as NumPy arrays: a column for each of ``names``; see :func:`luthier.columns.columns`."""
        from ..columns import columns

        return columns(self.instructions, *names)

    def to_arrow(self, *names: str) -> Any:
        """The :attr:`instructions` as a ``pyarrow.Table`` with the columns ``names``; see :func:`luthier.columns.to_arrow`."""
        from ..columns import to_arrow

        return to_arrow(self.program, self.instructions, *names)

    def inspect(self) -> dict[str, Any]:
        """Everything that ``luthier inspect --json`` shows of it."""
        return self.core.inspect()

    def disasm(self, kernel: str | None = None) -> str:
        """Assembly text with blocks, branch targets and source lines: of everything, or of one kernel and what it calls."""
        return "".join(self.program.disasm(f) for f in self.program.select(kernel))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it to the file ``path``: whole, or not at all."""
        from ..base.outputs import Outputs

        with Outputs() as outputs:
            outputs.open(os.fspath(path)).write(self)
            outputs.commit()

    def _repr_html_(self) -> str:
        """For notebooks: its kernels, with their registers and memory."""
        from ..reports.as_html import html_table

        names = ("name", "vgprs", "agprs", "sgprs", "lds", "scratch", "code_size")
        rows = [tuple("" if row[name] is None else row[name] for name in names) for row in self.core.kernel_table()]
        title = f"{self.path or 'code object'}, {self.target}: {len(rows):,} kernels"
        return html_table(title, [name.replace("_", " ") for name in names], rows[:100])

    def __repr__(self) -> str:
        return f"<CodeObject {self.path or ''} {self.target}: {len(self.core.kernels)} kernels>"


def no_kernel(code_object: CodeObject, name: str) -> str:
    """What to say when there is no such kernel."""
    known = code_object.core.kernels
    some = ", ".join(known[:8]) + (f" and {len(known) - 8} more" if len(known) > 8 else "")
    return f"{code_object.path or 'the code object'} has no kernel {name}" + (f": it has {some}" if known else ", nor any other")


def open_container(source: Any) -> tuple[_core.Container, str | None]:
    """The container, and the file's name if it is one."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _core.Container.from_bytes(bytes(source)), None
    path = os.fspath(source)
    if isinstance(path, str) and path.startswith(("file://", "memory://")):
        return _core.Container.open_uri(path), path
    return _core.Container.open(path), path


def _holds(container: _core.Container, target: str) -> bool:
    return any(e["target"] and e["target"].split(":")[0] == target for e in container.entries)
