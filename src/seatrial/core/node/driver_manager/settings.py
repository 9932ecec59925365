"""What a driver manager is told by its environment: names, defaults and formats are those of k8s-driver-manager.

Law of this file: a mapping comes in, and every bad value is told at once; nothing is guessed. Tests:
tests/core/node/driver_manager/test_settings.py
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.errors import SeatrialError
from seatrial.core.model.selectors import Selector

TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})
"""What Go takes for a boolean, and nothing besides: `yes` is neither."""

_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART: Final = re.compile(r"(?<![\d.])(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LABEL: Final = re.compile(
    r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII
)


class SettingsInvalid(SeatrialError):  # noqa: N818  the trade's word; the message says what to do
    """The environment says something that cannot be meant."""


class Form(StrEnum):
    """How a value is written."""

    TEXT = "text"
    NAMESPACE = "the name of a namespace"
    LABEL = "the key of a label"
    SELECTOR = "a label selector"
    SWITCH = "true or false"
    DURATION = "a duration with its unit: 300s, 5m; 0s is no limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One variable of the environment."""

    name: str
    form: Form
    default: str = ""
    means: str


VARIABLES: Final = (
    Variable(name="NODE_NAME", form=Form.TEXT, means="the node this runs on; has to be set"),
    Variable(
        name="ENABLE_GPU_POD_EVICTION",
        form=Form.SWITCH,
        default="true",
        means="evict the pods that hold GPUs",
    ),
    Variable(
        name="ENABLE_AUTO_DRAIN",
        form=Form.SWITCH,
        default="true",
        means="drain the node where that is not enough; the GPU Operator ships false",
    ),
    Variable(name="DRAIN_USE_FORCE", form=Form.SWITCH, default="false", means="evict pods without a controller, too"),
    Variable(name="DRAIN_POD_SELECTOR_LABEL", form=Form.SELECTOR, means="drain only pods with these labels"),
    Variable(name="DRAIN_TIMEOUT_SECONDS", form=Form.DURATION, default="0s", means="how long pods may take to leave"),
    Variable(
        name="DRAIN_DELETE_EMPTYDIR_DATA",
        form=Form.SWITCH,
        default="false",
        means="evict pods that keep files in an emptyDir, too",
    ),
    Variable(name="OPERATOR_NAMESPACE", form=Form.NAMESPACE, default="gpu-operator", means="where the operands run"),
    Variable(
        name="NODE_LABEL_FOR_GPU_POD_EVICTION",
        form=Form.LABEL,
        means="one more label of the node that is paused like the operands'",
    ),
    Variable(
        name="GPU_DIRECT_RDMA_ENABLED",
        form=Form.SWITCH,
        default="false",
        means="wait for the network driver where there is a Mellanox card",
    ),
    Variable(name="USE_HOST_MOFED", form=Form.SWITCH, default="false", means="the network driver is the host's own"),
    Variable(
        name="FORCE_REINSTALL",
        form=Form.SWITCH,
        default="false",
        means="take the driver out although the same one is wanted",
    ),
    Variable(
        name="DRIVER_CONFIG_DIGEST",
        form=Form.TEXT,
        means="which driver is wanted; where it is the loaded one, that stays",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a driver manager is told."""

    node: str
    is_evicting: bool = True
    is_draining: bool = True
    is_forceful: bool = False
    """Pods without a controller go, too."""
    selector: Selector = Selector()
    timeout_seconds: float = 0.0
    """How long pods may take to leave; 0 is no limit."""
    takes_empty_dirs: bool = False
    namespace: str = "gpu-operator"
    custom_label: str = ""
    has_rdma: bool = False
    has_host_mofed: bool = False
    is_reinstalling: bool = False
    digest: str = ""


def read_settings(environment: Mapping[str, str]) -> Settings:
    """What the environment says; SettingsInvalid names every value that is wrong, and what to write instead."""
    found = {each.name: environment.get(each.name, each.default) for each in VARIABLES}
    wrong = tuple(text for each in VARIABLES if (text := _fault(each, found[each.name])))
    if wrong:
        raise SettingsInvalid("\n".join(wrong))
    return Settings(
        node=found["NODE_NAME"],
        is_evicting=is_on(found["ENABLE_GPU_POD_EVICTION"]),
        is_draining=is_on(found["ENABLE_AUTO_DRAIN"]),
        is_forceful=is_on(found["DRAIN_USE_FORCE"]),
        selector=Selector.parse(found["DRAIN_POD_SELECTOR_LABEL"]),
        timeout_seconds=seconds_of(found["DRAIN_TIMEOUT_SECONDS"] or "0s"),
        takes_empty_dirs=is_on(found["DRAIN_DELETE_EMPTYDIR_DATA"]),
        namespace=found["OPERATOR_NAMESPACE"],
        custom_label=found["NODE_LABEL_FOR_GPU_POD_EVICTION"],
        has_rdma=is_on(found["GPU_DIRECT_RDMA_ENABLED"]),
        has_host_mofed=is_on(found["USE_HOST_MOFED"]),
        is_reinstalling=is_on(found["FORCE_REINSTALL"]),
        digest=found["DRIVER_CONFIG_DIGEST"],
    )


def is_on(text: str) -> bool:
    """A boolean as Go reads it; a variable that is set to nothing is off, as k8s-driver-manager has it."""
    if text in TRUE:
        return True
    if text in FALSE or not text:
        return False
    raise ValueError(f"{text!r} is neither true nor false")


def seconds_of(text: str) -> float:
    """A duration as Go reads it; a number alone is none, except 0."""
    unsigned = text[1:] if text[:1] in ("+", "-") else text
    if unsigned == "0":
        return 0.0
    parts = _PART.findall(unsigned)
    if not parts or "".join(number + unit for number, unit in parts) != unsigned:
        raise ValueError(f"{text!r} is no duration with a unit")
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if text[:1] == "-" and seconds:
        raise ValueError(f"{text!r} is less than nothing")
    return seconds


def _fault(variable: Variable, text: str) -> str:
    """What is wrong with a value, where, why, and what to write; empty where all is well."""
    try:
        _READERS[variable.form](text)
    except ValueError as err:
        return f"{variable.name} in the environment: {str(err).rstrip('.')}. {_instead(variable, text)}"
    if variable.name == "NODE_NAME" and not text.strip():
        return (
            "NODE_NAME in the environment is not set, so it is not known which node this is. "
            "Set it from the pod's own field spec.nodeName."
        )
    return ""


def _instead(variable: Variable, text: str) -> str:
    match variable.form:
        case Form.DURATION:
            return f"Write {text}s." if text.isdecimal() else "Write a number with its unit, such as 300s or 5m."
        case Form.SWITCH:
            return "Write true or false."
        case Form.SELECTOR:
            return "Write a selector as kubectl takes it, such as team=a,tier!=web."
        case Form.LABEL:
            return "Write the key of a node's label, such as example.com/gpu-client."
        case Form.NAMESPACE:
            return "Write the namespace of the GPU Operator, such as gpu-operator."
        case Form.TEXT:
            return "Write plain text."


def _namespace(text: str) -> None:
    if not _NAMESPACE.fullmatch(text):
        raise ValueError(f"{text!r} cannot be the name of a namespace")


def _label(text: str) -> None:
    if text and not _LABEL.fullmatch(text):
        raise ValueError(f"{text!r} cannot be the key of a label")


_READERS: Final[Mapping[Form, Callable[[str], object]]] = {
    Form.TEXT: str,
    Form.NAMESPACE: _namespace,
    Form.LABEL: _label,
    Form.SELECTOR: Selector.parse,
    Form.SWITCH: is_on,
    Form.DURATION: lambda text: seconds_of(text or "0s"),
}
