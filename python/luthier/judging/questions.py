"""Runs the cases and asks the questions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError, LuthierError
from .cases import Case, MakeCase
from .compare import Tolerance, difference
from .launchers import Launched, launcher
from .outcome import Judgement, Row

if TYPE_CHECKING:
    import numpy

#: What outputs hold before a launch, byte by byte: two patterns, so that what stays is told from what is written.
_BEFORE = (0xA5, 0x5A)


def judge(
    kernel: Any,
    reference: Callable[..., Any],
    case: MakeCase,
    *,
    sizes: Iterable[Any] = (1, 63, 64, 65, 1000),
    dtypes: Sequence[str] = ("float32",),
    seeds: Sequence[int] = (0, 1),
    targets: Sequence[str] = ("gfx942",),
    schedules: Sequence[str] = ("fair", "alternate", "random:1"),
    tolerance: Tolerance | None = None,
    special_values: bool = True,
    progress: Callable[[str], object] | None = None,
) -> Judgement:
    """Judges a kernel against a reference, on the mock device.

    Every combination of ``targets``, ``sizes``,
    ``dtypes`` and ``seeds`` is run under each of ``schedules``, in strict mode.

    What goes wrong in a launch is a failure of the check ``runs``.

    :param kernel: a :class:`luthier.judging.Code`, or a function that launches Triton's kernels on its arguments.
    :param reference: ``reference(*args)`` gets copies of the arguments and returns the outputs, one array or a sequence, in any precision.
    :param case: ``case(size, dtype, generator)`` makes a :class:`luthier.judging.Case` out of a NumPy random generator.
    :param sizes: what ``case`` is given as size.
    :param dtypes: what it is given as type.
    :param seeds: of its generator.
    :param targets: processors of the mock device.
    :param schedules: how waves take turns (:class:`luthier.LaunchKeywords`).
    :param tolerance: what counts as right; 4 ulps.
    :param special_values: whether floating-point inputs are tried with NaN and infinities among them.
    :param progress: is called with a text for each target, size and type.
    :returns: a judgement, which is true if all checks hold (``luthier.judging.outcome.CHECKS`` lists them).
    :raises ArgumentError: for a kernel, case or reference that cannot be used.
    """
    made = Judgement(tolerance=str(tolerance or Tolerance()))
    listed = list(sizes)
    for target in targets:
        launch = launcher(kernel, target)
        for size, dtype in itertools.product(listed, dtypes):
            if progress is not None:
                progress(f"{target}, size {size}, {dtype}")
            _Cell(made, launch, reference, case, tolerance or Tolerance(), (target, size, dtype)).run(
                seeds, schedules, special_values
            )
    return made


class _Cell:
    """A target, a size and a type."""

    def __init__(
        self,
        made: Judgement,
        launch: Callable[[Case, list[Any], str], Launched],
        reference: Callable[..., Any],
        case: MakeCase,
        tolerance: Tolerance,
        where: tuple[str, Any, str],
    ):
        self._made, self._launch, self._reference, self._case = made, launch, reference, case
        self._tolerance, self._where = tolerance, where
        self._seed, self._schedule = 0, ""
        #: Outputs and the reference's, by seed.
        self._results: dict[int, tuple[list[numpy.ndarray], list[numpy.ndarray]]] = {}

    def run(self, seeds: Sequence[int], schedules: Sequence[str], special_values: bool) -> None:
        """All checks."""
        for self._seed in seeds:
            case = self._made_case(self._seed)
            wanted = self._wanted(case)
            first: list[numpy.ndarray] | None = None
            for self._schedule in schedules:
                got = self._launched(case, _BEFORE[0])
                if got is None:
                    return
                if first is None:
                    first = got
                    self._results[self._seed] = got, wanted
                    self._check_right("right", got, wanted)
                    self._check_other_contents(case, got)
                else:
                    self._check("deterministic", self._apart(first, got))
        self._schedule = schedules[0]
        self._check_inputs_matter()
        if len(seeds) > 1:
            self._check_not_remembered(seeds[0], seeds[1])
        if special_values:
            self._seed = seeds[0]
            self._check_special_values()

    def _made_case(self, seed: int) -> Case:
        import numpy

        _, size, dtype = self._where
        case = self._case(size, dtype, numpy.random.default_rng(seed))
        if not isinstance(case, Case):
            raise ArgumentError(f"judge: case() has returned {type(case).__name__}, not a luthier.judging.Case")
        for index in case.outputs:
            if not 0 <= index < len(case.args) or not isinstance(case.args[index], numpy.ndarray):
                raise ArgumentError(f"judge: output {index} is no array among the {len(case.args)} arguments")
        if not case.outputs:
            raise ArgumentError("judge: the case has no outputs")
        return case

    def _wanted(self, case: Case) -> list[numpy.ndarray]:
        import numpy

        with numpy.errstate(all="ignore"):
            found = self._reference(*[_copied(arg) for arg in case.args])
        arrays = list(found) if isinstance(found, (tuple, list)) else [found]
        if len(arrays) != len(case.outputs):
            raise ArgumentError(f"judge: the reference returns {len(arrays)} arrays for {len(case.outputs)} outputs")
        return [_as_array(array) for array in arrays]

    def _launched(self, case: Case, before: int, args: list[Any] | None = None) -> list[numpy.ndarray] | None:
        """The outputs of a launch with fresh copies, or with ``args``; None if it failed, which is told."""
        if args is None:
            args = [_copied(arg) for arg in case.args]
        for index in case.outputs:
            args[index].view("u1").reshape(-1)[...] = before
        kept = [_copied(arg) for arg in args]
        made = self._made
        made.made["runs"] += 1
        calls = _Calls(self._reference)
        try:
            with calls:
                did = self._launch(case, args, self._schedule)
        except LuthierError as error:
            self._fail("runs", str(error))
            return None
        except Exception as error:
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            self._fail("runs", f"{type(error).__name__}: {error}")
            return None
        made.launches += 1
        if not did.instructions:
            self._fail("runs", "no kernel was run on the device")
            return None
        made.instructions[self._where[0]] = made.instructions.get(self._where[0], 0) + did.instructions
        self._check("own work", "the reference was called" if calls.number else None)
        self._check("strict", None if not did.findings else f"{len(did.findings)} findings, the first: {did.findings[0]}")
        changed = [i for i, arg in enumerate(args) if i not in case.outputs and not _same(arg, kept[i])]
        self._check("writes only outputs", f"argument {changed[0]} was changed" if changed else None)
        return [args[index] for index in case.outputs]

    def _check_right(self, check: str, got: list[numpy.ndarray], wanted: list[numpy.ndarray]) -> None:
        for number, (have, want) in enumerate(zip(got, wanted)):
            found = difference(have, want, self._tolerance)
            if found.ulps is not None and check == "right":
                self._made.ulps = max(self._made.ulps or 0.0, found.ulps)
            self._check(check, None if found.first is None else f"output {number}: {found}")

    def _check_other_contents(self, case: Case, first: list[numpy.ndarray]) -> None:
        """The same launch with other bytes in its outputs: what differs was not written, or depends on them."""
        again = self._launched(case, _BEFORE[1])
        if again is None:
            return
        kept = reads = None
        for number, (a, b) in enumerate(zip(first, again)):
            size = a.dtype.itemsize
            x, y = a.view("u1").reshape(-1, size), b.view("u1").reshape(-1, size)
            left = (x == _BEFORE[0]).all(1) & (y == _BEFORE[1]).all(1)
            other = (x != y).any(1) & ~left
            if left.any() and kept is None:
                kept = f"output {number}: {int(left.sum()):,} of {a.size:,} elements are not written, the first is {int(left.argmax())}"
            if other.any() and reads is None:
                reads = f"output {number}: {int(other.sum()):,} of {a.size:,} elements depend on what was there before"
        self._check("writes all", kept)
        self._check("reads no output", reads)

    def _check_inputs_matter(self) -> None:
        """Results that are the same for other inputs, where the reference's are not."""
        for (got, want), (other, other_want) in itertools.combinations(self._results.values(), 2):
            if self._apart(want, other_want) is not None:
                same = self._apart(got, other) is None
                self._check("not constant", "the results are the same for other inputs" if same else None)

    def _check_not_remembered(self, first: int, second: int) -> None:
        """Other contents in the same buffers."""
        if len(self._results) < 2:
            return
        self._seed = second
        case, other = self._made_case(first), self._made_case(second)
        if [getattr(arg, "shape", None) for arg in case.args] != [getattr(arg, "shape", None) for arg in other.args]:
            return
        args = [_copied(arg) for arg in case.args]
        if self._launched(case, _BEFORE[0], args) is None:
            return
        for index, arg in enumerate(other.args):
            if _is_array(arg):
                args[index][...] = arg
            else:
                args[index] = arg
        got = self._launched(other, _BEFORE[0], args)
        if got is not None:
            fresh = self._results[second][0]
            is_stale = self._apart(got, fresh) is not None and self._apart(got, self._results[first][0]) is None
            self._check("not remembered", "new contents in the same buffers give the old results" if is_stale else None)

    def _check_special_values(self) -> None:
        import numpy

        case = self._made_case(self._seed)
        args = [_copied(arg) for arg in case.args]
        found = False
        for index, arg in enumerate(args):
            if index not in case.outputs and isinstance(arg, numpy.ndarray) and numpy.issubdtype(arg.dtype, numpy.floating):
                flat = arg.reshape(-1)
                for number, value in enumerate((numpy.nan, numpy.inf, -numpy.inf, -0.0)):
                    if flat.size:
                        flat[(number * 7 + index) % flat.size] = value
                        found = True
        if not found:
            return
        special = Case(args, case.outputs, case.blocks, case.block, case.grid, case.lds, case.launch)
        wanted = self._wanted(special)
        got = self._launched(special, _BEFORE[0])
        if got is not None:
            self._check_right("special values", got, wanted)

    def _apart(self, first: list[numpy.ndarray], second: list[numpy.ndarray]) -> str | None:
        for number, (a, b) in enumerate(zip(first, second)):
            if a.shape != b.shape or a.tobytes() != b.tobytes():
                return f"output {number} differs from that under another schedule"
        return None

    def _check(self, check: str, why: str | None) -> None:
        self._made.made[check] += 1
        if why is not None:
            self._fail(check, why)

    def _fail(self, check: str, why: str) -> None:
        target, size, dtype = self._where
        self._made.failures.append(Row(check, target, size, dtype, self._seed, self._schedule, " ".join(why.split())))


class _Calls:
    """Notices that a function's code runs, by whatever name it is called, in this thread."""

    def __init__(self, function: Callable[..., Any]):
        self._code = getattr(function, "__code__", None)
        self.number = 0

    def __enter__(self) -> None:
        import sys

        self._before = sys.getprofile()
        if self._code is not None:
            sys.setprofile(self._see)

    def __exit__(self, *_: object) -> None:
        import sys

        sys.setprofile(self._before)

    def _see(self, frame: Any, event: str, _arg: Any) -> None:
        self.number += event == "call" and frame.f_code is self._code


def _copied(value: Any) -> Any:
    return value.copy() if _is_array(value) else value


def _is_array(value: Any) -> bool:
    """Whether it is a buffer; NumPy's scalars have shapes, too, which are empty."""
    return hasattr(value, "copy") and bool(getattr(value, "shape", None))


def _same(a: Any, b: Any) -> bool:
    return not hasattr(a, "tobytes") or a.tobytes() == b.tobytes()


def _as_array(value: Any) -> numpy.ndarray:
    import numpy

    return numpy.asarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)
