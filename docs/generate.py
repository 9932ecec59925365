"""Writes the pages and pictures of docs/ that are drawn from the code: `make docs`.

    python -m docs.generate            write them into this checkout
    python -m docs.generate --to DIR   write them below DIR instead (the tests compare)

Nothing here depends on the machine, the clock or the terminal: the same code gives the same bytes. What the code cannot
say about itself (what happens inside a state) is written here once, and a missing entry is a KeyError, not a gap.
Tests: tests/docs/test_generated.py
"""

from __future__ import annotations

import argparse
import dataclasses
import io
import re
import tempfile
import tokenize
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import yaml
from rich.console import Console

from docs import (
    chart_page,
    drawing,
    forecast_picture,
    frontier_picture,
    house_page,
    phases_page,
    report_picture,
    rules_page,
    snapshot_page,
    telemetry_page,
    terminal_picture,
)
from seatrial import manifests
from seatrial.adapters.files import matrix_schema
from seatrial.adapters.files.facts import schema as facts_schema
from seatrial.app import headline, outcome
from seatrial.cli import commands as cli
from seatrial.cli.exit_codes import MEANINGS
from seatrial.cli.parser import IN_DETAIL, Parser
from seatrial.cli.run import demo
from seatrial.cli.show import ending
from seatrial.core.decision import decide
from seatrial.core.holds import HoldCode
from seatrial.core.model import edits, intent, policy, troubles
from seatrial.core.model.seen.nodes import NOT_BEGUN, NodePhase
from seatrial.core.node import phases
from seatrial.core.node import step as node
from seatrial.core.node import writing as steps
from seatrial.core.promises import invariants
from seatrial.core.words import explain

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCE: Final = ROOT / "src" / "seatrial"
NOTE: Final = "<!-- Written by docs/generate.py from {source}; change that and run `make docs`. -->\n\n"


def main() -> None:
    """Write every page."""
    parser = argparse.ArgumentParser(description="Write the generated pages and pictures of docs/.")
    parser.add_argument("--to", type=Path, default=ROOT, metavar="DIR", help="write below this folder (the checkout)")
    args = parser.parse_args()
    for name, text in pages().items():
        target = args.to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """Every generated file: its path in the repository, and its text."""
    return {
        "docs/reference/node-states.md": node_states(),
        "docs/reference/rollout-phases.md": NOTE.format(source="core/campaign/step.py") + phases_page.text(),
        "docs/reference/holds.md": holds(),
        "docs/reference/promises.md": promises(),
        "docs/reference/gpurollout.md": gpurollout(),
        "docs/reference/edits.md": edits_page(),
        "docs/reference/commands.md": commands(),
        "docs/reference/exit-codes.md": exit_codes(),
        "docs/reference/rules.md": rules_page.text(),
        "docs/reference/snapshot.md": NOTE.format(source="adapters/kube/portable/kept.py and core/survey/portable/")
        + snapshot_page.text(),
        "docs/reference/telemetry.md": NOTE.format(source="adapters/prometheus/dcgm.py and core/model/gates/signals.py")
        + telemetry_page.text(),
        "docs/reference/chart-values.md": NOTE.format(source="charts/*/values.schema.json and values.yaml")
        + chart_page.text(),
        house_page.PAGE: house_page.text(),
        "docs/reference/matrix.schema.json": matrix_schema.matrix_schema_text(),
        "docs/reference/facts.schema.json": facts_schema.facts_schema_text(),
        "docs/pictures/demo.svg": demo_picture(),
        "docs/pictures/forecast.svg": forecast_picture.picture(),
        "docs/pictures/frontier.svg": frontier_picture.picture(),
        "docs/pictures/report.svg": report_picture.picture(),
        "docs/pictures/node-states.svg": node_states_picture(),
        "docs/pictures/rollout-phases.svg": phases_page.picture(),
    }


# ── node states ──────────────────────────────────────────────────────────────────────────────────────────────────────

