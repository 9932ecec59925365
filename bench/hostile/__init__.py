"""Objects that mean harm, written to a real API server while a campaign runs: does the controller live, and say why?

    kinds.py   every watched kind: a sound object of it, and whose it is
    rules.py   what is done to one: a table
    people.py  a tenant, an author, a kubelet, an approver and the cluster's other operators: accounts and rights
    writing.py a process in which all of them write, by a seed
    playing.py one seed: the stage, the controller, its idle twin, the writers, and the judgement

`make hostile` plays seeds and keeps a line for each in bench/results/hostile.jsonl. Tests: tests/bench/test_hostile.py
"""
