# Everything is set up by these targets on a machine with Python 3.11, make and git; see README.md.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
READY := $(VENV)/.ready
# Every worker of a run collects whatever it is given, and importing all tests takes a minute of CPU.
# The end of the alphabet has the longest stories, and whoever comes last should be short.
marked = $(shell grep -rl 'mark\.$(1)' tests --include='test_*.py' | sort -r)

# A machine that tells Python to keep no bytecode has every one of our processes compile a thousand modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: gpu-hours facts facts-derive help demo test test-fast lint format bench coverage docs image testbed clean explore faults dra-seeds judging crashes gitops forge krew deploy image-probes gitops-timings torture hostile night soak upgrade kubernetes-oldest stories browser looks test-pythons audit-dependencies mutants mutants-by-hand

help: ## say what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(READY): pyproject.toml uv.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python3.11." >&2; exit 1; }
	@test -x $(RUN)/python || $(PYTHON) -m venv $(VENV) || { echo "python3 -m venv failed; on Debian install python3-venv." >&2; exit 1; }
	@test -x $(RUN)/uv || $(RUN)/python -m pip install --quiet --disable-pip-version-check uv
	@echo "Installing the project's environment into $(VENV) …" >&2
	@UV_PROJECT_ENVIRONMENT=$(VENV) $(RUN)/uv sync --quiet --frozen --inexact --extra testbed
	@touch $@

demo: $(READY) ## watch two rollouts over 24 simulated nodes, one to the tag and one taken back (no cluster, no GPU)
	@$(RUN)/seatrial demo

test: $(READY) lint ## everything, on a real control plane (built once, then cached)
	@$(RUN)/python -m seatrial_lab.testbed.building
	@$(RUN)/coverage erase
	@$(RUN)/coverage run -m pytest tests/core -q -n 2 --dist worksteal
	@$(RUN)/coverage combine -q
	@$(RUN)/python -m pytest tests --ignore=tests/core -m "not cluster and not long" -q -n 3 --dist worksteal
	@$(RUN)/python -m pytest $(call marked,cluster) -m "cluster and not own_plane and not gitops and not long" -q -n 3 --dist loadfile --no-loadscope-reorder
	@$(RUN)/python -m pytest $(call marked,own_plane) -m "own_plane and not gitops" -q -n 2 --dist loadfile
	@$(RUN)/coverage report --include='src/seatrial/core/*' --fail-under=95 --skip-covered

test-fast: $(READY) ## everything that needs neither a control plane nor a long search
	@$(RUN)/python -m pytest tests -m "not cluster and not slow" -q -n auto

test-pythons: $(READY) ## the same on each Python from 3.11 to 3.14 that can be had, each in an environment of its own (PYTHONS="3.12 3.13" TESTS=PATH)
	@$(RUN)/python -m seatrial_lab.pythons --pythons "$(PYTHONS)" $(TESTS)

audit-dependencies: $(READY) ## known holes and licences of what we ship of others; 11 where not everything could be asked
	@$(RUN)/python -m seatrial_lab.dependencies

lint: $(READY) ## style, types, import contracts
	@$(RUN)/ruff check .
	@$(RUN)/ruff format --check .
	@$(RUN)/mypy
	@$(RUN)/lint-imports

format: $(READY) ## make the style right
	@$(RUN)/ruff check --fix-only .
	@$(RUN)/ruff format .

bench: $(READY) ## measure a rollout and a look at one on the real control plane, check and plan; results are kept in bench/results
	@$(RUN)/python -m bench.check
	@$(RUN)/python -m bench.plan
	@$(RUN)/python -m bench.decide
	@$(RUN)/python -m bench.forecast
	@$(RUN)/python -m bench.operands
	@$(RUN)/python -m bench.operands --cluster
	@$(RUN)/python -m bench.rollout
	@$(RUN)/python -m bench.look

stories: $(READY) ## play the long stories: leaders that freeze, the operator's own limits, a restored etcd, an image that is built twice
	@$(RUN)/python -m pytest $(filter-out tests/model/%,$(sort $(call marked,cluster) $(call marked,long))) -m "long and not gitops" -q -n 3 --dist loadfile

explore: $(READY) ## walk every state of larger small worlds, and draw four times as many worlds and stories (half an hour)
	@$(RUN)/python -m pytest tests/model tests/model/larger_worlds.py -q --durations=8
	@SEATRIAL_EXAMPLES=4 $(RUN)/python -m pytest tests/properties tests/core/compat/test_plan.py -q --durations=8

crashes: $(READY) ## kill the controller after every write of campaigns; the results are kept in bench/results
	@$(RUN)/python -m pytest tests/e2e/crashes.py tests/e2e/larger_crashes.py tests/e2e/more_kills.py -q

torture: $(READY) ## break campaigns on the real control plane by 200 seeds, 2 to 5 faults each; what was played is not played again (SEEDS=a..b FAULT=name, or each)
	@$(RUN)/python -m bench.torture $(or $(SEEDS),0..199) --fault "$(FAULT)"

hostile: $(READY) ## write objects that mean harm to the real API server while campaigns run, for ten minutes and more (SEEDS=a..b)
	@$(RUN)/python -m bench.hostile $(or $(SEEDS),0..4)

