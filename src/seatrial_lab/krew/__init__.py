"""The kubectl plugin as krew installs it: an archive for each platform, and the manifest that names them.

    archive.py     a launcher, our wheel and the locked ones, for every Python that we support
    manifest.py    deploy/krew/seatrial.yaml.in, filled in
    __main__.py    `make krew`

Law of this folder: addresses and checksums are of archives that were just built; none is ever written down beforehand.
"""
