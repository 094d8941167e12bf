"""What DWARF says of variables: which are in scope at an address, their types, and the expressions for where they are.

pyelftools reads it. This module loads pyelftools when a user asks for variables, and not before.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError

if TYPE_CHECKING:
    import numpy

    from ...objects.code_object import CodeObject

_SCOPES = ("DW_TAG_subprogram", "DW_TAG_lexical_block", "DW_TAG_inlined_subroutine")
_VARIABLES = ("DW_TAG_variable", "DW_TAG_formal_parameter")
_QUALIFIERS = ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_restrict_type")
_POINTERS = ("DW_TAG_pointer_type", "DW_TAG_reference_type", "DW_TAG_rvalue_reference_type")
_LETTERS = {1: "b", 2: "u", 4: "f", 5: "i", 6: "i", 7: "u", 8: "u", 16: "u"}  # DW_ATE_boolean, address, float, signed, ...


@dataclass(frozen=True)
class Scoped:
    """A variable that is in scope somewhere."""

    name: str
    #: The function that it is of; calls that were inlined have their own.
    function: str
    entry: Any
    #: Its function's own entry, not one that was inlined: it has the frame.
    owner: Any


class Dwarf:
    """The debugging information of a code object."""

    def __init__(self, code_object: CodeObject):
        try:
            from elftools.elf.elffile import ELFFile
        except ImportError:
            raise ArgumentError("variables need pyelftools: pip install 'luthier[debug]'") from None
        file = ELFFile(io.BytesIO(code_object.data))
        #: pyelftools'; an entry of a list is one of several classes, told apart by what it has.
        self.info: Any = file.get_dwarf_info() if file.has_dwarf_info() else None
        if self.info is None or not self.info.has_debug_info:
            raise ArgumentError("the kernel has no DWARF: compile it with -g")

    @cached_property
    def units(self) -> list[Any]:
        """The compile units."""
        return list(self.info.iter_CUs())

    def scoped(self, pc: int) -> list[Scoped]:
        """The variables in scope at an address, the innermost scope's first."""
        found: list[Scoped] = []
        for unit in self.units:
            for entry in unit.get_top_DIE().iter_children():
                if entry.tag == "DW_TAG_subprogram" and self._holds(entry, pc):
                    self._collect(entry, pc, entry, self.name(entry), found)
        return found

    def _collect(self, scope: Any, pc: int, owner: Any, function: str, found: list[Scoped]) -> None:
        own = []
        for entry in scope.iter_children():
            if entry.tag in _VARIABLES and (name := self.name(entry)):
                own.append(Scoped(name, function, entry, owner))
            elif entry.tag in _SCOPES and self._holds(entry, pc):
                inner = self.name(entry) if entry.tag == "DW_TAG_inlined_subroutine" else function
                self._collect(entry, pc, owner, inner, found)
        found += own

    def attribute(self, entry: Any, name: str) -> tuple[Any, Any] | None:
        """An attribute and the entry that has it: the entry, or the one that it is an instance of."""
        while name not in entry.attributes:
            link = next((k for k in ("DW_AT_abstract_origin", "DW_AT_specification") if k in entry.attributes), None)
            if link is None:
                return None
            entry = entry.get_DIE_from_attribute(link)
        return entry.attributes[name], entry

    def name(self, entry: Any) -> str:
        """An entry's name; empty if it has none."""
        found = self.attribute(entry, "DW_AT_name")
        return "" if found is None else found[0].value.decode(errors="replace")

    def _holds(self, entry: Any, pc: int) -> bool:
        return any(begin <= pc < end for begin, end in self.ranges(entry))

    def ranges(self, entry: Any) -> Iterator[tuple[int, int]]:
        """The addresses of an entry's code."""
        had = entry.attributes
        if "DW_AT_low_pc" in had and "DW_AT_high_pc" in had:
            low, high = had["DW_AT_low_pc"].value, had["DW_AT_high_pc"]
            yield low, high.value if high.form.startswith("DW_FORM_addr") else low + high.value
        elif "DW_AT_ranges" in had:
            base = self.base(entry.cu)
            for one in self.info.range_lists().get_range_list_at_offset(had["DW_AT_ranges"].value, entry.cu):
                if hasattr(one, "base_address"):
                    base = one.base_address
                else:
                    start = 0 if getattr(one, "is_absolute", False) else base
                    yield start + one.begin_offset, start + one.end_offset

    @staticmethod
    def base(unit: Any) -> int:
        """The address that a unit's lists count from."""
        low = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
        return 0 if low is None else int(low.value)

    def location(self, entry: Any, pc: int) -> list[int] | None:
        """The expression for where a variable is at an address; None where it is nowhere."""
        from elftools.dwarf.locationlists import LocationExpr, LocationParser

        found = self.attribute(entry, "DW_AT_location")
        if found is None:
            return None
        attribute, owner = found
        told: Any = LocationParser(self.info.location_lists()).parse_from_attribute(attribute, owner.cu["version"], owner)
        if isinstance(told, LocationExpr):
            return list(told.loc_expr)
        base = self.base(owner.cu)
        for one in told:
            if hasattr(one, "base_address"):
                base = one.base_address
                continue
            start = 0 if getattr(one, "is_absolute", False) else base
            if start + one.begin_offset <= pc < start + one.end_offset:
                return list(one.loc_expr)
        return None

    def operations(self, entry: Any, expression: list[int]) -> list[Any]:
        """The operations of an expression.
        ArgumentError for one that pyelftools does not know."""
        from elftools.dwarf.dwarf_expr import DWARFExprParser

        try:
            return list(DWARFExprParser(entry.cu.structs).parse_expr(expression))
        except Exception as error:
            raise ArgumentError(f"its DWARF has an operation that is not known ({error})") from None

    @cached_property
    def prologue_ends(self) -> list[int]:
        """The addresses behind functions' prologues, where the line table says so."""
        found = []
        for unit in self.units:
            program = self.info.line_program_for_CU(unit)
            states = [entry.state for entry in program.get_entries() if entry.state] if program is not None else []
            found += [state.address for state in states if state.prologue_end]
        return sorted(found)

    def type_of(self, entry: Any) -> Any:
        """The entry of a variable's or another type's type; None for void."""
        found = self.attribute(entry, "DW_AT_type")
        return None if found is None else found[1].get_DIE_from_attribute("DW_AT_type")

    def type_text(self, entry: Any) -> str:
        """A type as C has it."""
        if entry is None:
            return "void"
        if entry.tag in _POINTERS:
            return f"{self.type_text(self.type_of(entry))} *"
        if entry.tag == "DW_TAG_array_type":
            return self.type_text(self.type_of(entry)) + "".join(f"[{count}]" for count in self._counts(entry))
        if entry.tag in _QUALIFIERS and entry.tag != "DW_TAG_typedef":
            word = entry.tag.removeprefix("DW_TAG_").removesuffix("_type")
            return f"{word} {self.type_text(self.type_of(entry))}"
        return self.name(entry) or "?"

    @staticmethod
    def _counts(entry: Any) -> list[int]:
        counts = []
        for one in entry.iter_children():
            had = one.attributes
            count = had["DW_AT_count"].value if "DW_AT_count" in had else None
            if count is None and "DW_AT_upper_bound" in had:
                count = had["DW_AT_upper_bound"].value + 1
            if not isinstance(count, int):
                raise ArgumentError("it is an array of no fixed length")
            counts.append(count)
        return counts

    def dtype(self, entry: Any) -> numpy.dtype:
        """A type as NumPy has it: arrays and structures in one piece, pointers as numbers.
        ArgumentError for one that is not known."""
        import numpy

        while entry is not None and entry.tag in _QUALIFIERS:
            entry = self.type_of(entry)
        if entry is None:
            raise ArgumentError("it has no type")
        size = entry.attributes["DW_AT_byte_size"].value if "DW_AT_byte_size" in entry.attributes else None
        if entry.tag in _POINTERS:
            return numpy.dtype("<u8" if size in (None, 8) else "<u4")
        if entry.tag == "DW_TAG_enumeration_type":
            return numpy.dtype(f"<u{size}")
        if entry.tag == "DW_TAG_array_type":
            if "DW_AT_GNU_vector" in entry.attributes and size is not None:
                element = self.dtype(self.type_of(entry))
                return numpy.dtype({"names": ["v"], "formats": [(element, self._counts(entry))], "itemsize": size})
            return numpy.dtype((self.dtype(self.type_of(entry)), tuple(self._counts(entry))))
        if entry.tag == "DW_TAG_base_type" and size is not None:
            letter = _LETTERS.get(entry.attributes["DW_AT_encoding"].value)
            if letter is None or letter == "f" and size not in (2, 4, 8) or self.name(entry) == "__bf16":
                raise ArgumentError(f"its type, {self.name(entry)}, is not known")
            return numpy.dtype("?" if letter == "b" and size == 1 else f"<{'u' if letter == 'b' else letter}{size}")
        if entry.tag in ("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type") and size is not None:
            names: list[str] = []
            formats: list[numpy.dtype] = []
            offsets: list[int] = []
            for member in entry.iter_children():
                if member.tag == "DW_TAG_inheritance" or "DW_AT_data_bit_offset" in member.attributes:
                    raise ArgumentError(f"its type, {self.type_text(entry)}, has base classes or bit fields")
                if member.tag == "DW_TAG_member" and "DW_AT_external" not in member.attributes:
                    names.append(self.name(member) or f"_{len(names)}")
                    formats.append(self.dtype(self.type_of(member)))
                    at = member.attributes.get("DW_AT_data_member_location")
                    offsets.append(0 if at is None else at.value)
            return numpy.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})
        raise ArgumentError(f"its type, {self.type_text(entry)}, is not known")
