"""What tools hear of besides launches, and the code objects that they can ask about."""

from __future__ import annotations

import json

import pytest
import rocm
from places import ROOT

TOOL = '''
import luthier as lt

class Events(lt.Tool):
    """Everything that happens."""

    counts = lt.DeviceArray(lt.u64, 1)

    def __init__(self):
        self.started = 0
        self.events = []
        self.memory = {}
        self.unknown = 0
        self.executables = {}
        self.kernels = []
        self.launched, self.completed = [], []

    @lt.hook
    def bump(counts: lt.ptr[lt.u64]):
        lt.wave_atomic_add(counts, 1)

    def on_start(self, app):
        self.started += 1
        assert app is self.app and app.pid > 0 and app.objects == []

    def on_queue(self, queue, event):
        self.events.append(["queue", event, queue.size])
        assert (queue in self.app.queues) == (event == "created")

    def on_allocation(self, allocation):
        if allocation.event in ("allocated", "locked"):
            assert allocation.size > 0
            self.memory[allocation.address] = allocation.size
        elif self.memory.pop(allocation.address, None) != allocation.size:
            self.unknown += 1

    def on_executable(self, executable, event):
        self.executables.setdefault(str(executable.handle), []).append(event)
        assert executable.is_alive == (event != "destroyed")
        if event == "frozen":
            for loaded in executable.objects:
                code_object = loaded.code_object
                assert loaded.data[:4] == b"\\x7fELF" and self.app.object_at(loaded.start) is loaded
                for name in code_object.core.kernels:
                    kernel = self.app.kernel_at(loaded.kernel(name).address)
                    assert kernel == loaded.kernel(name) and kernel.executable == executable.handle
                    assert self.app.kernel_at(kernel.address + 1) is None
                    # The descriptor as it is loaded is the file's, but for what the loader writes.
                    assert kernel.gpu == loaded.gpu and len(loaded.read_variable(name + ".kd")) == 64
                    self.kernels.append(name)
        elif event == "destroyed":
            assert all(not loaded.is_alive for loaded in executable.objects)

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.bump, self.counts)

    def on_launch(self, launch):
        assert self.app.kernel_at(launch.packet[4]).name == launch.kernel and launch.kernarg == launch.packet[5]
        self.launched.append(launch.number)

    def on_complete(self, launch):
        assert launch.start <= launch.end and launch.end > 0
        self.completed.append(launch.number)

    def on_exit(self, report):
        mine = ("started", "events", "unknown", "executables", "kernels", "launched", "completed")
        report.result = {name: getattr(self, name) for name in mine}
        report.result["left"] = len(self.memory)
'''


@pytest.fixture(scope="module", autouse=True)
def runtime():
    rocm.need("hipcc")
    assert (ROOT / "python/luthier/driver/libluthier-agent.so").exists(), "`make driver` builds the agent"


def seen(folder, *app, target="gfx90a", **variables):
    (folder / "events.py").write_text(TOOL)
    out = folder / "out.json"
    done = rocm.mock(*app, target=target, options=("--tool", str(folder / "events.py"), "--json", str(out)), **variables)
    assert done.returncode == 0 and "passed" in done.stdout, done.stdout + done.stderr
    return json.loads(out.read_text())


def test_queues_memory_and_executables_are_told_of_and_code_objects_can_be_asked_about(tmp_path):
    [process] = seen(tmp_path, rocm.hip("devices"), "modules", MODULE=str(rocm.code_object("vecadd")))["processes"]
    found = process["tools"]["events"]
    assert found["started"] == 1 and found["events"][0][:2] == ["queue", "created"]
    assert found["unknown"] == 0 and found["kernels"].count("vecadd") == 3
    for events in found["executables"].values():
        # A handle may be used again by another executable.
        assert events[:3] == ["created", "loaded", "frozen"] and set(events) <= {"created", "loaded", "frozen", "destroyed"}
    assert any("destroyed" in events for events in found["executables"].values())


@pytest.mark.parametrize("case, target", [("lds", "gfx90a"), ("all_devices", "gfx90a,2")])
def test_each_launch_is_told_of_and_when_it_is_over(tmp_path, case, target):
    data = seen(tmp_path, rocm.hip("kernels" if case == "lds" else "devices"), case, target=target)
    kernels = [k for p in data["processes"] for o in p["objects"] for k in o["kernels"] if "tools" in k]
    assert kernels
    for kernel in kernels:
        found = kernel["tools"]["events"]
        assert len(found["launched"]) == kernel["instrumented"] > 0 and kernel["unfinished"] == 0
        assert sorted(found["completed"]) == found["launched"]


def test_a_launch_that_ends_the_process_is_named_as_unfinished(tmp_path):
    (tmp_path / "events.py").write_text(TOOL)
    out = tmp_path / "out.json"
    done = rocm.mock(rocm.hip("mistakes"), "wild_store", options=("--tool", str(tmp_path / "events.py"), "--json", str(out)))
    [process] = json.loads(out.read_text())["processes"]
    [kernel] = [k for o in process["objects"] for k in o["kernels"] if k.get("unfinished")]
    assert done.returncode < 0 and process["ended"] == "without notice"
    assert kernel["unfinished"] == 1 and len(kernel["tools"]["events"]["completed"]) == kernel["instrumented"] - 1
    assert f"kernel {kernel['name']}: 1 launch had not ended" in done.stderr
