"""Values: frozen dataclasses with slots, made twice as fast as the standard library makes them.

A command imports some three hundred of them. Up to Python 3.12 the standard library compiles every method of every
class on its own, which was half of what `seatrial status` cost; here the methods of a class are compiled together. The
result is a dataclass: `fields`, `replace`, `match` and pickle take it, and type checkers see the standard library's own
decorator. Classes that can be changed, or have no slots, are made by the standard library.

Law of this file: a value behaves as if the standard library had made it. Tests: tests/core/base/test_values.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["dataclass", "field", "fields", "replace"]

if TYPE_CHECKING:
    from dataclasses import dataclass, field, fields, replace
else:
    import dataclasses
    from dataclasses import MISSING, FrozenInstanceError, field, fields, replace

    def dataclass(*, frozen, slots, kw_only=False, eq=True, order=False):
        """Make a class of immutable values."""
        if not (frozen and slots):
            raise TypeError("core.base.values makes frozen values with slots; the standard library makes the others")
        return lambda described: _made(described, kw_only=kw_only, eq=eq, order=order)

    def _made(described, *, kw_only, eq, order):
        made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(described)
        methods, own = _methods(made, eq=eq, order=order), made.__dict__
        has_hash = own.get("__hash__") is not None
        for name, method in methods.items():
            if name not in own or (name == "__hash__" and not has_hash):
                method.__qualname__ = f"{described.__qualname__}.{name}"
                setattr(made, name, method)
        made.__setattr__, made.__delattr__ = _refuse_to_set, _refuse_to_delete
        made.__getstate__, made.__setstate__ = _state, _restore
        return made

    def _methods(made, *, eq, order):
        """What depends on the fields of a class, from one text."""
        every = fields(made)
        known = {"_set_": object.__setattr__, "_absent_": MISSING}
        given = [_parameter(each, known) for each in every if each.init and not each.kw_only]
        named = [_parameter(each, known) for each in every if each.init and each.kw_only]
        parameters = ", ".join(["self", *given, *(["*", *named] if named else [])])
        compared = [each.name for each in every if each.compare]
        shown = ", ".join(f"{each.name}={{self.{each.name}!r}}" for each in every if each.repr)
        lines = [
            f"def __init__({parameters}):",
            *(f" _set_(self, {each.name!r}, {_first(each)})" for each in every if each.init),
            " self.__post_init__()" if hasattr(made, "__post_init__") else " pass",
            f"def __repr__(self): return f'{{self.__class__.__qualname__}}({shown})'",
        ]
        signs = {**({"eq": "=="} if eq else {}), **({"lt": "<", "le": "<=", "gt": ">", "ge": ">="} if order else {})}
        for name, sign in signs.items():
            lines += [
                f"def __{name}__(self, other):",
                " if other.__class__ is not self.__class__: return NotImplemented",
                f" return {_together('self', compared)} {sign} {_together('other', compared)}",
            ]
        if eq:
            lines.append(f"def __hash__(self): return hash({_together('self', compared)})")
        methods = {}
        exec("\n".join(lines), known, methods)  # noqa: S102  only names of fields are in it
        return methods

    def _parameter(each, known):
        """A field among the parameters; its default goes to what the text knows."""
        known[f"_default_{each.name}"], known[f"_new_{each.name}"] = each.default, each.default_factory
        if each.default is not MISSING:
            return f"{each.name}=_default_{each.name}"
        return f"{each.name}=_absent_" if each.default_factory is not MISSING else each.name

    def _first(each):
        if each.default_factory is MISSING:
            return each.name
        return f"_new_{each.name}() if {each.name} is _absent_ else {each.name}"

    def _together(who, names):
        return "(" + "".join(f"{who}.{name}," for name in names) + ")"

    def _refuse_to_set(_self, name, _value):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def _refuse_to_delete(_self, name):
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def _state(self):
        return [getattr(self, each.name) for each in fields(self)]

    def _restore(self, state):
        for each, value in zip(fields(self), state, strict=True):
            object.__setattr__(self, each.name, value)
