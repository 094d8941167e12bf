"""``luthier debug``: a debugger in the terminal, for launches that go on and back."""

from __future__ import annotations

import cmd
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any

from ..base.text import printable
from ..device.debug.places import number_of, place_named
from ..device.debug.stops import Breakpoint, Stop, Watchpoint, evaluate
from ..device.debug.waves import SPECIAL, as_text
from ..errors import ArgumentError, LuthierError
from ..reports.findings import finding_text

if TYPE_CHECKING:
    from ..device.debug.stage import Stage
    from ..device.debug.waves import StageWave
    from ..replay.live import Program

_HISTORY = "~/.local/state/luthier/debug_history"
_SHORT = {
    "b": "break", "c": "continue", "s": "step", "si": "stepi", "rs": "reverse_step", "rsi": "reverse_stepi", "rc": "reverse_continue",
    "p": "print", "l": "list", "w": "wave", "i": "info", "d": "delete", "q": "quit", "EOF": "quit", "where": "backtrace", "bt": "backtrace",
    "nl": "next_launch", "next-launch": "next_launch", "reverse-step": "reverse_step", "reverse-stepi": "reverse_stepi", "reverse-continue": "reverse_continue", "last-write": "last_write",
}  # fmt: skip


class Debugger(cmd.Cmd):
    """Commands for one launch. ``help`` lists them, ``help COMMAND`` explains one."""

    prompt = "(luthier) "

    def __init__(self, stage: Stage, out: IO[str] | None = None):
        super().__init__(stdout=out)
        self.stage = stage
        self._selected: tuple[int, int] | None = None
        #: A command was wrong, or the launch has failed.
        self.failed = False
        self._show(stage.goto(0))

    # How commands are run.

    def precmd(self, line: str) -> str:
        word, _, rest = line.strip().partition(" ")
        return f"{_SHORT.get(word, word)} {rest}".strip()

    def onecmd(self, line: str) -> bool:
        try:
            return bool(super().onecmd(line))
        except (LuthierError, ValueError) as error:
            self.failed = True
            self._say(f"error: {error}")
        except KeyboardInterrupt:
            self._say("interrupted")
        return False

    def emptyline(self) -> bool:
        return False

    def default(self, line: str) -> None:
        self.failed = True
        self._say(f"error: there is no command {line.split()[0]!r}: help lists them")

    def completenames(self, text: str, *ignored: Any) -> list[str]:
        return [name.replace("_", "-") for name in super().completenames(text.replace("-", "_"), *ignored)]

    def run(self, lines: Sequence[str]) -> bool:
        """Shows and runs each command; true if one of them ended the debugger."""
        for line in lines:
            self._say(f"{self.prompt}{line}")
            if self.onecmd(self.precmd(line)):
                return True
        return False

    def _say(self, text: object) -> None:
        print(printable(str(text)), file=self.stdout, flush=True)

    def _show(self, stop: Stop) -> None:
        if stop.wave is not None:
            self._selected = stop.wave.id
        self.failed |= stop.why == "failed"
        at, text = f"event {stop.event:,}", str(stop)
        self._say(text if text.startswith(at) else f"{at}: {text}")
        if stop.wave is not None and (line := self.stage.lines.source(stop.wave.pc)):
            self._say(f"    {line}")

    def _wave(self) -> StageWave:
        """The selected wave, or whichever there is."""
        waves = self.stage.waves
        found = next((wave for wave in waves if wave.id == self._selected), None) or next(iter(waves), None)
        if found is None:
            raise ArgumentError("no wave is under way: goto 0 begins anew")
        return found

    def _any(self) -> StageWave | None:
        """The same, or None at the end."""
        return self._wave() if self.stage.waves else None

    def _value(self, text: str) -> Any:
        return evaluate(text, self.stage, self._any())

    def _number(self, text: str, default: int = 1) -> int:
        return number_of(self.stage, self._any(), text, default) if not text.strip().isdigit() else int(text)

    # On and back.

    def do_continue(self, arg: str) -> bool | None:
        """continue [EVENT]: goes on to the next stop, at most to an event; where the launch is over, to the program's next one.
        Short: c"""
        if self.stage.following is not None and self.stage.is_over and not arg:
            return self.do_next_launch("")
        self._show(self.stage.resume(self._number(arg) if arg else None))
        return None

    def do_next_launch(self, arg: str) -> bool | None:
        """next-launch: the program goes on, up to its next launch of such a kernel, with the same breakpoints. Short: nl"""
        before = self.stage
        if before.following is None:
            raise ArgumentError("next-launch: there is no program that goes on: luthier debug --kernel K -- APP ARGS starts one")
        found = before.following()
        if found is None:
            self._say("the program has ended: there is no further launch")
            return True
        found.take_over(before)
        self.stage, self._selected = found, None
        self._say(f"the next launch: {found.kernel}")
        self._show(found.goto(0))
        return None

    def do_step(self, arg: str) -> None:
        """step [N]: the selected wave goes on to its next source line, N times. Short: s"""
        self._times(arg, lambda: self.stage.step_line(self._wave()))

    def do_stepi(self, arg: str) -> None:
        """stepi [N]: the selected wave executes N instructions; others run when it is their turn. Short: si"""
        self._show(self.stage.step(self._wave(), self._number(arg)))

    def do_stepall(self, arg: str) -> None:
        """stepall: each wave that can go on executes an instruction."""
        self._times(arg, self.stage.step_all)

    def do_reverse_step(self, arg: str) -> None:
        """reverse-step [N]: back to the selected wave's source line before, N times. Short: rs"""
        self._times(arg, lambda: self.stage.reverse_line(self._wave()))

    def do_reverse_stepi(self, arg: str) -> None:
        """reverse-stepi [N]: the selected wave's last N instructions are taken back. Short: rsi"""
        self._show(self.stage.reverse_step(self._selected, self._number(arg)))

    def do_reverse_continue(self, arg: str) -> None:
        """reverse-continue: back to the last stop before, or the beginning. Short: rc"""
        self._show(self.stage.reverse_resume())

    def do_goto(self, arg: str) -> None:
        """goto EVENT: to where all waves together have executed that many instructions, back or on."""
        self._show(self.stage.goto(self._number(arg, 0)))

    def do_back(self, arg: str) -> None:
        """back [N]: takes N instructions back, of whichever waves they were."""
        self._show(self.stage.back(self._number(arg)))

    def _times(self, arg: str, go: Callable[[], Stop]) -> None:
        stop = go()
        for _ in range(self._number(arg) - 1):
            if stop.why != "reached":
                break
            stop = go()
        self._show(stop)

    # Stops.

    def do_break(self, arg: str) -> None:
        """break WHERE [if CONDITION]: at an address (0x1a00), FILE:LINE, a LINE, a function, or entry. Conditions are Python:
        break softmax.hip:14 if v[3][0] > 5. Short: b"""
        where, _, condition = arg.partition(" if ")
        if not where.strip():
            raise ArgumentError("break: say where: an address, FILE:LINE, a function, or entry")
        self._say(self.stage.break_at(where.strip(), condition.strip() or None))

    def do_watch(self, arg: str) -> None:
        """watch WHAT [read|write|access|change] [if CONDITION]: WHAT is ADDRESS[:BYTES], ARGUMENT[INDEX] (out[5]), lds:OFFSET,
        or a register of the selected wave (s4, v3, v3@LANE). Stops behind the instruction; changes unless told."""
        what, _, condition = arg.partition(" if ")
        words = what.split()
        if not words or len(words) > 2:
            raise ArgumentError(
                "watch: say what: ADDRESS, ARGUMENT[INDEX], lds:OFFSET or a register; then read, write, access or change"
            )
        place = self._place(words[0])
        on = words[1] if len(words) == 2 else "change"
        self._say(self.stage.watch(**place, on=on, condition=condition.strip() or None))

    def _place(self, text: str, for_why: bool = False) -> dict[str, Any]:
        return place_named(self.stage, self._any(), text, for_why=for_why)

    def do_findings(self, arg: str) -> None:
        """findings [on|off]: whether to stop at what strict mode finds; without a word, what it has found so far."""
        if arg in ("on", "off"):
            self.stage.stops_at_findings = arg == "on"
        elif arg:
            raise ArgumentError("findings: on, off, or nothing")
        else:
            found = self.stage.findings
            self._say("\n".join(finding_text(finding) for finding in found) or "nothing was found")

    def do_delete(self, arg: str) -> None:
        """delete N: forgets a breakpoint or a watchpoint. Short: d"""
        self.stage.delete(self._number(arg, 0))

    # Looking.

    def do_wave(self, arg: str) -> None:
        """wave GROUP,NUMBER or NUMBER: selects a wave. Short: w"""
        parts = [self._number(part) for part in arg.split(",")] if arg else []
        if len(parts) not in (1, 2):
            raise ArgumentError("wave: GROUP,NUMBER, or NUMBER in the selected wave's workgroup")
        group = parts[0] if len(parts) == 2 else self._wave().group
        wave = self.stage.wave(group, parts[-1])
        self._selected = wave.id
        self._say(wave)

    def do_print(self, arg: str) -> None:
        """print EXPRESSION: Python over the selected wave: s[4], v[2][lane], exec, f32(v[2]), the arguments' arrays by name,
        lds, mem(address, "float32", 4). A register's name alone shows all lanes. Short: p"""
        text = arg.strip()
        if text[:1] in ("s", "v", "a") and text[1:].isdigit():
            text = f"{text[0]}[{text[1:]}]"
        value = self._value(text)
        self._say(f"{value} ({value:#x})" if isinstance(value, int) and not isinstance(value, bool) else value)

    def do_x(self, arg: str) -> None:
        """x ADDRESS [COUNT]: words of memory."""
        words = arg.split()
        address, count = self._number(words[0] if words else "", 0), self._number(words[1] if len(words) > 1 else "", 4)
        data = self.stage.read(address, 4 * count)
        place = self.stage.place_of(address)
        self._say(f"{address:#x}{'' if place is None else f': {place}'}")
        for at in range(count):
            self._say(f"  {address + 4 * at:#x}: {as_text(int.from_bytes(data[4 * at : 4 * at + 4], 'little'))}")

    def do_why(self, arg: str) -> None:
        """why REGISTER[@LANE], why ADDRESS, why ARGUMENT[INDEX], why lds:OFFSET: the instructions that made the value."""
        place = self._place(arg.strip(), for_why=True)
        self._say(self.stage.why(place.pop("register", None), **place).shown())

    def do_last_write(self, arg: str) -> None:
        """last-write ADDRESS, ARGUMENT[INDEX] or lds:OFFSET: the last store there before now."""
        place = self._place(arg.strip())
        if "register" in place:
            raise ArgumentError("last-write: an address, ARGUMENT[INDEX] or lds:OFFSET; for registers there is why")
        found = self.stage.last_write(**place)
        self._say("the launch has not written there" if found is None else f"event {found.event:,}: {found}")

    def do_backtrace(self, arg: str) -> None:
        """backtrace: where the selected wave is in the source, with the calls that were inlined. Short: bt"""
        frames = self._wave().frames
        self._say("\n".join(f"#{number} {frame}" for number, frame in enumerate(frames)) or "no source lines: compile with -g")

    def do_list(self, arg: str) -> None:
        """list: the source around the selected wave. Short: l"""
        import linecache

        line = self.stage.lines.line(self._wave().pc)
        if line is None:
            raise ArgumentError("there are no source lines here: compile with -g")
        for number in range(max(line[1] - 5, 1), line[1] + 6):
            text = linecache.getline(line[0], number)
            if text:
                self._say(f"{'>' if number == line[1] else ' '} {number:5} {text.rstrip()}")

    def do_disas(self, arg: str) -> None:
        """disas [N]: the instructions around the selected wave."""
        pc = self._wave().pc
        found = self.stage.lines.instruction(pc)
        if found is None:
            raise ArgumentError(f"there is no code at {pc:#x}")
        all_of = list(found.function.instructions)
        at = next(number for number, one in enumerate(all_of) if one.address == pc)
        for one in all_of[max(at - 5, 0) : at + self._number(arg, 6)]:
            self._say(f"{'>' if one.address == pc else ' '} {one.address:#x}: {one.text}")

    def do_info(self, arg: str) -> None:
        """info locals|waves|breaks|args|registers|schedule: what there is. Short: i"""
        stage = self.stage
        if arg == "waves":
            self._say(
                "\n".join(f"{'*' if wave.id == self._selected else ' '} {wave}" for wave in stage.waves) or "none is under way"
            )
        elif arg == "breaks":
            points: list[Breakpoint | Watchpoint] = [*stage.breakpoints, *stage.watchpoints]
            self._say("\n".join(f"{point}, {point.hits} times" for point in points) or "there are none")
        elif arg == "args":
            self._say("\n".join(f"{name}: {place} at {place.address:#x}" for name, place in stage.arrays.items()) or "no arrays")
        elif arg == "registers":
            self._registers()
        elif arg == "locals":
            wave = self._wave()
            exec = wave.registers.exec
            told = [f"{one.type} {one.name} = {one.text(exec)}  ({one.function})" for one in wave.variables]
            self._say("\n".join(told) or "there are no variables here")
        elif arg == "schedule":
            self._say(stage.choices)
        else:
            raise ArgumentError("info: locals, waves, breaks, args, registers or schedule")

    def _registers(self) -> None:
        registers = self._wave().registers
        for name in SPECIAL:
            self._say(f"{name:13}{getattr(registers, name):#x}")
        for number, value in enumerate(registers.sgprs):
            if value:
                self._say(f"s{number:<12}{as_text(int(value))}")
        for letter, file in (("v", registers.vgprs), ("a", registers.agprs)):
            for number, row in enumerate(file):
                if row.any():
                    self._say("\n".join(_lanes(f"{letter}{number}", row)))

    def do_quit(self, arg: str) -> bool:
        """quit: ends the debugger. Short: q"""
        return True


