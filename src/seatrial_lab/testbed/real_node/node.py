"""A real node: a kubelet, containerd and runc that run a fleet's pods for real, beside the simulated ones.

Its namespaces are held by inside/hold.py, its network is that of network.py, its programs are told what settings.py
says. There is no GPU and no kernel module in it: what stands for them are files under /run/nvidia, which its
containers (play/) and its device plugin share. It ends with its control plane. Tests: tests/testbed/test_real_node.py
"""

import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal

from seatrial_lab.testbed import errors, waiting
from seatrial_lab.testbed.building import build, debian
from seatrial_lab.testbed.nodes import stages
from seatrial_lab.testbed.plane import boot, control_plane, credentials, processes
from seatrial_lab.testbed.real_node import able, cgroups, images, inside, network, playing, settings
from seatrial_lab.testbed.real_node.inside import gateway, hold

Object = dict[str, Any]
Fault = Literal["module-load", "in-use"]

INSIDE: Final = Path(inside.__file__).parent
ISOLATED: Final = (sys.executable, "-I", "-S")
START_SECONDS: Final = 60.0
READY_SECONDS: Final = 120.0
IMPORT_SECONDS: Final = 120.0
# What the node hides from its programs, behind folders of its own.
HIDDEN: Final = (Path("/run"), *map(Path, hold.OWN_FOLDERS))


def start(
    plane: control_plane.ControlPlane,
    name: str,
    *,
    driver_versions: Iterable[str] = (),
    gpu_count: int = 8,
    say: build.Say = build.say_on_stderr,
) -> "RealNode":
    """Start a node beside a control plane, and return when it is Ready and its images are there."""
    if why := able.why_not():
        raise errors.PartMissing(why)
    if build.kubernetes() is not build.KUBERNETES:
        raise errors.PartMissing(
            f"The kubelet here is of {build.KUBELET.version}: Kubernetes supports none that is newer than its API "
            f"server. Leave {build.VARIABLE} out."
        )
    cgroups.sweep()
    programs = find_programs(plane, say=say)
    for place in (plane.folder, programs.kubelet, programs.containerd):
        if any(place.is_relative_to(hidden) for hidden in HIDDEN):
            raise errors.PartMissing(
                f"A real node has its own {', '.join(map(str, HIDDEN))}, so it cannot see {place}. "
                "Let XDG_CACHE_HOME, or TMPDIR in tests, name another place."
            )
    node = RealNode(plane, name, programs)
    node.open(gpu_count=gpu_count)
    node.add_images(playing.all_images(programs, driver_versions=driver_versions))
    node.start_kubelet()
    node.wait_ready()
    return node


def find_programs(plane: control_plane.ControlPlane, *, say: build.Say = build.say_on_stderr) -> settings.Programs:
    """Return the programs of a real node, building and fetching what is missing."""
    built = build.real_node(say=say)
    runtime = debian.unpacked(debian.CONTAINERD, say=say)
    return settings.Programs(
        kubelet=built["kubelet"],
        device_plugin=built["device-plugin"],
        containerd=runtime / debian.CONTAINERD.program,
        shims=runtime / "usr" / "bin",
        runc=debian.unpacked(debian.RUNC, say=say) / debian.RUNC.program,
        cni=debian.unpacked(debian.CNI, say=say) / "usr" / "lib" / "cni",
        busybox=debian.unpacked(debian.BUSYBOX, say=say) / debian.BUSYBOX.program,
        kubectl=plane.status().kubectl,
    )


