"""From tools to an instrumented code object: asks every tool what it wants, and has it all placed at once."""

from __future__ import annotations

import struct
import warnings
from collections import Counter as Tally
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from .. import _core
from ..base.callers import callers_level
from ..base.tracebacks import shortened
from ..errors import ArgumentError, InstrumentError, NothingInsertedError, RejectedError, RejectedWarning, ToolError
from ..lang import Hook
from ..lang.functions import GivenHook
from ..objects.code_object import CodeObject, no_kernel
from ..objects.kernel import Kernel
from ..objects.places import AFTER, ASSEMBLY, EDGE, ENTRY, HOOK, NOTHING, ORDER, RECORD, Place
from .binding import Arguments, Binder, is_the_same_everywhere, settle_numbers, text_of, told_apart
from .channels import Channel, Printing
from .homes import Home
from .kept import keep_hooks
from .library import BoundHook, LibraryHook
from .options import Instrumenting, InstrumentKeywords, Plan, instrumenting, instruments
from .selection import kernel_names
from .shared import SharedMemory, clear
from .tool import AnyTool, Tool
from .toolset import Toolset
from .values import Borrowed, Counter, Shared, State, Variable

if TYPE_CHECKING:
    from typing_extensions import Unpack


@shortened
@instruments
def instrument(
    source: Any,
    tools: Sequence[AnyTool],
    *,
    kernels: Iterable[str | Kernel] | None = None,
    **how: Unpack[InstrumentKeywords],
) -> CodeObject:
    """A copy of a code object with the hooks of ``tools`` in all its kernels, or in those that ``kernels`` lists, names or
    :attr:`CodeObject.kernels`. Other kernels run the code that they ran, also where they share functions with these.

    The result runs wherever the original does and gives the same results. The tools' variables are symbols in it
    (``TOOL.ATTRIBUTE``); ``result.instrumentation`` says what was done and what had to be left out (docs/report.md).

    :param source: a code object, the path of a file, or bytes.
    :param tools: names as for ``--tool``, tools, or what makes them.
    :param kernels: their names, or kernels of the code object; all without.
    :param how: the keywords of :class:`luthier.instrumenting.options.InstrumentKeywords`.
    :returns: the instrumented code object, with ``instrumentation``.
    :raises LoadError: for a file that is no code object.
    :raises HookError: for a hook that does not compile.
    :raises RejectedError: for insertions that cannot be made, with ``on_rejected="raise"``.
    :raises NothingInsertedError: if nothing of a tool could be inserted, with ``on_rejected="warn"``.
    :raises InstrumentError: for code that cannot be instrumented, an instrumented object for example.
    :raises ToolError: for a tool that misuses the API.
    """
    options = instrumenting(how)
    original = CodeObject.of(source)
    planner = Planner(original, Toolset(tools))
    planner.ask(kernels)
    if found := [one for one in planner.variables.items() if isinstance(one[1], Channel)]:
        symbol, channel = found[0]
        raise ToolError(
            f"{symbol} is a channel{' (of lt.printf)' if isinstance(channel, Printing) else ''}, which nothing reads in "
            f"a code object by itself: load it with its tools (Device.load, Device.run, luthier run, luthier trace)"
        )
    return planner.finish(options)


def rejections(code_object: CodeObject, report: dict[str, Any]) -> str:
    """One line: how many insertions were not made, and the first reasons, each once."""
    rejected, reasons = report["rejected"], dict[str, int]()
    for one in rejected:
        reasons.setdefault(one["reason"], one["address"])
    some = "; ".join(f"at {address:#x}: {reason}" for reason, address in list(reasons.items())[:3])
    more = f"; and {len(reasons) - 3} other reasons" if len(reasons) > 3 else ""
    of = f" of {code_object.path}" if code_object.path else ""
    wanted = report["points"] + len(rejected)
    return f"{len(rejected)} of {wanted} insertions{of} could not be made: {some}{more}"


