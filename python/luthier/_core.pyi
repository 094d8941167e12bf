"""The native module. Its errors are those of :mod:`luthier.errors`; long work releases the GIL."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, final, overload

from .device.launching import Launch as _Launch
from .instrumenting.options import Plan as _Plan

__all__ = [
    "Block",
    "Blocks",
    "CodeObject",
    "Container",
    "Device",
    "Frame",
    "Function",
    "HookModule",
    "HostFile",
    "Instruction",
    "Instructions",
    "KernelDescriptor",
    "LibraryHook",
    "Loop",
    "Mir",
    "MockLoader",
    "NativeBytes",
    "Operand",
    "Program",
    "Register",
    "Ring",
    "Session",
    "Stage",
    "TARGETS",
    "TargetId",
    "array_place",
    "assemble",
    "can_instrument",
    "columns",
    "compress",
    "counting_tree",
    "coverage",
    "decompress",
    "demangled",
    "devices_for",
    "environment",
    "finding_kinds",
    "flag_bits",
    "forget_memory",
    "instrument",
    "keep_hooks",
    "length_amounts",
    "length_increments",
    "length_records",
    "may_not_return",
    "remember_memory",
    "warm_up",
]

TARGETS: tuple[str, ...]
"""The processors whose code can be lifted, instrumented and run."""

@final
class Container:
    """A file that holds code objects: a code object itself, a host binary with ``.hip_fatbin``, an offload bundle."""

    @staticmethod
    def open(path: str) -> Container:
        """Reads a file and lists what is in it; nothing is decompressed yet."""
    @staticmethod
    def from_bytes(data: bytes) -> Container:
        """The same from bytes."""
    @staticmethod
    def open_range(path: str, offset: int, size: int) -> Container:
        """A part of a file."""
    @staticmethod
    def from_memory(address: int, size: int, process: int | None = None) -> Container:
        """A range of a process's memory, by default this one's."""
    @staticmethod
    def open_uri(uri: str) -> Container:
        """What the runtime's name of a loaded code object stands for: ``file:///...`` or ``memory://...``."""
    def read(self, index: int) -> bytes:
        """The bytes of an entry, decompressed. Of a file nothing else is read."""
    @property
    def kind(self) -> str:
        """``code object``, ``fat binary`` or ``offload bundle``."""
    @property
    def entries(self) -> list[dict[str, Any]]:
        """``index``, ``bundle``, ``id``, ``target`` (None for the host's) and ``size`` of each entry."""
    def with_entries(self, new: dict[int, bytes]) -> bytes:
        """The whole file with other code objects as some of its entries, by their numbers. Everything else stays as it
        is; of a host binary only ``.hip_fatbin`` and the pointers to it change."""
    def select(self, target: str) -> list[int]:
        """The entries to load for a target id: of each bundle the one that suits it best. At least one."""
    def code_object(self, index: int) -> CodeObject:
        """The code object of an entry."""

@final
class NativeBytes:
    """Bytes of a code object that was made here. Python gets a copy of them when it asks for one."""

    def __len__(self) -> int: ...
    def __bytes__(self) -> bytes: ...
    def code_object(self) -> CodeObject:
        """The code object that they are: it has them without a copy."""
    def write_to(self, descriptor: int) -> None:
        """Writes all of them to a file that is open, from where it stands on. OSError if it cannot be written."""

@final
class CodeObject:
    """A parsed code object; see :class:`luthier.CodeObject`."""

    @staticmethod
    def parse(data: bytes) -> CodeObject:
        """From the bytes of one ELF file."""
    @property
    def source(self) -> str | None:
        """The file it was read from."""
    @property
    def data(self) -> bytes:
        """The bytes of the ELF file."""
    @property
    def size(self) -> int:
        """How many these are."""
    @property
    def target(self) -> str:
        """The target id: ``gfx90a:xnack-``."""
    @property
    def processor(self) -> str:
        """The target id without features."""
    @property
    def version(self) -> int:
        """The code object version, 3 to 6."""
    @property
    def target_id(self) -> TargetId:
        """The target id, taken apart."""
    @property
    def os_abi(self) -> str:
        """``AMDHSA``, ``AMDPAL`` or ``Mesa3D``."""
    @property
    def generic_version(self) -> int:
        """The version of a generic processor's definition; 0 for other processors."""
    def runs_on(self, agent: TargetId) -> bool:
        """Whether the HSA runtime would load it on such an agent."""
    def parameters(self, kernel: str) -> list[dict[str, Any]] | None:
        """What DWARF says of a kernel's parameters: of each ``name``, ``type`` as the source has it, ``kind`` (``bool``,
        ``float``, ``signed``, ``unsigned``, ``pointer``, ``other``), of numbers ``size``, of pointers ``to``. None where
        it says nothing."""
    def kernel_table(self) -> list[dict[str, Any]]:
        """Of each kernel ``name``, ``demangled``, ``code_size``, ``sgprs``, ``vgprs``, ``agprs``, ``lds``, ``scratch`` and
        ``arguments``; None where the metadata do not say it."""
    def metadata(self) -> Any:
        """The metadata note, unknown keys included; None without one."""
    def notes(self) -> Any:
        """``owner``, ``kind``, ``kind_name``, ``offset``, ``size`` and ``content`` of each note."""
    def descriptor(self, kernel: str) -> KernelDescriptor | None:
        """A kernel's descriptor."""
    def with_descriptor(self, kernel: str, descriptor: KernelDescriptor) -> CodeObject:
        """The code object with a kernel's descriptor replaced."""
    @property
    def instrumented(self) -> bool:
        """It has a ``.luthier.origin`` section."""
    @property
    def kernels(self) -> list[str]:
        """The kernels' names, in the order of the metadata."""
    def kernel(self, name: str) -> dict[str, Any] | None:
        """What a launch has to know: ``args``, ``kernarg_size``, segment sizes, workgroup limits."""
    def symbol(self, name: str) -> dict[str, Any] | None:
        """``name``, ``address`` (as the object states it), ``size`` and ``kind`` of a symbol."""
    def inspect(self) -> dict[str, Any]:
        """Everything: target, kernels with their descriptors, metadata, symbols, sections, segments, relocations."""

