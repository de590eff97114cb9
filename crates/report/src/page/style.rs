//! How the page looks: one style sheet for light and dark, wide and narrow, and the few lines of script.

/// The style sheet. The colours are those of Okabe and Ito (Color Universal Design, 2008), which readers with any
/// colour vision can tell apart, darkened for white paper and lightened for dark; the eighth is a neutral grey.
pub const STYLE: &str = r"
:root{color-scheme:light dark;--ink:#1d2329;--soft:#5a6570;--line:#dde2e7;--paper:#f6f7f9;--card:#fff;--good:#e3f3ea;--goodink:#0b5c3b;--bad:#fbe7df;--badink:#8f2d0a;
--p0:#0072b2;--p1:#d55e00;--p2:#009e73;--p3:#b8508f;--p4:#d99200;--p5:#4aa8df;--p6:#6a4fa3;--p7:#8a9099}
@media(prefers-color-scheme:dark){:root{--ink:#e6eaee;--soft:#a3adb8;--line:#353d46;--paper:#14181c;--card:#1d2329;--good:#17382a;--goodink:#8fe3b8;--bad:#43241a;--badink:#ffb59a;
--p0:#4ea6e6;--p1:#f0813f;--p2:#2ec79a;--p3:#e28dbf;--p4:#f0b93a;--p5:#92d2f8;--p6:#b69ae8;--p7:#8d959e}}
*{box-sizing:border-box}
body{margin:0 auto;padding:24px 20px 60px;max-width:1400px;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}
h1{font-size:1.7rem;line-height:1.2;margin:.2em 0}h2{font-size:1.2rem;margin:2em 0 .6em}h3{font-size:1rem;margin:1.4em 0 .5em}
p{margin:.3em 0;max-width:75ch}.soft,figcaption span,.card p{color:var(--soft)}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(210px,1fr));gap:12px}
.card,figure,.table,details{background:var(--card);border:1px solid var(--line);border-radius:10px}
.card{padding:12px 14px}.card b{display:block;font-size:1.55rem;line-height:1.25;font-variant-numeric:tabular-nums}.card h3{margin:0;font-size:.9rem;font-weight:600}.card p{font-size:.83rem;line-height:1.4;margin:.35em 0 0}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,460px),1fr));gap:14px}
.gap{margin-top:14px}.narrow{max-width:560px}.narrow tbody th{font-weight:400}
.small{grid-template-columns:repeat(auto-fill,minmax(min(100%,300px),1fr))}
figure{margin:0;padding:12px 14px;min-width:0}figcaption{margin-bottom:6px;line-height:1.35}figcaption b{display:block}figcaption span{font-size:.85rem}
figure .scroll,.table{overflow-x:auto}figure .wide{min-width:720px}
svg{display:block;width:100%;height:auto;font:13px system-ui,sans-serif;fill:var(--soft)}svg .axis{font-weight:600}.small svg{font-size:12px}
.grid{stroke:var(--line)}.mark{stroke:var(--ink);stroke-dasharray:4 4;opacity:.65}.word{fill:var(--ink);paint-order:stroke;stroke:var(--card);stroke-width:3px}
.line{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round}.area{fill:var(--c);fill-opacity:.42;stroke:none}.bar{fill:var(--c);stroke:var(--card);stroke-width:.6}.heat{fill:var(--c)}.dot{fill:var(--c);stroke:var(--card);stroke-width:1.5}
.thin{stroke-width:1.2;stroke-dasharray:none}.ink{--c:var(--ink)}.dashed{stroke-dasharray:5 3;stroke-width:1.6}.row{fill:var(--paper)}
.c0{--c:var(--p0)}.c1{--c:var(--p1)}.c2{--c:var(--p2)}.c3{--c:var(--p3)}.c4{--c:var(--p4)}.c5{--c:var(--p5)}.c6{--c:var(--p6)}.c7{--c:var(--p7)}
.d1{stroke-dasharray:7 3}.d2{stroke-dasharray:2 3}.d3{stroke-dasharray:8 3 2 3}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;margin:8px 0 0;padding:0;list-style:none;font-size:.86rem}.legend svg{display:inline-block;width:26px;height:10px;margin-right:6px;vertical-align:middle}
.legend li{cursor:default}.fade{opacity:.1}
table{border-collapse:collapse;width:100%;font-size:.88rem;font-variant-numeric:tabular-nums}th,td{padding:7px 9px;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}tr:last-child td,tr:last-child th{border-bottom:0}
th:first-child,td:first-child{text-align:left}thead th{color:var(--soft);font-weight:600;vertical-align:bottom;white-space:normal;line-height:1.3}tbody th{font-weight:600}td.best{background:var(--good);color:var(--goodink);font-weight:700}td.bad{background:var(--bad);color:var(--badink);font-weight:700}
table small{display:block;font-size:.85em;font-weight:400;opacity:.85}.audit th small{white-space:normal;min-width:200px}.audit th:last-child{text-align:left}
.compare table{font-size:.8rem}.compare th,.compare td{padding:6px 5px}.compare th:first-child{padding-left:12px;position:sticky;left:0;background:var(--card)}
details{padding:10px 14px;margin:10px 0}summary{cursor:pointer;font-weight:600}details .table{margin-top:10px;border:0}td.says{white-space:normal;text-align:left;min-width:260px;color:var(--soft)}
@media(max-width:600px){body{padding:14px 12px 40px}h1{font-size:1.4rem}.cards{grid-template-columns:1fr 1fr;gap:8px}.card{padding:10px}.card b{font-size:1.25rem}figure{padding:10px}svg{font-size:15px}.small svg{font-size:11px}figure .wide svg{font-size:13px}.audit th,.audit td{padding:6px 5px}.audit th small{min-width:120px}}
@media print{details{break-inside:avoid}}
";

/// Pointing at a name in a legend fades the other curves of its figure.
pub const SCRIPT: &str = r"
for(const f of document.querySelectorAll('figure')){const s=[...f.querySelectorAll('[data-run]')];
for(const l of f.querySelectorAll('.legend [data-key]')){
l.onmouseenter=()=>s.forEach(e=>e.classList.toggle('fade',e.dataset.run!==l.dataset.key));
l.onmouseleave=()=>s.forEach(e=>e.classList.remove('fade'))}}
";
