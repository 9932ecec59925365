"""What a rollout is to be, as a person says it: what to upgrade to, who publishes and moves, how carefully.

Law of this file: what was not said is None, empty or False, and the resource defaults it. A field has the name of its
option, so that a refusal can name what was typed. Tests: tests/app/rollout/test_options.py,
tests/cli/test_rollout_spec.py
"""

from __future__ import annotations

import re
from typing import Any, Final

from seatrial.app.errors import CalledWrongly
from seatrial.core.base.values import dataclass, field, fields
from seatrial.core.model import deployers

POINTS: Final = ("canary", "waves", "promotion", "rollback")
"""Where a person may have to say yes."""
MATRIX_FILE: Final = "gpu-version-matrix.yaml"

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What to upgrade to, and whose nodes."""

    matrix: str | None = None
    git: str | None = None
    branch: str | None = None
    path: str | None = None
    entry: str | None = None
    driver: str | None = None
    component: tuple[tuple[str, str], ...] = ()
    """Operands that move with the driver, and the version of each."""
    driver_only: bool = False
    """Whether what an entry names beside its driver is left where it is."""
    to: str | None = None
    plan: str | None = None
    selector: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Publishing:
    """Who publishes versions, and who moves the nodes."""

    publish: str | None = None
    publish_path: str | None = None
    publish_url: str | None = None
    publish_branch: str | None = None
    pull_requests: bool = False
    set_on_delete: bool = False
    one_way: bool = False
    mode: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Care:
    """How carefully."""

    canary: int | None = None
    canary_node: tuple[str, ...] = ()
    canary_selector: tuple[tuple[str, str], ...] = ()
    canary_pool: str | None = None
    pause_pool: tuple[str, ...] = ()
    gate: tuple[dict[str, Any], ...] = ()
    gates_file: str | None = None
    no_gates: bool = False
    bake: int | None = None
    bake_every: int | None = None
    minimum_load: int | None = None
    exclude: str | None = None
    confidence: str | None = None
    wave: tuple[str, ...] = ()
    growth: str | None = None
    wave_pause: int | None = None
    window: tuple[dict[str, Any], ...] = ()
    time_zone: str | None = None
    manual: tuple[str, ...] = ()
    tag_with_failures: bool = False
    max_unavailable: str | None = None
    max_parallel: int | None = None
    max_failed: int | None = None
    by_attrition: int | None = None
    """Seconds in which the waves have to be through, with nodes taken when their jobs end."""
    max_idle_gpus: str | None = None
    close_ahead: str | None = None
    no_early_eviction: bool = False
    no_prepull: bool = False
    notify: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOptions:
    """Everything that is said of a rollout that is to begin."""

    goal: Goal = field(default_factory=Goal)
    publishing: Publishing = field(default_factory=Publishing)
    care: Care = field(default_factory=Care)
    file: str | None = None
    """A GPURollout that says all of the above."""
    name: str | None = None
    paused: bool = False
    facts: tuple[str, ...] = ()
    accept_unknown: bool = False


def given(asked: StartOptions) -> list[str]:
    """Which options that become part of the spec were given, as they are typed."""
    return [
        f"--{each.name.replace('_', '-')}"
        for group in (asked.goal, asked.publishing, asked.care)
        for each in fields(group)
        if (told := getattr(group, each.name)) is not None and told is not False and told != ()  # 0 is said
    ]


NEEDS: Final = (
    ("--branch", "--git"),
    ("--path", "--git"),
    ("--component", "--driver"),
    ("--time-zone", "--window"),
    ("--confidence", "--exclude"),
    ("--close-ahead", "--by-attrition"),
    ("--no-early-eviction", "--by-attrition"),
)
"""Options that say something about another one."""


def check(asked: StartOptions) -> None:
    """Refuse options that cannot be meant together, before anything is read."""
    typed, goal, care = given(asked), asked.goal, asked.care
    if asked.file and typed:
        raise CalledWrongly(f"-f says it all, so {', '.join(typed)} would say nothing. Write it into {asked.file}.")
    homes = [name for name in ("--matrix", "--git", "--driver") if name in typed]
    if len(homes) > 1:
        raise CalledWrongly(f"{' and '.join(homes)} both say what to upgrade to; give one of them.")
    _check_plan(typed)
    if not homes and not asked.file and not goal.plan and not goal.to:
        raise CalledWrongly("it is not said what to upgrade to: give --git URL, --matrix FILE, --driver V or -f FILE.")
    for option, needs in NEEDS:
        if option in typed and needs not in typed:
            mend = f"Give {needs}, too, or leave {option} out."
            raise CalledWrongly(f"{option} says something about {needs}, which was not given. {mend}")
    _check_components(goal)
    if goal.driver and goal.entry:
        raise CalledWrongly("--entry names an entry of a matrix, and --driver takes none; give one of them.")
    if care.wave and len(care.wave) > 1 and (care.growth or not all(share.endswith("%") for share in care.wave)):
        raise CalledWrongly("several --wave say how much is upgraded after each, such as --wave 5% 25% 100%.")
    if care.canary_node and care.canary_selector:
        raise CalledWrongly("--canary-node names who goes first, and --canary-selector would choose; give one of them.")
    _check_publish(goal, asked.publishing, typed)
    if asked.name and not (_NAME.fullmatch(asked.name) and len(asked.name) <= 63):
        raise CalledWrongly(f"{asked.name!r} is not a name: small letters, digits, `-` and `.`, 63 at most.")


def _check_components(goal: Goal) -> None:
    """Refuse an operand that is named twice, and a word about entries where there is none."""
    names = [name for name, _ in goal.component]
    twice = next((name for name in names if names.count(name) > 1), "")
    if twice:
        raise CalledWrongly(f"--component names {twice} twice; give one version of it.")
    if goal.driver_only and goal.driver:
        raise CalledWrongly("--driver names nothing but a driver already; --driver-only is for the entry of a matrix.")


def _check_plan(typed: list[str]) -> None:
    """Refuse what would say twice, or otherwise, what a plan says."""
    planned: list[str] = [name for name in ("--plan", "--to") if name in typed]
    if len(planned) > 1:
        raise CalledWrongly("--plan has the steps, and --to would plan them; give one of them.")
    clashing = {"--plan": ("--driver", "--matrix", "--driver-only"), "--to": ("--driver", "--entry", "--driver-only")}
    for name in planned:
        for other in clashing[name]:
            if other in typed:
                raise CalledWrongly(
                    f"{name} says what is upgraded to, and {other} would say it again; give one of them."
                )


def _check_publish(goal: Goal, way: Publishing, typed: list[str]) -> None:
    about_git: list[str] = [name for name in ("--publish-path", "--publish-url", "--publish-branch") if name in typed]
    if way.publish == "git" and not way.publish_path:
        raise CalledWrongly(
            f"--publish git needs --publish-path, the file that {deployers.ENGINE} brings into the cluster."
        )
    if way.publish == "git" and not (goal.git or way.publish_url):
        raise CalledWrongly("--publish git needs a repository: the matrix's (--git) or another (--publish-url).")
    if way.publish == "none" and way.set_on_delete:
        raise CalledWrongly("--set-on-delete is part of what is published, and with --publish none nothing is.")
    if way.publish != "git" and (about_git or way.pull_requests):
        raise CalledWrongly(f"{(about_git or ['--pull-requests'])[0]} is about commits; add --publish git.")