@final
class TargetId:
    """A processor and what is required of its features: ``gfx90a:sramecc+:xnack-``.

    >>> TargetId("gfx90a:xnack-").runs_on(TargetId("gfx90a:sramecc+:xnack-"))
    True
    """

    def __new__(cls, text: str) -> TargetId: ...
    @property
    def processor(self) -> str:
        """LLVM's name: ``gfx90a``, ``gfx9-generic``."""
    @property
    def sramecc(self) -> bool | None:
        """Required on or off; None where either will do, or the processor has no such feature."""
    @property
    def xnack(self) -> bool | None:
        """Required on or off; None where either will do, or the processor has no such feature."""
    @property
    def is_generic(self) -> bool:
        """It stands for several processors."""
    @property
    def generic(self) -> str | None:
        """The generic processor whose code this one runs too."""
    def check(self) -> None:
        """Raises ArgumentError unless LLVM knows the processor, and it has the features."""
    def runs_on(self, agent: TargetId) -> bool:
        """Whether the HSA runtime would load code for this on such an agent."""
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class KernelDescriptor:
    """The 64 bytes that tell the hardware how to start a kernel. Never changes: :meth:`replace` makes another one.

    >>> descriptor = code_object.descriptor("vecadd")
    >>> descriptor["enable_sgpr_dispatch_ptr"], descriptor.vgpr_count
    (0, 8)
    >>> code_object.with_descriptor("vecadd", descriptor.replace(enable_sgpr_dispatch_ptr=1)).save("out.hsaco")
    """

    def __new__(cls, data: bytes, processor: str) -> KernelDescriptor: ...
    @property
    def data(self) -> bytes:
        """Its 64 bytes."""
    @property
    def processor(self) -> str:
        """Whose meaning the fields have."""
    @property
    def fields(self) -> dict[str, int]:
        """Every field that the processor has, by LLVM's name, as it is encoded: first whole words, then their bits."""
    def __getitem__(self, key: str, /) -> int: ...
    def replace(self, **fields: int) -> KernelDescriptor:
        """A copy with some fields changed. ArgumentError for fields that the processor does not have, and for values
        that a field cannot hold. What has no field stays as it is."""
    @property
    def reserved_bits(self) -> list[tuple[int, int]]:
        """Byte offset and mask of the bits that are set and that no field of the processor has."""
    @property
    def wavefront_size(self) -> int:
        """Work-items of a wave."""
    @property
    def vgpr_count(self) -> int:
        """Vector registers allocated; on gfx90a and gfx94x AGPRs too."""
    @property
    def sgpr_count(self) -> int:
        """Scalar registers allocated, VCC and its kin included; the addressable ones from gfx10 on."""
    @property
    def occupancy(self) -> int | None:
        """Waves that fit on a SIMD, as far as registers decide. None where hooks cannot be placed."""
    @property
    def accum_offset(self) -> int | None:
        """gfx90a, gfx94x: where the AGPRs begin in the unified register file."""
    @property
    def preloaded_arguments(self) -> tuple[int, int] | None:
        """Which bytes of the kernel arguments are in SGPRs when the kernel starts."""
    def with_vgpr_count(self, registers: int) -> KernelDescriptor:
        """A copy with at least `registers` vector registers, rounded up to what the field can say."""
    def with_sgpr_count(self, registers: int) -> KernelDescriptor:
        """A copy with at least `registers` scalar registers, rounded up to what the field can say."""
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class MockLoader:
    """Code objects in memory, linked; see :class:`luthier.MockLoader`. Agents, executables and objects are numbers."""

    def __new__(cls, base: int | None = None) -> MockLoader:
        """``base``: where objects are placed from on."""
    def add_agent(self, target: str) -> int:
        """One more agent, with this target id."""
    def add_executable(self, name: str) -> int:
        """One more set of objects that see each other. Number 0 is there from the beginning."""
    @property
    def agents(self) -> list[str]:
        """The agents' target ids."""
    @property
    def executables(self) -> list[str]:
        """The executables' names."""
    @property
    def finalized(self) -> bool:
        """Everything is linked, and nothing can be added any more."""
    @property
    def object_count(self) -> int:
        """How many objects are loaded."""
    def load(
        self,
        code_object: CodeObject,
        name: str | None = None,
        agent: int | None = None,
        executable: int = 0,
        base: int | None = None,
    ) -> int:
        """Copies an object into memory."""
    def load_path(
        self,
        path: str,
        name: str | None = None,
        agent: int | None = None,
        executable: int = 0,
        base: int | None = None,
    ) -> list[int]:
        """What a file holds for the agent: of a fat binary, one object of each translation unit."""
    def load_uri(
        self,
        uri: str,
        name: str | None = None,
        agent: int | None = None,
        executable: int = 0,
        base: int | None = None,
    ) -> list[int]:
        """The same of a ``file://`` or ``memory://`` name."""
    def load_bytes(
        self,
        data: bytes,
        name: str | None = None,
        agent: int | None = None,
        executable: int = 0,
        base: int | None = None,
    ) -> list[int]:
        """The same of bytes."""
    def define(self, name: str, address: int, size: int, agent: int | None = None, executable: int = 0) -> None:
        """Says where a symbol is that objects refer to; ``agent`` None: for all agents."""
    def define_data(self, name: str, data: bytes, agent: int | None = None, executable: int = 0) -> int:
        """A variable that the loader keeps; gives its address."""
    def finalize(self) -> None:
        """Links and relocates everything, or changes nothing."""
    def object(self, number: int) -> dict[str, Any]:
        """``name``, ``agent``, ``executable``, ``base``, ``start``, ``end``, ``segments``, ``got`` of an object."""
    def code_object(self, number: int) -> CodeObject:
        """What was loaded."""
    def symbols(self) -> list[dict[str, Any]]:
        """``name``, ``address``, ``size``, ``kind``, ``binding``, ``exported``, ``object``, ``agent``, ``executable`` of
        what all objects define, then of the externals."""
    def symbol(self, name: str, object: int | None = None) -> dict[str, Any]:
        """The same of an object's symbol, or of the only exported definition or external of this name."""
    def resolve(self, object: int, name: str) -> int | None:
        """The address that a symbol of an object stands for."""
    def read(self, address: int, size: int) -> bytes:
        """Bytes of one segment or external."""
    def write(self, address: int, data: bytes) -> None:
        """Overwrites bytes of one segment or external."""
    def locate(self, address: int) -> dict[str, Any] | None:
        """``object``, ``name``, ``vaddr``, ``section``, ``symbol``, ``offset``, ``file_offset`` and permissions."""

