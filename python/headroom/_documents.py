"""Scenarios, studies and plans: from a dict, a file, its text or a name to JSON text."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple, Union

from . import _core
from ._error import Error, wrong_value

Settings = Mapping[str, Any]
Path = Union[str, "os.PathLike[str]"]
Source = Union[Path, Mapping[str, Any]]


class Document(NamedTuple):
    text: str  # JSON, comments allowed
    name: str  # as errors call it
    folder: str  # that file names in it are relative to


def read(source: Source, kind: str) -> Document | None:
    """None where `source` is neither a dict, nor a text, nor a file: a name, then."""
    if isinstance(source, Mapping):
        return Document(json_of(source, kind), kind, "")
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"{kind}: expected a dict, a file, its text or a name, "
                        f"not {type(source).__name__}")
    if isinstance(source, str) and ("\n" in source or source.lstrip().startswith("{")):
        return Document(_json_text(source, kind), kind, "")
    path = os.fspath(source)
    if os.path.isfile(path) or isinstance(source, os.PathLike):
        return _file(path)
    return None


def json_of(value: Any, origin: str) -> str:
    try:
        return json.dumps(value, default=_plain, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Error(f"{origin}: {error}", origin=origin, allowed=str(error)) from None


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays, paths and other mappings."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no JSON value")


def _file(path: str) -> Document:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise Error(f"{path}: {why}", kind="unreadable", origin=path, allowed=str(why)) from None
    if path.endswith((".yaml", ".yml")):
        text = _json_of_yaml(text, path)
    return Document(text, path, os.path.dirname(path))


def _json_text(text: str, name: str) -> str:
    return text if text.lstrip().startswith(("{", "//", "/*")) else _json_of_yaml(text, name)


def _json_of_yaml(text: str, name: str) -> str:
    try:
        import yaml
    except ImportError:
        raise ImportError("YAML needs PyYAML: pip install 'headroom[yaml]'") from None
    try:
        return json_of(yaml.safe_load(text), name)
    except yaml.YAMLError as error:
        raise Error(f"{name}: {error}", kind="unreadable", origin=name,
                    allowed=str(error)) from None


class Scenario:
    """One system and its traffic (docs: `headroom list options`).

    `source` is a dict, a file (JSON or YAML), its text, or the name of one that comes with Headroom
    ("demo"). `settings` are values by path, and so are further keywords:
    `Scenario("demo", **{"engine.max_num_seqs": 64})`. `trace` replaces the traffic by a recorded
    one.
    """

    def __init__(
        self,
        source: ScenarioLike,
        settings: Settings | None = None,
        *,
        trace: Path | None = None,
        **paths: Any,
    ) -> None:
        self._core = _scenario(source)
        if trace is not None:
            self._core.replay(os.fspath(trace))
        for path, value in {**(settings or {}), **paths}.items():
            self._core.set(path, json_of(value, path))

    def changed(self, settings: Settings | None = None, **paths: Any) -> Scenario:
        """A copy with other values."""
        return Scenario(self, settings, **paths)

    @property
    def json(self) -> str:
        """As it was written, with what was set."""
        return self._core.json()

    def to_dict(self) -> dict[str, Any]:
        return dict(json.loads(self.json))

    def __repr__(self) -> str:
        return f"headroom.Scenario({json.dumps(self.to_dict())})"


ScenarioLike = Union[Scenario, Source]


def _scenario(source: ScenarioLike) -> _core.Scenario:
    if isinstance(source, Scenario):
        return source._core.copy()
    document = read(source, "scenario")
    if document is None:
        return _core.Scenario.ready(str(source))
    return _core.Scenario.from_json(*document)


def study_document(source: Source) -> Document:
    return read(source, "study") or Document(_core.ready_study(str(source)), str(source), "")


def plan_document(source: Source) -> Document:
    return read(source, "plan") or Document(_core.ready_plan(str(source)), str(source), "")


def threads_of(workers: int | None) -> int:
    """None: every core that this process may use."""
    if workers is None:
        return len(os.sched_getaffinity(0))
    if workers < 1:
        raise wrong_value("workers", workers, "expected at least 1")
    return workers