night: $(READY) ## ask the questions of a night shift, with faults by seeds on a real control plane; answers and truth are kept in bench/results/night (SEEDS=a..b)
	@$(RUN)/python -m bench.night $(or $(SEEDS),1..3)

soak: $(READY) ## roll out over 200 nodes for two hours, back to back: memory, open files and tasks of the controller stay flat (SOAK_MINUTES=n)
	@$(RUN)/python -m bench.soak --minutes $(or $(SOAK_MINUTES),120)

gitops: $(READY) ## bring commits into the cluster by the real GitOps engines (built once)
	@$(RUN)/python -m pytest tests/gitops -m gitops -q

gitops-timings: $(READY) ## time commits and reverts through the real GitOps engines; the result is kept in bench/results
	@$(RUN)/python -m pytest tests/gitops/timed.py -q

forge: $(READY) ## pull requests on a real Gitea: the contract, and campaigns to the tag and back (Gitea is built once)
	@$(RUN)/python -m pytest tests/forge/contract_on_gitea.py tests/forge/campaign_on_gitea.py tests/forge/cluster_on_gitea.py -q

browser: $(READY) ## look at the page of a report in Chromium, on a wide screen and a phone, by day and by night (fetched once)
	@$(RUN)/python -m pytest tests/cli/page_in_a_browser.py -q

upgrade: $(READY) ## helm upgrades seatrial itself in the middle of a rollout, from the first chart, and takes it back (needs root)
	@$(RUN)/python -m pytest tests/e2e/upgraded_by_helm.py -q

kubernetes-oldest: $(READY) ## chart, manifests, bundles and a short rollout on the oldest Kubernetes that the chart takes (built once)
	@SEATRIAL_KUBERNETES=oldest $(RUN)/python -m pytest tests/chart/test_chart_real.py tests/bundles/test_taken_by_the_server.py tests/e2e/test_gates_namespace.py -q

faults: $(READY) ## play 10,000 fault schedules on 30-node worlds, and 5,000 worlds in which everything happens together; kept in bench/results
	@$(RUN)/python -m bench.faults
	@$(RUN)/python -m bench.faults --operands --count 2000
	@$(RUN)/python -m bench.faults --attrition --count 1000
	@$(RUN)/python -m bench.faults --mixed --count 5000

mutants: $(READY) ## break adapters, controller and run in 400 small ways, and count what tests without a cluster notice (SEED=n SAMPLE=n)
	@$(RUN)/python -m bench.mutants --seed $(or $(SEED),1) --sample $(or $(SAMPLE),400)

mutants-by-hand: $(READY) ## make the mistakes of bench/mutants/by_hand.toml one by one, and count what tests without a cluster notice
	@$(RUN)/python -m bench.mutants --by-hand

dra-seeds: $(READY) ## restart DRA plugins in 10,000 simulated upgrades, by our criterion and by the one proposed for a Helm hook; kept in bench/results
	@$(RUN)/python -m bench.dra

gpu-hours: $(READY) ## play upgrades of a busy cluster, by attrition and in NVIDIA's ways: GPU-hours lost, evictions; kept in bench/results
	@$(RUN)/python -m bench.gpu_hours

judging: $(READY) ## simulate 9,000 upgrades, sound and faulty: false aborts, losses found; the result is kept in bench/results
	@$(RUN)/python -m bench.judging

fuzz: $(READY) ## feed the matrix reader damaged files for two minutes
	@SEATRIAL_FUZZ_SECONDS=140 HYPOTHESIS_PROFILE=default $(RUN)/python -m pytest tests/adapters/files/test_fuzz_matrix.py -q

looks: $(READY) ## write the pictures of docs/looks anew: pages in a real browser (fetched once), by day and by night
	@$(RUN)/python -m docs.looks

docs: $(READY) ## write the generated pages of docs/reference anew
	@$(RUN)/python -m docs.generate

facts: $(READY) ## check data/compat-facts.yaml and write it into the package
	@$(RUN)/python data/build_facts.py

facts-derive: $(READY) ## derive the facts again from checkouts of vendors' repositories and compare (SOURCES=DIR)
	@$(RUN)/python -m data.extract $(SOURCES)

deploy: $(READY) ## write deploy/seatrial.yaml and its kustomization anew, from the chart
	@$(RUN)/python -m seatrial_lab.deploy

image: $(READY) ## build the container image into dist/image, for amd64 and arm64 (no docker, no registry, no root)
	@$(RUN)/python -m seatrial_lab.image.build

image-probes: $(READY) ## build the image of the payloads (seatrial-probe, without PyTorch) into dist/image, in the same way
	@$(RUN)/python -m seatrial_lab.image.build seatrial-probes

krew: $(READY) ## build the kubectl plugin for krew into dist/krew; RELEASE_URL=… HOMEPAGE=… fill its manifest in
	@$(RUN)/python -m seatrial_lab.krew --release-url "$(RELEASE_URL)" --homepage "$(HOMEPAGE)"

testbed: $(READY) ## start a control plane to try things on
	@$(RUN)/seatrial testbed up

clean: ## remove the environment and caches of this checkout (not the testbed's binaries)
	rm -rf $(VENV) .pythons .mutants .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage .import_linter_cache
