"""The parser of every command: errors in two lines, and a help of one page.

    --help       what it does, the options people use, examples: at most 50 lines of 80 columns
    --help-all   the groups that are rarely needed, what is said "In detail", and the exit codes besides

Law of this file: what is rarely needed is said where an option is added, by its group (`rarely`), and nowhere else. An
option is taken by its whole name: one that is begun may mean another one tomorrow. Tests: tests/cli/test_help.py,
tests/cli/test_main.py
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final, NoReturn

from seatrial.cli.exit_codes import MEANINGS, ExitCode
from seatrial.cli.layout import Help

RARELY: Final = "rarely needed"
"""How the title of a group begins that only --help-all shows."""
IN_DETAIL: Final = "\n\nIn detail:\n\n"
"""What comes behind it in a description is for --help-all."""
HEAD_MAX: Final = 52
"""Examples that are longer have their text below them, and do not push that of the others aside."""

Example = tuple[str, str]
"""A command line as it is typed, and what it does; the second may be empty."""


def rarely(parser: argparse.ArgumentParser, what: str = "") -> argparse._ArgumentGroup:
    """The group of a parser's options that only --help-all shows, or one of them with a title of its own."""
    title = f"{RARELY}: {what}" if what else RARELY
    known = [group for group in parser._action_groups if group.title == title]
    return known[0] if known else parser.add_argument_group(title)


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose errors say what to do next, and whose help is a page."""

    def __init__(self, *args: Any, **more: Any) -> None:
        # argparse makes the parsers of subcommands by itself, with what add_parser is given
        super().__init__(*args, **{"formatter_class": Help, "add_help": False, "allow_abbrev": False, **more})
        self._positionals.title = "arguments"
        self.examples: Sequence[Example] = ()
        self.exits: Sequence[ExitCode] = ()
        self.add_argument("-h", "--help", action=_Short, help="show this page")
        self.add_argument("--help-all", action=_Whole, help="show all options, details and exit codes")

    def error(self, message: str) -> NoReturn:
        end = "" if message.endswith("?") else "."
        self.exit(ExitCode.USAGE, f"seatrial: {message}{end}\nSee `{self.prog} --help`.\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        # Asked of the parser whose words they are: the one above would point to its own help. An option that is not
        # there comes before what is missing, which may be what it was meant to be.
        given = list(sys.argv[1:] if args is None else args)
        if not any(isinstance(action, argparse._SubParsersAction) for action in self._actions):
            self._refuse(self._strange(given))
        found, left = super().parse_known_args(given, namespace)
        self._refuse(left)
        return found, left

    def _strange(self, given: Sequence[str]) -> list[str]:
        """The options among these words that are none of ours; a word with a blank in it is a value."""
        words = given[: given.index("--")] if "--" in given else given
        known = self._option_string_actions
        return [word for word in words if word[:2] == "--" and " " not in word and word.partition("=")[0] not in known]

    def _refuse(self, left: Sequence[str]) -> None:
        if left:
            self.error(self._not_taken(left))

    def _not_taken(self, left: Sequence[str]) -> str:
        names = [word.partition("=")[0] for word in left if word.startswith("-")]
        if names:
            known = {option.lstrip("-"): option for option in self._option_string_actions}  # dashes are no likeness
            near = nearest(names[0].lstrip("-"), known)
            return f"there is no option {names[0]}" + (f"; did you mean {known[near]}?" if near else "")
        return f"{left[0]!r} is one word too many"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        # As argparse has it, but in words that are the same with every Python, and with what may have been meant.
        if action.choices is not None and value not in action.choices:
            choices = list(map(str, action.choices))
            text = f"there is no {value!r} here, but {', '.join(choices)}{alike(str(value), choices)}"
            raise argparse.ArgumentError(action, text)

    def format_help(self) -> str:
        return self._told(is_whole=False)

    def format_whole_help(self) -> str:
        """Everything there is to say."""
        return self._told(is_whole=True)

    def _told(self, *, is_whole: bool) -> str:
        page = self.formatter_class(prog=self.prog)
        page.add_usage(self.usage or self._usage(), [], [])
        short, _, detail = (self.description or "").partition(IN_DETAIL)
        page.add_text(short)
        for group in self._action_groups:
            if is_whole or not (group.title or "").startswith(RARELY):
                page.start_section(group.title)
                page.add_text(group.description)
                page.add_arguments(group._group_actions)
                page.end_section()
        page.add_text(detail if is_whole else None)
        page.add_text(self.epilog)
        page.add_text(self._exemplified())
        page.add_text(_exits(self.exits) if is_whole and self.exits else None)
        return page.format_help()

    def _usage(self) -> str:
        """What has to be typed; options that may be left out are listed below it, and not here."""
        either = [
            action for group in self._mutually_exclusive_groups if group.required for action in group._group_actions
        ]
        asked = [action for action in self._actions if not action.option_strings or action.required or action in either]
        line = Help(prog=f"{self.prog} [options]", width=10_000)
        line.add_usage(None, asked, self._mutually_exclusive_groups, prefix="")
        text = line.format_help().strip().replace("%", "%%")
        below = any(isinstance(each, argparse._SubParsersAction) and not each.required for each in asked)
        return text.replace("COMMAND ...", "[COMMAND ...]") if below else text

    def add_subparsers(self, **more: Any) -> Any:
        # One word for all of them: what they are called is listed below it.
        return super().add_subparsers(**{**more, "title": "commands", "metavar": "COMMAND"})

    def _exemplified(self) -> str | None:
        typed = [f"  {line}" for line, _ in self.examples]
        wide = max((len(line) for line in typed if len(line) <= HEAD_MAX), default=0)
        lines = [
            f"{line:{wide}}  # {text}" if text else line for line, (_, text) in zip(typed, self.examples, strict=True)
        ]
        return "\n".join(["examples:", *lines]) if lines else None


class _Short(argparse._HelpAction):
    """--help."""


class _Whole(argparse._HelpAction):
    """--help-all."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(parser.format_whole_help() if isinstance(parser, Parser) else parser.format_help(), end="")
        parser.exit()


def alike(word: str, among: Iterable[str]) -> str:
    """A question for what may have been meant by a word that is not there; empty where nothing comes near."""
    near = nearest(word, among)
    return f"; did you mean {near}?" if near else ""


def nearest(word: str, among: Iterable[str]) -> str:
    """The word that may have been meant; empty where nothing comes near."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(among), n=1)), "")


def _exits(codes: Sequence[ExitCode]) -> str:
    return "\n".join(["exit codes:", *(f"  {code:<4} {MEANINGS[code]}" for code in codes)])
