"""Studies: many runs of one scenario, from the file that `headroom sweep` leaves."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from .program import HeadroomError, call


@dataclass(frozen=True)
class Study:
    """`runs`: a row per run, with what was varied (by path), `seed`, `status`, `error`,
    `stationary`, and every metric; latency percentiles are NaN where a run was not stationary.
    `oom`: how often memory ran out, by run and kind. `searches`: what was found, by search and
    point, with what was varied; `detail` is a dict (docs/studies.md)."""

    name: str
    runs: pd.DataFrame
    oom: pd.DataFrame
    searches: pd.DataFrame
    varied: list[str]

    def points(self, metric: str) -> pd.DataFrame:
        """Mean, least and greatest of a metric over the replications of each point."""
        groups = self.runs.groupby(self.varied, dropna=False, sort=False)[metric]
        return groups.agg(["mean", "min", "max", "count"]).reset_index()


SCHEMA_VERSIONS = ("1", "2")


def read_searches(connection: sqlite3.Connection) -> pd.DataFrame:
    """Empty where the file is of version 1, which had none."""
    columns = ["search", "point", "name", "kind", "value", "low", "high", "status", "detail"]
    known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'searches'").fetchone()
    if known is None:
        return pd.DataFrame(columns=columns)
    query = f"SELECT {', '.join(columns)} FROM searches ORDER BY search, point"
    return pd.read_sql_query(query, connection)


def load_study(database: str | os.PathLike[str]) -> Study:
    """HeadroomError when there is no such file, or it is no results store of this version."""
    path = Path(database)
    if not path.exists():
        raise HeadroomError(f"{path}: no such file")
    try:
        return _read_study(path)
    except (sqlite3.DatabaseError, pd.errors.DatabaseError) as error:
        raise HeadroomError(f"{path}: not a results store: {error}") from error


def _read_study(path: Path) -> Study:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:

        def table(query: str) -> pd.DataFrame:
            return pd.read_sql_query(query, connection)

        meta = dict(connection.execute("SELECT key, value FROM meta"))
        version = meta.get("schema_version")
        if version not in SCHEMA_VERSIONS:
            allowed = " or ".join(SCHEMA_VERSIONS)
            raise HeadroomError(f"{path}: schema version {version}; expected {allowed}")
        parameters = table("SELECT point, path, value FROM parameters")
        runs = table(
            "SELECT run, point, replication, seed, status, error, stationary FROM runs ORDER BY run"
        )
        metrics = table("SELECT run, name, value FROM metrics")
        oom = table("SELECT run, kind, count, first_time_s FROM oom ORDER BY run, kind")
        searches = read_searches(connection)
    parameters["value"] = parameters.value.map(json.loads)
    varied = list(dict.fromkeys(parameters.path))
    searches["detail"] = searches.detail.map(json.loads)
    wide = parameters.pivot(index="point", columns="path", values="value").reindex(columns=varied)
    numbers = metrics.pivot(index="run", columns="name", values="value")
    frame = runs.merge(wide.infer_objects(), left_on="point", right_index=True, how="left")
    frame = frame.merge(numbers, left_on="run", right_index=True, how="left").set_index("run")
    searches = searches.merge(wide.infer_objects(), left_on="point", right_index=True, how="left")
    return Study(meta.get("study_name", path.stem), frame, oom, searches, varied)


def sweep(
    study: str | os.PathLike[str] | Mapping[str, Any],
    *,
    output: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
) -> Study:
    """Runs a study: the name of one, its file, or its content as a dict. The database is kept only
    when `output` names it."""
    with tempfile.TemporaryDirectory(prefix="headroom-") as scratch:
        if isinstance(study, Mapping):
            file = Path(scratch) / "study.json"
            file.write_text(json.dumps(dict(study)), encoding="utf-8")
            study = file
        database = Path(scratch) / "study.db" if output is None else Path(os.fspath(output))
        flags = [] if jobs is None else ["-j", str(jobs)]
        call("sweep", study, "-o", database, *flags)
        return load_study(database)
