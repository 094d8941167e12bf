"""``luthier dap`` with a client that others have written (dap-python), every message held to the protocol's schema; and with
what is no client."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import debugged
import jsonschema
import pytest

dap = pytest.importorskip("dap", reason="dap-python is not installed (make setup)")


@functools.cache
def protocol() -> dict:
    """The schema of the protocol's specification, as debugpy has it."""
    place = importlib.util.find_spec("debugpy")
    if place is None:
        pytest.skip("debugpy is not installed (make setup)")
    folder = Path(place.origin).parent / "_vendored/pydevd/_pydevd_bundle/_debug_adapter"
    return json.loads((folder / "debugProtocol.json").read_text())


def check(message: dict) -> None:
    """Holds a message to the protocol's schema."""
    what = message.get("event") or message.get("command")
    kind = "Event" if message["type"] == "event" else "Response"
    name = f"{what[0].upper()}{what[1:]}{kind}" if message.get("success", True) else "ErrorResponse"
    schema = protocol()
    assert name in schema["definitions"], f"the protocol has no {name}"
    # (jsonschema.validate would check the schema each time.)
    jsonschema.Draft4Validator({"definitions": schema["definitions"], "$ref": f"#/definitions/{name}"}).validate(message)


def named(value):
    """JSON whose keys are attributes; what is not there is None."""
    if isinstance(value, dict):
        return Named({key: named(one) for key, one in value.items()})
    return [named(one) for one in value] if isinstance(value, list) else value


class Named(dict):
    __getattr__ = dict.get


class Session:
    """A client, and the adapter that it has started."""

    def __init__(self, words=("dap",), folder=None):
        command = [sys.executable, "-m", "luthier", *words]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder
        )
        self.client = dap.Client("luthier", client_id="test")
        self.heard: list[tuple[str, object]] = []
        self.buffer = b""

    def flush(self) -> None:
        self.process.stdin.write(self.client.send())
        self.process.stdin.flush()

    def until(self, kind: str, seconds: float = 60):
        """The next answer or event of a kind; what comes before is kept aside."""
        end = time.monotonic() + seconds
        self.flush()
        while time.monotonic() < end:
            for number, (name, body) in enumerate(self.heard):
                if name == kind:
                    del self.heard[number]
                    return body
            if not select.select([self.process.stdout], [], [], 1)[0]:
                continue
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            assert data, f"the adapter has ended before {kind}; heard {self.heard}"
            self.hear(data)
        raise AssertionError(f"no {kind}: {self.heard}")

    def hear(self, data: bytes) -> None:
        """All answers and events are what the protocol's schema says."""
        self.buffer += data
        while b"\r\n\r\n" in self.buffer:
            headers, rest = self.buffer.split(b"\r\n\r\n", 1)
            size = int(headers.rpartition(b":")[2])
            if len(rest) < size:
                return
            message, self.buffer = json.loads(rest[:size]), rest[size:]
            check(message)
            name, body = str(message.get("event") or message.get("command")), message.get("body", {})
            name = f"{name[0].upper()}{name[1:]}{'Event' if message['type'] == 'event' else 'Response'}"
            if not message.get("success", True):
                self.heard.append(("ErrorResponse", message["message"]))
                continue
            self.heard.append((name, named(body)))

    def close(self) -> int:
        self.client.disconnect()
        self.flush()
        self.process.stdin.close()
        return self.process.wait(30)


def begin(made: Session, configuration: dict) -> Session:
    made.until("InitializeResponse")
    made.client.send_request("launch", configuration)
    made.until("LaunchResponse")
    made.until("InitializedEvent")
    return made


@pytest.fixture
def session(tmp_path):
    made = begin(
        Session(),
        {"program": str(debugged.program()), "kernel": "softmax", "blocks": 2, "block": 64, "args": debugged.arguments(tmp_path)},
    )
    yield made
    made.process.kill()


def stopped(session, thread=None):
    event = session.until("StoppedEvent")
    return event, event.threadId


