"""Requests of a client, and what answers them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..device.debug.places import place_named
from ..device.debug.stops import Breakpoint, Stop, Watchpoint, evaluate
from ..errors import ArgumentError, LuthierError
from .shown import Shown, thread_of, wave_of
from .wire import Wire

if TYPE_CHECKING:
    from ..device.debug.stage import Stage
    from ..device.debug.waves import StageWave

#: Instructions after which it is looked whether the client wants a pause.
_PIECE = 20_000_000
#: Instructions that stepping out of a call takes at most.
_FAR = 1 << 16

_CAPABILITIES = {
    "supportsConfigurationDoneRequest": True,
    "supportsConditionalBreakpoints": True,
    "supportsFunctionBreakpoints": True,
    "supportsInstructionBreakpoints": True,
    "supportsDataBreakpoints": True,
    "supportsStepBack": True,
    "supportsSteppingGranularity": True,
    "supportsDisassembleRequest": True,
    "supportsReadMemoryRequest": True,
    "supportsEvaluateForHovers": True,
    "supportsTerminateRequest": True,
    "supportsExceptionInfoRequest": True,
    "exceptionBreakpointFilters": [{"filter": "findings", "label": "Strict mode's findings", "default": True}],
}
_REASONS = {
    "address": "breakpoint",
    "watchpoint": "data breakpoint",
    "finding": "exception",
    "failed": "exception",
    "begin": "entry",
}

Arguments = dict[str, Any]


class Adapter:
    """One client's session. ``begin`` makes a stage of a launch configuration."""

    def __init__(self, wire: Wire, begin: Callable[[Arguments], Stage]):
        self._wire, self._begin = wire, begin
        self._stage: Stage | None = None
        self._shown: Shown | None = None
        #: What was set by which request: a file, or a kind.
        self._set: dict[str, list[Breakpoint | Watchpoint]] = {}
        self._stop: Stop | None = None
        self._after: Callable[[], None] | None = None

    def serve(self) -> int:
        """Answers until the client is gone or has had enough; gives the exit status.
        ArgumentError for what is no message."""
        try:
            while (message := self._wire.hear()) is not None:
                if self._answer(message):
                    return 0
                if self._after is not None:
                    after, self._after = self._after, None
                    after()
        finally:
            if self._stage is not None:
                self._stage.finish()
        return 0

    def _answer(self, message: dict[str, Any]) -> bool:
        """Whether the session is over by it."""
        command, number = message.get("command"), message.get("seq")
        if message.get("type") != "request" or not isinstance(command, str) or not isinstance(number, int):
            raise ArgumentError(f"dap: {str(message)[:60]} is no request")
        arguments = message.get("arguments") or {}
        reply: dict[str, Any] = {"type": "response", "request_seq": number, "command": command, "success": True}
        handler = getattr(self, f"_do_{command}", None)
        try:
            if handler is None:
                raise ArgumentError(f"there is no request {command!r}")
            if not isinstance(arguments, dict):
                raise ArgumentError(f"{command}: the arguments are no object")
            reply["body"] = handler(arguments) or {}
        except (LuthierError, OSError) as error:
            reply |= {"success": False, "message": str(error), "body": {"error": {"id": 1, "format": str(error)}}}
        except (KeyError, TypeError, ValueError, AttributeError) as error:  # an argument that is missing, or of another type
            text = f"{command}: these arguments do not suit it ({type(error).__name__}: {error})"
            reply |= {"success": False, "message": text, "body": {"error": {"id": 2, "format": text}}}
        self._wire.say(reply)
        return command in ("disconnect", "terminate") and reply["success"]

    # Beginning and ending.

    def _do_initialize(self, arguments: Arguments) -> Arguments:
        return dict(_CAPABILITIES)

    def _do_launch(self, arguments: Arguments) -> None:
        if self._stage is not None:
            raise ArgumentError("the launch has begun already")
        self._stage = self._begin(arguments)
        self._shown = Shown(self._stage)
        self._entry = bool(arguments.get("stopOnEntry", False))
        self._after = lambda: self._wire.event("initialized")

    def _do_configurationDone(self, arguments: Arguments) -> None:
        self._after = (lambda: self._go(lambda: self.stage.goto(0), "entry")) if self._entry else self._on

    def _do_disconnect(self, arguments: Arguments) -> None:
        pass

    def _do_terminate(self, arguments: Arguments) -> None:
        self._after = None

    @property
    def stage(self) -> Stage:
        """The launch."""
        if self._stage is None:
            raise ArgumentError("there is no launch yet: a launch request begins one")
        return self._stage

    @property
    def shown(self) -> Shown:
        """What the client sees of it."""
        if self._shown is None:
            raise ArgumentError("there is no launch yet: a launch request begins one")
        return self._shown

    # Breakpoints.

    def _replace(self, what: str) -> list[Breakpoint | Watchpoint]:
        for point in self._set.pop(what, []):
            self.stage.delete(point)
        return self._set.setdefault(what, [])

    def _points(self, what: str, wanted: list[Arguments], make: Callable[[Arguments], Breakpoint | Watchpoint]) -> Arguments:
        """Sets what takes the place of what was set so before; what cannot be is told in place of it."""
        known, found = self._replace(what), []
        for one in wanted:
            try:
                point = make(one)
            except LuthierError as error:
                found.append({"verified": False, "message": str(error)})
                continue
            known.append(point)
            told: Arguments = {"verified": True, "id": point.number, "message": str(point)}
            if isinstance(point, Breakpoint):
                line = self.stage.lines.line(point.addresses[0])
                told |= {"line": line[1]} if line is not None and what.startswith("source ") else {}
                told["instructionReference"] = f"{point.addresses[0]:#x}"
            found.append(told)
        return {"breakpoints": found}

    def _do_setBreakpoints(self, arguments: Arguments) -> Arguments:
        path = arguments["source"].get("path") or arguments["source"]["name"]

        def make(one: Arguments) -> Breakpoint:
            name = path
            if path not in self.stage.lines.files:
                tail = path.rpartition("/")[2]
                name = next((file for file in self.stage.lines.files if file.rpartition("/")[2] == tail), path)
            point = self.stage.break_at(f"{name}:{int(one['line'])}", one.get("condition") or None)
            line = self.stage.lines.addresses(name, int(one["line"]))[0][1]
            one["line"] = line
            return point

        told = self._points(f"source {path}", arguments.get("breakpoints") or [], make)
        for one, wanted in zip(told["breakpoints"], arguments.get("breakpoints") or []):
            if one["verified"]:
                one["line"] = wanted["line"]
        return told

    def _do_setFunctionBreakpoints(self, arguments: Arguments) -> Arguments:
        return self._points(
            "functions", arguments["breakpoints"], lambda one: self.stage.break_at(one["name"], one.get("condition") or None)
        )

    def _do_setInstructionBreakpoints(self, arguments: Arguments) -> Arguments:
        def make(one: Arguments) -> Breakpoint:
            address = int(one["instructionReference"], 0) + int(one.get("offset") or 0)
            return self.stage.break_at(address, one.get("condition") or None)

        return self._points("instructions", arguments["breakpoints"], make)

    def _do_setExceptionBreakpoints(self, arguments: Arguments) -> Arguments:
        self.stage.stops_at_findings = "findings" in arguments["filters"]
        return {}

    def _do_dataBreakpointInfo(self, arguments: Arguments) -> Arguments:
        name = str(arguments["name"])
        wave = self._of_frame(arguments)
        try:
            place = place_named(self.stage, wave, name)
        except LuthierError as error:
            return {"dataId": None, "description": str(error)}
        kinds = ["write"] if "register" in place else ["read", "write", "readWrite"]
        return {"dataId": f"{wave.group},{wave.number},{name}", "description": name, "accessTypes": kinds}

    def _do_setDataBreakpoints(self, arguments: Arguments) -> Arguments:
        kinds = {"read": "read", "write": "write", "readWrite": "access"}

        def make(one: Arguments) -> Watchpoint:
            group, number, name = str(one["dataId"]).split(",", 2)
            place = place_named(self.stage, self.stage.wave(int(group), int(number)), name)
            on = "change" if "register" in place else kinds[one.get("accessType") or "write"]
            return self.stage.watch(**place, on=on, condition=one.get("condition") or None)

        return self._points("data", arguments["breakpoints"], make)

    # On and back.

    def _wave(self) -> StageWave:
        """The wave that has stopped."""
        if self._stop is not None and self._stop.wave is not None:
            return self._stop.wave
        found = next(iter(self.stage.waves), None)
        if found is None:
            raise ArgumentError("no wave is under way")
        return found

    def _of_frame(self, arguments: Arguments) -> StageWave:
        frame = arguments.get("frameId")
        return self._wave() if frame is None else self.shown.frame(frame)

    def _on(self) -> None:
        """Goes on until something stops it, the client included."""

        def go() -> Stop:
            while True:
                until = self.stage.event + _PIECE
                stop = self.stage.resume(until)
                if stop.why != "reached":
                    return stop
                heard = self._wire.hear(wait=False)
                if heard is not None:
                    self._later = heard
                    return stop

        self._go(go, "pause")
        later, self._later = self._later, None
        if later is not None and self._answer(later):
            raise SystemExit(0)

    _later: dict[str, Any] | None = None
    _entry = False

    def _go(self, go: Callable[[], Stop], reached: str) -> None:
        """Has the launch go, and tells where it has stopped."""
        self.shown.forget()
        try:
            stop = self._stop = go()
        except LuthierError as error:
            self._wire.event("output", category="stderr", output=f"{error}\n")
            self._wire.event("stopped", reason="exception", text=str(error), allThreadsStopped=True)
            return
        if stop.why == "over":
            self._wire.event("output", category="console", output=f"the launch is over, after {stop.event:,} instructions\n")
            if self.stage.following is None:
                self._wire.event("terminated")
                return
            # The program goes on once the client says so: what the launch leaves can be looked at.
            self._wire.event("stopped", reason="pause", description="the launch is over", allThreadsStopped=True)
            return
        self._wire.event("output", category="console", output=f"event {stop.event:,}: {stop}\n")
        told: Arguments = {"reason": _REASONS.get(stop.why, reached), "description": str(stop), "allThreadsStopped": True}
        if stop.wave is not None:
            told["threadId"] = thread_of(stop.wave.id)
        if stop.point is not None:
            told["hitBreakpointIds"] = [stop.point.number]
        if stop.why in ("failed", "finding"):
            told["text"] = str(stop)
        self._wire.event("stopped", **told)

    def _next_launch(self) -> None:
        """The program goes on, up to its next launch, which is stopped at its beginning."""
        before = self.stage
        assert before.following is not None
        try:
            found = before.following()
        except LuthierError as error:
            self._wire.event("output", category="stderr", output=f"{error}\n")
            found = None
        if found is None:
            self._wire.event("output", category="console", output="the program has ended: there is no further launch\n")
            self._wire.event("terminated")
            return
        found.take_over(before)
        self._stage, self._shown = found, Shown(found)
        self._wire.event("output", category="console", output=f"the next launch: {found.kernel}\n")
        self._go(lambda: self.stage.goto(0), "entry")

    def _do_continue(self, arguments: Arguments) -> Arguments:
        self._after = self._next_launch if self.stage.is_over and self.stage.following is not None else self._on
        return {"allThreadsContinued": True}

    def _do_reverseContinue(self, arguments: Arguments) -> None:
        self._after = lambda: self._go(self.stage.reverse_resume, "entry")

    def _do_pause(self, arguments: Arguments) -> None:
        """It stands already: what goes on hears this by itself."""

    def _step(self, arguments: Arguments, by_line: Callable[[Any], Stop], by_instruction: Callable[[Any], Stop]) -> None:
        wave = wave_of(arguments["threadId"])
        fine = arguments.get("granularity") == "instruction" or not self.stage.lines.starts
        self._after = lambda: self._go(lambda: (by_instruction if fine else by_line)(wave), "step")

    def _do_next(self, arguments: Arguments) -> None:
        self._step(arguments, self.stage.step_line, self.stage.step)

    _do_stepIn = _do_next

    def _do_stepBack(self, arguments: Arguments) -> None:
        self._step(arguments, self.stage.reverse_line, self.stage.reverse_step)

    def _do_stepOut(self, arguments: Arguments) -> None:
        def out(wave: Any) -> Stop:
            depth = len(self.stage.wave(*wave).frames)
            stop = self.stage.step(wave)
            for _ in range(_FAR):
                if stop.why != "reached" or 0 < len(self.stage.wave(*wave).frames) < depth:
                    break
                stop = self.stage.step(wave)
            return stop

        self._step(arguments, out, out)

    # Looking.

    def _do_threads(self, arguments: Arguments) -> Arguments:
        return {"threads": [] if self._stage is None else self.shown.threads()}

    def _do_stackTrace(self, arguments: Arguments) -> Arguments:
        frames = self.shown.frames(arguments["threadId"])
        return {"stackFrames": frames, "totalFrames": len(frames)}

    def _do_scopes(self, arguments: Arguments) -> Arguments:
        return {"scopes": self.shown.scopes(arguments["frameId"])}

    def _do_variables(self, arguments: Arguments) -> Arguments:
        found = self.shown.variables(arguments["variablesReference"])
        start, count = arguments.get("start") or 0, arguments.get("count") or 0
        return {"variables": found[start : start + count] if count else found}

    def _do_evaluate(self, arguments: Arguments) -> Arguments:
        wave = self._of_frame(arguments)
        text = str(arguments["expression"]).strip()
        if text.startswith("why "):
            place = place_named(self.stage, wave, text[4:].strip(), for_why=True)
            return {"result": str(self.stage.why(place.pop("register", None), **place)), "variablesReference": 0}
        value = evaluate(text, self.stage, wave)
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return {"result": f"{value} ({value:#x})" if is_number else str(value), "variablesReference": 0}

    def _do_exceptionInfo(self, arguments: Arguments) -> Arguments:
        stop = self._stop
        if stop is None or stop.why not in ("failed", "finding"):
            raise ArgumentError("the launch has not stopped for a finding or a fault")
        kind = stop.finding["kind"] if stop.finding is not None else "fault"
        return {"exceptionId": kind, "description": str(stop), "breakMode": "always"}

    def _do_disassemble(self, arguments: Arguments) -> Arguments:
        address = int(arguments["memoryReference"], 0) + int(arguments.get("offset") or 0)
        program = self.stage.lines.code_object.program
        here = program.instruction_at(address)
        if here is None:
            raise ArgumentError(f"no instruction begins at {address:#x}")
        first = here.id + int(arguments.get("instructionOffset") or 0)
        count = min(int(arguments["instructionCount"]), 100_000)
        found, total = [], len(program.instructions)
        for number in range(first, first + count):
            if not 0 <= number < total:
                found.append({"address": "0x0", "instruction": "", "presentationHint": "invalid"})
                continue
            one = program.instructions[number]
            found.append({"address": f"{one.address:#x}", "instruction": one.text, "instructionBytes": one.data.hex(" ")})
        return {"instructions": found}

    def _do_readMemory(self, arguments: Arguments) -> Arguments:
        address = int(arguments["memoryReference"], 0) + int(arguments.get("offset") or 0)
        count = min(int(arguments["count"]), 1 << 20)
        data = self.stage.read(address, count)
        return {"address": f"{address:#x}", "data": base64.b64encode(data).decode()}
