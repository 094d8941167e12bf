"""Registers that an instruction touches while a load may still write them: waits judged along all paths, without running.

Each load's result is followed through the blocks of a function until a wait guarantees it, on every path. Loads of one kind come back in
the order in which they were issued, so that a wait down to N guarantees those behind which N others of their kind were issued;
scalar loads and messages come back in any order, flat ones too before RDNA, and only a wait down to 0 guarantees them. What a function is entered with, and what a
call leaves, is taken to have come back: compilers wait there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._core import Block, Function, Instruction, Register

#: A counter, and a kind of operation that it counts.
Stream = tuple[str, str]
#: As high as counters are told apart.
_MOST = 64


@dataclass(frozen=True)
class MissingWait:
    """An instruction that touches a register too early, on one path at least."""

    instruction: Instruction
    #: The register's name as the load has it.
    register: str
    #: The address of the load, one of those that may be under way.
    load: int
    counter: str


#: Of a register's number and a stream: how many operations of the stream were issued behind its load, and the load's address.
_State = dict[tuple[int, Stream], tuple[int, int]]


def missing_waits(processor: str, functions: Iterable[Function]) -> Iterator[MissingWait]:
    """The instructions of some functions that touch a register which a load may still write. Functions that could not be taken
    apart are left out (``function.refusal``)."""
    for function in functions:
        if function.refusal is None:
            yield from _Flow(processor, function).missing()


@dataclass(frozen=True)
class _Step:
    """What an instruction has to do with waits."""

    instruction: Instruction
    #: By number, with the name of what it is a part of.
    touched: dict[int, str]
    #: What it waits for; None for everything.
    waits: dict[str, int] | None
    streams: tuple[Stream, ...]
    #: Numbers of the registers that come back.
    results: frozenset[int]
    #: A call, behind which everything is taken to have come back.
    is_call: bool


class _Flow:
    def __init__(self, processor: str, function: Function):
        self._function = function
        #: RDNA4 and gfx1250 count loads, LDS and scalar loads apart.
        self._counts_apart = processor.startswith("gfx12")
        #: Stores do not delay what comes back of loads.
        self._has_store_counter = processor.startswith(("gfx10", "gfx11"))
        #: Kinds that come back in any order: flat ones do before RDNA, where some go to LDS.
        self._unordered = {"scalar", "message", *(["flat"] if processor.startswith("gfx9") else [])}
        self._steps: dict[int, list[_Step]] = {}

    def missing(self) -> Iterator[MissingWait]:
        blocks = {block.address: block for block in self._function.blocks}
        before: dict[int, _State] = {address: {} for address in blocks}
        todo = list(blocks)[::-1]
        waiting = set(todo)
        while todo:
            address = todo.pop()
            waiting.discard(address)
            state = dict(before[address])
            for step in self._of(blocks[address]):
                self._pass(step, state)
            for successor in blocks[address].successors:
                known = before.get(successor.address)
                if known is not None and _merge(known, state) and successor.address not in waiting:
                    waiting.add(successor.address)
                    todo.append(successor.address)
        for address, block in blocks.items():
            state = dict(before[address])
            for step in self._of(block):
                yield from self._too_early(step, state)
                self._pass(step, state)

    def _of(self, block: Block) -> list[_Step]:
        found = self._steps.get(block.address)
        if found is None:
            # Instructions that neither wait nor touch memory have nothing to do with waits but for their registers.
            found = self._steps[block.address] = [self._step(instr) for instr in block.instructions]
        return found

    def _step(self, instr: Instruction) -> _Step:
        streams = self._streams(instr)
        results = frozenset(_numbers(instr.writes)) if streams else frozenset()
        # Which registers an indirect access is of is not known.
        is_indirect = "movrel" in instr.opcode or "swaprel" in instr.opcode
        touched = {} if is_indirect else _numbers(instr.reads)
        if "d16_preserve" in instr.flags:  # the other half of what it loads
            touched = {number: name for number, name in touched.items() if number not in results}
        waits = None if instr.opcode == "s_wait_idle" else instr.waits
        written = {} if is_indirect else _numbers(instr.writes)
        return _Step(instr, touched | written, waits, streams, results, instr.is_call)

    def _streams(self, instr: Instruction) -> tuple[Stream, ...]:
        """What counts an instruction's access."""
        flags, space = instr.flags, instr.memory_space
        if instr.category == "message" or instr.category == "smem":
            kind = "message" if instr.category == "message" else "scalar"
            return (("kmcnt" if self._counts_apart else "lgkmcnt", kind),)
        if instr.category == "lds":
            return (
                (("dscnt" if self._counts_apart else "lgkmcnt", "gds" if space == "gds" else "lds"),)
                if "lgkm_cnt" in flags
                else ()
            )
        if "vm_cnt" not in flags:
            return ()
        if not self._counts_apart:
            vector: Stream = ("vmcnt", "vector")
            if instr.is_store and not instr.writes and self._has_store_counter:
                return (("lgkmcnt", "flat"),) if space == "flat" else ()
            return (vector, ("lgkmcnt", "flat")) if space == "flat" else (vector,)
        if not instr.writes:  # stores have a counter of their own
            return (("dscnt", "flat"),) if space == "flat" else ()
        if space == "flat":
            return (("loadcnt", "vector"), ("dscnt", "flat"))
        opcode = instr.opcode
        if opcode.startswith("image_bvh"):
            return (("bvhcnt", "vector"),)
        if opcode.startswith(("image_sample", "image_gather4", "image_msaa", "image_get_lod")):
            return (("samplecnt", "vector"),)
        return (("loadcnt", "vector"),)

    def _pass(self, step: _Step, state: _State) -> None:
        """Has the state be what it is behind an instruction."""
        if step.is_call or step.waits is None:
            state.clear()
            return
        for counter, down_to in step.waits.items():
            for key, (behind, _) in list(state.items()):
                name, kind = key[1]
                if name == counter and (down_to == 0 or kind not in self._unordered and down_to <= behind):
                    del state[key]
        for stream in step.streams:
            for key, (behind, load) in state.items():
                if key[1] == stream and behind < _MOST:
                    state[key] = behind + 1, load
        for number in step.results:
            for stream in step.streams:
                state[number, stream] = 0, step.instruction.address

    def _too_early(self, step: _Step, state: _State) -> Iterator[MissingWait]:
        if not state:
            return
        pending: dict[int, tuple[Stream, int]] = {number: (stream, load) for (number, stream), (_, load) in state.items()}
        told: set[int] = set()
        for number in sorted(step.touched.keys() & pending.keys()):
            stream, load = pending[number]
            # Loads of one kind write in their order.
            if number in step.results and stream in step.streams and stream[1] not in self._unordered:
                continue
            if load not in told:
                told.add(load)
                yield MissingWait(step.instruction, step.touched[number], load, stream[0])


def _numbers(registers: Iterable[Register]) -> dict[int, str]:
    """The numbers of all registers of these ranges, with the range's name."""
    return {n: r.name for r in registers for first, count, _ in [r.place] for n in range(first, first + count)}


def _merge(known: _State, more: _State) -> bool:
    """Takes in what may be under way on another path; whether that is more than was known."""
    has_changed = False
    for key, value in more.items():
        old = known.get(key)
        if old is None or value[0] < old[0]:
            known[key] = value
            has_changed = True
    return has_changed