def test_an_editor_stops_at_lines_looks_around_and_goes_back(session):
    client = session.client
    line = debugged.line_of("out[group_x()")
    client.set_breakpoints(
        dap.types.Source(path=str(debugged.source())).model_dump(), [dap.types.SourceBreakpoint(line=line).model_dump()]
    )
    points = session.until("SetBreakpointsResponse").breakpoints
    assert points[0].verified and points[0].line == line
    client.configuration_done()
    event, thread = stopped(session)
    assert event.reason == "breakpoint"
    client.threads()
    threads = session.until("ThreadsResponse").threads
    assert {t.name for t in threads} >= {"workgroup (0, 0, 0) wave 0 (ready)"}
    client.stack_trace(thread)
    frame = session.until("StackTraceResponse").stackFrames[0]
    assert frame.line == line and frame.source.path == str(debugged.source())
    client.scopes(frame.id)
    scopes = {scope.name: scope.variablesReference for scope in session.until("ScopesResponse").scopes}
    assert set(scopes) == {"Locals", "Registers", "Vector registers", "Lanes", "Arguments", "LDS"}
    client.variables(scopes["Lanes"])
    lanes = session.until("VariablesResponse").variables
    assert len(lanes) == 64 and lanes[3].name == "lane 3"
    client.variables(lanes[3].variablesReference)
    assert session.until("VariablesResponse").variables[0].name == "v0@3"
    client.variables(scopes["Arguments"])
    arrays = session.until("VariablesResponse").variables
    assert [array.name for array in arrays] == ["x", "out"]
    client.variables(arrays[0].variablesReference)
    assert session.until("VariablesResponse").variables[0].value == "-3.0"
    client.evaluate("exec + 1", frame.id)
    assert "0x10000000000000000" in session.until("EvaluateResponse").result
    client.send_request(
        "disassemble", {"memoryReference": frame.instructionPointerReference, "instructionOffset": -2, "instructionCount": 4}
    )
    code = session.until("DisassembleResponse").instructions
    assert len(code) == 4 and int(code[2].address, 16) == int(frame.instructionPointerReference, 16)
    client.read_memory(arrays[0].memoryReference, 4)
    assert session.until("ReadMemoryResponse").data == "AABAwA=="  # -3.0
    client.step_back(thread)
    assert stopped(session)[0].reason == "step"
    client.next(thread)
    assert stopped(session)[0].reason in ("step", "breakpoint")
    client.reverse_continue(thread)
    assert stopped(session)[0].reason in ("entry", "breakpoint")
    assert session.close() == 0


def test_data_breakpoints_and_function_breakpoints_stop(session):
    client = session.client
    client.set_function_breakpoints([dap.types.FunctionBreakpoint(name="softmax").model_dump()])
    assert session.until("SetFunctionBreakpointsResponse").breakpoints[0].verified
    client.configuration_done()
    assert stopped(session)[0].reason == "breakpoint"
    client.set_function_breakpoints([])
    client.data_breakpoint_info("out[5]")
    info = session.until("DataBreakpointInfoResponse")
    assert info.dataId and "write" in info.accessTypes
    client.set_data_breakpoints([dap.types.DataBreakpoint(dataId=info.dataId, accessType="write").model_dump()])
    assert session.until("SetDataBreakpointsResponse").breakpoints[0].verified
    client.continue_(1)
    event, _ = stopped(session)
    assert event.reason == "data breakpoint"
    client.continue_(1)
    session.until("TerminatedEvent")
    assert session.close() == 0


def documented() -> dict[str, tuple[list[str], dict]]:
    """What docs/debug.md has editors configured with: the adapter's words, and the launch."""
    text = (Path(__file__).parents[2] / "docs/debug.md").read_text()
    vscode = json.loads(re.search(r"```json\n(.*?)```", text, re.DOTALL)[1])
    lua = re.search(r"```lua\n(.*?)```", text, re.DOTALL)[1]

    def table(source: str):
        lists = re.sub(r'\{((?:\s*"[^"]*",?)+\s*)\}', r"[\1]", source)
        return json.loads(re.sub(r"(\w+) = ", r'"\1": ', lists))

    adapter = table(re.search(r"dap\.adapters\.luthier = (\{.*?\})\n", lua)[1])
    launch = table(re.search(r"dap\.configurations\.hip = \{\n(.*\}),\n\}", lua, re.DOTALL)[1])
    assert adapter["type"] == "executable" and adapter["command"] == "luthier"
    return {"vscode": (["dap"], vscode["configurations"][0]), "neovim": (adapter["args"], launch)}


