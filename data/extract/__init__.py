"""Facts read by programs: from checkouts of vendors' repositories, as rows with source, day and confidence.

    checkouts.py       the repositories a maintainer has fetched, read by `git show`; nothing is checked out, or fetched
    gpu_operator.py    ┐
    network_operator.py├ texts of one vendor → the fields of a row; no files, no git
    endoflife.py       ┘
    rows.py            which row of compat-facts.yaml is derived by whom, and which were read by hand
    __main__.py        `make facts-derive SOURCES=DIR`: what is equal, what differs, what the checkouts have besides

Law of this folder: a program proposes, a person writes compat-facts.yaml. Nothing of another repository is kept here.

Tests: tests/data/test_extract.py
"""
