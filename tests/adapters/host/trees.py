"""A prepared host with PCI devices on it."""

from __future__ import annotations

from pathlib import Path

from seatrial_lab.played_kernel import PlayedHost

GPU = "0000:17:00.0"


class Prepared(PlayedHost):
    """A host below a folder, with a driver loaded; also its kernel."""

    def __init__(self, *, root: Path) -> None:
        super().__init__(root=root)
        self.prepare()

    def device(self, address: str, *, vendor: str = "0x10de", kind: str = "0x030200", driver: str = "") -> Path:
        """Put a PCI device there."""
        folder = self.root / "sys/bus/pci/devices" / address
        folder.mkdir()
        (folder / "vendor").write_text(f"{vendor}\n", encoding="ascii")
        (folder / "class").write_text(f"{kind}\n", encoding="ascii")
        (folder / "driver_override").write_text("(null)\n", encoding="ascii")
        if driver:
            bound = self.root / "sys/bus/pci/drivers" / driver
            bound.mkdir(parents=True, exist_ok=True)
            (bound / "unbind").touch()
            (folder / "driver").symlink_to(bound)
        return folder
