// SPDX-License-Identifier: Apache-2.0
// examples/zrt/plan_style.hpp: how the page of a plan looks.
#pragma once

namespace program::drawing {

inline constexpr const char* kStyle = R"css(
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2933; max-width: 1180px; margin: 32px auto; padding: 0 24px; }
h1 { font-size: 28px; margin: 0; }
h2 { font-size: 20px; margin: 44px 0 6px; }
h3 { font-size: 16px; margin: 24px 0 4px; }
p { margin: 6px 0 12px; max-width: 78ch; }
.dim, small { color: #616e7c; }
code, .op, .type { font-family: ui-monospace, monospace; }
.tiles { display: grid; grid-template-columns: repeat(6, 1fr); gap: 12px; margin: 20px 0 0; }
.tile { border: 1px solid #dfe3e8; border-radius: 8px; padding: 10px 14px; }
.tile b { display: block; font-size: 20px; }
.key span { display: inline-block; margin-right: 18px; }
.key i {
  display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 6px; vertical-align: -1px;
  border: 1px solid #0002;
}
.strip { display: flex; height: 34px; margin: 10px 0 18px; gap: 1px; }
.strip div { min-width: 1px; overflow: hidden; display: flex; position: relative; }
.strip div span, .bar span { height: 100%; }
.bar span { min-width: 1px; }
.strip b {
  position: absolute; left: 0; right: 0; top: 6px; text-align: center; color: #fff; font-size: 12px;
  font-weight: 600;
}
.weights { background: #5b7cc4; }
.pages { background: #e0a33a; }
.activations { background: #58a777; }
details.box { border: 1px solid #cfd6dd; border-radius: 8px; margin: 0 0 18px; background: #fff; position: relative; }
details.box:not(:last-of-type)::after {
  content: ""; position: absolute; left: 28px; bottom: -18px; height: 17px; border-left: 2px solid #b6bfc8;
}
summary { cursor: pointer; list-style-position: inside; }
details.box > summary {
  display: grid; grid-template-columns: 330px 1fr 190px; align-items: center; gap: 14px; padding: 10px 14px;
  font-weight: 600;
}
details.box > summary::before, details.insn > summary::before {
  content: "▸"; position: absolute; margin-left: -2px; color: #7b8794;
}
details.box[open] > summary::before, details.insn[open] > summary::before { content: "▾"; }
details.box > summary > :first-child, details.insn > summary > :first-child { padding-left: 18px; }
details.box .times {
  display: inline-block; margin-left: 8px; padding: 0 8px; border-radius: 10px; background: #1f2933; color: #fff;
  font-size: 13px;
}
p.note { margin: 0 14px 8px 32px; font-size: 14px; }
details.insn { border-top: 1px solid #eceff2; }
details.insn > summary {
  display: grid; grid-template-columns: 330px 1fr 190px; align-items: center; gap: 14px; padding: 5px 14px;
  font-size: 14px;
}
details.insn > summary:hover, details.box > summary:hover { background: #f6f8fa; }
.op { padding: 1px 7px; border-radius: 5px; }
.bytes { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bar { display: flex; height: 14px; background: #f0f2f5; border-radius: 3px; overflow: hidden; }
table { border-collapse: collapse; font-size: 14px; margin: 4px 0 12px; }
td, th { text-align: left; padding: 3px 18px 3px 0; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
tr.heap td { font-weight: 600; border-top: 1px solid #dfe3e8; padding-top: 8px; }
details.insn table { margin: 2px 14px 12px 32px; }
td.bar-cell { width: 340px; padding-right: 0; }
.scroll { overflow-x: auto; border: 1px solid #dfe3e8; border-radius: 8px; padding: 8px; }
svg { display: block; font: 11px system-ui, sans-serif; }
.band { fill: #f6f7f9; }
.band.layer { fill: #eef2fb; }
.register { stroke: #0005; stroke-width: 0.8; }
.scratch { fill: url(#hatch); stroke: #8a94a0; stroke-width: 0.8; stroke-dasharray: 3 2; }
.all .register, .all .scratch { stroke-width: 0.3; stroke-dasharray: none; }
.tick { stroke: #cbd2d9; stroke-width: 0.6; }
.byte { text-anchor: end; fill: #616e7c; }
.head { text-anchor: middle; font-weight: 600; }
.in { text-anchor: middle; pointer-events: none; }
.op-name, text.op { text-anchor: end; fill: #3e4c59; font-family: inherit; }
)css";

}  // namespace program::drawing
