"""What is seen and what is wanted, as values.

    seen      seen/ (pods, nodes, rollouts, operators; snapshot is all of it), consumers, troubles, offers, owners
    wanted    intent, policy, campaign, gates, windows, selectors, edits        both    instants

Law of this room: frozen values and plain questions about them; nothing is decided.
"""
