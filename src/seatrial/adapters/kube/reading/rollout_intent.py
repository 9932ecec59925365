"""A rollout's spec as an Intent: what is wanted, with the operator's policy where the spec is silent.

Law of this file: what cannot be meant is a ValueError that begins with the field it stands in. The API server refuses
most of it before we see it (manifests/crd.yaml); a definition that is older than this release does not. A gate is
handed over by the names of its fields, so that a new field needs no line here. Windows become openings from yesterday
on for two weeks, by the day: an intent that changed with every second would be read as news.

Tests: tests/adapters/kube/test_rollout_intent.py
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, tzinfo
from enum import StrEnum
from typing import Any, Final, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from seatrial.adapters.kube.reading.operator_items import wish_of
from seatrial.adapters.kube.shapes import models, rollout_records
from seatrial.core.compat import versions
from seatrial.core.compat.matrix import SCHEMES, Component
from seatrial.core.compat.versions import DriverVersion, VersionInvalid
from seatrial.core.model import deployers, windows
from seatrial.core.model import intent as intents
from seatrial.core.model.campaign import (
    ASKED_BY_WORD,
    AUTO,
    URL_MAX,
    Bake,
    ByHand,
    Campaign,
    Canary,
    GitPlace,
    Growth,
    Mode,
    Places,
    Point,
    Spoken,
    Via,
    Waves,
)
from seatrial.core.model.gates.gate import Gate, Said, Word
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Attrition, PolicyWish, Share
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.selectors import Selector
from seatrial.core.model.target import PUBLISHED, Target
from seatrial.core.node import observed
from seatrial.core.text import foreign, shares
from seatrial.core.text.moments import instant_of
from seatrial.core.words import accounts

T = TypeVar("T")
ChoiceT = TypeVar("ChoiceT", bound=StrEnum)

DAY_SECONDS: Final = 86_400
DAYS_AHEAD: Final = 15
GATE_KINDS: Final = ("image", "attest", "prometheus", "expression", "tenant", "webhook")
"""What a gate is, one of them: the fields of spec.gates that say it."""
NAME_LENGTH_MAX: Final = 200
"""How much of the name of a rollout its commits bear."""

_START: Final = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")


def read_intent(
    rollout: models.Rollout,
    operator: OperatorFacts,
    now: Instant,
    *,
    suite_image: str = "",
    report_url: str = "",
) -> Intent:
    """The rollout's spec as an intent, with the operator's policy where the spec is silent.

    What cannot be read (a version, a share, an order, a selector, a time zone) is a ValueError that says where it
    stands. `now` is for the windows alone, `suite_image` for a campaign that says no word about gates, `report_url` is
    the pattern of the address under which people find reports.
    """
    spec = rollout.spec
    wish = _read_wish(spec)
    bare = Intent(rollout=rollout.metadata.name, target=_read_target(spec))
    moves_network = Component.MOFED in bare.target.components
    _check_selectors(wish, operator, moves_network=moves_network)
    policy, pools = intents.policies(wish, operator, moves_network=moves_network)
    attrition = _read_attrition(spec, spec.attrition) if spec.attrition is not None else None
    if attrition is not None:
        policy, pools = intents.by_attrition(wish, policy, pools, operator)
    failed_max = spec.limits.max_failed if spec.limits is not None else None
    return replace(
        bare,
        policy=policy,
        pools=pools,
        failed_max=bare.failed_max if failed_max is None else failed_max,
        domains=tuple(_read_domain(number, domain) for number, domain in enumerate(spec.domains)),
        order=_one_of(intents.Order, spec.order, "spec.order"),
        retries=intents.Retries(count_max=spec.retries.max, pause_seconds=spec.retries.pause_seconds),
        checkpoint=_by_name(intents.Checkpoint, spec.checkpoint),
        requestor=_read_requestor(spec.maintenance) if spec.maintenance is not None else None,
        attrition=attrition,
        evicts_for_runtime=spec.evict_on_runtime_restart,
        restart_timeout_seconds=spec.driver_timeout_seconds,
        validation_timeout_seconds=spec.validation_timeout_seconds,
        is_paused=spec.paused,
        paused_because=foreign.line(spec.paused_because),
        selector=dict(spec.node_selector),
        on_delete=_one_of(intents.OnDelete, spec.on_delete, "spec.onDelete"),
        campaign=_campaign(rollout, bare, now, suite_image, report_url),
    )


def _campaign(
    rollout: models.Rollout, bare: Intent, now: Instant, suite_image: str, report_url: str
) -> Campaign | None:
    if rollout.spec.canary is None:
        return None
    read = _read_campaign(rollout, rollout.spec.canary, now, suite_image)
    if not report_url:
        return read
    return replace(read, report=accounts.link(report_url, bare.rollout, bare.goal.rpartition(" ")[2]))


def _read_wish(spec: models.RolloutSpec) -> PolicyWish:
    limits = spec.limits or models.RolloutLimits()
    unavailable_max = _read_share("spec.limits.maxUnavailable", limits.max_unavailable)
    wish = wish_of(spec, parallel_max=limits.max_parallel_upgrades, unavailable_max=unavailable_max)
    said = limits.max_idle_gpus
    return replace(wish, idle_gpus_max=None if said is None else _read_size("spec.limits.maxIdleGPUs", said))


def _check_selectors(own: PolicyWish, operator: OperatorFacts, *, moves_network: bool) -> None:
    """Refuse a selector that counts and cannot be read; one that is overruled hurts nobody."""
    others = [(f"NVIDIADriver/{pool.name}", pool.policy) for pool in operator.pools]
    others = others or [(operator.kind, operator.policy)]
    if moves_network and operator.network is not None:
        others.append((operator.network.carrier.name, operator.network.policy))
    for name, place in (("jobs_selector", "waitForCompletion"), ("drain_selector", "drain")):
        said: str | None = getattr(own, name)
        if said is not None:
            _at(f"spec.{place}.podSelector", Selector.parse, said)
            continue
        for owner, wish in others:
            _at(f"upgradePolicy.{place}.podSelector of {owner}", Selector.parse, getattr(wish, name) or "")


def _read_domain(number: int, domain: models.RolloutDomain) -> intents.Domain:
    share = _read_share(f"spec.domains[{number}].maxUnavailable", domain.max_unavailable)
    return intents.Domain(label=domain.label, unavailable_max=share, is_unit=domain.unit)


def _read_requestor(maintenance: models.RolloutMaintenance) -> intents.Requestor:
    return intents.Requestor(
        id=maintenance.requestor_id,
        namespace=maintenance.namespace,
        prefix=maintenance.prefix,
        timeout_seconds=maintenance.timeout_seconds,
    )


def _read_attrition(spec: models.RolloutSpec, said: models.RolloutAttrition) -> Attrition:
    """Nodes are taken when their jobs end, where it is us who take them, and in waves."""
    if spec.canary is None:
        raise ValueError("spec.attrition: the deadline counts from the opening of the waves; set spec.canary, too.")
    if spec.mode == Mode.DELEGATED:
        raise ValueError("spec.attrition: NVIDIA's controller evicts as it likes; set spec.mode to direct.")
    if spec.by_hand is not None:
        raise ValueError("spec.attrition: people move the nodes in a manual step; leave it out.")
    if spec.maintenance is not None:
        raise ValueError(
            "spec.attrition: a maintenance operator empties nodes as it likes; leave spec.maintenance out."
        )
    share = _read_size("spec.attrition.closeAhead", said.close_ahead)
    if not share.is_percent:
        raise ValueError(f"spec.attrition.closeAhead: {said.close_ahead!r} is not a percentage such as 50%.")
    return Attrition(
        deadline_seconds=float(said.deadline_seconds),
        close_ahead=share.amount / 100,
        evicts_early=said.early_eviction,
    )


def _one_of(kind: type[ChoiceT], text: str, place: str) -> ChoiceT:
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"{place}: {text!r} is none of {', '.join(kind)}.") from None


def _read_share(place: str, said: int | str | None) -> Share | None:
    return None if said is None else _at(place, Share.parse, said)


def _at(place: str, read: Callable[[Any], T], said: object) -> T:
    """Read a text of the spec; a ValueError gets the place it stands at."""
    try:
        return read(said)
    except ValueError as err:
        raise ValueError(f"{place}: {err}") from err


def _by_name(kind: type[T], said: models.Model) -> T:
    """A part of the spec whose fields are the same in core, and have the same names."""
    return msgspec.convert(said, kind, from_attributes=True)


# ── the campaign ─────────────────────────────────────────────────────────────────────────────────────────────────────


def publish_place(spec: models.RolloutSpec) -> models.RolloutGit | None:
    """The file that a version is published in; None where it is not published by a commit.

    Repository and branch are the matrix's where publish.git does not name others.
    """
    said = spec.publish.git
    if spec.publish.via != Via.GIT or said is None:
        return None
    matrix = spec.matrix.git if spec.matrix is not None else None
    known = matrix if matrix is not None and said.url in ("", matrix.url) else models.RolloutGit()
    return models.RolloutGit(url=said.url or known.url, branch=said.branch or known.branch, path=said.path)


def places_of(spec: models.RolloutSpec) -> Places:
    """Where a rollout works in Git."""
    matrix = spec.matrix.git if spec.matrix is not None else None
    return Places(matrix=_place(matrix), published=_place(publish_place(spec)))


def places_kept(rollout: models.Rollout) -> Places:
    """Where a rollout works in Git: where its campaign began, else where its spec says."""
    written = rollout_records.places_of(rollout.status)
    return written if written is not None else places_of(rollout.spec)


def identity_of(rollout: models.Rollout) -> str:
    """What names a rollout in Git: another one of the same name, made later, is not taken for it."""
    return f"{rollout.metadata.name[:NAME_LENGTH_MAX]}-{rollout.metadata.uid[:8]}"


def _place(said: models.RolloutGit | None) -> GitPlace | None:
    if said is None:
        return None
    url, branch, path = foreign.line(said.url, URL_MAX), foreign.line(said.branch), foreign.line(said.path)
    return GitPlace(url=url, branch=branch, path=path)


def _read_campaign(rollout: models.Rollout, canary: models.RolloutCanary, now: Instant, suite_image: str) -> Campaign:
    spec, name = rollout.spec, rollout.metadata.name
    return Campaign(
        canary=Canary(count=canary.count, nodes=canary.nodes, selector=canary.selector),
        gates=tuple(_read_gate(gate, number) for number, gate in enumerate(spec.gates or ())),
        suite_image=suite_image if spec.gates is None else None,
        bake=_read_bake(spec.bake),
        waves=_read_waves(spec.waves),
        openings=_read_windows(spec.windows, now) if spec.windows is not None else None,
        manual=_read_points(spec.approvals.manual, "spec.approvals.manual"),
        approved=_read_points(spec.approvals.approved, "spec.approvals.approved"),
        tags_with_failures=spec.approvals.tag_with_failures,
        attested=tuple(_read_word(word, number) for number, word in enumerate(spec.approvals.attested)),
        publish=_read_via(spec),
        sets_on_delete=spec.publish.set_on_delete,
        is_one_way=spec.publish.one_way,
        mode=_read_mode(spec.mode),
        has_source=_has_source(spec.matrix),
        abort=foreign.lines(spec.abort),
        marks_bad=spec.mark_bad,
        pool=canary.machine_config_pool,
        still=canary.pause_pools,
        prepull=spec.prepull,
        by_hand=_read_by_hand(spec, spec.by_hand) if spec.by_hand is not None else None,
        after=_read_after(spec, name),
        places=places_of(spec),
        said=tuple(Spoken(what=foreign.line(each.what), by=foreign.line(each.by)) for each in spec.said),
    )


def _read_bake(said: models.RolloutBake) -> Bake:
    bake = Bake(seconds=said.duration_seconds, every_seconds=said.every_seconds, load_min=said.minimum_load / 100)
    if said.until is None:
        return bake
    exclude = _at("spec.bake.until.exclude", shares.loss, said.until.exclude)
    confidence = _at("spec.bake.until.confidence", shares.confidence, said.until.confidence)
    return replace(bake, exclude=exclude, confidence=confidence)


def _read_gate(said: models.RolloutGate, number: int) -> Gate:
    kinds = [name for name in GATE_KINDS if getattr(said, name)]
    if len(kinds) != 1:
        found = " and ".join(kinds) or "none of them"
        raise ValueError(f"spec.gates[{number}]: a gate has one of {', '.join(GATE_KINDS)}; {said.name} has {found}.")
    if said.tenant is not None:
        _at(f"spec.gates[{number}].tenant.podSelector", Selector.parse, said.tenant.pod_selector)
    return _by_name(Gate, said)


def _read_word(said: models.RolloutWord, number: int) -> Word:
    place = f"spec.approvals.attested[{number}]"
    verdict = _one_of(Said, said.verdict, f"{place}.verdict")
    return Word(
        gate=said.gate,
        node=said.node,
        is_pass=verdict is Said.GOOD,
        because=foreign.line(said.because),
        by=foreign.line(said.by),
        at=_at(f"{place}.at", instant_of, said.at),
        until=_at(f"{place}.until", instant_of, said.until),
    )


def _read_target(spec: models.RolloutSpec) -> Target:
    driver = _at("spec.target.driver", DriverVersion.parse, spec.target.get("driver", ""))
    beside = tuple(_read_part(name, text) for name, text in sorted(spec.target.items()) if name != "driver")
    said = spec.by_hand if spec.canary is not None else None  # without a canary there is no campaign, nor a step of it
    if said is None:
        return Target.of(driver, *beside)
    if beside:
        raise ValueError(f"spec.target.{beside[0][0].value}: in a manual step people move one component, and no other.")
    component = _one_of(Component, said.component, "spec.byHand.component")
    if component in observed.OURS:
        return Target.of(driver)  # which is refused with the step itself
    try:
        return replace(Target.of(driver, (component, said.version)), is_by_hand=True)
    except VersionInvalid as err:
        raise ValueError(f"spec.byHand.version: {err}") from err


def _read_part(name: str, text: str) -> tuple[Component, str]:
    """A component that moves with the driver, or around it."""
    component = _one_of(Component, name, "spec.target")
    if component not in PUBLISHED:
        known = ", ".join(each.value for each in PUBLISHED)
        raise ValueError(f"spec.target.{name}: a rollout moves the driver and {known}; the rest goes by hand (byHand).")
    _at(f"spec.target.{name}", functools.partial(versions.parse, SCHEMES[component]), text)
    return component, text


def _read_by_hand(spec: models.RolloutSpec, said: models.RolloutByHand) -> ByHand:
    component = _one_of(Component, said.component, "spec.byHand.component")
    if component in observed.OURS:
        raise ValueError(
            f"spec.byHand.component: {component.value} is what a rollout moves itself; leave byHand out, and name the "
            "version in spec.target.driver."
        )
    if spec.publish.via != Via.NOBODY:
        raise ValueError("spec.publish.via: nothing is published for a manual step; set it to none.")
    if spec.mode != AUTO:
        raise ValueError("spec.mode: people move the nodes in a manual step; leave it out.")
    return ByHand(
        component=component,
        before=foreign.line(said.before),
        instructions=foreign.lines(said.instructions),
        is_one_way=said.one_way,
    )


def _read_after(spec: models.RolloutSpec, name: str) -> str:
    if spec.after == name:
        raise ValueError("spec.after: a rollout cannot come after itself; name the one before it.")
    return spec.after


def _read_mode(said: str) -> Mode | None:
    if said == AUTO:
        return None
    if said not in ASKED_BY_WORD:
        raise ValueError(f"spec.mode: {said!r} is none of {', '.join(ASKED_BY_WORD)}.")
    return Mode(said)


def _read_waves(said: models.RolloutWaves) -> Waves:
    growth = _one_of(Growth, said.growth, "spec.waves.growth")
    if growth is Growth.SHARES and not said.percentages:
        raise ValueError("spec.waves.percentages: growth by percentages needs some, such as [5, 25, 100].")
    return Waves(
        growth=growth,
        first=_read_size("spec.waves.first", said.first),
        step=_read_size("spec.waves.step", said.step),
        factor=said.factor,
        shares=tuple(Share(amount=percent, is_percent=True) for percent in said.percentages),
        pause_seconds=said.pause_seconds,
    )


def _read_size(place: str, said: int | str) -> Share:
    try:
        return Share.parse(said)
    except ValueError:
        raise ValueError(
            f"{place}: {said!r} is neither a count such as 3 nor a percentage up to 100%, such as 5%."
        ) from None


def _read_points(said: tuple[str, ...], place: str) -> tuple[Point, ...]:
    return tuple(_one_of(Point, text, f"{place}[{number}]") for number, text in enumerate(said))


def _read_via(spec: models.RolloutSpec) -> Via:
    via = _one_of(Via, spec.publish.via, "spec.publish.via")
    if spec.publish.set_on_delete and via is Via.NOBODY:
        raise ValueError(
            "spec.publish.setOnDelete: nothing is published here, so set OnDelete where it is; or set via."
        )
    if via is not Via.GIT:
        return via
    place = publish_place(spec)
    if place is None:
        raise ValueError(
            f"spec.publish.git.path: via git needs the file that {deployers.ENGINE} brings into the cluster."
        )
    if not place.url:
        raise ValueError("spec.publish.git.url: via git needs a repository, here or in spec.matrix.git.")
    return via


def _has_source(matrix: models.RolloutMatrix | None) -> bool:
    if matrix is None:
        return False
    if (matrix.git is None) is (matrix.config_map is None):
        raise ValueError("spec.matrix: the matrix is in exactly one place, git or configMap.")
    return True


# ── windows ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _read_windows(said: models.RolloutWindows, now: Instant) -> tuple[tuple[Instant, Instant], ...]:
    found = tuple(_read_window(window, f"spec.windows.open[{number}]") for number, window in enumerate(said.open))
    return _openings(found, _read_zone(said.time_zone), int(now // DAY_SECONDS))


@functools.lru_cache(maxsize=16)
def _openings(found: tuple[windows.Window, ...], zone: tzinfo, today: int) -> tuple[tuple[Instant, Instant], ...]:
    """The openings around a day; remembered, since a rollout is read at every pass."""
    since, until = (today - 1) * DAY_SECONDS, (today + DAYS_AHEAD) * DAY_SECONDS
    return windows.openings(found, zone, float(since), float(until))


def _read_window(said: models.RolloutWindow, place: str) -> windows.Window:
    start = _START.fullmatch(said.start)
    if start is None:
        raise ValueError(f"{place}.start: {said.start!r} is not a time of day from 00:00 to 23:59.")
    for number, day in enumerate(said.days):
        if day not in windows.DAYS:
            raise ValueError(f"{place}.days[{number}]: {day!r} is none of {', '.join(windows.DAYS)}.")
    minute = int(start[1]) * 60 + int(start[2])
    return windows.Window(start_minute=minute, minutes=said.minutes, days=said.days)


def _read_zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC  # known even where there is no database of zones
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # not there, not a name, or the name of a folder of zones
        raise ValueError(
            f"spec.windows.timeZone: {name!r} is not a time zone known here; "
            "write a name of the IANA database such as Europe/Berlin, or UTC."
        ) from None
