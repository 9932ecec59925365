"""The host below us: kernel modules, mounts, PCI devices and the files of driver containers.

    kernel    the calls that no file stands for     tree    what there is, read and changed below one root

Law of this folder: everything is tried once and reported; nothing but what is named is touched.
"""
