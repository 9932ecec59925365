"""How a version reaches nodes, and who moves them: we, NVIDIA's controller, or people.

    view            what a campaign looks at in one pass, and the questions that every mover answers
    mover           who moves the nodes: chosen here
    who/            each of them: we, NVIDIA's controller, people
    drivers         what is so whoever moves drivers           components       what is so whoever moves the others
    letting_in      who is let in to NVIDIA's controller       forgetting       how it forgets who waited
    prepulling      the image before the node                  machine_pools    pools of OpenShift that stand still
    publishing      what is published where                    driver_manager   what belongs to it
    returning       who is back where it was                   marks            labels that a campaign leaves on nodes
    pace/           waking NVIDIA's controller                 dra/             plugins that outlived a driver

Law of this room: it says what a campaign may do to get a version onto nodes; in which phase that is, it does not know.
"""
