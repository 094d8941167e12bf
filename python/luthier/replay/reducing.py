"""A smaller case that shows the same: fewer workgroups, less memory, plainer contents, fewer instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ..errors import ArgumentError, CaseError, LuthierError
from .case import Case, Region
from .running import Replayed, Way, replay

#: ``s_nop 0`` of every generation.
_NOP = (0xBF800000).to_bytes(4, "little")

#: Whether a replay shows what is looked for.
Shows = Callable[[Replayed], bool]


@dataclass(frozen=True)
class Reduced:
    """What is left of a case."""

    case: Case
    #: How many replays it took.
    tries: int
    #: Instructions that are no-operations now.
    removed: int


def shows(first: Replayed) -> Shows:
    """What a case shows, by its first replay: the kind of its first finding at its instruction, else that it is stopped
    there, else that it leaves other memory than was recorded.

    ArgumentError where it shows nothing of this."""
    if first.findings:
        kind, pc = first.findings[0]["kind"], first.findings[0]["pc"]
        return lambda did: any(found["kind"] == kind and found["pc"] == pc for found in did.findings)
    if first.stop is not None:
        at = first.stop.pc
        return lambda did: did.stop is not None and did.stop.pc == at
    if first.differences:
        # Memory that is recorded anew would be the same: what matters is what was recorded of the original.
        raise ArgumentError(
            "reduce: what the case leaves differs from what was recorded; findings and stops can be reduced, not that"
        )
    raise ArgumentError("reduce: the case shows nothing: no finding (give strict=True), and it is not stopped")


def reduce(case: Case, way: Way | None = None, interesting: Shows | None = None, tries: int = 400) -> Reduced:
    """Makes a case smaller, step by step, as long as it shows the same. ``interesting`` says what that is (:func:`shows` by
    default); at most ``tries`` replays are made. What the smaller case leaves is recorded anew."""
    way = replace(way or Way(), threads=1, tools=())
    work = _Work(case, way, interesting or shows(replay(case, way)), tries)
    last = None
    while last is not work.case:
        # Fewer workgroups need less memory, and a finding may need less memory to be made by fewer.
        last = work.case
        work.grid()
        work.regions()
    work.contents()
    removed = work.instructions()
    return Reduced(_recorded(work.case, way), work.tries, removed)


def _recorded(case: Case, way: Way) -> Case:
    """The case with what it leaves now."""
    did = replay(case, replace(way, strict=False))
    if did.error is not None:
        return replace(case, error=did.error, regions=tuple(replace(region, after=None) for region in case.regions))
    pairs = zip(case.regions, did.memory)
    regions = tuple(replace(region, after=None if data == region.before else data) for region, data in pairs)
    return replace(case, error=None, regions=regions)


class _Work:
    """The smallest case so far."""

    def __init__(self, case: Case, way: Way, interesting: Shows, most: int):
        self.case, self._way, self._shows, self._most = case, way, interesting, most
        self.tries = 0

    def _try(self, case: Case) -> bool:
        """Takes a case if it shows the same."""
        if self.tries >= self._most:
            return False
        self.tries += 1
        try:
            did = replay(case, self._way)
        except LuthierError:  # a kernel that is no code any more, a grid that it was not compiled for
            return False
        if not self._shows(did):
            return False
        self.case = case
        return True

    def grid(self) -> None:
        """Fewer workgroups, along each axis."""
        for axis in range(3):
            while (grid := self.case.dispatch.grid)[axis] > self.case.dispatch.block[axis]:
                block = self.case.dispatch.block[axis]
                groups = -(-grid[axis] // block)
                for fewer in dict.fromkeys((1, groups // 2, groups - 1)):
                    sizes = list(grid)
                    sizes[axis] = fewer * block
                    dispatch = replace(self.case.dispatch, grid=(sizes[0], sizes[1], sizes[2]))
                    if 0 < fewer < groups and self._try(replace(self.case, dispatch=dispatch)):
                        break
                else:
                    break

    def regions(self) -> None:
        """No memory that is not needed, and less of the rest."""
        for region in self.case.regions:
            if not region.is_of_object and not self._put(region, ()):
                self._shorter(region)

    def _put(self, region: Region, made: tuple[Region, ...]) -> bool:
        parts = tuple(part for known in self.case.regions for part in (made if known is region else (known,)))
        return self._try(self.case.with_regions(parts))

    def _shorter(self, region: Region) -> None:
        size = region.size // 2
        while size >= 16:
            size -= size % 16
            made = replace(region, size=size, before=region.before[:size], after=None)
            if not self._put(region, (made,)):
                return
            region, size = made, size // 2

    def contents(self) -> None:
        """Zeros, wherever that does."""
        for region in self.case.regions:
            if region.before.strip(b"\0"):
                self._put(region, (replace(region, before=bytes(region.size)),))

    def instructions(self) -> int:
        """No-operations in the place of instructions, many at a time and then fewer."""
        todo = list(_instructions(self.case))
        removed, size = 0, max(len(todo) // 2, 1)
        while todo and self.tries < self._most:
            at = 0
            while at < len(todo):
                some = todo[at : at + size]
                if self._try(_without(self.case, some)):
                    removed += len(some)
                    del todo[at : at + size]
                else:
                    at += size
            if size == 1:
                break
            size //= 2
        return removed


def _instructions(case: Case) -> Iterator[tuple[int, int]]:
    """The file offset and the size of each instruction of the kernel."""
    code = case.code_object
    loads = [segment for segment in code.inspect()["segments"] if segment["kind"] == "LOAD"]
    try:
        instructions = list(code.kernel(case.kernel).instructions)
    except LuthierError as error:
        raise CaseError(f"the case's kernel cannot be taken apart: {error}") from None
    for inst in instructions:
        if inst.mnemonic in ("s_nop", "s_endpgm", "s_code_end"):
            continue
        for segment in loads:
            if 0 <= inst.address - segment["address"] < segment["file_size"]:
                yield segment["offset"] + inst.address - segment["address"], inst.size


def _without(case: Case, instructions: list[tuple[int, int]]) -> Case:
    """The case with no-operations in the place of these instructions."""
    data = bytearray(case.data)
    for offset, size in instructions:
        data[offset : offset + size] = _NOP * (size // 4)
    return replace(case, data=bytes(data))
