"""Bundles by the real helm: whoever deploys one, the same objects come into the cluster, and the same hook runs.

extracting.py    reads what a deployer would do from its files alone; it knows nothing of how they were written
rendering.py     what comes out of that, by helm
parity.py        what has to be the same, and what has to hold for each
syncing.py       when each deployer runs a hook
charts/          stand-ins, written by us, with the names, labels and values of the real ones
"""