MEANS: Final[Mapping[NodePhase, str]] = {
    NodePhase.UPGRADE_REQUIRED: "The driver pod is not of the wanted revision, or came without a visit and is not "
    "Ready: then it has `driverTimeoutSeconds`. The node waits for its turn: for the ledger to name it.",
    NodePhase.CORDON_REQUIRED: "The ledger names the node. The budget is looked at once more, then comes the cordon.",
    NodePhase.WAIT_FOR_JOBS_REQUIRED: "The node is cordoned. Pods that `waitForCompletion` selects may finish; "
    "by attrition, every job on it may, and the node takes no slot while one does.",
    NodePhase.POD_DELETION_REQUIRED: "Jobs that offer it are asked to save their work. Then GPU pods are evicted; "
    "budgets of their owners are honoured. DaemonSets that hold GPUs are asked to leave by their deploy label.",
    NodePhase.DRAIN_REQUIRED: "GPU pods would not go, and `drain.enable` is set: every pod it selects is evicted.",
    NodePhase.NODE_MAINTENANCE_REQUIRED: "A maintenance operator was asked to empty the node (`spec.maintenance`).",
    NodePhase.POD_RESTART_REQUIRED: "The driver pod is deleted once nobody uses it; the new one has to become Ready.",
    NodePhase.VALIDATION_REQUIRED: "The driver has to be proven: the loaded version, a validator no older than the "
    "driver, the GPUs and MIG slices of before, the runtime handler, and a DRA plugin younger than the driver.",
    NodePhase.UNCORDON_REQUIRED: "The driver is proven. Our cordon goes away together with the last record.",
    NodePhase.UPGRADE_DONE: "Nothing to do.",
    NodePhase.UPGRADE_FAILED: "Given up, with a reason. The node stays as it is, cordoned where we cordoned it.",
}
DEFAULTS: Final = {field.name: field.default for field in dataclasses.fields(intent.Intent)}
DEADLINES: Final[Mapping[NodePhase, str]] = {
    NodePhase.WAIT_FOR_JOBS_REQUIRED: "`waitForCompletion.timeoutSeconds`; by default none: they may finish. "
    "By attrition, what `attrition.deadlineSeconds` leaves",
    NodePhase.POD_DELETION_REQUIRED: f"`podDeletion.timeoutSeconds`, {policy.Eviction().timeout_seconds:g} s; and "
    f"`checkpoint.timeoutSeconds`, {intent.Checkpoint().timeout_seconds:g} s, where a job offers it",
    NodePhase.DRAIN_REQUIRED: f"`drain.timeoutSeconds`, {policy.Drain().rules.timeout_seconds:g} s",
    NodePhase.NODE_MAINTENANCE_REQUIRED: f"`maintenance.timeoutSeconds`, {intent.Requestor(id='').timeout_seconds:g} s",
    NodePhase.POD_RESTART_REQUIRED: f"`driverTimeoutSeconds`, {DEFAULTS['restart_timeout_seconds']:g} s",
    NodePhase.VALIDATION_REQUIRED: f"`validationTimeoutSeconds`, {DEFAULTS['validation_timeout_seconds']:g} s",
}
WHEN: Final[Mapping[tuple[NodePhase | None, NodePhase], str]] = {
    # Where the table in the code has no comment of its own.
    (None, NodePhase.UPGRADE_REQUIRED): "the driver pod is not of the wanted revision, or not Ready",
    (None, NodePhase.UPGRADE_DONE): "the wanted driver runs and is Ready",
    (NodePhase.UPGRADE_REQUIRED, NodePhase.CORDON_REQUIRED): "the ledger names the node for this attempt",
    (NodePhase.CORDON_REQUIRED, NodePhase.WAIT_FOR_JOBS_REQUIRED): "written together with the cordon",
    (
        NodePhase.WAIT_FOR_JOBS_REQUIRED,
        NodePhase.POD_DELETION_REQUIRED,
    ): "no job to wait for is left, or its time is up; by attrition, the ledger takes it: empty, or to be evicted",
    (NodePhase.DRAIN_REQUIRED, NodePhase.POD_RESTART_REQUIRED): "no pod that the drain selects is left",
    (NodePhase.DRAIN_REQUIRED, NodePhase.UNCORDON_REQUIRED): "reverted: the driver was not touched yet",
    (NodePhase.DRAIN_REQUIRED, NodePhase.UPGRADE_FAILED): "the deadline passed",
    (NodePhase.NODE_MAINTENANCE_REQUIRED, NodePhase.POD_RESTART_REQUIRED): "the maintenance operator says Ready",
    (NodePhase.NODE_MAINTENANCE_REQUIRED, NodePhase.UPGRADE_FAILED): "the deadline passed",
    (NodePhase.POD_DELETION_REQUIRED, NodePhase.POD_RESTART_REQUIRED): "no GPU pod is left",
    (NodePhase.POD_DELETION_REQUIRED, NodePhase.UNCORDON_REQUIRED): "reverted: the driver was not touched yet",
    (NodePhase.POD_DELETION_REQUIRED, NodePhase.UPGRADE_FAILED): "the deadline passed",
    (NodePhase.POD_RESTART_REQUIRED, NodePhase.VALIDATION_REQUIRED): "the new driver pod is Ready",
    (NodePhase.POD_RESTART_REQUIRED, NodePhase.UPGRADE_FAILED): "the deadline passed, or the driver keeps crashing",
    (NodePhase.VALIDATION_REQUIRED, NodePhase.UNCORDON_REQUIRED): "the driver is proven",
    (NodePhase.VALIDATION_REQUIRED, NodePhase.UPGRADE_FAILED): "the deadline passed",
    (
        NodePhase.UNCORDON_REQUIRED,
        NodePhase.UPGRADE_DONE,
    ): "written together with the uncordon, where the cordon is ours",
    (NodePhase.UPGRADE_DONE, NodePhase.UPGRADE_REQUIRED): "another revision is wanted, somebody asks for it, or "
    "the driver is not Ready",
}