@pytest.mark.parametrize("editor", ("vscode", "neovim"))
def test_the_documented_configurations_start_the_debugger(editor, tmp_path):
    debugged.arguments(tmp_path)
    shutil.copy(debugged.program(), tmp_path / "softmax.hsaco")
    words, configuration = documented()[editor]
    configuration = json.loads(json.dumps(configuration).replace("${workspaceFolder}", str(tmp_path)))
    session = begin(Session(words, tmp_path), configuration)
    try:
        line = debugged.line_of("out[group_x()")
        session.client.set_breakpoints(
            dap.types.Source(path=str(debugged.source())).model_dump(), [dap.types.SourceBreakpoint(line=line).model_dump()]
        )
        assert session.until("SetBreakpointsResponse").breakpoints[0].verified
        session.client.configuration_done()
        event, thread = stopped(session)
        assert event.reason == ("entry" if configuration.get("stopOnEntry") else "breakpoint")
        session.client.stack_trace(thread)
        frame = session.until("StackTraceResponse").stackFrames[0]
        session.client.scopes(frame.id)
        scopes = {scope.name: scope.variablesReference for scope in session.until("ScopesResponse").scopes}
        session.client.variables(scopes["Locals"])
        variables = {one.name: one.value for one in session.until("VariablesResponse").variables}
        assert "sum" in variables and variables["x"] == "<optimized out>"
        assert session.close() == 0
    finally:
        session.process.kill()


def test_wrong_requests_are_answered_in_a_line_and_the_session_goes_on(session):
    client = session.client
    for command, arguments in [
        ("frobnicate", {}), ("stackTrace", {"threadId": 77}), ("scopes", {"frameId": 5}), ("variables", {"variablesReference": "x"}),
        ("setBreakpoints", {}), ("evaluate", {"expression": "import os"}), ("readMemory", {"memoryReference": "zz", "count": 4}),
        ("launch", {"program": "again"}), ("disassemble", {"memoryReference": "0x3", "instructionCount": 1}),
    ]:  # fmt: skip
        client.send_request(command, arguments)
        error = session.until("ErrorResponse")
        assert error and "\n" not in error, command
    client.threads()
    session.until("ThreadsResponse")
    assert session.close() == 0


def talk(data: bytes) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "luthier", "dap"], input=data, capture_output=True, timeout=60)


@pytest.mark.parametrize(
    "data",
    [b"hello\r\n\r\n", b"Content-Length: x\r\n\r\n", b"\r\n", b"Content-Length: 2\r\n\r\n[]", b"Content-Length: 3\r\n\r\n{a}",
     b"Content-Length: 99999999999\r\n\r\n", b"Content-Length: 2\r\n\r\n{}", b"A: " + b"b" * 10_000],
)  # fmt: skip
def test_nonsense_ends_in_one_line(data):
    done = talk(data)
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1 and b"luthier: error: dap" in done.stderr, done


def test_a_launch_that_cannot_be_is_refused_by_name():
    for wrong in (
        {"program": 3},
        {"kernel": "k"},
        {"program": "case.luthier", "app": ["program"]},
        {"app": ["no such program"], "kernel": "k"},
        {"app": ["true"], "kernel": "k", "blocks": 3},
        {"program": "nowhere.hsaco", "kernel": "k", "grid": 1, "block": 1},
        {"colour": "red"},
    ):
        body = json.dumps({"type": "request", "seq": 1, "command": "launch", "arguments": wrong}).encode()
        done = talk(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        assert done.returncode == 0 and b'"success": false' in done.stdout and b"Traceback" not in done.stderr, done