def _lanes(name: str, row: Any) -> list[str]:
    """A vector register: once where all lanes have the same, else eight lanes a line."""
    if (row == row[0]).all():
        return [f"{name:13}{as_text(int(row[0]))} in all lanes"]
    starts = range(0, len(row), 8)
    rows = [f"[{at:2}] " + " ".join(f"{int(value):08x}" for value in row[at : at + 8]) for at in starts]
    return [f"{name:13}{rows[0]}", *(f"{'':13}{text}" for text in rows[1:])]


def main(args: Any) -> int:
    """Debugs one launch: of a code object, or a case file."""
    stage = stage_of(args)
    try:
        debugger = Debugger(stage)
        if debugger.run(args.command_lines):
            return int(debugger.failed)
        if args.batch:
            return int(debugger.failed)
        with _History():
            while True:
                try:
                    debugger.cmdloop()
                    return 0
                except KeyboardInterrupt:
                    print(file=debugger.stdout)
    finally:
        stage.finish()


def stage_of(args: Any) -> Stage:
    """The launch that the command line says."""
    from ..device.mock_device import Device
    from ..device.sizes import dimensions
    from ..replay.case import Case
    from ..replay.debugging import debug
    from .argspec import parse_argument, parse_number, parse_sizes
    from .choose import kernel, one
    from .replay import way_of
    from .run import _processor, parse_kinds

    is_case = args.file is not None and args.file.endswith(".luthier")
    named = [f"--{name}" for name in ("launch", "mock", "rocm", "limit") if getattr(args, name) is not None]
    if args.app:
        return _of_program(args)
    if named:
        raise ArgumentError(f"debug: {named[0]} is for a program: luthier debug --kernel K -- APP ARGS")
    if args.file is None:
        raise ArgumentError("debug: give a code object, a case file, or a program behind --")
    if is_case:
        if args.kernel is not None or args.grid is not None or args.blocks is not None or args.block is not None or args.arg:
            raise ArgumentError("debug: a case file says its kernel, sizes and arguments itself")
        return debug(Case.open(args.file), way_of(args, schedule=args.schedule))
    if args.kernel is None or args.block is None or (args.grid is None) == (args.blocks is None):
        raise ArgumentError("debug: a code object needs --kernel, --block, and --grid or --blocks")
    sizes: Any = {
        name: None if getattr(args, name) is None else dimensions(f"--{name}", parse_sizes(f"--{name}", getattr(args, name)))
        for name in ("grid", "blocks", "cluster")
    }
    block = dimensions("--block", parse_sizes("--block", args.block))
    code_object = one(args, args.kernel)
    name = kernel(code_object, args.kernel)
    watchdog = None if args.watchdog is None else parse_number("--watchdog", args.watchdog, "instructions")
    device = Device(_processor(code_object, args.target), watchdog=watchdog)
    strict: Any = args.strict if args.strict_kinds is None else parse_kinds(args.strict_kinds)
    stage = device.load(code_object).debug(
        name, **sizes, block=block, args=[parse_argument(text) for text in args.arg], lds=parse_number("--lds", args.lds, "bytes"),
        strict=strict, cooperative=args.cooperative, schedule=args.schedule,
    )  # fmt: skip
    stage.stops_at_findings = bool(strict)
    return stage