class RealNode:
    """A node with a kubelet of its own."""

    def __init__(self, plane: control_plane.ControlPlane, name: str, programs: settings.Programs) -> None:
        self.name = name
        self.plane = plane
        self.folder = plane.folder / "nodes" / name
        self.link = network.Link(number=0)
        self._programs = programs
        self._holder: processes.Program | None = None

    # --- starting ---

    def open(self, *, gpu_count: int) -> None:
        """Open its namespaces, connect them, and start containerd in them."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._holder = self._beside("node", hold.READY, [INSIDE / "hold.py", self.name, self.folder])
        self.link = network.open_link(self.holder.pid)
        for command in self.link.commands_outside():
            self._run([self._programs.busybox, "ip", *command.split()])
        for command in self.link.commands_inside(services=credentials.SERVICES, api=credentials.API_SERVICE):
            self.run(self._programs.busybox, "ip", *command.split())
        self._open_way("gateway", f"{credentials.API_SERVICE}:443", self.plane.url.removeprefix("https://"))
        self._write_settings()
        self._write_kernel(gpu_count)
        self._within("containerd", [self._programs.containerd, "--config", self.folder / "containerd.toml"])
        waiting.wait_for(
            self._does_containerd_answer, what=f"containerd of {self.name} to answer", timeout_seconds=START_SECONDS
        )

    def add_images(self, wanted: Iterable[images.Image]) -> None:
        """Write images, and import them."""
        archive = images.write(self.folder / "images.tar", list(wanted), machine=platform.machine())
        self.import_archive(archive)
        archive.unlink()

    def import_archive(self, archive: Path) -> None:
        """Import the images of a file, as `docker save` or an OCI layout has them; nothing is pulled."""
        self.ctr("images", "import", "--snapshotter=overlayfs", str(archive))

    def add_drivers(self, *versions: str) -> None:
        """Import the images of these driver versions; those of others cannot be pulled here."""
        self.add_images(playing.driver_images(self._programs, versions))

    def start_kubelet(self) -> None:
        """Start the kubelet, and the device plugin beside it."""
        resource, plugin = stages.GPU, self._programs.device_plugin
        self._within("device-plugin", [plugin, resource, settings.GPUS, settings.MODULE])
        self._within(
            "kubelet",
            settings.kubelet_command(
                self._programs,
                name=self.name,
                address=self.link.node,
                kubeconfig=self.folder / "kubelet.kubeconfig",
                config=self.folder / "kubelet.json",
            ),
        )

    def wait_ready(self, timeout_seconds: float = READY_SECONDS) -> None:
        """Return when the node is Ready."""
        seen = [""]

        def look() -> bool:
            self.ensure_alive()
            try:
                conditions = self.object()["status"].get("conditions", ())
            except errors.KubectlFailed:
                return False  # the kubelet has not registered it yet
            ready = next((each for each in conditions if each["type"] == "Ready"), {"status": "", "message": ""})
            seen[0] = str(ready["message"])
            return bool(ready["status"] == "True")

        waiting.wait_for(
            look,
            what=f"node {self.name} to be Ready",
            timeout_seconds=timeout_seconds,
            pause_seconds=0.2,
            describe=lambda: f"{seen[0]}\n{processes.last_lines(self._program('kubelet'))}",
        )

    # --- looking ---

    @property
    def holder(self) -> processes.Program:
        """The program that holds its namespaces."""
        if self._holder is None:
            raise errors.TestbedFailure(f"The node {self.name} was not started.")
        return self._holder

    def object(self) -> Object:
        """Return the node as the API server has it."""
        return self.plane.get("node", self.name)

    def allocatable(self, resource: str = stages.GPU) -> int:
        """Return how much of a resource the node has to give."""
        return int(self.object()["status"]["allocatable"].get(resource, "0"))

    def ensure_alive(self) -> None:
        """Raise where one of its programs has ended."""
        for kind in ("node", "gateway", "containerd", "kubelet", "device-plugin"):
            boot.ensure_alive(self._program(kind))

    def run(self, program: str | Path, *arguments: str) -> str:
        """Run a program in the node's namespaces and return what it printed."""
        return self._run([*self._enter, "-", program, *arguments])

    def ctr(self, *arguments: str) -> str:
        """Ask containerd."""
        return self.run(self._programs.shims / "ctr", f"--address={settings.SOCKET}", "-n", "k8s.io", *arguments)

    def open_way(self, port: int) -> str:
        """Let the node and its pods reach a port of this machine's loopback, and return where."""
        way = f"{credentials.API_SERVICE}:{port}"
        self._open_way(f"way-{port}", way, f"127.0.0.1:{port}")
        return way

    def open_service(self, namespace: str, name: str) -> str:
        """Let the node and its pods reach a Service at its own address, and return that: no kube-proxy runs here.

        The first that is Ready answers, and no other one once it is gone."""
        service = self.plane.get("service", name, "-n", namespace)["spec"]
        (port,) = service["ports"]
        chosen = ("-n", namespace, "-l", f"kubernetes.io/service-name={name}")

        def ready() -> str | None:
            slices = self.plane.get("endpointslices", *chosen)["items"]
            found = (each for part in slices for each in part["endpoints"] or () if each["conditions"].get("ready"))
            addresses = [f"{each['addresses'][0]}:{slices[0]['ports'][0]['port']}" for each in found]
            return addresses[0] if addresses else None

        target = waiting.wait_for(ready, what=f"somebody to be Ready behind {name}", timeout_seconds=START_SECONDS)
        self.run(self._programs.busybox, "ip", "addr", "add", f"{service['clusterIP']}/32", "dev", "lo")
        way = f"{service['clusterIP']}:{port['port']}"
        self._open_way(f"service-{name}", way, target)
        return way

    # --- what goes wrong ---

    @contextmanager
    def silent(self) -> Iterator[None]:
        """The kubelet neither says nor hears anything while the context lasts; what runs there goes on."""
        pid = self._program("kubelet").pid
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def break_driver(self, how: Fault, message: str = "Unknown symbol in module, or unknown parameter") -> None:
        """Let the next start of a driver pod fail: its module does not load, or the old one cannot be taken out."""
        self._inside(f"{settings.FAULTS}/{how}").write_text(f"{message}\n", encoding="utf-8")

    def mend_driver(self) -> None:
        """Take every fault of the driver away."""
        for fault in self._inside(settings.FAULTS).iterdir():
            fault.unlink()

    def lose_gpu(self) -> None:
        """Let one more GPU be broken: it is still counted, and no longer given away."""
        gpus = self._read_gpus()
        lost = next(each for each in reversed(gpus) if "unhealthy" not in each)
        self._write_gpus([f"{each} unhealthy" if each == lost else each for each in gpus])

    def restore_gpus(self) -> None:
        """Repair all GPUs."""
        self._write_gpus([each.split()[0] for each in self._read_gpus()])

    @property
    def loaded_driver(self) -> str:
        """The driver version that would be in its kernel, empty where there is none."""
        try:
            return self._inside(settings.MODULE).read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return ""

    # --- underneath ---

    def _beside(self, kind: str, sign: str, command: list[Any]) -> processes.Program:
        """Start a program of ours that stands at the door, and return when its log shows the sign."""
        program = self.plane.ensure_program(f"{kind}-{self.name}", [*ISOLATED, *map(str, command)])

        def look() -> bool:
            boot.ensure_alive(program)
            return sign in program.log.read_text(encoding="utf-8")

        waiting.wait_for(look, what=f"{program.name} to be ready", timeout_seconds=START_SECONDS)
        return program

    def _open_way(self, kind: str, way: str, target: str) -> None:
        self._beside(kind, gateway.LISTENING, [INSIDE / "gateway.py", self.holder.pid, f"{way}={target}"])

    def _within(self, kind: str, command: Sequence[str | Path]) -> processes.Program:
        """Start a program in the namespaces; it belongs to them, and is ended by its id like any other."""
        name = f"{kind}-{self.name}"
        log = self.plane.folder / f"{name}.log"
        log.touch()
        program = processes.known(name, int(self._run([*self._enter, log, *command])), log=log)
        self.plane.add_program(program)
        return program

    @property
    def _enter(self) -> tuple[str | Path, ...]:
        return (*ISOLATED, INSIDE / "enter.py", str(self.holder.pid), cgroups.root_of(self.holder))

    def _run(self, command: Sequence[str | Path]) -> str:
        path = f"{self._programs.shims}:{self._programs.runc.parent}:{os.environ['PATH']}"
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=IMPORT_SECONDS, env=os.environ | {"PATH": path}
        )
        if done.returncode != 0:
            said = done.stderr.strip() or done.stdout.strip()
            raise errors.TestbedFailure(f"`{' '.join(map(str, command))}` failed on {self.name}: {said}")
        return done.stdout

    def _program(self, kind: str) -> processes.Program:
        return self.plane.program(f"{kind}-{self.name}")

    def _does_containerd_answer(self) -> bool:
        boot.ensure_alive(self._program("containerd"))
        try:
            return bool(self.ctr("version"))
        except errors.TestbedFailure:
            return False  # not listening yet

    def _write_settings(self) -> None:
        token = credentials.read_token(self.plane.folder / "credentials", "kubelet")
        credentials.write_kubeconfig(
            self.folder / "kubelet.kubeconfig",
            url=f"https://{credentials.API_SERVICE}:443",
            authority=self.plane.authority,
            user="kubelet",
            token=token,
        )
        resolver = self.folder / "resolv.conf"
        resolver.touch()
        told = settings.kubelet(resolver=resolver)
        (self.folder / "kubelet.json").write_text(json.dumps(told, indent=2), encoding="utf-8")
        (self.folder / "containerd.toml").write_text(settings.containerd(self._programs, folder=self.folder))
        (self.folder / "cni").mkdir(exist_ok=True)
        ways = json.dumps(settings.cni(self.link.pods), indent=2)
        (self.folder / "cni" / "10-testbed.conflist").write_text(ways, encoding="utf-8")

    def _write_kernel(self, gpu_count: int) -> None:
        self._inside(settings.FAULTS).mkdir(parents=True)
        self._inside(settings.NODE_FILE).write_text(f"{self.name}\n", encoding="utf-8")
        self._write_gpus([f"GPU-{self.name}-{each}" for each in range(gpu_count)])

    def _read_gpus(self) -> list[str]:
        return self._inside(settings.GPUS).read_text(encoding="utf-8").splitlines()

    def _write_gpus(self, lines: list[str]) -> None:
        fresh = self._inside(f"{settings.GPUS}.new")
        fresh.write_text("\n".join(lines) + "\n", encoding="utf-8")
        fresh.replace(self._inside(settings.GPUS))

    def _inside(self, path: str) -> Path:
        """Return a path of the node's mount namespace, as this machine reaches it."""
        return Path(f"/proc/{self.holder.pid}/root{path}")
