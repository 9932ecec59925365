"""What is checked before a rollout begins, with nothing written.

    check       one answer: about what, ok, fails or not known, and why
    fields      the API server takes the rollout, and the version in what carries it
    rights      the controller may do what this rollout needs
    images      the driver's image is in its registry
    pushing     the controller's login may push
    asking      all of them

Law of this room: not known is never ok. What fails is told before a start, which then is none.
"""
