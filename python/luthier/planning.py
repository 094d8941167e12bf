"""From tools to an instrumented code object: asks every tool what it wants, and has it all placed at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from . import _core
from .code_object import CodeObject
from .errors import ArgumentError, ToolError
from .kernel import Kernel
from .tool import Tool
from .values import Counter, DeviceArray, Element, Imm, Reg, Variable


def instrument(source: Any, tools: Sequence[Tool], *, kernels: Iterable[str] | None = None, check: bool = False) -> CodeObject:
    """A copy of a code object with the hooks of ``tools`` in all its kernels, or in those named.

    The result runs wherever the original does and gives the same results. The tools' variables are symbols in it
    (``TOOL.ATTRIBUTE``); ``result.instrumentation`` says what was done and what had to be left out. ``check`` has every
    placement proved by the splice checker.
    """
    original = CodeObject.of(source)
    planner = Planner(original, tools)
    planner.ask(kernels)
    return planner.finish(check)


def no_kernel(code_object: CodeObject, name: str) -> str:
    """What to say when there is no such kernel."""
    known = code_object.core.kernels
    some = ", ".join(known[:8]) + (f" and {len(known) - 8} more" if len(known) > 8 else "")
    return f"{code_object.path or 'the code object'} has no kernel {name}" + (f": it has {some}" if known else ", nor any other")


class Planner:
    """Collects insertions, each checked against its hook's parameters."""

    def __init__(self, code_object: CodeObject, tools: Sequence[Tool]):
        self.code_object = code_object
        self._tools = list(tools)
        self._orders = {id(tool): i for i, tool in enumerate(tools)}
        self._names = _distinct_names(tools)
        self._variables: dict[str, Variable] = {}
        self._counters: dict[str, int] = {}
        self._hooks: dict[Any, int] = {}  # (hook, argument specs) -> index
        self._hook_list: list[tuple[Any, list[tuple[Any, ...]]]] = []
        self._prepared: dict[Any, tuple[int, tuple[Any, ...]]] = {}
        self._insertions: list[tuple[Any, ...]] = []
        self._made_for: dict[tuple[Any, ...], str] = {}
        for tool in tools:
            for variable in tool.variables():
                self._symbol(tool, variable)

    def ask(self, kernels: Iterable[str] | None) -> None:
        """Has every tool say what it wants in these kernels, all if None."""
        for name in self.code_object.core.kernels if kernels is None else kernels:
            if self.code_object.core.kernel(name) is None:
                raise ArgumentError(no_kernel(self.code_object, name))
            for tool in self._tools:
                tool.on_kernel(Kernel(self.code_object, name, self, tool))

    def insert(self, tool: Tool, kernel: str, address: int, after: bool, hook: Any, args: tuple[Any, ...]) -> None:
        """One hook at one point, as :meth:`luthier.Kernel.insert_before` documents it."""
        from .lang import Hook

        if not isinstance(hook, Hook):
            raise ToolError(f"{tool.name}: {hook!r} is not a hook: mark the function with @lt.hook")
        args = tuple(arg.value if type(arg) is Imm else arg for arg in args)
        # Tools pass the same few arguments at many points; 1, 1.0 and True are equal and not the same.
        known = (hook, args, *map(type, args))
        try:
            found = self._prepared.get(known)
        except TypeError:  # something that cannot be hashed is no argument either
            found = None
        if found is None:
            found = self._prepare(tool, hook, args)
            self._prepared[known] = found
        index, bindings = found
        insertion = (address, after, index, bindings, self._orders[id(tool)])
        if self._made_for.setdefault(insertion, kernel) != kernel:
            return  # a shared function, already done for another kernel
        self._insertions.append(insertion)

    def _prepare(self, tool: Tool, hook: Any, args: tuple[Any, ...]) -> tuple[int, tuple[Any, ...]]:
        """The number of the hook with the shape of these arguments, and what is bound to it at each point."""
        params = hook.params
        if len(args) != len(params):
            names = ", ".join(f"{p.name}: {p.type}" for p in params)
            raise ToolError(f"{tool.name}: hook {hook.name}({names}) takes {len(params)} arguments, {len(args)} were given")
        specs: list[tuple[Any, ...]] = []
        bindings: list[tuple[Any, ...]] = []
        for param, arg in zip(params, args):
            spec, binding = self._argument(tool, hook, param, arg, bindings)
            specs.append(spec)
            bindings.append(binding)
        key = (hook, tuple(specs))
        index = self._hooks.get(key)
        if index is None:
            hook.check()
            index = self._hooks[key] = len(self._hook_list)
            self._hook_list.append((hook, specs))
        return index, tuple(bindings)

    def _argument(
        self, tool: Tool, hook: Any, param: Any, arg: Any, before: list[tuple[Any, ...]]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """What the compiler has to know of an argument, and what placing it has to."""
        from . import lang

        def wrong(needs: str) -> ToolError:
            return ToolError(f"{tool.name}: hook {hook.name}, argument {param.name}: {param.type} needs {needs}, not {arg!r}")

        kind = param.type
        if isinstance(kind, lang.Counter):
            if not isinstance(arg, Counter):
                raise wrong("an lt.Counter")
            symbol = self._symbol(tool, arg)
            number = self._counters.setdefault(symbol, len(self._counters))
            return ("counter",), ("counter", number)
        if isinstance(arg, (DeviceArray, Element, Counter)):
            array, offset = (arg.array, arg.offset) if isinstance(arg, Element) else (arg, 0)
            dtype = lang.u64 if isinstance(array, Counter) else array.dtype
            if not isinstance(kind, lang.Pointer) or kind.space not in ("global", "const") or kind.to != dtype:
                raise wrong(f"something else than the address of {dtype} elements")
            symbol = self._symbol(tool, array)
            # The compiler takes different variables for different memory: one passed twice has to be the same.
            slot = len(before)
            for i, other in enumerate(before):
                if other[:2] == ("variable", symbol):
                    if other[2] != offset:
                        raise ToolError(f"{tool.name}: hook {hook.name} gets {symbol} twice: pass it once and index it there")
                    slot = i
                    break
            return ("variable", slot), ("variable", symbol, offset)
        if isinstance(arg, Reg):
            how = "inout" if isinstance(kind, lang.InOut) else "reg"
            return (how, *arg.parts), (how, *arg.parts)
        if isinstance(kind, lang.InOut):
            raise wrong('a register: lt.Reg("v3")')
        value = arg
        if hasattr(value, "dtype") and getattr(value, "shape", None) == ():
            value = value.item()
        if not isinstance(value, (int, float)) and (not hasattr(value, "__index__") or hasattr(value, "shape")):
            raise wrong("an lt.DeviceArray" if isinstance(kind, lang.Pointer) else "a number")
        return ("const", param.raw_bits(value)), ("const",)

    def _symbol(self, tool: Tool, variable: Variable) -> str:
        """The variable's symbol, given to it at its first use."""
        if variable.symbol is None:
            base = f"{self._names[id(tool)]}.{variable.name or f'variable{len(self._variables)}'}"
            symbol, again = base, 1
            while symbol in self._variables or self.code_object.core.symbol(symbol) is not None:
                again += 1
                symbol = f"{base}.{again}"
            variable.symbol = symbol
            self._variables[symbol] = variable
        elif self._variables.get(variable.symbol) is not variable:
            raise ToolError(f"{tool.name}: {variable!r} is in use with another code object: make a new instance of the tool")
        return variable.symbol

    def finish(self, check: bool) -> CodeObject:
        """Compiles the hooks and places them."""
        data, report = _core.instrument(
            self.code_object.core,
            [(hook.json, hook.source.file, specs) for hook, specs in self._hook_list],
            [(name, v.size, v.align, v.init or b"") for name, v in self._variables.items()],
            list(self._counters),
            self._insertions,
            check,
        )
        result = CodeObject(_core.CodeObject.parse(data), None)
        result.instrumentation = report
        return result

    def bind(self, module: Any) -> None:
        """From now on the variables are read from ``module``."""
        for variable in self._variables.values():
            variable._module = module


def _distinct_names(tools: Sequence[Tool]) -> dict[int, str]:
    """Each tool's name, numbered where several have the same."""
    names: dict[int, str] = {}
    for tool in tools:
        if id(tool) in names:
            raise ToolError(f"{tool.name}: the same instance was given twice")
        name, again = tool.name, 1
        while name in names.values():
            again += 1
            name = f"{tool.name}_{again}"
        names[id(tool)] = name
    return names
