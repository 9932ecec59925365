"""What of a cluster may leave it in a file: allow-lists of what is kept, and other names for what is told.

    words.py       free text, word for word: what is not known to be a word of the trade is left out
    allowed.py     labels, annotations, variables, arguments, and texts of an object
    renaming.py    nodes, namespaces, registries and tenants under other names
    tenants.py     what is left of a tenant's object then

Law of this room: what is not allowed is left out; nothing is looked for that might be a secret. Which fields of a kind
are kept at all follows from what our readers read (adapters/kube/portable/).
"""
