"""A busy cluster: jobs on it, a queue behind it, and what an upgrade costs its users, in GPU-hours and evictions.

    traces     jobs as they come, by kind              seen       the same from a cluster that was seen
    cluster    nodes, runs, the queue, what is lost    playing    one future, until every node is through
    ours       by attrition: the rules of core         others     the three ways of NVIDIA's controller
    frontier   deadline against what is lost, over many futures, and which deadline to take

Law of this room: who decides is core (`turn`) or a way of NVIDIA's; the model only plays. A seed gives one future.
Tests: tests/bench/test_gpu_hours.py, tests/sim/test_frontier.py
"""