def _of_program(args: Any) -> Stage:
    """A program's launch, before which the program waits, and which is gone through here, in memory as it was."""
    from ..replay.case import LIMIT
    from ..replay.live import Program
    from .argspec import parse_number
    from .mock_gpus import MockGpus
    from .mock_gpus import Program as Started

    own = ("file", "grid", "blocks", "block", "cluster", "target", "entry")
    given = [name for name in own if getattr(args, name) is not None] + (["arg"] if args.arg else [])
    if given or args.lds != "0" or args.cooperative:
        raise ArgumentError("debug: a program says its code object, sizes and arguments itself: give --kernel, and --launch")
    if args.kernel is None:
        raise ArgumentError("debug: --kernel says which kernel of the program")
    number = 1 if args.launch is None else parse_number("--launch", args.launch, "a launch")
    if number < 1:
        raise ArgumentError("--launch: launches count from 1")
    limit = LIMIT if args.limit is None else parse_number("--limit", args.limit, "bytes")
    # The schedule is the debugger's, not the program's.
    started = Started.on(replace(MockGpus.of(args), schedule=None), args.app, os.environ, rocm=args.rocm)
    program = Program(started.path, started.words, started.environment, args.kernel, number, limit)
    program.start()
    try:
        stage = _next_of(program, args)
        if stage is None:
            raise program.missing
    except BaseException:
        program.let_go()
        raise
    stage.stops_at_findings = bool(args.strict or args.strict_kinds)
    return stage


