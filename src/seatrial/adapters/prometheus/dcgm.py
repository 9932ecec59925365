"""DCGM exporter's metrics: which of them tells which signal, and what has to be known to read it.

    ours                        theirs                                   in its list by default
    load                        DCGM_FI_DEV_GPU_UTIL                     yes
    ecc-uncorrected-volatile    DCGM_FI_DEV_ECC_DBE_VOL_TOTAL            no: somebody has to add the line
    …                           docs/reference/telemetry.md has all of them

Names and kinds are those of DCGM exporter 4.8; where an older one has another name, both are asked for.

Tests: tests/adapters/prometheus/test_queries.py
"""

from __future__ import annotations

from typing import Final

from seatrial.adapters.prometheus.queries import Query
from seatrial.core.base.values import dataclass
from seatrial.core.model.gates.signals import SIGNALS


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """How DCGM exporter tells one signal."""

    signal: str
    names: tuple[str, ...]
    is_usual: bool
    """Whether it is in the list that the exporter comes with."""
    note: str = ""


def _metric(signal: str, *names: str, is_usual: bool = False, note: str = "") -> Metric:
    return Metric(signal=signal, names=names, is_usual=is_usual, note=note)


_AVERAGE: Final = "an average over the exporter's own interval, 30 s by default"
_PROFILING: Final = "needs the profiling module, and no profiler beside it; " + _AVERAGE
_VOLATILE: Final = "counts from zero after every load of the driver, so an upgrade restarts it"
_AMPERE: Final = "products since Ampere; older ones retire pages"
_OLDER: Final = "products before Ampere; newer ones remap rows"
METRICS: Final = (
    _metric(
        "load",
        "DCGM_FI_DEV_GPU_UTIL",
        is_usual=True,
        note="says that something ran, not how much of the GPU it used; not told of MIG slices",
    ),
    _metric("engine-active", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", is_usual=True, note=_PROFILING),
    _metric("tensor-active", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", is_usual=True, note=_PROFILING),
    _metric("memory-active", "DCGM_FI_PROF_DRAM_ACTIVE", is_usual=True, note=_PROFILING),
    _metric("sm-clock", "DCGM_FI_DEV_SM_CLOCK", is_usual=True, note="of the moment"),
    _metric("power", "DCGM_FI_DEV_POWER_USAGE", is_usual=True),
    _metric("temperature", "DCGM_FI_DEV_GPU_TEMP", is_usual=True),
    _metric(
        "held-back",
        "DCGM_FI_DEV_CLOCKS_EVENT_REASONS",
        "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS",
        note="of the moment, in NVML's bits; the second name is the one before DCGM 3.3",
    ),
    _metric("ecc-corrected-volatile", "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", note=_VOLATILE),
    _metric("ecc-uncorrected-volatile", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", note=_VOLATILE),
    _metric("ecc-corrected-aggregate", "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL"),
    _metric("ecc-uncorrected-aggregate", "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL"),
    _metric("rows-remapped-corrected", "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", is_usual=True, note=_AMPERE),
    _metric("rows-remapped-uncorrected", "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", is_usual=True, note=_AMPERE),
    _metric("row-remap-failed", "DCGM_FI_DEV_ROW_REMAP_FAILURE", is_usual=True, note=_AMPERE),
    _metric("pages-retired-single-bit", "DCGM_FI_DEV_RETIRED_SBE", note=_OLDER),
    _metric("pages-retired-double-bit", "DCGM_FI_DEV_RETIRED_DBE", note=_OLDER),
    _metric(
        "xid",
        "DCGM_FI_DEV_XID_ERRORS",
        is_usual=True,
        note="despite its name the number of the last Xid and no count: the same one twice is seen once, it stays "
        "after the fault is gone, and some (79, 119, 120) may never be told",
    ),
    _metric("nvlink-crc-flit", "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL"),
    _metric("nvlink-crc-data", "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL"),
    _metric("nvlink-replay", "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL"),
    _metric("nvlink-recovery", "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL"),
    _metric("pcie-replay", "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", is_usual=True),
)
QUERIES: Final = tuple(Query(signal=SIGNALS[each.signal], metrics=each.names) for each in METRICS)
"""All that is asked of a Prometheus where nobody says otherwise."""
