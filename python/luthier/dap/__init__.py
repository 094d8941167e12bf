"""The debugger by the Debug Adapter Protocol, which VS Code, Neovim and others speak.

| module | one idea |
|---|---|
| ``wire`` | messages on a pair of streams |
| ``adapter`` | requests, and what answers them |
| ``shown`` | what is shown of a stop: frames, scopes, variables |

Source: the protocol's specification, version 1.70 (https://microsoft.github.io/debug-adapter-protocol).
"""

from .adapter import Adapter
from .wire import Wire

__all__ = ["Adapter", "Wire"]
