"""The stack of a matrix entry as files for a deployer: which releases, in which order, with which values and timeouts.

Law of this folder: what is in a bundle is decided here, as plain data; text and files are an adapter's. The same entry
and the same wishes give the same files, byte by byte, and the values of a release are one file, whoever reads it.
"""