def not_placed(code_object: CodeObject, report: dict[str, Any]) -> str | None:
    """One line if nothing of a tool was inserted although it asked for something; else None."""
    left = [name for name, did in report["tools"].items() if did["rejected"] and not did["points"]]
    if not left:
        return None
    some = "the tools " if len(left) > 1 else "the tool "
    return f"nothing of {some}{', '.join(left)} was inserted, and nothing is counted: {rejections(code_object, report)}"


@dataclass(frozen=True)
class Beside:
    """Where the loaded original is that an instrumented object is to be loaded beside, and where tools' variables are."""

    #: The address of vaddr 0.
    base: int
    #: By symbol.
    addresses: Mapping[str, int]
    #: What the original is loaded on, as :class:`Borrowed` variables are asked about.
    where: Any = None


#: Arguments of exactly these types mean the same in every kernel and are told apart by their values and types; none of them is an
#: operand or in LDS. Most insertions have no others, and there may be a million.
_TOLD_BY_KIND = frozenset((int, Counter, State))


def _check_hook(tool: Tool, hook: Any) -> None:
    if not isinstance(hook, (Hook, LibraryHook)):
        raise ToolError(f"{tool.name}: {hook!r} is not a hook: mark the function with @lt.hook")


#: The priority of what runs before all that tools insert, and the order of what is no tool's.
_FIRST, _OWN = -(1 << 31), 0xFFFF


