"""What is in the images: the tables that the writer follows, and that Containerfiles have to agree with.

Both stand on the same Debian, which is one layer: a node that has one of them pulls little for the other.

Tests: tests/image/test_containerfile.py, tests/image/test_image.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

# ── what runs ────────────────────────────────────────────────────────────────────────────────────────────────────────

USER: Final = 65532
"""A number, since `runAsNonRoot` cannot know what a name means. The one that other images without a shell use."""
USER_NAME: Final = "seatrial"
HOME: Final = "/opt/seatrial"
"""Our Python environment. Nobody writes here, and Debian's own modules are not seen from it."""
ENVIRONMENT: Final = {
    "PATH": f"{HOME}/bin:/usr/bin:/bin",
    "HOME": "/tmp",  # noqa: S108  the one place that can be written; private clones are kept below it
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",  # everything is compiled, and the root is read-only
    "PYTHONUNBUFFERED": "1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One image: what is run in it, and what of uv.lock is there for it."""

    title: str
    says: str
    entrypoint: tuple[str, ...]
    command: tuple[str, ...]
    programs: tuple[str, ...]
    """Of the programs that our wheel names, those that can run with what is there."""
    environment: Mapping[str, str]
    extra: str = ""
    """The optional dependencies of pyproject.toml that are taken in place of the plain ones."""
    port: int | None = None

    @property
    def name(self) -> str:
        """How the image is called where nobody says otherwise; nothing is ever looked for at a host of that name."""
        return f"localhost/{self.title}"


CONTROLLER: Final = Recipe(
    title="seatrial",
    says="Upgrades the NVIDIA stack of a Kubernetes GPU cluster with care.",
    entrypoint=("seatrial",),
    command=("controller", "--forever"),
    programs=("driver-manager", "kubectl-seatrial", "kubectl_complete-seatrial", "seatrial", "seatrial-probe"),
    environment=ENVIRONMENT,
    port=8480,
)
PROBES: Final = Recipe(
    title="seatrial-probes",
    says="Payloads that look at the GPUs of a node, and say what they measured. Without PyTorch.",
    entrypoint=("seatrial-probe",),
    command=("deep-readiness",),
    programs=("seatrial-probe",),
    # NVML and CUDA: what NVIDIA's runtime brings in of the node's driver.
    environment={**ENVIRONMENT, "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"},
    extra="probes",
)
RECIPES: Final = {recipe.title: recipe for recipe in (CONTROLLER, PROBES)}

# ── what it is made of ───────────────────────────────────────────────────────────────────────────────────────────────

PYTHON: Final = (3, 11)
GLIBC: Final = (2, 36)
"""Of bookworm. A wheel that needs a newer one is not taken."""
MACHINES: Final = {"amd64": "x86_64", "arm64": "aarch64"}
"""What Debian, OCI and Go call an architecture, and what Python and the kernel call it."""

PACKAGES: Final = {
    "base-files": "says which Debian this is, and brings the folders",
    "ca-certificates": "whom to trust, for the API server's neighbours and for Git over https",
    "coreutils": "cat, by which the askpass script reads a mounted secret",
    "dash": "a shell: git starts ssh and the askpass script by it",
    "git": "the matrix and published files",
    "libc-bin": "the locale C.UTF-8",
    "libpython3.11-stdlib": "Python",
    "libstdc++6": "wheels that are written in C++",
    "openssh-client": "Git over ssh",
    "python3.11-minimal": "Python",
}
"""What we ask Debian for, and why. What these depend on comes along."""

LEFT_OUT: Final = {
    "adduser": "the user is written by us",
    "debconf": "nothing is configured at install time, as nothing is installed",
    "dpkg": "nothing is ever installed into an image",
    "git-man": "manual pages",
    "liberror-perl": "as perl",
    "mawk": "as dpkg: for install scripts",
    "media-types": "nobody asks for the type of a file",
    "openssl": "ca-certificates runs it at install time; we write what it would have written",
    "passwd": "as adduser",
    "perl": "git's scripts in Perl: send-email, svn, add --interactive; none of ours calls them",
    "readline-common": "nobody types here",
}
"""What packages say they depend on, and what we have no use for."""

TRIMMED: Final = (
    r"usr/share/doc/[^/]+/(?!copyright$).*",  # licences stay
    r"usr/share/(man|info|locale|lintian|bug|menu|doc-base|bash-completion|zsh|apport|gitweb|perl5?|python3)(/.*)?",
    r"usr/share/(base-files|binfmts|libc-bin|applications|pixmaps|readline|terminfo|debianutils)(/.*)?",
    r"usr/share/git-core/contrib(/.*)?",
    r"(usr/)?lib/(systemd|udev|init)(/.*)?",
    r"var/(backups|local|lock|mail|opt|spool|tmp)(/.*)?",  # some may be written by anybody
    r"usr/lib/(ssl/misc|lsb|tmpfiles\.d|sysusers\.d)(/.*)?",
    r"etc/(init\.d|cron\.[a-z]+|default|logcheck|pam\.d|update-motd\.d|bash_completion\.d|ca-certificates|profile\.d)(/.*)?",
    r"usr/lib/python3\.11/(lib2to3|idlelib|turtledemo|pydoc_data|ensurepip|tkinter|curses|config-3\.11[^/]*)(/.*)?",
    r"usr/lib/python3\.11/(turtle|antigravity|this|sitecustomize)\.py|etc/python3\.11(/.*)?",
    r"usr/lib/git-core/(git-)?(add--interactive|archimport|cvs.*|instaweb|send-email|svn|p4|request-pull|citool|gui.*)",
    r"usr/lib/git-core/(git-)?(daemon|http-(backend|fetch|push)|imap-send|shell|scalar)",  # servers, and old ways
    r"usr/lib/openssh/ssh-(keysign|sk-helper|pkcs11-helper)",  # setuid root, and two for hardware keys
    r"usr/s?bin/(update-ca-certificates|ssh-argv0|git-shell|git-cvsserver|scalar|tzselect|zdump|iconvconfig|zic)",
)
"""Paths that a running controller has no use for. Whole paths, below the root."""
