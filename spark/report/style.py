"""The style sheet of the report: a class for the colour of each figure that the console shows, too, and `c1` to `c5`
for what only this report has.
"""

from __future__ import annotations

from typing import Final

from shareq.client.state_colours import LINES

# People who see red and green alike can distinguish the colours (after Okabe and Ito).
_OWN: Final = """
:root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--ink:#1b2330;--soft:#5d6878;--line:#e1e5ea;
--c1:#0b6bb5;--c2:#0a8a68;--c3:#d55e00;--c4:#b0468e;--c5:#8a93a0;--mark:#b3261e;--run:#444f5e}
@media (prefers-color-scheme:dark){:root{--bg:#12161c;--card:#1b2129;--ink:#e7ebf0;--soft:#98a4b3;--line:#2d3641;
--c1:#5ab0f2;--c2:#3ccaa0;--c3:#f58f43;--c4:#e08ac4;--c5:#7c8796;--mark:#ff8a80;--run:#aeb9c7}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.45 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1120px;margin:0 auto;padding:20px 16px 48px}
h1{font-size:1.5rem;margin:0 0 4px;overflow-wrap:anywhere}h2{font-size:1.2rem;margin:22px 0 2px;overflow-wrap:anywhere}
h3{font-size:1rem;margin:28px 0 6px}
.when,.note{color:var(--soft);margin:0 0 14px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(30%,150px),1fr));gap:8px;margin-bottom:14px}
.tile{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:8px 10px;display:flex;
flex-direction:column}
.tile b{font-size:1.2rem;font-variant-numeric:tabular-nums}.tile span{color:var(--soft);font-size:.85rem}
.tile i{color:var(--soft);font-size:.72rem;font-style:normal}
.flags{list-style:none;display:flex;flex-wrap:wrap;gap:4px 18px;margin:0 0 12px;padding:0;font-size:.9rem}
.flags b{display:inline-block;min-width:1.35em;height:1.35em;line-height:1.35em;border-radius:1em;text-align:center;
color:var(--card);background:var(--run);font-size:.8rem}.flags .mark b{background:var(--mark)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,400px),1fr));gap:12px}
figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 8px 4px}
figcaption{display:flex;flex-wrap:wrap;gap:2px 12px;font-size:.9rem;padding:0 6px 4px}
.key{color:var(--soft);white-space:nowrap}
.key i{display:inline-block;width:.7em;height:.7em;border-radius:2px;margin-right:.35em;background:currentColor}
svg{display:block;width:100%;height:auto}
svg text{font-size:11.5px;fill:var(--soft);font-variant-numeric:tabular-nums}
.grid{stroke:var(--line)}.axis{stroke:var(--soft)}
.c1{--c:var(--c1)}.c2{--c:var(--c2)}.c3{--c:var(--c3)}.c4{--c:var(--c4)}.c5{--c:var(--c5)}
.key i[class]{background:var(--c)}
rect[class],circle.dot{fill:var(--c)}
polyline{fill:none;stroke:var(--c);stroke-width:1.8;stroke-linejoin:round}
polygon.below{fill:var(--c);opacity:.14}
circle.hover{fill:var(--ink);opacity:0}circle.hover:hover{opacity:.35}
.flag line{stroke:var(--run);stroke-dasharray:3 3}.flag circle{fill:var(--run)}
.flag.mark line{stroke:var(--mark)}.flag.mark circle{fill:var(--mark)}
svg .flag text{fill:var(--card);font-size:9.5px;font-weight:700}
details{margin-top:14px}summary{cursor:pointer;padding:6px 0;font-weight:600}
.scroll{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:8px;max-height:70vh}
table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums;width:100%}
th,td{padding:4px 10px;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
th{position:sticky;top:0;background:var(--card);color:var(--soft);font-weight:600}
td.zero{color:var(--soft);opacity:.6}tr.first td{border-bottom:2px solid var(--run)}
.words{display:grid;grid-template-columns:max-content 1fr;gap:2px 14px;font-size:.9rem;margin:0}
.words dt{font-weight:600}.words dd{margin:0;color:var(--soft)}
@media (max-width:520px){.words{grid-template-columns:1fr}.words dd{margin-bottom:6px}main{padding:14px 10px 32px}}
@media print{body{background:#fff}figure,.tile{break-inside:avoid}}
"""
_SHARED: Final = "".join(
    f".{figure.replace(' ', '-')}{{--c:light-dark({line.tone.light},{line.tone.dark})}}\n"
    for figure, line in LINES.items()
)
STYLE: Final = _OWN + _SHARED