def node_states() -> str:
    """The node machine as a table, a list of ways and two drawings."""
    rows = [(f"`{phase.value}`", MEANS[phase], DEADLINES.get(phase, "–")) for phase in NodePhase]
    notes = {**WHEN, **transition_notes()}
    ways = [
        (_state(before), _state(after), notes[before, after])
        for before in (None, *NodePhase)
        for after in NodePhase
        if after in phases.TRANSITIONS[before]
    ]
    return (
        NOTE.format(source="core/node/phases.py")
        + "# Node states\n\n"
        + "The states are NVIDIA's, by their own names. The current one is the value of the node label\n"
        + "`seatrial.dev/gpu-driver-upgrade-state`. Code may only walk along this table.\n\n"
        + "![The node machine](../pictures/node-states.svg)\n\n"
        + _table(("State", "What happens in it", "Deadline"), rows)
        + "\nA deadline counts only while the controller is up, leads and is free to act. After it the node fails.\n"
        + f"A driver container that restarts more than {node.RESTARTS_MAX} times unready ends it early.\n"
        + f"A write that was turned down is tried again after {steps.RETRY_SECONDS:g} s, then after twice as long\n"
        + f"each time, up to {steps.RETRY_SECONDS_MAX:g} s. An eviction that a budget turned down is asked for every\n"
        + f"{steps.RETRY_SECONDS:g} s up to {steps.PATIENCE} times before that: budgets free up by the second.\n"
        + "`upgrade-required` has no deadline: the hold says whose turn it is. `upgrade-failed` is tried again after\n"
        + "`retries.pauseSeconds`, where `retries.max` allows it.\n\n"
        + "## Ways\n\n"
        + _table(("From", "To", "When"), ways)
        + "\n## As Mermaid\n\n```mermaid\n"
        + _mermaid()
        + "```\n"
    )


def transition_notes() -> dict[tuple[NodePhase | None, NodePhase], str]:
    """The comments beside the entries of TRANSITIONS, which say when a side way is taken."""
    source = (SOURCE / "core" / "node" / "phases.py").read_text(encoding="utf-8")
    table = source[source.index("TRANSITIONS: Final") : source.index("NOT_STARTED: Final")]
    notes: dict[tuple[NodePhase | None, NodePhase], str] = {}
    before: NodePhase | None = None
    names: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(table).readline):
        if token.type == tokenize.NAME:
            names.append(token.string)
        elif token.string == ":" and names and names[-1] in NodePhase.__members__:
            before = NodePhase[names[-1]]
        elif token.type == tokenize.COMMENT and names[-1] in NodePhase.__members__:
            notes[before, NodePhase[names[-1]]] = token.string.lstrip("# ")
    return notes


def _state(phase: NodePhase | None) -> str:
    return f"`{phase.value}`" if phase else NOT_BEGUN


def _mermaid() -> str:
    names = {phase: phase.value.replace("-", "_") for phase in NodePhase}
    lines = ["stateDiagram-v2"]
    lines += [f'    state "{phase.value}" as {name}' for phase, name in names.items()]
    for before in (None, *NodePhase):
        start = names[before] if before else "[*]"
        lines += [f"    {start} --> {names[after]}" for after in NodePhase if after in phases.TRANSITIONS[before]]
    return "\n".join(lines) + "\n"


# ── holds, promises, exit codes ──────────────────────────────────────────────────────────────────────────────────────


