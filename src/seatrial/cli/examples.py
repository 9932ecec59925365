"""Examples of every command, as people type them; --help and docs/reference/commands.md show them.

Law of this file: each is a whole command line that its parser takes, with a word on what it does where that does not
show. Every parser has one. Tests: tests/cli/test_help.py
"""

from __future__ import annotations

from typing import Final

from seatrial.cli.parser import Example

EXAMPLES: Final[dict[str, tuple[Example, ...]]] = {
    "": (
        ("seatrial demo", "watch two upgrades; needs no cluster"),
        ("seatrial audit", "which versions run, and what is wrong"),
    ),
    "init": (
        ("seatrial init", "in this folder"),
        ("seatrial init gpu --from-cluster", "in gpu/, with what runs"),
    ),
    "matrix": (
        ("seatrial matrix show", ""),
        ("seatrial matrix set canary gpu_driver 580.105.08", ""),
    ),
    "matrix show": (("seatrial matrix show", ""), ("seatrial matrix show gpu/ -o json", "")),
    "matrix diff": (("seatrial matrix diff old.yaml", "from old.yaml to the matrix here"),),
    "matrix add": (("seatrial matrix add canary --from current", "then set what to try"),),
    "matrix set": (
        ("seatrial matrix set canary gpu_driver 580.105.08", ""),
        ("seatrial matrix set current cuda 13.0 --dry-run", "show the change"),
    ),
    "matrix promote": (("seatrial matrix promote --dry-run", "show what would change"),),
    "matrix unmark": (("seatrial matrix unmark canary", "the mark was wrong"),),
    "matrix fmt": (("seatrial matrix fmt configmap.yaml", ""), ("seatrial matrix fmt --check", "for CI")),
    "matrix schema": (("seatrial matrix schema > matrix.schema.json", ""),),
    "check": (
        ("seatrial check", "the matrix here or above"),
        ("seatrial check --base origin/main -o sarif", "for CI"),
        ("seatrial check --explain driver-cuda", "what a rule means"),
    ),
    "facts": (
        ("seatrial facts show gpu_operator.releases.v26.3.1", ""),
        ("seatrial facts search 580.105.08", ""),
    ),
    "facts list": (("seatrial facts list", ""), ("seatrial facts list gpu_operator.releases", "")),
    "facts show": (("seatrial facts show gpu_operator.releases.v26.3.1", ""),),
    "facts search": (("seatrial facts search 580.105.08", ""),),
    "facts add": (("seatrial facts add ours.yaml", ""),),
    "facts update": (("seatrial facts update ./bundle", "a signed bundle in a folder"),),
    "facts remove": (("seatrial facts remove bundle", ""),),
    "facts schema": (("seatrial facts schema > facts.schema.json", ""),),
    "facts status": (("seatrial facts status", ""),),
    "plan": (
        ("seatrial plan", "from production to the canary"),
        ("seatrial plan --to next_planned --impact", "and what each step does to pods"),
        ("seatrial plan --nodes 200", "and how long each driver takes"),
    ),
    "bundle": (
        ("seatrial bundle --entry canary --deployer helm -o stack", ""),
        ("seatrial bundle --entry canary --deployer helmfile -o stack", ""),
        ("seatrial bundle diff stack --entry canary", "what would change"),
    ),
    "bundle diff": (("seatrial bundle diff stack --entry canary", ""),),
    "forecast": (
        ("seatrial forecast", "the nodes of the cluster"),
        ("seatrial forecast --nodes 200 --parallel 4,8 --html forecast.html", ""),
        ("seatrial forecast --frontier", "by attrition: what each deadline costs"),
    ),
    "demo": (("seatrial demo", ""), ("seatrial demo --seconds 0", "at once")),
    "rollout": (
        ("seatrial rollout start --driver 580.105.08 --dry-run", ""),
        ("seatrial status -w", ""),
        ("seatrial rollout approve to-580 waves", ""),
    ),
    "rollout start": (
        ("seatrial rollout start --matrix gpu-version-matrix.yaml --dry-run", ""),
        ("seatrial rollout start --driver 580.105.08 --by-attrition 24h", ""),
        ("seatrial rollout start --driver 580.105.08 --component gfd=v0.18.0", ""),
        ("seatrial rollout start --to canary --manual waves", "every step of the plan"),
    ),
    "rollout get": (
        ("seatrial rollout get", ""),
        ("seatrial rollout get to-580 -o yaml", ""),
        ("seatrial rollout get --watch-only", "a row for every change from now on"),
    ),
    "rollout describe": (("seatrial rollout describe to-580", ""),),
    "rollout pause": (("seatrial rollout pause --reason 'the storage is down'", ""),),
    "rollout resume": (("seatrial rollout resume to-580", ""),),
    "rollout promote": (("seatrial rollout promote to-580", ""),),
    "rollout approve": (("seatrial rollout approve to-580 waves", ""),),
    "rollout abort": (
        ("seatrial rollout abort to-580 --dry-run", "what would be taken back"),
        ("seatrial rollout abort to-580 --reason 'NCCL is slower'", ""),
    ),
    "rollout observed": (("seatrial rollout observed firmware_cx7 28.48.1000 gpu-17 gpu-18", ""),),
    "rollout adopt": (
        ("seatrial rollout adopt --dry-run", "what would become of each node"),
        ("seatrial rollout adopt --back", "undo the upgrade"),
    ),
    "rollout rollback": (("seatrial rollout rollback --reason 'jobs fail on 580'", ""),),
    "rollout history": (("seatrial rollout history", ""), ("seatrial rollout history to-580 -o json", "")),
    "status": (("seatrial status", ""), ("seatrial status -w --timeout 3h", "until it ends, or three hours")),
    "why": (("seatrial why gpu-17", ""), ("seatrial why", "the rollout under way")),
    "gates": (
        ("seatrial gates run gpu-17 --image registry.example.com/probes:0.1.0", ""),
        ("seatrial gates show", ""),
    ),
    "gates run": (
        ("seatrial gates run gpu-17 --image registry.example.com/probes:0.1.0", ""),
        ("seatrial gates run gpu-17 --gate smoke-train -o junit", "one gate, for CI"),
    ),
    "gates list": (("seatrial gates list", ""),),
    "gates show": (("seatrial gates show", ""), ("seatrial gates show to-580 -w", "")),
    "gates attest": (("seatrial gates attest to-580 nightly --pass --because 'all green'", ""),),
    "bake": (("seatrial bake explain", ""),),
    "bake explain": (("seatrial bake explain", ""), ("seatrial bake explain to-580 --html bake.html", "")),
    "report": (
        ("seatrial report", "a summary of the active rollout"),
        ("seatrial report to-580 --html report.html --journal controller.jsonl", ""),
    ),
    "audit": (
        ("seatrial audit", "compare like nodes"),
        ("seatrial audit --file gpu-version-matrix.yaml", "with the production entry"),
        ("seatrial audit --fail-on drift -o junit", "for CI"),
    ),
    "doctor": (
        ("seatrial doctor", "every node"),
        ("seatrial doctor gpu-17", "one node"),
        ("seatrial doctor --snapshot fleet.json", "a file instead of a cluster"),
    ),
    "node": (("seatrial node get", ""), ("seatrial node retry gpu-17", "")),
    "node get": (
        ("seatrial node get", ""),
        ("seatrial node get --held -l pool=a -w", ""),
        ("seatrial node get gpu-17", "everything about it"),
    ),
    "node retry": (("seatrial node retry gpu-17", ""),),
    "node skip": (("seatrial node skip gpu-17 gpu-18", ""), ("seatrial node skip -l rack=r7 --dry-run", "")),
    "node unskip": (("seatrial node unskip gpu-17", ""),),
    "controller": (
        ("seatrial controller --forever", ""),
        ("seatrial controller --once --journal passes.jsonl", "one pass, written down"),
    ),
    "pace": (("seatrial pace --dry-run", "what each node waits for"), ("seatrial pace --until-done", "")),
    "dra": (("seatrial dra status", ""), ("seatrial dra reroll --dry-run", "")),
    "dra status": (("seatrial dra status", ""),),
    "dra reroll": (("seatrial dra reroll --dry-run", ""), ("seatrial dra reroll --wait --deadline 2h", "")),
    "driver-manager": (
        ("seatrial driver-manager preflight", "with NODE_NAME set"),
        ("seatrial driver-manager uninstall", ""),
    ),
    "driver-manager preflight": (
        ("seatrial driver-manager preflight", "with NODE_NAME set"),
        ("seatrial driver-manager preflight -o json", ""),
    ),
    "driver-manager uninstall": (("seatrial driver-manager uninstall", "in the driver's pod, with NODE_NAME set"),),
    "replay": (("seatrial replay passes.jsonl", ""),),
    "snapshot": (
        ("seatrial snapshot > fleet.json", ""),
        ("seatrial snapshot --anonymise | gzip > fleet.json.gz", "to hand on"),
        ("seatrial audit --snapshot fleet.json", "look into it"),
    ),
    "manifests": (
        ("seatrial manifests | kubectl apply -f -", "definition and rights"),
        ("seatrial manifests rbac --canary", "what campaigns need, too"),
    ),
    "uninstall": (
        ("seatrial uninstall --dry-run", ""),
        ("seatrial uninstall --stop seatrial-controller", ""),
    ),
    "completion": (
        ("seatrial completion bash", "in ~/.bashrc: source <(seatrial completion bash)"),
        ("seatrial completion zsh > ~/.zfunc/_seatrial", "a folder of your fpath"),
        ("seatrial completion fish > ~/.config/fish/completions/seatrial.fish", ""),
    ),
    "testbed": (
        ("seatrial testbed up --operator", ""),
        ("seatrial testbed break gpu-003 crash", ""),
        ("seatrial testbed down", ""),
    ),
    "testbed up": (
        ("seatrial testbed up --nodes 24", ""),
        ("seatrial testbed up --operator", "beside the real GPU Operator"),
    ),
    "testbed status": (("seatrial testbed status", ""),),
    "testbed break": (
        ("seatrial testbed break gpu-003 crash", "what its next upgrade will meet"),
        ("seatrial testbed break gpu-003 reboot", ""),
    ),
    "testbed heal": (("seatrial testbed heal", "everything"), ("seatrial testbed heal gpu-003", "")),
    "testbed down": (("seatrial testbed down", ""),),
}
