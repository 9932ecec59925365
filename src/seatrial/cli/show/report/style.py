"""How the page of a report looks, by day and by night, on a wide page and on a phone.

Law of this file: every colour has a name and both meanings, and what is written in a colour can be read on what is
behind it. Tests: tests/cli/test_report_page.py
"""

from __future__ import annotations

from typing import Final

COLOURS: Final = """
:root { color-scheme: light dark; --page: #f5f7f9; --card: #ffffff; --text: #1c2733; --soft: #556473; --faint: #e3e8ee;
  --grey: #66727e; --on: #ffffff; --green: #1b7349; --amber: #945800; --red: #b53434; --blue: #3167b0; --teal: #1d6f86;
  --violet: #7048a8; --olive: #6c6a12; --pink: #a8337c; --slate: #47688c }
@media (prefers-color-scheme: dark) {
  :root { --page: #11161c; --card: #1a2129; --text: #e6edf3; --soft: #9fb0c0; --faint: #2c3641; --grey: #93a1af;
    --on: #11161c; --green: #45c48a; --amber: #e0a040; --red: #f0837d; --blue: #6ba3ee; --teal: #5bbfd6;
    --violet: #b494ea; --olive: #c8c260; --pink: #ea8cc6; --slate: #94b8dc } }
"""
PICTURES: Final = """
svg text { font: 13px system-ui, "Segoe UI", "Noto Sans", sans-serif; fill: var(--soft) }
svg text.on { fill: var(--on); font-weight: 600 } svg text.strong { fill: var(--text); font-weight: 600 }
.line { fill: none; stroke: var(--faint) } .line.axis { stroke: var(--grey) }
.line.look { stroke: var(--grey); stroke-dasharray: 3 3 }
.line.done { stroke: var(--green); stroke-width: 2 } .line.failed { stroke: var(--red); stroke-width: 2 }
.proposed, .paused { fill: var(--grey) } .canary { fill: var(--amber) } .gating { fill: var(--teal) }
.baking { fill: var(--blue) } .waving { fill: var(--violet) } .promoting, .done { fill: var(--green) }
.reverting, .reverted, .failed { fill: var(--red) } .emptying { fill: var(--olive) } .driver { fill: var(--pink) }
.proving { fill: var(--slate) } .work { fill: var(--pink); opacity: .75 } .line.done, .line.failed { fill: none }
"""
STYLE: Final = (
    COLOURS
    + PICTURES
    + """
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--text) }
body { font: 15px/1.55 system-ui, "Segoe UI", "Noto Sans", sans-serif }
main { max-width: 1120px; margin: 0 auto; padding: 32px 24px 48px }
h1 { font-size: 27px; margin: 0 0 4px; letter-spacing: -.01em; line-height: 1.25; overflow-wrap: anywhere }
h2 { font-size: 17px; margin: 0 0 4px } h3 { font-size: 14px; margin: 16px 0 2px; color: var(--soft); font-weight: 600 }
p, li { margin: 0 0 6px; overflow-wrap: anywhere } ul { margin: 6px 0 0; padding-left: 20px }
.soft { color: var(--soft) } code { font-size: 13px; overflow-wrap: anywhere }
.card { background: var(--card); border: 1px solid var(--faint); border-radius: 10px; padding: 20px 24px }
.card { margin-top: 18px } .verdict { border-left: 5px solid var(--grey) }
.verdict.well { border-left-color: var(--green) }
.verdict.left, .verdict.held { border-left-color: var(--amber) }
.verdict.reverted, .verdict.refused { border-left-color: var(--red) }
.verdict strong { font-size: 18px; display: block; line-height: 1.45; overflow-wrap: anywhere }
.figures { display: flex; flex-wrap: wrap; gap: 12px 44px; margin: 14px 0 4px }
.figures b { display: block; font-size: 23px; font-weight: 650; letter-spacing: -.01em }
.figures b.unknown { color: var(--soft); font-weight: 500 } .figures span { color: var(--soft); font-size: 13px }
.keys { display: flex; flex-wrap: wrap; gap: 2px 18px; margin: 6px 0 0; padding: 0; list-style: none; font-size: 13px }
.keys li { color: var(--soft); margin: 0 }
svg { display: block; width: 100%; height: auto; margin-top: 8px } svg.narrow { display: none }
.keys svg { display: inline-block; width: 11px; height: 11px; margin: 0 6px 0 0 }
table { border-collapse: collapse; width: 100%; margin-top: 8px; font-size: 14px; font-variant-numeric: tabular-nums }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: 13px; padding: 6px 14px 6px 0 }
th { border-bottom: 2px solid var(--faint) }
td { padding: 6px 14px 6px 0; border-bottom: 1px solid var(--faint); vertical-align: top; overflow-wrap: anywhere }
td.fixed { white-space: nowrap; width: 1%; padding-right: 28px }
.pass { color: var(--green) } .fail { color: var(--red) } .open { color: var(--amber) }
.pass, .fail, .open { font-weight: 600 }
footer { color: var(--soft); font-size: 13px; margin-top: 20px; overflow-wrap: anywhere }
@media (max-width: 760px) {
  main { padding: 20px 12px 32px } h1 { font-size: 22px } .card { padding: 14px 12px }
  .figures { gap: 10px 28px } .figures b { font-size: 19px }
  svg.wide { display: none } svg.narrow { display: block; max-width: 520px }
  table, tbody, tr, td { display: block } tr.head { display: none } td { border: 0; padding: 0 }
  td.fixed { white-space: normal; width: auto; padding: 0 } tr { border-bottom: 1px solid var(--faint); padding: 8px 0 }
  tr:last-child { border-bottom: 0 } td:first-child { font-weight: 600 }
  td:empty { display: none }
  td[data-name]:not(:first-child)::before { content: attr(data-name) ": "; color: var(--soft) }
}
@media print { .card { break-inside: avoid } }
"""
)
