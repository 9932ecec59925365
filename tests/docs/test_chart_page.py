"""The page about the values of the charts has every value, with what is said of it where it is set."""

from __future__ import annotations

from docs import chart_page


def test_a_comment_above_and_one_behind_belong_to_their_value() -> None:
    written = (
        "# Every value.\n\n"
        "image:\n"
        "  # Where it is.\n  # Two lines of it.\n  repository: x # a word\n"
        '  tag: "" # the version\n'
        "# A list.\nlist:\n  - {key: a}\nplain: 1\n"
    )
    assert chart_page.remarks_of(written) == {
        ("image", "repository"): "Where it is. Two lines of it. a word",
        ("image", "tag"): "the version",
        ("list",): "A list.",
    }


def test_every_value_of_both_charts_has_its_line() -> None:
    page = chart_page.text()
    for path in ("image.digest", "draReroll", "target.driver", "gates.podSecurity", "postInstallHooks.dra.enabled"):
        assert f"| `{path}` |" in page
    assert "`global`" not in page
    assert "| `deadlineSeconds` | integer, 120 to 86400 | `3600` | After so long the Job fails." in page