@final
class Program:
    """The code of a code object, taken apart."""

    def __new__(cls, code_object: CodeObject) -> Program: ...
    @property
    def functions(self) -> list[Function]:
        """All functions, by address."""
    @property
    def blocks(self) -> Blocks:
        """All basic blocks, by address. A block's :attr:`Block.id` is its place here."""
    @property
    def instructions(self) -> Instructions:
        """All instructions in functions, by address. An instruction's :attr:`Instruction.id` is its place here."""
    def named_registers(self, kernel: str) -> dict[str, int] | None:
        """How many registers of each file a kernel can name: ``s``, ``v``, ``a``. None of a kernel that is not there, and
        where hooks cannot be placed."""
    @property
    def wavefront_size(self) -> int:
        """Lanes of its waves: 32 or 64."""
    @property
    def source_files(self) -> list[str]:
        """The source files that lines are in; empty without DWARF. LoadError where DWARF is damaged."""
    @property
    def mnemonics(self) -> list[str]:
        """By ``opcode_id``."""
    @property
    def opcodes(self) -> list[str]:
        """By ``opcode_id``: the operations without encoding suffixes."""
    def select(self, kernel: str | None = None) -> list[Function]:
        """A kernel's code, then the device functions that it may reach; everything for None."""
    def blocks_of(self, functions: Iterable[Function]) -> Blocks:
        """The blocks of these functions, one function after the other."""
    def instructions_of(self, functions: Iterable[Function]) -> Instructions:
        """The instructions of these functions, one function after the other."""
    def instruction_at(self, address: int) -> Instruction | None:
        """The instruction that begins there."""
    def disasm(self, function: Function) -> str:
        """Assembly text of a function, with its blocks, where branches go, and source lines."""
    def to_json(self, kernel: str | None = None) -> str:
        """Functions, blocks, edges, calls, liveness and source lines as JSON (``luthier lift --emit json``)."""
    def to_dot(self, function: Function) -> str:
        """The control flow graph of a function in Graphviz's language."""
    def to_mir(self, kernel: str | None = None) -> Mir:
        """A kernel's code and the functions that it may reach, or everything, as LLVM MIR (``luthier lift --emit mir``)."""
    def remarks(self) -> list[str]:
        """What could not be settled when the code was taken apart."""

@final
class Mir:
    """Functions as LLVM MIR. Blocks and instructions are those of the program, one for one."""

    @property
    def text(self) -> str:
        """What ``llc -x mir`` reads."""
    @property
    def functions(self) -> list[Function]:
        """Those in the text, by address."""
    @property
    def left_out(self) -> list[tuple[Function, str]]:
        """Those that MIR cannot say, and why."""
    @property
    def normalized(self) -> list[Instruction]:
        """Instructions that assembling gives back with other values in bits that have no effect: the text has the original
        words behind them."""
    def line(self, instruction: Instruction) -> str | None:
        """The machine instruction; None if its function is left out. ArgumentError for another program's."""
    def place(self, instruction: Instruction) -> tuple[Function, int, int] | None:
        """Function, number of the machine basic block (``%bb.N``), and place in it from 0; None if left out."""
    def instruction(self, function: Function, block: int, index: int) -> Instruction | None:
        """The instruction at such a place; None if there is none."""

