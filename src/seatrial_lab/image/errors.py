"""What can go wrong while an image is built."""


class ImageFailure(Exception):  # noqa: N818  its children are refusals of the outside world, named as such
    """The image could not be built; the text says why and what to do."""


class Unreachable(ImageFailure):
    """Something is not in the cache, and nobody who has it answers."""
