"""How a version reaches nodes, and who moves them: we, NVIDIA's controller, or people.

    view            what a campaign looks at in one pass
    publishing      what is published where                    driver_manager   what belongs to it
    marks           labels that a campaign leaves on nodes     machine_pools    pools of OpenShift that stand still
    letting_in      who is let in to NVIDIA's controller       forgetting       and how it forgets who waited
    by_hand         steps that people take                     prepulling       the image before the node

Law of this room: it says what a campaign may do to get a version onto nodes; in which phase that is, it does not know.
"""