@final
class Function:
    """A kernel's code or a device function."""

    @property
    def id(self) -> int:
        """Its place in :attr:`Program.functions`."""
    @property
    def name(self) -> str:
        """The symbol's name, or ``sub_ADDRESS``."""
    @property
    def address(self) -> int:
        """Of its first instruction, as the code object states it."""
    @property
    def size(self) -> int:
        """In bytes."""
    @property
    def kind(self) -> str:
        """``kernel`` or ``device``."""
    @property
    def copied_from(self) -> int | None:
        """Of an instrumented copy, the address of the original; else None."""
    @property
    def refusal(self) -> str | None:
        """Why it cannot be instrumented, if it cannot."""
    @property
    def blocks(self) -> Blocks:
        """Its basic blocks, by address."""
    @property
    def instructions(self) -> Instructions:
        """Its instructions, by address."""
    @property
    def calls(self) -> list[tuple[int, str | None]]:
        """The address of each call and the name of the function called, None where it is not known."""
    @property
    def callees(self) -> list[Function]:
        """The functions that it is known to call or to jump to, each once."""
    @property
    def callers(self) -> list[Function]:
        """The functions that are known to call it."""
    @property
    def entered_inside(self) -> list[int]:
        """Addresses other than the function's own where control may come in from outside: jumps into it, and the second
        entry of a kernel with preloaded arguments."""
    @property
    def has_unresolved_calls(self) -> bool:
        """It calls or jumps somewhere that is not known."""
    @property
    def loops(self) -> list[Loop]:
        """Its natural loops. A cycle with more ways in than one is none."""
    def too_early(self) -> list[tuple[int, int, str, str, str]]:
        """The instructions that come too early behind others, on some way through the function: the address, the other one's, the
        rule, what was done there, and what is missing. See :mod:`luthier.objects.missing_hazards`."""
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Block:
    """A basic block: when its first instruction runs, all of them do."""

    @property
    def id(self) -> int:
        """Its place in :attr:`Program.blocks`."""
    @property
    def address(self) -> int:
        """Of its first instruction."""
    @property
    def number(self) -> int:
        """Within its function, from 0."""
    @property
    def function(self) -> Function:
        """The function it belongs to."""
    @property
    def terminator(self) -> str:
        """How it ends: ``fallthrough``, ``branch``, ``cond_branch``, ``call``, ``return``, ``jump``, ``end``, ..."""
    @property
    def successors(self) -> list[Block]:
        """Where control may go from here; of a conditional branch, the taken one first."""
    @property
    def predecessors(self) -> list[Block]:
        """Where control may come from."""
    @property
    def instructions(self) -> Instructions:
        """At least one."""
    @property
    def loop(self) -> Loop | None:
        """The innermost loop that it is in."""
    @property
    def live_in(self) -> list[Register]:
        """Registers whose values at the block's start may still be read, neighbours joined."""
    @property
    def live_out(self) -> list[Register]:
        """The same at its end."""
    def __len__(self) -> int: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Loop:
    """A natural loop: blocks that control goes round in, and enters through one of them only."""

    @property
    def header(self) -> Block:
        """The block that it is entered through."""
    @property
    def depth(self) -> int:
        """1 for a loop in no other."""
    @property
    def parent(self) -> Loop | None:
        """The next loop around it."""
    @property
    def blocks(self) -> Blocks:
        """Its blocks, those of inner loops included, by address."""
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Instruction:
    """One instruction of the original code."""

    @property
    def id(self) -> int:
        """Its place in :attr:`Program.instructions`."""
    @property
    def address(self) -> int:
        """As the code object states it."""
    @property
    def origin(self) -> int | None:
        """Where the application has it: in instrumented code the address that it was copied from, and None for one that
        a tool has inserted; otherwise ``address``."""
    @property
    def is_inserted(self) -> bool:
        """A tool's, in an instrumented object."""
    @property
    def size(self) -> int:
        """In bytes, a literal included."""
    @property
    def data(self) -> bytes:
        """Its encoding."""
    @property
    def mnemonic(self) -> str:
        """As LLVM prints it: ``v_add_f32_e32``."""
    @property
    def opcode(self) -> str:
        """The operation without the encoding's suffix: ``v_add_f32``."""
    @property
    def opcode_id(self) -> int:
        """A small number for the opcode; stable for one version of Luthier and one processor."""
    @property
    def llvm_name(self) -> str:
        """LLVM's name of the encoded opcode: ``V_ADD_F32_e32_vi``."""
    @property
    def text(self) -> str:
        """Assembly, as llvm-objdump prints it."""
    @property
    def operands(self) -> list[Operand]:
        """In the order of assembly, destinations first."""
    @property
    def modifiers(self) -> dict[str, Any]:
        """What stands behind the operands in assembly, where it is not the default: ``{"offset": -16, "glc": True}``,
        ``{"dst_sel": "WORD_1"}``, ``{"op_sel": [0, 1]}``."""
    @property
    def waits(self) -> dict[str, int]:
        """The counters that it waits for, and down to which number: ``{"vmcnt": 0}``."""
    @property
    def flags(self) -> frozenset[str]:
        """What it does: ``load``, ``store``, ``valu``, ``vmem``, ``ds``, ``mfma``, ``branch``, ..."""
    @property
    def memory_space(self) -> str | None:
        """Which memory it reads or writes: ``flat``, ``global``, ``scratch``, ``lds``, ``gds``, ``buffer``, ``image``."""
    @property
    def memory_width(self) -> int | None:
        """The bytes that it reads or writes there: for each active lane, of scalar instructions for the wave. None where
        a resource says it, as for images."""
    @property
    def access_count(self) -> int | None:
        """How many places it accesses for each active lane, each with an address of its own: 1, or 2 of ``ds_read2_b32`` and
        its like and of transfers between memory and LDS. None without memory, and where a resource says it, as for images."""
    @property
    def function(self) -> Function:
        """The function it belongs to."""
    @property
    def block(self) -> Block:
        """The block it belongs to."""
    @property
    def source(self) -> list[Frame]:
        """Where in the source it comes from, innermost first: the line, then the call of each function that was inlined
        around it. Empty where DWARF says nothing. LoadError where DWARF is damaged."""
    @property
    def branch_target(self) -> int | None:
        """Where a direct branch or call goes."""
    @property
    def falls_through(self) -> bool:
        """The next instruction in the code runs after it, so that something can be inserted between them. Not so for
        branches, calls, returns, traps and the end of the program."""
    @property
    def is_branch(self) -> bool:
        """A direct branch, conditional or not."""
    @property
    def is_call(self) -> bool:
        """``s_swappc_b64``, ``s_call_b64``."""
    @property
    def is_end(self) -> bool:
        """``s_endpgm`` and its kin."""
    @property
    def is_load(self) -> bool:
        """Reads memory; atomics do."""
    @property
    def is_store(self) -> bool:
        """Writes memory; atomics do."""
    @property
    def is_atomic(self) -> bool:
        """An atomic memory operation."""
    @property
    def is_barrier(self) -> bool:
        """``s_barrier``."""
    @property
    def is_wait(self) -> bool:
        """Waits for outstanding memory operations: see :attr:`waits`."""
    @property
    def is_valu(self) -> bool:
        """Computes in vector registers."""
    @property
    def is_salu(self) -> bool:
        """Computes in scalar registers."""
    @property
    def category(self) -> str:
        """What it is counted as: ``matrix``, ``valu``, ``lds``, ``vmem``, ``smem``, ``salu``, ``branch``, ``wait``, ``barrier``,
        ``message``, ``export`` or ``other``."""
    @property
    def is_matrix(self) -> bool:
        """A matrix operation: ``v_mfma_*``, ``v_smfmac_*``, ``v_wmma_*``, ``v_swmmac_*``."""
    @property
    def is_global(self) -> bool:
        """Reads or writes device memory: by a global, flat, buffer or scalar access, or an image. A flat access may turn out to
        be one of LDS or scratch."""
    @property
    def works_for(self) -> str:
        """Whom :attr:`flops` and :attr:`bytes` are counted for: each active ``lane``, or once the ``wave`` (scalar and matrix
        operations)."""
    @property
    def flops(self) -> dict[str, int]:
        """Its floating-point operations by type: ``{"f32": 2}`` of a fused multiplication with addition, for each active lane or
        for the wave (see :attr:`works_for`). Additions, multiplications and transcendental operations are one each; sparse
        matrix operations count for the values that are there."""
    @property
    def bytes(self) -> int | None:
        """The bytes that it reads or writes in memory, as :attr:`memory_width`; 0 without memory. None where a resource says it."""
    @property
    def reads(self) -> list[Register]:
        """Registers read, implicit ones included, neighbours joined."""
    @property
    def writes(self) -> list[Register]:
        """Registers written, implicit ones included, neighbours joined."""
    @property
    def live_before(self) -> list[Register]:
        """Registers whose values just before it may still be read, by it or later, in any lane; neighbours joined."""
    @property
    def live_after(self) -> list[Register]:
        """The same just behind it; of a call, where it returns to."""
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Register:
    """Consecutive 32-bit registers of one file. ``str`` of it is its name: ``s[4:5]``, ``v0``, ``vcc``."""

    @property
    def file(self) -> str:
        """``sgpr``, ``vgpr``, ``agpr``, ``ttmp``, or ``special`` for VCC, EXEC, M0, SCC and the like."""
    @property
    def index(self) -> int | None:
        """Of the first, within its file; None for special registers."""
    @property
    def width(self) -> int:
        """How many 32-bit registers."""
    @property
    def name(self) -> str:
        """As assembly has it."""
    @property
    def place(self) -> tuple[int, int, str]:
        """The number of the first register among all there are, how many, and ``""``: as :func:`instrument` takes it."""
    def overlaps(self, other: Register) -> bool:
        """Both have a register in common."""
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Operand:
    """One operand of an instruction."""

    @property
    def address(self) -> int:
        """Of the instruction that it belongs to, as the code object states it."""
    @property
    def name(self) -> str:
        """The field that it is encoded in: ``vdst``, ``src0``, ``sbase``, ``simm16``, ..."""
    @property
    def kind(self) -> str:
        """``register``; ``inline``, a constant in the operand's code; ``literal``, the 32 bits behind the instruction;
        ``immediate``, a number in a field; ``special``, a read-only source such as ``src_shared_base``."""
    @property
    def register(self) -> Register | None:
        """Of kind ``register``."""
    @property
    def place(self) -> tuple[int, int, str] | None:
        """Of a register as :attr:`Register.place`, with ``"l"`` or ``"h"`` for half of one."""
    @property
    def value(self) -> int | float | None:
        """The number as written: of inline constants, literals (the bits) and immediates (with their sign)."""
    @property
    def bits(self) -> int | None:
        """What a constant gives to the operation: bits of the operand's type."""
    @property
    def units(self) -> int:
        """How many 32-bit registers it spans; 0 of an immediate."""
    @property
    def type(self) -> str | None:
        """How the operation reads constants here: ``f32``, ``i16``, ``v2f16``, ``b64``, ...; None where there can be none."""
    @property
    def is_read(self) -> bool:
        """The instruction reads it."""
    @property
    def is_written(self) -> bool:
        """The instruction writes it."""
    @property
    def modifiers(self) -> list[str]:
        """What is done to a source first: ``neg``, ``neg_hi``, ``abs``, ``sext``."""