class Planner:
    """Collects insertions, each checked against its hook's parameters."""

    def __init__(self, code_object: CodeObject, toolset: Toolset):
        self.code_object = code_object
        self._tools = toolset.tools
        self._orders = {id(tool): i for i, tool in enumerate(self._tools)}
        self._names = toolset.names
        self._variables: dict[str, Variable] = {}
        #: The variables' symbols, by their identity.
        self._symbols: dict[int, str] = {}
        #: What each wave carries, counters and elements of states, with their numbers.
        self._slots: dict[tuple[Counter | State, int | None], tuple[int, tuple[str, int, bool, str | None]]] = {}
        self._shared = SharedMemory()
        #: The places of the points whose hooks use LDS of the tools'; and of the points that clear it the kernel, and which of the
        #: others its waves come to.
        self._sharing: dict[int, int] = {}
        self._clears: dict[int, tuple[str, frozenset[int]]] = {}
        self._hooks: dict[Any, int] = {}
        self._bound: dict[tuple[LibraryHook, int, tuple[int, ...]], BoundHook] = {}
        self._assembly: dict[str, int] = {}
        self._distinct: dict[tuple[int, str], Arguments] = {}
        self._prepared: dict[Any, Arguments] = {}
        #: The same of increments of lengths, by what else the hook is given and by amount; and the first kernel of each function.
        self._by_amount: dict[Any, dict[int, Arguments]] = {}
        self._lengths: dict[Any, str] = {}
        self._records = bytearray()
        self._made_for: dict[bytes, tuple[str, int]] = {}
        #: The kernels that tools were asked about, if not about all.
        self._selected: list[str] | None = None
        this = object()
        for tool in self._tools:
            if tool.one_code_object and vars(tool).setdefault("_serves", this) is not this:
                raise ToolError(
                    f"{tool.name}: this instance is in use with another code object, or another kernel of it: make a new instance "
                    f"of the tool, or load the object once for all its kernels (device.load)"
                )
            for variable in tool.variables():
                self._symbol(tool, variable)

    def ask(self, kernels: Iterable[str | Kernel] | None) -> None:
        """Has every tool say what it wants in these kernels, all if None."""
        known = dict.fromkeys(self.code_object.core.kernels)  # there may be thousands, and each is looked up
        self._selected = kernel_names(kernels)
        for name in known if self._selected is None else dict.fromkeys(self._selected):
            if name not in known:
                raise ArgumentError(no_kernel(self.code_object, name))
            for tool in self._tools:
                tool.on_kernel(Kernel(self.code_object, name, self, tool))

    def insert(self, tool: Tool, kernel: str, place: Place, hook: Any, args: tuple[Any, ...], priority: int) -> int:
        """One hook at one place; gives the point's number."""
        _check_hook(tool, hook)
        # Tools pass the same few arguments at many points.
        behind = place.address if place.where in (AFTER, EDGE) else None
        kinds = tuple(map(type, args))
        plain = _TOLD_BY_KIND.issuperset(kinds)
        known: Any
        if plain:
            known = (hook, behind is not None, None, args, *kinds)
        else:
            # Only of operands does it matter which instruction it is.
            at = behind if any(isinstance(arg, _core.Operand) for arg in args) else behind is not None
            known = (hook, at, None if all(map(is_the_same_everywhere, args)) else kernel, args, *map(told_apart, args))
        try:
            found = self._prepared.get(known)
        except TypeError:  # what cannot be hashed is no argument, unless it is an array that is one number
            found = self._prepare(tool, kernel, hook, args, behind)
        if found is None:
            found = self._prepared[known] = self._prepare(tool, kernel, hook, args, behind)
        found.uses += 1
        number = self._record(tool, kernel, place, priority, found.hook, found.number, HOOK)
        if not plain and any(isinstance(arg, Shared) for arg in args):
            self._sharing[number] = place.address
        return number

    def insert_lengths(
        self, tool: Tool, kernel: str, functions: list[_core.Function], hook: Any, args: tuple[Any, ...], after: bool
    ) -> None:
        """A hook with a number behind its other arguments wherever increments of the lengths of blocks belong
        (:func:`luthier.counting.insert_lengths`)."""
        _check_hook(tool, hook)
        for arg in args:
            if type(arg) not in _TOLD_BY_KIND:
                raise ToolError(f"{tool.name}: insert_lengths: {arg!r} is neither a number nor what waves carry")
        asked = (id(tool), hook, args, after)
        known = self._by_amount.setdefault(asked, {})
        for function in functions:
            # A function that kernels share is done for the first of them.
            if self._lengths.setdefault((function.address, asked), kernel) != kernel:
                continue
            lists: list[Arguments] = []
            for amount, places in _core.length_amounts(function):
                found = known.get(amount)
                if found is None:
                    found = known[amount] = self._prepare(tool, kernel, hook, (*args, amount), None)
                found.uses += places
                lists.append(found)
            if lists:
                numbers, order = [found.number for found in lists], self._orders[id(tool)]
                self._records += _core.length_records(function, numbers, lists[0].hook, order, 0, after)

    def insert_assembly(self, tool: Tool, kernel: str, place: Place, text: str, priority: int) -> int:
        """Instructions as text at one place; gives the point's number."""
        if not isinstance(text, str):
            raise ToolError(f"{tool.name}: {text!r} is no assembly text")
        if text not in self._assembly:
            _core.assemble(self.code_object.program, text)
        number = self._assembly.setdefault(text, len(self._assembly))
        return self._record(tool, kernel, place, priority, number, 0, ASSEMBLY)

    def remove(self, tool: Tool, kernel: str, place: Place) -> int:
        """Nothing in the place of an instruction; gives the point's number."""
        return self._record(tool, kernel, place, 0, 0, 0, NOTHING)

    def _record(self, tool: Tool, kernel: str, place: Place, priority: int, what: int, args: int, body: int) -> int:
        if not isinstance(priority, int) or not -(1 << 31) <= priority < 1 << 31:
            raise ToolError(f"{tool.name}: the priority {priority!r} is no 32-bit number")
        record = RECORD.pack(place.address, place.to, priority, what, args, self._orders[id(tool)], place.where, body)
        number = len(self._records) // RECORD.size
        first, known = self._made_for.setdefault(record, (kernel, number))
        if first != kernel:
            return known  # a shared function, already done for another kernel
        self._records += record
        return number

    def _prepare(self, tool: Tool, kernel: str, hook: Any, args: tuple[Any, ...], behind: int | None) -> Arguments:
        """The hook's number and that of the list of arguments."""

        def slot(carried: Counter | State, element: int | None) -> int:
            made: tuple[str, int, bool, str | None]
            if isinstance(carried, State):
                name = f"{self._names[id(tool)]}.{carried.name or 'state'}"
                made = (name if carried.n is None else f"{name}[{element}]", carried.units, carried.per_lane, None)
            else:
                symbol = self._symbol(tool, carried)
                made = (symbol, 2, False, symbol)
            return self._slots.setdefault((carried, element), (len(self._slots), made))[0]

        if isinstance(hook, LibraryHook):
            own = tuple(n for n, arg in enumerate(args) if isinstance(arg, Shared))
            of = (hook, id(tool), own)
            if of not in self._bound:
                self._bound[of] = hook.bound(self.code_object, tool, lambda variable: self._symbol(tool, variable), own)
            hook = self._bound[of]
        binder = Binder(
            self.code_object, tool.name, kernel, lambda variable: self._symbol(tool, variable), slot, self._shared.offset
        )
        bound = binder.bind(hook, args, behind)
        made: BoundHook | GivenHook = hook
        if isinstance(hook, BoundHook) and hook not in self._hooks:
            hook.check()
        if isinstance(hook, Hook):
            listed = list(zip(hook.params, args, strict=True))
            channels = {p.name: arg.shape for p, arg in listed if isinstance(arg, Channel)}
            made = hook.given(channels, frozenset(p.name for p, arg in listed if isinstance(arg, Shared)))
        bound += [fact.argument for fact in made.facts]
        if isinstance(made, GivenHook) and made.prints:
            bound.append({"variable": {"symbol": self._symbol(tool, Printing.of(tool, made.texts)), "offset": 0}})
        return self._listed(made, bound)

    def _listed(self, made: BoundHook | GivenHook, bound: list[Any]) -> Arguments:
        """A hook with its arguments, once."""
        number = self._hooks.setdefault(made, len(self._hooks))
        # The same for another kernel is the same: an insertion in a function that they share is made once.
        key = (number, text_of(bound))
        if key not in self._distinct:
            self._distinct[key] = Arguments(number, len(self._distinct), bound)
        return self._distinct[key]

    def _symbol(self, tool: Tool, variable: Variable) -> str:
        """The variable's symbol, given to it at its first use."""
        if id(variable) not in self._symbols:
            base = f"{self._names[id(tool)]}.{variable.name or f'variable{len(self._variables)}'}"
            symbol, again = base, 1
            while symbol in self._variables or self.code_object.core.symbol(symbol) is not None:
                again += 1
                symbol = f"{base}.{again}"
            variable.symbol = symbol
            self._symbols[id(variable)] = symbol
            self._variables[symbol] = variable
        return self._symbols[id(variable)]

    def finish(self, how: Instrumenting, *, beside: Beside | None = None, alone: bool = False) -> CodeObject:
        """Compiles the hooks and places them, in a copy of the code object, or in one that is to be loaded ``beside`` it.
        ``alone``: no other kernels than those that tools were asked about will run."""
        keep_hooks()
        self._clear_shared()
        settle_numbers(list(self._distinct.values()))
        addresses = None
        if beside is not None:
            addresses = [self._address(symbol, variable, beside) for symbol, variable in self._variables.items()]
        elif borrowed := [symbol for symbol, variable in self._variables.items() if isinstance(variable, Borrowed)]:
            raise ToolError(f"{borrowed[0]} is a variable of a program's, and this code object is not instrumented in a program")
        plan = Plan(
            [made.core if isinstance(made, BoundHook) else made.json for made in self._hooks],
            f"[{','.join(text_of(self._shared.fill(arguments.bound)) for arguments in self._distinct.values())}]",
            list(self._assembly),
            [(name, v.size, v.align, v.init or b"") for name, v in self._variables.items()],
            [made for _, made in self._slots.values()],
            bytes(self._records),
            None if alone else self._selected,
            how.check,
            how.calling_convention,
            how.bodies,
            None if beside is None or addresses is None else (beside.base, addresses),
        )
        data, report = _core.instrument(self.code_object.program, plan)
        self._check_cleared(report)
        self._tell_tools(report)
        if report["rejected"] and how.on_rejected != "report":
            text, nothing = rejections(self.code_object, report), not_placed(self.code_object, report)
            if how.on_rejected == "raise" or nothing is not None:
                error = RejectedError(text) if how.on_rejected == "raise" else NothingInsertedError(nothing)
                error.rejected = report["rejected"]
                raise error
            warnings.warn(text, RejectedWarning, stacklevel=callers_level())
        result = CodeObject(data)
        result.instrumentation = report
        return result

    def _clear_shared(self) -> None:
        """Has each kernel whose waves come to hooks with LDS of the tools' clear it before anything else."""
        if not self._sharing:
            return
        known = self.code_object.core.kernels
        for name in known if self._selected is None else dict.fromkeys(self._selected):
            functions = Kernel(self.code_object, name, self, self._tools[0]).functions
            come_to = frozenset(
                number
                for number, address in self._sharing.items()
                if any(f.address <= address < f.address + max(f.size, 1) for f in functions)
            )
            if not come_to:
                continue
            made = cast(Hook, clear).given({}, frozenset({"memory"}))
            bound = [{"literal": 0}, {"literal": self._shared.end // 4}, *(fact.argument for fact in made.facts)]
            arguments = self._listed(made, bound)
            record = RECORD.pack(functions[0].address, 0, _FIRST, arguments.hook, arguments.number, _OWN, ENTRY, HOOK)
            self._clears[len(self._records) // RECORD.size] = (name, come_to)
            self._records += record

    def _check_cleared(self, report: dict[str, Any]) -> None:
        """Leaves what clears LDS out of the report. Raises InstrumentError if a kernel could not be made to do it and comes to hooks
        that use it."""
        rejected = {one["point"]: one["reason"] for one in report["rejected"]}
        for point, (kernel, come_to) in self._clears.items():
            if point in rejected and not come_to <= rejected.keys():
                raise InstrumentError(
                    f"the kernel {kernel} cannot clear the LDS of the tools (lt.shared) when its workgroups start: {rejected[point]}"
                )
        report["rejected"] = [one for one in report["rejected"] if one["point"] not in self._clears]
        report["points"] -= len(self._clears.keys() - rejected.keys())

    def _tell_tools(self, report: dict[str, Any]) -> None:
        """Says of each tool how much of it was inserted, and tells it what was not."""
        of = [tool for (tool,) in struct.iter_unpack(f"<{ORDER}xH2x", self._records)]
        asked = Tally(of)
        rejected: dict[int, list[dict[str, Any]]] = {}
        for one in report["rejected"]:
            rejected.setdefault(of[one["point"]], []).append(one)
        report["tools"] = {}
        for tool in self._tools:
            order = self._orders[id(tool)]
            left = len(rejected.get(order, ()))
            tool.rejected = [*tool.rejected, *rejected.get(order, ())]
            report["tools"][self._names[id(tool)]] = {"points": asked[order] - left, "rejected": left}

    def _address(self, symbol: str, variable: Variable, beside: Beside) -> int:
        return variable.address(beside.where) if isinstance(variable, Borrowed) else beside.addresses[symbol]

    @property
    def variables(self) -> dict[str, Variable]:
        """Those of the tools that need memory, by symbol."""
        return {symbol: v for symbol, v in self._variables.items() if not isinstance(v, Borrowed)}

    def bind(self, home: Home) -> None:
        """From now on the variables are there, too."""
        for symbol, variable in self.variables.items():
            variable.live_in(home, symbol)
