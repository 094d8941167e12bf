"""What happens in a process besides launches: queues, memory and executables, as calls of HSA's functions tell of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .loaded import Loaded


@dataclass(frozen=True)
class Queue:
    """A queue of the application's."""

    address: int
    #: The GPU's agent handle; 0 for a queue that no GPU serves.
    agent: int
    #: Packets.
    size: int


@dataclass(frozen=True)
class Allocation:
    """Memory that was allocated, locked for GPUs, or freed."""

    #: ``allocated``, ``locked``, ``freed`` or ``unlocked``.
    event: str
    #: Where GPUs have it.
    address: int
    #: Bytes; 0 for what is freed and was not seen when it was allocated.
    size: int
    #: The function's name.
    function: str
    #: Where the process has it: another address than GPUs', perhaps, of memory that was locked for them.
    host: int = 0


@dataclass
class Executable:
    """An executable of the application's, with the code objects in it once it is frozen."""

    handle: int
    objects: list[Loaded] = field(default_factory=list)
    is_alive: bool = True


@dataclass(frozen=True)
class Told:
    """A function whose successful calls tell of something."""

    name: str
    #: Parameters that are pointers to what is wanted after the call.
    pointees: tuple[str, ...]
    #: Gets the arguments' words by name, and the pointees.
    tell: Callable[[Happenings, dict[str, int]], None]


class Happenings:
    """Keeps what there is, and hands on what happens to it."""

    def __init__(
        self,
        on_queue: Callable[[Queue, str], None],
        on_allocation: Callable[[Allocation], None],
        on_executable: Callable[[Executable, str], None],
    ):
        self._on_queue, self._on_allocation, self._on_executable = on_queue, on_allocation, on_executable
        self.queues: dict[int, Queue] = {}
        #: By address: bytes.
        self.memory: dict[int, int] = {}
        #: Where GPUs have memory that was locked for them, by the process's address.
        self._locked: dict[int, int] = {}
        self.executables: dict[int, Executable] = {}

    def executable(self, handle: int) -> Executable:
        """The one with a handle, known or new."""
        return self.executables.setdefault(handle, Executable(handle))

    def queue_made(self, said: dict[str, int], agent: str = "agent") -> None:
        queue = Queue(said["*queue"], said.get(agent, 0), said["size"] & 0xFFFFFFFF)
        self.queues[queue.address] = queue
        self._on_queue(queue, "created")

    def queue_gone(self, said: dict[str, int]) -> None:
        address = said["queue"]
        queue = self.queues.pop(address, Queue(address, 0, 0))
        self._on_queue(queue, "destroyed")

    def memory_made(self, said: dict[str, int], address: str, event: str, function: str) -> None:
        at = said[address]
        host = said.get("host_ptr", at)
        self.memory[at] = said["size"]
        if event == "locked":
            self._locked[host] = at
        self._on_allocation(Allocation(event, at, said["size"], function, host))

    def memory_gone(self, host: int, event: str, function: str) -> None:
        if host:
            at = self._locked.pop(host, host) if event == "unlocked" else host
            self._on_allocation(Allocation(event, at, self.memory.pop(at, 0), function, host))

    def executable_event(self, handle: int, event: str) -> None:
        executable = self.executable(handle)
        if event == "destroyed":
            del self.executables[handle]
            executable.is_alive = False
        self._on_executable(executable, event)


def _allocated(name: str, pointer: str, event: str = "allocated") -> Told:
    return Told(name, (pointer,), lambda h, said: h.memory_made(said, f"*{pointer}", event, name))


def _freed(name: str, pointer: str, event: str = "freed") -> Told:
    return Told(name, (), lambda h, said: h.memory_gone(said[pointer], event, name))


def _happened(name: str, event: str) -> Told:
    return Told(name, (), lambda h, said: h.executable_event(said["executable"], event))


def _made(name: str) -> Told:
    return Told(name, ("executable",), lambda h, said: h.executable_event(said["*executable"], "created"))


QUEUES = (
    Told("hsa_queue_create", ("queue",), Happenings.queue_made),
    Told("hsa_amd_queue_intercept_create", ("queue",), lambda h, said: h.queue_made(said, "agent_handle")),
    Told("hsa_soft_queue_create", ("queue",), Happenings.queue_made),
    Told("hsa_queue_destroy", (), Happenings.queue_gone),
)
ALLOCATIONS = (
    _allocated("hsa_memory_allocate", "ptr"),
    _freed("hsa_memory_free", "ptr"),
    _allocated("hsa_amd_memory_pool_allocate", "ptr"),
    _freed("hsa_amd_memory_pool_free", "ptr"),
    _allocated("hsa_amd_memory_lock", "agent_ptr", "locked"),
    _allocated("hsa_amd_memory_lock_to_pool", "agent_ptr", "locked"),
    _freed("hsa_amd_memory_unlock", "host_ptr", "unlocked"),
)
EXECUTABLES = (
    _made("hsa_executable_create"),
    _made("hsa_executable_create_alt"),
    _happened("hsa_executable_load_agent_code_object", "loaded"),
    _happened("hsa_executable_load_code_object", "loaded"),
    _happened("hsa_executable_freeze", "frozen"),
    _happened("hsa_executable_destroy", "destroyed"),
)