@final
class Frame:
    """A place in the source. ``str`` of it: ``saxpy at /src/saxpy.hip:6:3``."""

    @property
    def function(self) -> str | None:
        """The function's name as the source has it."""
    @property
    def file(self) -> str | None:
        """The path that the compiler was given, behind its working directory unless it was absolute."""
    @property
    def line(self) -> int:
        """From 1; 0 where the compiler says that the code belongs to no line."""
    @property
    def column(self) -> int:
        """From 1; 0 where the compiler did not say."""
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Instructions(Sequence[Instruction]):
    """Instructions, whose objects are made when they are asked for. Slices are of the same kind."""

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: int, /) -> Instruction: ...
    @overload
    def __getitem__(self, key: slice, /) -> Instructions: ...
    def __iter__(self) -> Iterator[Instruction]: ...
    def index(self, value: Any, start: int = 0, stop: int = ...) -> int:
        """The place of one of them, without a search. ValueError if it is not there."""
    def count(self, value: Any) -> int:
        """How often it is here."""

@final
class Blocks(Sequence[Block]):
    """Blocks, whose objects are made when they are asked for. Slices are of the same kind."""

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: int, /) -> Block: ...
    @overload
    def __getitem__(self, key: slice, /) -> Blocks: ...
    def __iter__(self) -> Iterator[Block]: ...
    def index(self, value: Any, start: int = 0, stop: int = ...) -> int:
        """The place of one of them, without a search. ValueError if it is not there."""
    def count(self, value: Any) -> int:
        """How often it is here."""

