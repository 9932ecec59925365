"""The images of the controller and of the payloads, put together without a registry and without a container runtime.

    recipe      what goes in, what is left out, who it runs as: tables, nothing else
    lock        which Debian packages exactly: debian.lock.json        locking    writes that file anew, by apt
    shelf       what was downloaded, kept by its checksum              files      what a file of an image is
    debs        a Debian package as files                              wheels     uv.lock and our own code as files
    system      what the scripts of packages would have made           bytecode   what Python would have compiled
    oci         layers, configuration, archive                         sbom       what was really put in
    build       `make image`, `make image-probes`

Law of this folder: the same commit gives the same digest, so time, names and order are arguments and nothing of the
machine gets in. Nothing of an image is ever run as root, and no script of a package is run at all.
Tests: tests/image.
"""
