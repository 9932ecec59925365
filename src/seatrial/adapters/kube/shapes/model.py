"""What all shapes of the API have in common: fields as the API spells them, and nothing that could change.

Law of this file: one base, no fields.
"""

from __future__ import annotations

import msgspec


class Model(msgspec.Struct, frozen=True, gc=False, rename="camel", kw_only=True):
    """Base of everything decoded: immutable, unknown fields dropped, camelCase outside and snake_case inside."""
