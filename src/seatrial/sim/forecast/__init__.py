"""What an upgrade will cost: duration against capacity for every setting, before anybody is disturbed.

    durations.py   how long things take, how often they fail          engine.py    one future of a rollout
    history.py     the same, learned from a journal                   sweep.py     many futures under many settings
    paths.py       the ways a node can take, worked out once          advice.py    the setting for a stated buffer
    model.py       an inventory, worked out                           stopping.py  why a rollout stops, in words
    schedule.py    canary, gates, bake, waves and windows in a row    course.py    where one future stands in that row
    busy/          by attrition: jobs, a queue, GPU-hours and evictions against the deadline

Tests: tests/sim/test_forecast*.py, bench/forecast.py
"""
