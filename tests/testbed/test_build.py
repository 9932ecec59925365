"""Building the programs of the testbed: once, whole, and by nothing but our own settings."""

import textwrap
from pathlib import Path

import pytest

from seatrial_lab import deploy
from seatrial_lab.testbed import errors
from seatrial_lab.testbed.building import build


def a_recipe(folder: Path, *, source: str = 'package main\n\nfunc main() { println("ahoy") }\n') -> build.Recipe:
    """A module as small as Go allows, in the shape of ours: a tool from a required module."""
    (folder / "hello").mkdir(parents=True)
    (folder / "hello" / "go.mod").write_text("module example.test/hello\n\ngo 1.25.0\n")
    (folder / "hello" / "main.go").write_text(source)
    (folder / "go.mod").write_text(
        textwrap.dedent("""\
            module example.test/tools

            go 1.25.0

            tool example.test/hello

            require example.test/hello v0.1.0

            replace example.test/hello v0.1.0 => ./hello
        """)
    )
    return build.Recipe(name="hello", folder=folder, module="example.test/hello", usual_duration="1 s")


def test_a_program_is_built_once_and_then_taken_from_the_cache(tmp_path: Path) -> None:
    recipe, said = a_recipe(tmp_path / "module"), list[str]()
    first = build.build(recipe, cache=tmp_path / "cache", say=said.append)
    said_at_first = list(said)
    second = build.build(recipe, cache=tmp_path / "cache", say=said.append)
    assert first == second == {"hello": first["hello"]}
    assert "1 of 1 programs" in said_at_first[0]
    assert "built hello (1 of 1)" in said_at_first[-1]
    assert said == said_at_first


def test_a_program_cut_short_is_built_again(tmp_path: Path) -> None:
    recipe = a_recipe(tmp_path / "module")
    program = build.build(recipe, cache=tmp_path / "cache", say=lambda _: None)["hello"]
    whole = program.stat().st_size
    program.write_bytes(program.read_bytes()[:1000])
    build.build(recipe, cache=tmp_path / "cache", say=lambda _: None)
    assert program.stat().st_size == whole


def test_a_cache_whose_manifest_is_broken_is_built_again(tmp_path: Path) -> None:
    recipe, said = a_recipe(tmp_path / "module"), list[str]()
    program = build.build(recipe, cache=tmp_path / "cache", say=lambda _: None)["hello"]
    (program.parent.parent / "manifest.json").write_text('{"hello": 12')
    build.build(recipe, cache=tmp_path / "cache", say=said.append)
    assert "built hello (1 of 1)" in said[-1]


def test_a_program_that_does_not_compile_leaves_nothing_behind_and_says_why(tmp_path: Path) -> None:
    recipe = a_recipe(tmp_path / "module", source="package main\n\nfunc main() { sail() }\n")
    with pytest.raises(errors.BuildFailed, match="undefined: sail"):
        build.build(recipe, cache=tmp_path / "cache", say=lambda _: None)
    left = [path.name for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert left == ["lock"]


def test_a_users_go_settings_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOFLAGS", "-mod=vendor -no-such-flag")
    monkeypatch.setenv("GOOS", "plan9")
    recipe = a_recipe(tmp_path / "module")
    program = build.build(recipe, cache=tmp_path / "cache", say=lambda _: None)["hello"]
    assert program.read_bytes()[:4] == b"\x7fELF"


def test_building_leaves_the_module_as_it_is(tmp_path: Path) -> None:
    recipe = a_recipe(tmp_path / "module")
    before = {path: path.read_bytes() for path in recipe.folder.rglob("*") if path.is_file()}
    build.build(recipe, cache=tmp_path / "cache", say=lambda _: None)
    assert {path: path.read_bytes() for path in recipe.folder.rglob("*") if path.is_file()} == before


def test_another_version_has_another_place_in_the_cache(tmp_path: Path) -> None:
    recipe = a_recipe(tmp_path / "module")
    one = build.build(recipe, cache=tmp_path / "cache", say=lambda _: None)["hello"]
    go_mod = recipe.folder / "go.mod"
    go_mod.write_text(go_mod.read_text().replace("v0.1.0", "v0.2.0"))
    two = build.build(recipe, cache=tmp_path / "cache", say=lambda _: None)["hello"]
    assert (one.parent.parent.name[:12], two.parent.parent.name[:12]) == ("hello-v0.1.0", "hello-v0.2.0")


def test_a_changed_source_of_our_own_has_another_place_in_the_cache(tmp_path: Path) -> None:
    recipe = a_recipe(tmp_path / "module")
    before = recipe.fingerprint
    (recipe.folder / "main.go").write_text("package main\n\nfunc main() {}\n")
    assert recipe.fingerprint != before


def test_a_run_is_about_the_newest_kubernetes_or_the_oldest_that_the_chart_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(build.VARIABLE, raising=False)
    assert build.kubernetes() is build.KUBERNETES
    monkeypatch.setenv(build.VARIABLE, "oldest")
    oldest = build.kubernetes()
    assert oldest.packages == build.KUBERNETES.packages
    assert oldest.version.rpartition(".")[0] == "v" + deploy.KUBERNETES.rpartition(".")[0]
    monkeypatch.setenv(build.VARIABLE, "1.12")
    with pytest.raises(errors.PartMissing, match=r"is '1\.12', and has to be one of newest, oldest"):
        build.kubernetes()


def test_what_is_built_is_read_from_go_mod() -> None:
    programs = [package.rsplit("/", 1)[-1] for package in build.KUBERNETES.packages]
    assert programs == ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"]
    assert f"version.gitVersion={build.KUBERNETES.version}" in build.KUBERNETES.linker_flags
    assert build.KUBELET.packages == ("k8s.io/kubernetes/cmd/kubelet",)
    assert build.KUBELET.version == build.KUBERNETES.version
    assert build.KWOK.packages == ("sigs.k8s.io/kwok/cmd/kwok",)
    assert build.GPU_OPERATOR.packages == ("github.com/NVIDIA/gpu-operator/cmd/gpu-operator",)
