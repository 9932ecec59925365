"""What a bake proves beyond its gates' word: by telemetry, and by comparing figures.

    controls     the nodes like a canary that stay as they are        one choice for both
    exposing     what a monitoring system tells of it
    comparing    its figures before and after, and those of its controls in the same rounds

Law of this room: what was seen is written down before anything is done about it, and nothing counts twice.
"""
