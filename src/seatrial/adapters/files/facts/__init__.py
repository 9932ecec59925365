"""Facts as files: ours and others', where bundles are published and kept, and the schema of what is in them; failures.

Law of this folder: bytes of others are compared with their checksums before anybody reads what they say.
"""