def columns(instructions: Instructions, names: list[str]) -> dict[str, tuple[str, bytearray]]:
    """For each name the type as NumPy calls it, and the values; see :func:`luthier.columns.columns`."""

def flag_bits() -> dict[str, int]:
    """The bit of each of :attr:`Instruction.flags` in the ``flags`` column."""

def may_not_return(functions: list[Function]) -> set[int]:
    """Addresses of those functions from which a wave may end, they themselves or what they call."""

# Each: how much, in which block (none: where the function is entered), and on the edge to which successor.
def length_increments(function: Function, ending: set[int]) -> list[tuple[int, Block | None, Block | None]]:
    """The fewest increments that sum up the lengths of all blocks that run."""

def length_amounts(function: Function) -> list[tuple[int, int]]:
    """The different increments of a function's lengths, modulo 2**64, and at how many places each is."""

def length_records(function: Function, arguments: list[int], hook: int, order: int, priority: int, after: bool) -> bytes:
    """The places of these increments, as records of `luthier.objects.places.RECORD`: with a hook, and for each of the amounts the
    number of the list of arguments."""

# The tree's steps: node, its parent, amount. Edges: both ends, amount, the numbers of the block and of its successor. An amount is
# a block's number, and 1 or -1.
def counting_tree(
    function: Function, ending: set[int]
) -> tuple[
    list[tuple[int, int, tuple[int, int] | None]],
    list[tuple[int, int, tuple[int, int] | None, tuple[int | None, int | None]]],
]:
    """The spanning tree, from its roots on, and the edges outside of it."""

@final
class Device:
    """The mock device; see :class:`luthier.Device`. Addresses are the device's."""

    def __new__(cls, processor: str, threads: int = 0, watchdog: int | None = None, seconds: float | None = None) -> Device:
        """``threads``: CPU threads that run workgroups, 0 for one on each core. ``watchdog``: instructions of one workgroup
        after which a launch is given up."""
    def load(self, code_object: CodeObject, base: int | None = None) -> int:
        """Loads it and gives the module's number; its vaddr 0 is at ``base``, a multiple of 4096, or wherever there is room."""
    def load_address(self, module: int) -> int:
        """The address of a loaded module's vaddr 0."""
    def load_linked(self, loader: MockLoader) -> list[tuple[int, int]]:
        """Loads the objects of a finalized loader that are for this device: each object's number and its module's."""
    def symbol(self, module: int, name: str) -> tuple[int, int] | None:
        """Address and size of a symbol of a loaded module."""
    def alloc(self, size: int, writable: bool = True) -> int:
        """The address of ``size`` bytes of zeros; whether kernels may write them."""
    def alloc_at(self, address: int, size: int, writable: bool = True) -> None:
        """``size`` bytes of zeros at a chosen address, a multiple of 16; whether kernels may write them."""
    def share(self, address: int, size: int, owner: object, writable: bool = True) -> int:
        """The address on the device of ``size`` bytes at the host's ``address``, a multiple of 16, that are there as long
        as ``owner`` lives; whether kernels may write them."""
    def share_in_place(self, address: int, size: int, writable: bool = True) -> None:
        """Has kernels find ``size`` bytes of the process's at the process's own ``address``, wherever it is, until it is freed;
        whether they may write them."""
    def free(self, address: int) -> None:
        """Gives back what :meth:`alloc`, :meth:`share` or :meth:`share_in_place` has taken in."""
    def host_takes_part(self, address: int, size: int) -> None:
        """Says that the host takes part in what kernels do with these bytes: strict mode looks for no races there."""
    def write(self, address: int, data: bytes) -> None:
        """Copies bytes to the device."""
    def read(self, address: int, size: int) -> bytes:
        """Copies bytes from the device."""
    def launch(
        self,
        module: int,
        told: _Launch,
        kernarg: bytes,
        *,
        watched: tuple[Sequence[str], Sequence[int], Sequence[int], int, Sequence[int]] | None = None,
        progress: Callable[[float, int, int, int], object] | None = None,
        printed: Callable[[list[tuple[bytes, bool]]], object] | None = None,
        heard: Callable[[dict[str, Any]], object] | None = None,
    ) -> dict[str, Any]:
        """Runs a kernel as ``told`` has it. ``kernarg`` holds its explicit arguments. Gives ``instructions``, ``app_instructions``,
        ``seconds``, ``workgroups``, ``waves``, ``histogram``, ``app_histogram`` and ``findings``.
        ``watched`` are kinds of events, addresses to copy registers at, addresses
        that alone make events (none: all), how many events to keep, and where basic blocks begin; what was seen is in ``seen``.
        ``progress`` is called
        about once a second with the seconds so far, the instructions, the workgroups that have ended, and all of them.
        ``printed`` is called now and then with what :meth:`take_printed` would give, if there is something.
        ``heard`` is called with events as ``seen`` has them, some of one wave at a time; ``seen`` has none then."""
    def take_printed(self) -> list[tuple[bytes, bool]]:
        """What kernels have printed since it was asked for last: text, and whether it is for standard error."""
    def session(self, module: int, told: _Launch, kernarg: bytes) -> Session:
        """A launch that goes on when told to. It is not judged, and has no schedule."""
    def stage(self, module: int, told: _Launch, kernarg: bytes) -> Stage:
        """A launch that stops anywhere and goes back."""
    def explore(
        self, module: int, told: _Launch, kernarg: bytes, by: tuple[str, int, int], most: int, watchdog: int, weak: bool
    ) -> dict[str, Any]:
        """One launch under ``most`` schedules at most: ``by`` is ``pct`` with a seed and a depth, ``order``, or ``preemptions``
        with their number. A workgroup that runs more than ``watchdog`` instructions is taken for endless. ``weak``: memory answers
        as weakly as caches let it, by seeds, for ``pct`` only. Memory is what it was afterwards."""

