"""The one exception of the package."""

from __future__ import annotations


class Error(ValueError):
    """Wrong input, by its place; or a bug of Headroom (kind "internal").

    kind     value, missing, unknown, no_effect, conflict, unsupported, unreadable,
             data (a row of a trace or table), internal
    origin   what the value is from: a file, "scenario", "--set engine.max_num_seqs=0"
    pointer  JSON pointer of the value; "" where it is about no single one
    value    the value as JSON, shortened
    allowed  what is allowed there, or what is wrong
    nearest  what was probably meant; "" where nothing is near
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str = "value",
        origin: str = "",
        pointer: str = "",
        value: str = "",
        allowed: str = "",
        nearest: str = "",
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.origin = origin
        self.pointer = pointer
        self.value = value
        self.allowed = allowed
        self.nearest = nearest


def wrong_value(name: str, value: object, allowed: str) -> Error:
    """Of an argument that is no part of a document."""
    return Error(f"{name}: value {value!r}: {allowed}", origin=name, value=repr(value),
                 allowed=allowed)
