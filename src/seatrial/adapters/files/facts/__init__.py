"""Facts of others, as files: where bundles are published, where they are kept, and the schema of what is in them.

Law of this folder: bytes are compared with their checksums before anybody reads what they say.
"""
