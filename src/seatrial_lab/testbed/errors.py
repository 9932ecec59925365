"""What can go wrong in the testbed.

TestbedFailure
  PartMissing      this machine lacks something: Go, etcd, a Python package
  BuildFailed      Go could not build one of the programs
  ProcessDied      a program ended that should have kept running
  WaitedTooLong    something did not happen before its deadline
  KubectlFailed    the API server, or kubectl itself, refused
"""


class TestbedFailure(Exception):  # noqa: N818  its children are refusals of the outside world, named as such
    """The testbed could not do what was asked of it."""


class PartMissing(TestbedFailure):
    """This machine lacks a part that the testbed does not bring along."""


class BuildFailed(TestbedFailure):
    """Go could not build one of the programs."""


class ProcessDied(TestbedFailure):
    """A program of the testbed ended that should have kept running."""


class WaitedTooLong(TestbedFailure):
    """Something did not happen before its deadline."""


class KubectlFailed(TestbedFailure):
    """kubectl ended with an error, which is in the message."""