class _Gap(str):
    """A gap as it is written: `{limit:node}` reads "{limit} nodes", and of `is|are` the plural is shown."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        many = spec.partition("|")[2]
        return many or (f"{self} {spec}s" if spec else str(self))


class _AsWritten(dict[str, str]):
    """Leaves `{names}` as they are; only the doubled braces become single ones."""

    def __missing__(self, key: str) -> str:
        return _Gap("{" + key + "}")


def holds() -> str:
    """Every reason for not moving, why, and what to do."""
    text = (
        NOTE.format(source="core/words/of_rollouts.py and of_nodes.py")
        + "# Holds: why something is not moving\n\n"
        + "A node that wants to move and does not is *held*, always with one of these codes. `seatrial why NODE` and\n"
        + "`seatrial status` print the sentence; the GPURollout's status counts the codes, with a sentence each.\n"
        + "Words in braces are filled in from the case at hand.\n"
    )
    for code in HoldCode:
        said = explain.EXPLANATIONS[code]
        text += (
            f"\n## {code.value}\n\n**Why:** {_as_written(said.why)}.\n\n**What to do:** {_as_written(said.next_step)}\n"
        )
    rows = [(f"`{code}`", said) for code, said in sorted(explain.FAILURES.items())]
    return (
        text
        + "\n## Why a node fails\n\nThe reason is kept in the node's record.\n\n"
        + _table(("Code", "Reason"), rows)
        + "\n## Known troubles\n\nRecognised from what the driver pod's containers, its events and the node's\n"
        + "conditions say; a hold or a failure then names the trouble and its way out. Logs are not read.\n\n"
        + _table(
            ("Trouble", "Why", "What to do"),
            [(f"`{name.value}`", *map(_as_written, troubles.ADVICE[name])) for name in troubles.Trouble],
        )
    )


def _as_written(text: str) -> str:
    return text.format_map(
        _AsWritten(
            trouble_text=" ({trouble})",
            why_text="{reason}",
            reason_text=": {reason}",
            point_text="the next step ({point})",
            publish_step=" ".join(f"`publish.via: {via}`: {said}" for via, said in explain.PUBLISHING.items()),
            scope_text="",
            gpus_text="it has",
            namespace_text="namespace {namespace}",
            pods_text="{count} pods (first: {pod})",
            carrier_text="{resource} and its DaemonSets",
            undo_step=f"{explain.UNDO}, where a rollout with a canary stops: that marks the entry bad if so many nodes "
            "failed with the new driver",
            otherwise_step=f"{explain.OTHERWISE_RETRY}, where it is a node that failed{explain.OTHERWISE_NOTHING}",
            cure="Fix the cause.",
        )
    )


def promises() -> str:
    """What is checked before anything is executed."""
    rows = [
        (f"`{promise.__name__.removesuffix('_kept')}`", (promise.__doc__ or "").split("\n\n")[0].strip())
        for promise in invariants.PROMISES
    ]
    return (
        NOTE.format(source="core/promises/")
        + "# Promises\n\n"
        + "Each promise is a function in `core/promises/`. The live loop checks all of them on every decision,\n"
        + "just before executing. If one would be broken, nothing of that pass is executed, and journal and log say\n"
        + f"what was about to happen. `bounded` allows {decide.ACTIONS_MAX} acts on nodes a pass.\n\n"
        + _table(("Name", "Promise"), rows)
        + "\nHow they are tested, and what they do not cover: [safety](../concepts/safety.md).\n"
    )


def exit_codes() -> str:
    """The exit codes, and which of them a command gives today."""
    sources = (path.read_text(encoding="utf-8") for path in (SOURCE / "cli").rglob("*.py") if path.stem != "exit_codes")
    given = {name for source in sources for name in re.findall(r"ExitCode\.([A-Z_]+)", source)}
    rows = [
        (str(code.value), f"`{code.name}`", meaning, "yes" if code.name in given else "reserved")
        for code, meaning in MEANINGS.items()
    ]
    return (
        NOTE.format(source="cli/exit_codes.py")
        + "# Exit codes\n\n"
        + _table(("Code", "Name", "Meaning", "Given today"), rows)
        + "\nA command that is interrupted by Ctrl-C ends with 130.\n"
        + "\n## How a rollout stands\n\n"
        + "`status`, `status -w`, `why ROLLOUT`, `rollout get ROLLOUT`, `rollout describe` and `rollout start --wait` "
        + "end with the same code for the same rollout; the first row that is true counts.\n\n"
        + _table(
            ("Code", "How it stands"),
            [(str(int(ending.EXITS[each])), meaning) for each, meaning in outcome.MEANS.items()],
        )
        + "\n## The first line of status\n\n"
        + "`status` and `status -w` begin with one of four words, a short reason and the one command to run; in "
        + "`-o json` it is `headline`. The first row that is true counts.\n\n"
        + _table(
            ("Word", "Meaning", "Exit code"),
            [(f"`{word.value}`", meaning, headline.WORD_EXITS[word]) for word, meaning in headline.WORD_MEANS.items()],
        )
    )


# ── commands ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def commands() -> str:
    """Every command with its options, as its own --help has them."""
    text = NOTE.format(source="cli/") + "# Commands\n\n"
    text += _table(
        ("Command", "What it does"),
        [(f"[`seatrial {name}`](#seatrial-{name})", each.text) for name, each in cli.COMMANDS.items()],
    )
    text += "\n`seatrial --version` prints the version. Data goes to stdout, messages to stderr.\n"
    text += "`--help` shows a page, `--help-all` everything that stands here.\n"
    text += "What the exit codes mean: [exit codes](exit-codes.md).\n"
    for name in cli.COMMANDS:
        parser = cli.parser_of(name)
        text += f"\n## seatrial {name}\n\n{_described(parser)}"
        for word, below in _subcommands(parser).items():
            text += f"\n### seatrial {name} {word}\n\n{_described(below)}"
    return text


def _described(parser: argparse.ArgumentParser) -> str:
    said = (parser.description or "").replace(IN_DETAIL, "\n\n")
    shown = f"```text\n{said}\n```" if "\n  " in said else said
    return f"{shown}\n\n{_examples(parser)}{_arguments(parser)}"


def _examples(parser: argparse.ArgumentParser) -> str:
    found = parser.examples if isinstance(parser, Parser) else ()
    lines = [f"$ {line}" + (f"    # {text}" if text else "") for line, text in found]
    return "\n".join(["```console", *lines, "```", "", ""]) if lines else ""


def _subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    below = [action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return {word: each for choices in below for word, each in choices.items()}


def _arguments(parser: argparse.ArgumentParser) -> str:
    actions = [action for action in parser._actions if not isinstance(action, argparse._HelpAction)]
    rows = [(_argument(action), (action.help or "").replace("%%", "%")) for action in actions]
    return _table(("Argument", "Meaning"), rows) if rows else "It takes no argument.\n"


def _argument(action: argparse.Action) -> str:
    choices = " (" + "\\|".join(map(str, action.choices)) + ")" if action.choices else ""
    name = str(action.metavar or (action.dest.upper() if action.option_strings else action.dest)).replace("|", "\\|")
    if isinstance(action, argparse._SubParsersAction):
        name = action.dest
    if not action.option_strings:
        return f"`{name}`{choices}"
    value = "" if action.nargs == 0 else f" {name}"
    return f"`{', '.join(action.option_strings)}{value}`{choices}"


# ── the resource ─────────────────────────────────────────────────────────────────────────────────────────────────────


def gpurollout() -> str:
    """The fields of GPURollout, as its definition has them."""
    definition = yaml.safe_load(manifests.crd())["spec"]
    version = definition["versions"][0]
    schema = version["schema"]["openAPIV3Schema"]["properties"]
    group, names = definition["group"], definition["names"]
    headings = ("Field", "Type", "Default", "Meaning")
    columns = ", ".join(column["name"] for column in version["additionalPrinterColumns"])
    return (
        NOTE.format(source="manifests/crd.yaml")
        + "# GPURollout\n\n"
        + f"`apiVersion: {group}/{version['name']}`, `kind: {names['kind']}`, {definition['scope'].lower()}-scoped,\n"
        + f"short name `{names['shortNames'][0]}`.\nColumns of `kubectl get {names['plural']}`: {columns}.\n\n"
        + "```yaml\n"
        + f"apiVersion: {group}/{version['name']}\nkind: {names['kind']}\nmetadata:\n  name: to-580\nspec:\n"
        + "  target:\n    driver: 580.105.08\n  limits:\n    maxParallelUpgrades: 4\n    maxUnavailable: 25%\n```\n\n"
        + "## Spec\n\n"
        + _table(headings, _fields(schema["spec"], "spec"))
        + "\n## Status\n\nWritten by the controller only: as a whole, and bound to the version it was read at.\n\n"
        + _table(headings, _fields(schema["status"], "status"))
    )


def edits_page() -> str:
    """What an edit of each field means while a rollout is under way."""
    rows = [(f"`spec.{field}`", edit.effect.value, edit.means) for field, edit in edits.EDITS.items()]
    return (
        NOTE.format(source="core/model/edits.py")
        + "# Edits of a rollout under way\n\n"
        + "What it means to change a field of a [GPURollout](gpurollout.md) after it was made. No edit that the API\n"
        + "server accepts breaks a [promise](promises.md).\n\n"
        + "- **refused**: by the API server, once the rollout has a canary.\n"
        + "- **refused once begun**: by the API server, once the campaign is past Proposed, paused or not, for good.\n"
        + "- **at once**: with the next pass, for everybody who has not got past it.\n"
        + "- **with what is next**: what is under way ends as it began; the next of its kind is as is said now.\n"
        + "- **no effect once begun**: it was used when the campaign began, and written down.\n\n"
        + "A whole block (`matrix`, `publish`, `maintenance`, `byHand`) cannot be taken away where its fields cannot\n"
        + "change, nor `canary` ever: all nodes would go at once.\n\n"
        + _table(("Field", "An edit is", "Meaning"), rows)
    )


def _fields(schema: Mapping[str, Any], path: str) -> list[tuple[str, str, str, str]]:
    rows = []
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        here = f"{path}.{name}"
        if field.get("properties"):
            if field.get("description"):
                rows.append((f"`{here}`", "object", "–", field["description"]))
            rows += _fields(field, here)
            continue
        default = "required" if name in required else _default(field)
        rows.append((f"`{here}`", _type(field), default, field.get("description", "")))
        if field.get("type") == "array":
            rows += _fields(field["items"], f"{here}[]")
    return rows


def _type(field: Mapping[str, Any]) -> str:
    if field.get("x-kubernetes-int-or-string"):
        return "integer or percentage"
    values = field.get("additionalProperties")
    if values:
        return f"map to {values['type']}"
    least = f" ≥ {field['minimum']}" if "minimum" in field else ""
    return f"{field['type']}{least}"


def _default(field: Mapping[str, Any]) -> str:
    if "default" not in field:
        return "–"
    value = field["default"]
    if isinstance(value, dict):
        return "`" + ", ".join(f"{key}: {text}" for key, text in value.items()) + "`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


# ── the picture of the demo ──────────────────────────────────────────────────────────────────────────────────────────

DEMO_COLUMNS: Final = 112


def demo_picture() -> str:
    """The second half of `seatrial demo`, as a terminal shows it, without what differs from run to run."""
    with tempfile.TemporaryDirectory() as folder:
        played = Console(record=True, file=io.StringIO(), width=DEMO_COLUMNS, highlight=False, _environ={})
        demo.play(played, Path(folder), seed=1, pause_seconds=0.0)
    lines = played.export_text().splitlines()
    begins = next(number for number, line in enumerate(lines) if line.startswith("Rollout winter"))
    ends = next(number for number, line in enumerate(lines) if line.startswith("Report:"))
    console = terminal_picture.blank(DEMO_COLUMNS)
    console.print("$ seatrial demo\n…\n", style="bold", markup=False)
    for line in lines[begins:ends]:
        steady = re.sub(r"\b[0-9a-f]{7}\b", "·" * 7, re.sub(r" in [0-9.]+ s\)", ")", line))
        console.print(steady, style=_style_of(steady), markup=False)
    return terminal_picture.drawn(console, label="the end of seatrial demo", name="demo")


def _style_of(line: str) -> str:
    if line and not line.startswith(" "):
        return "bold"
    return "red" if " Revert" in line or "failed" in line else "yellow" if " waits " in line else ""


# ── the picture of the node machine ──────────────────────────────────────────────────────────────────────────────────

Point = tuple[float, float]
WIDTH, HEIGHT = 1340, 640
BOX_WIDTH, BOX_HEIGHT = 222, 48
COLUMNS: Final = (160, 430, 700, 970, 1190)
LANE, TOP, BETWEEN, MIDDLE, BOTTOM = 60, 180, 265, 350, 510
PLACES: Final[Mapping[NodePhase, Point]] = {
    NodePhase.UPGRADE_REQUIRED: (COLUMNS[0], TOP),
    NodePhase.CORDON_REQUIRED: (COLUMNS[1], TOP),
    NodePhase.WAIT_FOR_JOBS_REQUIRED: (COLUMNS[2], TOP),
    NodePhase.POD_DELETION_REQUIRED: (COLUMNS[3], TOP),
    NodePhase.POD_RESTART_REQUIRED: (COLUMNS[3], MIDDLE),
    NodePhase.VALIDATION_REQUIRED: (COLUMNS[2], MIDDLE),
    NodePhase.UNCORDON_REQUIRED: (COLUMNS[1], MIDDLE),
    NodePhase.UPGRADE_DONE: (COLUMNS[0], MIDDLE),
    NodePhase.UPGRADE_FAILED: (COLUMNS[2], BOTTOM),
    NodePhase.DRAIN_REQUIRED: (COLUMNS[4], BETWEEN),
    NodePhase.NODE_MAINTENANCE_REQUIRED: (COLUMNS[2], LANE),
}
START: Final[Point] = (26, (TOP + MIDDLE) / 2)
MAIN: Final = tuple(PLACES)[:8]
"""The way of a node that goes well, in order."""
R, C, W, D = (
    NodePhase.UPGRADE_REQUIRED,
    NodePhase.CORDON_REQUIRED,
    NodePhase.WAIT_FOR_JOBS_REQUIRED,
    NodePhase.UPGRADE_DONE,
)
P, S, V = NodePhase.POD_DELETION_REQUIRED, NodePhase.POD_RESTART_REQUIRED, NodePhase.VALIDATION_REQUIRED
U, F = NodePhase.UNCORDON_REQUIRED, NodePhase.UPGRADE_FAILED
G, M = NodePhase.DRAIN_REQUIRED, NodePhase.NODE_MAINTENANCE_REQUIRED
HALF, TALL = BOX_WIDTH / 2, BOX_HEIGHT / 2
UNDER_TOP, OVER_MIDDLE, UNDER_MIDDLE = TOP + TALL, MIDDLE - TALL, MIDDLE + TALL
ABOVE, LEFT, RIGHT, LOW = TOP - TALL, COLUMNS[0] - HALF, COLUMNS[4] + HALF, BOTTOM + 46


DETOURS: Final[Mapping[tuple[NodePhase | None, NodePhase], tuple[Point, ...]]] = {
    # The edges that a straight line would draw through something; any other edge is a straight line.
    (None, R): (START, (START[0], TOP), (LEFT, TOP)),
    (None, D): (START, (START[0], MIDDLE), (LEFT, MIDDLE)),
    (R, R): drawing.arch(COLUMNS[0] - 50, COLUMNS[0] - 10, ABOVE, -30),
    (C, R): drawing.arch(COLUMNS[1] - 60, COLUMNS[0] + 80, ABOVE, -30),
    (R, M): ((COLUMNS[0] + 20, ABOVE), (COLUMNS[0] + 20, LANE + 12), (COLUMNS[2] - HALF, LANE + 12)),
    (M, R): ((COLUMNS[2] - HALF, LANE - 12), (COLUMNS[0] + 50, LANE - 12), (COLUMNS[0] + 50, ABOVE)),
    (M, S): (
        (COLUMNS[2] + HALF, LANE + 12),
        (RIGHT + 20, LANE + 12),
        (RIGHT + 20, MIDDLE + 10),
        (COLUMNS[3] + HALF, MIDDLE + 10),
    ),
    (M, F): (
        (COLUMNS[2] + HALF, LANE - 12),
        (RIGHT + 34, LANE - 12),
        (RIGHT + 34, LOW + 24),
        (COLUMNS[2] + 70, LOW + 24),
        (COLUMNS[2] + 70, BOTTOM + TALL),
    ),
    (M, U): ((COLUMNS[2] - 90, LANE + TALL), (COLUMNS[1] + 122, LANE + 90), (COLUMNS[1] + 60, OVER_MIDDLE)),
    (R, S): (
        (COLUMNS[0] + 80, UNDER_TOP),
        (COLUMNS[0] + 80, BETWEEN - 22),
        (COLUMNS[3] - 100, BETWEEN - 22),
        (COLUMNS[3] - 40, OVER_MIDDLE),
    ),
    (S, W): ((COLUMNS[3] - 80, OVER_MIDDLE), (COLUMNS[2] + 60, UNDER_TOP)),
    (D, R): ((COLUMNS[0] - 50, OVER_MIDDLE), (COLUMNS[0] - 50, UNDER_TOP)),
    (R, D): ((COLUMNS[0], UNDER_TOP), (COLUMNS[0], OVER_MIDDLE)),
    (C, D): ((COLUMNS[1] - 60, UNDER_TOP), (COLUMNS[0] + 60, OVER_MIDDLE)),
    (W, U): ((COLUMNS[2] - 60, UNDER_TOP), (COLUMNS[1] + 20, OVER_MIDDLE)),
    (P, U): (
        (COLUMNS[3] - 70, UNDER_TOP),
        (COLUMNS[3] - 110, BETWEEN + 12),
        (COLUMNS[1] + 150, BETWEEN + 12),
        (COLUMNS[1] + 85, OVER_MIDDLE),
    ),
    (G, U): (
        (COLUMNS[4] - HALF, BETWEEN + 26 - TALL / 2),
        (COLUMNS[1] + 190, BETWEEN + 26 - TALL / 2),
        (COLUMNS[1] + 100, OVER_MIDDLE),
    ),
    (P, G): ((COLUMNS[3] + HALF, TOP), (COLUMNS[4], TOP), (COLUMNS[4], BETWEEN - TALL)),
    (G, S): ((COLUMNS[4] - 40, BETWEEN + TALL), (COLUMNS[4] - 40, MIDDLE - 10), (COLUMNS[3] + HALF, MIDDLE - 10)),
    (V, S): drawing.arch(COLUMNS[2] + 50, COLUMNS[3] - 50, UNDER_MIDDLE, 32),
    (U, V): drawing.arch(COLUMNS[1] + 30, COLUMNS[2] - 50, UNDER_MIDDLE, 32),
    (S, F): ((COLUMNS[3], UNDER_MIDDLE), (COLUMNS[3], BOTTOM - 10), (COLUMNS[2] + HALF, BOTTOM - 10)),
    (G, F): ((COLUMNS[4] + 40, BETWEEN + TALL), (COLUMNS[4] + 40, BOTTOM + 10), (COLUMNS[2] + HALF, BOTTOM + 10)),
    (P, F): (
        (COLUMNS[3] + 60, ABOVE),
        (COLUMNS[3] + 60, ABOVE - 30),
        (RIGHT + 6, ABOVE - 30),
        (RIGHT + 6, LOW),
        (COLUMNS[2] + 40, LOW),
        (COLUMNS[2] + 40, BOTTOM + TALL),
    ),
    (F, D): ((COLUMNS[2] - HALF, BOTTOM), (COLUMNS[0], BOTTOM), (COLUMNS[0], UNDER_MIDDLE)),
    (F, R): (
        (COLUMNS[2] - 60, BOTTOM + TALL),
        (COLUMNS[2] - 60, LOW),
        (8, LOW),
        (8, 100),
        (LEFT + 20, 100),
        (LEFT + 20, ABOVE),
    ),
}
LEGEND: Final = "Blue: a node that goes well. Dashed: everything else. The dot: a node that has no record yet."


def node_states_picture() -> str:
    """The node machine, drawn from its table."""
    edges = [
        (before, after) for before in (None, *NodePhase) for after in NodePhase if after in phases.TRANSITIONS[before]
    ]
    main = set(pairwise(MAIN))
    ordered = sorted(edges, key=lambda edge: edge in main)  # the main way on top
    parts = [
        *(_edge(edge, "way" if edge in main else "side") for edge in ordered),
        f'<circle cx="{START[0]:g}" cy="{START[1]:g}" r="7" fill="#1b2430"/>',
        *(_box(phase) for phase in NodePhase),
    ]
    return drawing.picture("node states", WIDTH, HEIGHT, parts, LEGEND)


def _box(phase: NodePhase) -> str:
    kind = {D: "box end", F: "box bad"}.get(phase, "box")
    return drawing.box(phase.value, PLACES[phase], kind, BOX_WIDTH, BOX_HEIGHT)


def _edge(edge: tuple[NodePhase | None, NodePhase], kind: str) -> str:
    return drawing.arrow(DETOURS.get(edge) or _straight(edge), kind)


def _straight(edge: tuple[NodePhase | None, NodePhase]) -> tuple[Point, ...]:
    """From border to border, along the line between the middles."""
    before, after = edge
    start, end = PLACES[before] if before else START, PLACES[after]
    first = drawing.border(start, end, BOX_WIDTH, BOX_HEIGHT) if before else start
    return (first, drawing.border(end, start, BOX_WIDTH, BOX_HEIGHT))


# ── underneath ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [headings, tuple("---" for _ in headings), *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


if __name__ == "__main__":
    main()