@final
class Ring:
    """Launches that a program's agent tells while the program goes on. Another process writes there: ValueError for what no
    agent writes."""

    def __new__(cls, file: int) -> Ring:
        """The memory in an agent's file, which may be closed then. OSError or ValueError where it is no such memory."""
    @property
    def room(self) -> int:
        """How many entries there may be that were not taken."""
    def take(
        self, said: int, most: int
    ) -> list[tuple[bool, int, int, int, int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
        """Takes at most ``most`` entries before which the agent has said as many messages as ``said``: whether it is the end of
        a launch, the kernel's slot and the launch's number; of a launch its queue and thread, its packet's 8 words, its grid
        and its block, of an end the times at which the launch began and ended, in nanoseconds, and three empty tuples."""
    def sleep(self, said: int) -> bool:
        """From now on the next entry comes with a message that wakes; False, without that, if there is one to be taken."""
    def wake(self) -> None:
        """Entries come without a message again."""
    def leave(self) -> None:
        """Nothing is taken any more: the next entry comes with a message, for which there is no connection then."""

@final
class Session:
    """A launch that goes on when told to, by one thread at a time."""

    @property
    def workgroup(self) -> tuple[int, int, int] | None:
        """The workgroup under way; None when the launch is over."""
    @property
    def waves(self) -> int:
        """How many waves it has."""
    @property
    def instructions(self) -> int:
        """Retired so far by all waves."""
    def state(self, wave: int) -> str:
        """``ready``, ``barrier`` or ``ended``."""
    def pc(self, wave: int) -> int:
        """Address of the instruction that the wave executes next."""
    def retired(self, wave: int) -> int:
        """Instructions that the wave has retired."""
    def registers(self, wave: int) -> dict[str, Any]:
        """The wave's registers: bytes of ``sgprs``, ``vgprs`` and ``agprs`` (64 lanes each), numbers for the rest."""
    def lds(self) -> bytes:
        """The workgroup's LDS."""
    def read(self, address: int, size: int) -> bytes:
        """Device memory as the launch sees it."""
    def step(self, wave: int) -> None:
        """One instruction of the wave, if it can go on."""
    def run_to(self, pc: int, limit: int) -> int | None:
        """Steps all waves until one is about to execute the instruction at ``pc``; gives the wave."""

@final
class Stage:
    """A launch that stops anywhere and goes back, one thread at a time; see :class:`luthier.device.debug.stage.Stage`."""

    @property
    def event(self) -> int:
        """Instructions executed so far, by all waves."""
    def resume(
        self,
        event: int | None,
        retired: tuple[int, int, int] | None,
        addresses: list[int],
        watchpoints: list[tuple[str, str, int, int, int, int | None]],
        findings: bool,
    ) -> dict[str, Any]:
        """Goes on until one of these holds: ``event`` instructions in all; the wave (its workgroup's number, its own, N) has
        executed N; one is about to be executed at an address; a watchpoint; strict mode finds something."""
    def goto(self, event: int) -> dict[str, Any]:
        """Goes to where all waves together have executed ``event`` instructions, before or behind."""
    def waves(self) -> list[tuple[int, int, tuple[int, int, int], str, int, int]]:
        """Of each wave under way: its workgroup's number and its own, the workgroup's three, ``ready``, ``barrier`` or ``ended``,
        the address of its next instruction, and how many it has executed."""
    def registers(self, group: int, wave: int) -> dict[str, Any]:
        """A wave's registers, as of a session."""
    def scratch(self, group: int, wave: int) -> tuple[int, int]:
        """Where a wave's scratch memory begins, and how many bytes it has for all lanes together: a word of each lane, one after
        another, then the next word."""
    def lds(self, group: int) -> bytes:
        """The LDS of a workgroup."""
    def read(self, address: int, size: int) -> bytes:
        """Device memory as the launch sees it."""
    def event_of(self, group: int, wave: int, retired: int) -> int | None:
        """Where in all the wave's instruction is that follows ``retired`` others of its own; None if it has not come there."""
    def trace(self, group: int, wave: int, first: int) -> bytes:
        """What a wave has executed, but for its ``first`` instructions: three numbers of 64 bits each, event, address and EXEC."""
    def last_executed(
        self, group: int, wave: int, retired: int, masked: list[int], always: list[int], lane: int | None
    ) -> tuple[int, int, int, int] | None:
        """The last instruction at one of some addresses that a wave executed among its first ``retired``: its event, how many the
        wave had executed before, its address, and EXEC. Those in ``masked`` count where ``lane`` is on. The launch stands elsewhere
        afterwards."""
    def last_write(self, watch: tuple[str, str, int, int, int, int | None], event: int) -> dict[str, Any] | None:
        """The last store or atomic before an event that a watchpoint on memory or LDS sees, as of :meth:`resume`, with the ``event``
        behind it. The launch stands elsewhere afterwards."""
    def accesses(self) -> bytes:
        """The wave whose turn it is executes one instruction; its accesses, as :data:`luthier.device.observe.MEMORY_EVENT` has
        them."""
    def hold_calls(self) -> None:
        """From now on a kernel that calls its host is stopped: the launch will be taken back."""
    def go_on_with_calls(self) -> None:
        """Calls are made again, now that the launch was taken back; an error if the kernel was stopped for one."""
    def choices(self) -> str:
        """The schedule that leads here again."""
    def findings(self) -> list[dict[str, Any]]:
        """What strict mode has found so far."""

def array_place(array: object) -> tuple[int, int, bool, bool] | None:
    """Of a NumPy array: the address of its first element, how many bytes its elements have, whether they may be written, and whether
    they lie one after the other, by rows. None of scalars, and of arrays of objects and records, which may hold objects."""

def environment(name: str) -> str | None:
    """A variable of the environment, None where it is not set: what ``os.environ.get`` gives. That raises and catches two
    exceptions for a variable that is not there, which took a launch longer than to make its result."""

def devices_for(processor: str) -> list[str]:
    """The processors of the mock device that run code for a processor: itself, or the members of a generic one."""

def coverage(processor: str) -> list[tuple[str, str | None]]:
    """Every operation of a processor that the mock device can be, and why it is refused if it is."""

def finding_kinds(usual: bool = False) -> list[str]:
    """The kinds of strict mode's findings, or those that it looks for by default."""

def forget_memory(address: int, size: int) -> None:
    """Fills ``size`` bytes of the process's at ``address``, which nothing has written: strict mode finds what depends on them,
    where ``undefined-memory`` is wanted."""

def remember_memory(address: int, size: int) -> None:
    """What was forgotten of these bytes counts as written: they are given back."""

def can_instrument(processor: str) -> bool:
    """Whether hooks can be placed in code for a processor, ``gfx90a`` say."""

def keep_hooks(folder: str | None) -> None:
    """Has compiled hooks kept in a folder, or, with None, no longer. What is in it becomes code: no other user may write to it."""

def compress(data: bytes) -> bytes:
    """The bytes in a frame of Zstandard."""

def decompress(frame: bytes, size: int) -> bytes:
    """The ``size`` bytes that a frame holds. LoadError if it holds another number of them, or is damaged."""

@final
class HostFile:
    """A program or shared library: its functions by their symbols, and its lines by their DWARF. Places are offsets in the file.

    LoadError if it cannot be read, has more than a gibibyte, or is no 64-bit ELF file."""

    def __new__(cls, path: str) -> HostFile: ...
    def function(self, offset: int) -> str | None:
        """The symbol of the function at a place, as the linker has it; None where there is none."""

    def frames(self, offset: int) -> list[tuple[str | None, str | None, int]]:
        """Function, file and line at a place, and of the calls that were inlined around it, the innermost first; empty without
        DWARF."""

def demangled(name: str) -> str:
    """A name as the source has it, with its parameters' types; the same name where it is not a C++ one."""

def warm_up(processor: str) -> None:
    """Does for a processor what compiling the first hook has to wait for."""

@final
class HookModule:
    """A module of LLVM IR, text or bitcode, that was read and verified."""

    def __new__(cls, bytes: bytes) -> HookModule: ...
    @property
    def functions(self) -> list[tuple[str, list[tuple[str, str]], str | None]]:
        """Its functions that can be hooks: names, parameters, and why a function cannot be a hook after all."""
    @property
    def variables(self) -> list[tuple[str, str, int, int, bytes, str, int, bool]]:
        """Its variables; those that begin with addresses are named in ``with_addresses``."""
    @property
    def with_addresses(self) -> list[str]:
        """Variables that begin with addresses, which nothing fills in."""
    @property
    def externals(self) -> list[str]:
        """Variables that it uses and does not define."""
    @property
    def identity(self) -> str | None:
        """What the compiler has marked it with, the same for all builds of one source."""
    @property
    def texts(self) -> list[bytes]:
        """What it prints by the ``printf`` of ``luthier/hooks.h``."""
    def prints(self, function: str) -> bool:
        """Whether a function prints so."""
    def given(self, function: str, target: str, shared: bool) -> list[str]:
        """What a function asks the processor ``target`` for, and hooks are given as arguments behind their own: names of the
        hook language's facts. ``shared``: some of those are LDS of the hooks' own."""
    def hook(self, function: str, symbols: dict[str, str], shared: list[int]) -> LibraryHook:
        """One of its functions, with other names for the variables that it refers to. The parameters ``shared``, from 0, are
        given as distances from where the hooks' LDS begins."""

@final
class LibraryHook:
    """A function of a library, as :func:`instrument` takes it."""

def assemble(program: Program, text: str) -> list[str]:
    """The instructions of assembly text, as they can be inserted into a program. ArgumentError for other text."""

def instrument(program: Program, plan: _Plan) -> tuple[NativeBytes, dict[str, Any]]:
    """Compiles hooks, places them, and gives the new code object with a report. ``plan`` has the attributes of
    :class:`luthier.instrumenting.options.Plan`."""
