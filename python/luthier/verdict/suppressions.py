"""Files that say which findings are known to be harmless, why, and until when."""

from __future__ import annotations

import datetime
import fnmatch
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ArgumentError
from ..reports.frames import relative

_KEYS = ("kind", "kernel", "source", "reason", "until")


@dataclass(frozen=True)
class Rule:
    """One suppression. Patterns have ``*``, ``?`` and ``[...]``."""

    kind: str
    kernel: str
    #: A pattern for the file of any frame, and its first and last line.
    file: str | None
    lines: tuple[int, int] | None
    reason: str
    until: datetime.date | None
    #: ``FILE, rule N``.
    where: str

    @property
    def is_expired(self) -> bool:
        """Whether its last day is over: it suppresses nothing any more."""
        return self.until is not None and self.until < datetime.date.today()

    def fits(self, finding: Mapping[str, Any]) -> bool:
        """Whether it is about this finding. A source pattern may fit any frame of the chain of inlined calls."""
        if not fnmatch.fnmatchcase(finding["kind"], self.kind) or not fnmatch.fnmatchcase(finding["kernel"], self.kernel):
            return False
        return self.file is None or any(self._fits_frame(frame) for frame in finding.get("source") or ())

    def _fits_frame(self, frame: Mapping[str, Any]) -> bool:
        if not frame["file"] or self.file is None:
            return False
        names = (relative(frame["file"]), frame["file"])
        is_there = any(fnmatch.fnmatchcase(name, p) for name in names for p in (self.file, f"*/{self.file}"))
        return is_there and (self.lines is None or self.lines[0] <= (frame["line"] or 0) <= self.lines[1])

    def __str__(self) -> str:
        return f"{self.where} ({self.reason})"


class Suppressions:
    """The rules of all files that were given, in their order."""

    def __init__(self, rules: Iterable[Rule] = ()):
        self.rules = list(rules)

    @classmethod
    def load(cls, paths: Sequence[str | os.PathLike[str]]) -> Suppressions:
        """The rules of TOML files. ArgumentError for one that cannot be read, or that says what we do not know."""
        return cls(rule for path in paths for rule in _read(os.fspath(path)))

    def of(self, finding: Mapping[str, Any]) -> Rule | None:
        """The first rule that is about a finding, and not expired."""
        return next((rule for rule in self.rules if not rule.is_expired and rule.fits(finding)), None)


def _read(path: str) -> list[Rule]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]
    try:
        with open(path, "rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise ArgumentError(f"suppressions {path}: {(error.strerror or str(error)).lower()}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArgumentError(f"suppressions {path}: {error}") from None
    rules = content.pop("suppress", [])
    if content or not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise ArgumentError(f"suppressions {path}: expected [[suppress]] tables and nothing else")
    return [_rule(rule, f"{path}, rule {number}") for number, rule in enumerate(rules, 1)]


def _rule(told: dict[str, Any], where: str) -> Rule:
    for key, value in told.items():
        if key not in _KEYS:
            raise ArgumentError(f"suppressions {where}: no key {key!r}: the keys are {', '.join(_KEYS)}")
        if key != "until" and not isinstance(value, str):
            raise ArgumentError(f"suppressions {where}: {key} is not text")
    if not told.get("reason", "").strip():
        raise ArgumentError(f"suppressions {where}: give the reason")
    if len(told.keys() & {"kind", "kernel", "source"}) == 0:
        raise ArgumentError(f"suppressions {where}: give a kind, a kernel or a source: it would suppress everything")
    kind = told.get("kind", "*")
    _check_kind(kind, where)
    file, lines = _source(told.get("source"), where)
    return Rule(kind, told.get("kernel", "*"), file, lines, told["reason"].strip(), _until(told.get("until"), where), where)


def _check_kind(kind: str, where: str) -> None:
    from .. import _core

    known = _core.finding_kinds()
    if not fnmatch.filter(known, kind):
        raise ArgumentError(f"suppressions {where}: no kind {kind!r}: the kinds are {', '.join(known)}")


def _source(text: str | None, where: str) -> tuple[str | None, tuple[int, int] | None]:
    if text is None:
        return None, None
    found = re.fullmatch(r"(.+?)(?::(\d+)(?:-(\d+))?)?", text)
    if found is None:
        raise ArgumentError(f"suppressions {where}: source {text!r}: expected FILE, FILE:LINE or FILE:FIRST-LAST")
    file, first, last = found.groups()
    return file, None if first is None else (int(first), int(last or first))


def _until(value: Any, where: str) -> datetime.date | None:
    if isinstance(value, str):
        try:
            value = datetime.date.fromisoformat(value)
        except ValueError:
            raise ArgumentError(f"suppressions {where}: until {value!r} is no date such as 2027-06-30") from None
    if isinstance(value, datetime.datetime):
        value = value.date()
    if value is not None and not isinstance(value, datetime.date):
        raise ArgumentError(f"suppressions {where}: until {value!r} is no date such as 2027-06-30")
    return value
