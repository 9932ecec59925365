"""What talks to the outside: Kubernetes, Git, files, journals, HTTP.

Law of this folder: an adapter makes one attempt and says how it ended, knows no other adapter, and decides nothing.
"""