def _next_of(program: Program, args: Any) -> Stage | None:
    """The program's next launch, on the stage."""
    from ..replay.debugging import debug
    from .replay import way_of

    case = program.next()
    if case is None:
        return None
    stage = debug(case, way_of(args, schedule=args.schedule))
    stage.following = lambda: _next_of(program, args)
    stage.at_end = lambda: _let_go(program)
    return stage


def _let_go(program: Program) -> None:
    """The program goes on to its end; what became of it is said, where that is worth saying."""
    status = program.let_go()
    if status or program.is_gone:
        when = " while its launch waited," if program.is_gone else ""
        how = f"by signal {-status}" if status < 0 else f"with status {status}"
        print(f"luthier: the program has ended{when} {how}", file=sys.stderr)


class _History:
    """The commands of earlier sessions, where there is a terminal."""

    def __enter__(self) -> None:
        self._readline: Any = None
        if sys.stdin.isatty():
            with suppress(ImportError):
                import readline

                self._readline = readline
                with suppress(OSError):
                    readline.read_history_file(os.path.expanduser(_HISTORY))

    def __exit__(self, *_: object) -> None:
        if self._readline is not None:
            path = os.path.expanduser(_HISTORY)
            with suppress(OSError):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                self._readline.set_history_length(1000)
                self._readline.write_history_file(path)
