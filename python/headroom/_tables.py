"""Tables of a run: columns in the memory of the run itself, without copies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ._core import OUTCOMES

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

NO_REPLICA = 65535  # of a request that was turned away before any replica


class Table(Mapping[str, "NDArray[Any]"]):
    """Columns by name. Arrays cannot be written; they keep the run's memory while they live."""

    def __init__(self, columns: dict[str, NDArray[Any]]) -> None:
        self._columns = columns

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def rows(self) -> int:
        return next((len(column) for column in self._columns.values()), 0)

    def to_pandas(self) -> pd.DataFrame:
        """A frame with a copy of every column."""
        import pandas

        return pandas.DataFrame(dict(self._columns))

    def __repr__(self) -> str:
        return f"<{self.rows:,} rows: {', '.join(self)}>"


class Requests(Table):
    """A row per request, in order of arrival: `requests.csv`. Instants in ns, -1 where a request
    never got there; `outcome` is a place in `OUTCOMES`; `replica` is `NO_REPLICA` for a request
    that was turned away.

    The methods give what a client sees: ms, NaN for requests that did not finish.
    """

    def __init__(self, columns: dict[str, NDArray[Any]], setup: Mapping[str, Any]) -> None:
        super().__init__(columns)
        self._setup = setup

    @property
    def finished(self) -> NDArray[np.bool_]:
        finished: NDArray[np.bool_] = self["outcome"] == OUTCOMES.index("finished")
        return finished

    def ttft_ms(self) -> NDArray[np.float64]:
        """Time to first token."""
        return self._where(self.finished, self._since_arrival_ms("first_token_ns"))

    def e2el_ms(self) -> NDArray[np.float64]:
        """Time to the last token."""
        return self._where(self.finished, self._since_arrival_ms("finish_ns"))

    def tpot_ms(self) -> NDArray[np.float64]:
        """Mean time per output token after the first; NaN for answers of one token."""
        gaps = self["output_tokens"] - 1
        decode_ms = (self["finish_ns"] - self["first_token_ns"]) / 1e6
        return self._where(self.finished & (gaps > 0), decode_ms / gaps.clip(1))

    def to_pandas(self) -> pd.DataFrame:
        """A frame of copies: every column, outcomes by name, and the three latencies."""
        import pandas

        frame = super().to_pandas()
        codes: Any = self["outcome"]  # older stubs of pandas know sequences alone
        frame["outcome"] = pandas.Categorical.from_codes(codes, pandas.Index(OUTCOMES))
        for name in ("ttft_ms", "tpot_ms", "e2el_ms"):
            frame[name] = getattr(self, name)()
        frame.index.name = "index"
        return frame

    def _since_arrival_ms(self, instant: str) -> NDArray[np.float64]:
        # What lies between client and engine: in whole nanoseconds, as the program adds it.
        token_ps = round(self._setup.get("client_prompt_token_us", 0) * 1e6)
        prompt_ns = self["prompt_tokens"].astype("int64") * token_ps // 1000
        own_ns = self[instant] - self["arrival_ns"] + prompt_ns
        ms: NDArray[np.float64] = own_ns / 1e6 + self._setup.get("client_latency_ms", 0)
        return ms

    @staticmethod
    def _where(
        known: NDArray[np.bool_], values: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        import numpy

        return numpy.where(known, values, numpy.nan)
