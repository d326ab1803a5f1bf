// The stepper of chapter 5: one unit, three steps, forward and then backward, one line at a time.
// Keys of the model: those of BPTT.start, and lang. `at` counts the lines: 8 for each step forward, then 11 for
// each step backward, from the last step to the first.
import BPTT from "./bptt.json";
import { clamp, gruStep, gruStepBackward } from "./gru-math.mjs";
import {
  announcer, enliven, fill, fixed, fromText, furnish, num, presetRow, showInputs, slider, sub, uniqueId, wordsFor,
} from "./explorer.mjs";

const T = 3;
const [F, B] = [BPTT.forward.length, BPTT.backward.length];
const LAST = T * (F + B) - 1;
const KEYS = Object.keys(BPTT.start);
const PARAMETERS = KEYS.filter((key) => /^[Wb]_/.test(key));

/** The range of a key of the state. */
function rangeOf(key) {
  if (key === "at") return [0, LAST];
  const limit = BPTT.limits[key.replace(/_.*|\d/, "")];
  return [-limit, limit];
}

/** Where line number `at` is: { t, back, key, nth } with nth the line's place within its step. */
function place(at) {
  const back = at >= T * F;
  const [step, nth] = back ? [Math.floor((at - T * F) / B), (at - T * F) % B] : [Math.floor(at / F), at % F];
  return { t: back ? T - step : step + 1, back, nth, key: BPTT[back ? "backward" : "forward"][nth] };
}

/** The number of the line `key` at step t. */
function lineNumber(key, t) {
  const nth = BPTT.backward.indexOf(key);
  return nth < 0 ? (t - 1) * F + BPTT.forward.indexOf(key) : T * F + (T - t) * B + nth;
}

/** The three steps, forward and backward: an array with steps[t] for t = 1, 2, 3, of plain numbers. */
function run(s) {
  const p = { convention: "keep", reset_after: false };
  for (const key of PARAMETERS) p[key] = key[0] === "W" ? [[s[key]]] : [s[key]];
  const plain = (arrays) => Object.fromEntries(Object.entries(arrays).map(([k, v]) => [k, [v].flat(2)[0]]));
  const steps = [{ h: s.h0 }];
  const caches = [];
  for (let t = 1; t <= T; t++) {
    const [x, h_prev] = [s[`x${t}`], steps[t - 1].h];
    caches[t] = gruStep([x], [h_prev], p);
    steps[t] = { ...plain(caches[t]), x, h_prev };
  }
  let next = 0;
  for (let t = T; t >= 1; t--) {
    const dh = s[`out${t}`] + next;
    const { terms, grads, ...rest } = gruStepBackward([dh], [steps[t].x], [steps[t].h_prev], caches[t], p);
    const back = { ...plain(rest), terms: terms.map(([v]) => v), grads: plain(grads) };
    Object.assign(steps[t], back, { dh, next, out: s[`out${t}`] });
    next = back.dh_prev;
  }
  return steps;
}

/** A preset fixes a gate by its bias, as the gate explorer does; weights of the candidate and inputs stay. */
function preset(name) {
  const patch = {};
  for (const gate of "rz") {
    const bias = BPTT.presets[name][gate];
    for (const key of [`W_x${gate}`, `W_h${gate}`, `b_${gate}`]) {
      const held = key[0] === "b" ? bias : 0;
      patch[key] = bias === undefined ? BPTT.start[key] : held;
    }
  }
  return patch;
}

/** What a link sets: keys of the state, or preset=name. Anything else is dropped. */
function fromLink(get, asked) {
  const patch = Object.hasOwn(BPTT.presets, asked.preset ?? "") ? preset(asked.preset) : {};
  for (const key of KEYS) {
    const value = asked[key] === undefined ? undefined : fromText(asked[key], rangeOf(key));
    if (value !== undefined) patch[key] = key === "at" ? Math.round(value) : value;
  }
  return patch;
}

// ------------------------------------------------------------------------------------------------ the lines

const dye = (role, content) => `<span class="ex-${role}">${content}</span>`;
const grad = (name) => dye("g", `<i>δ</i><sub>${name}</sub>`);
const w = (key) => sub(key[0].toLowerCase(), key.slice(2));
const indexed = (letter, t) => letter + "₀₁₂₃"[t]; // in running text
const signed = (v) => fixed(v).replace(/^−.*/, "($&)"); // a minus sign in brackets

/** Every line of step t: { symbol, formula, numbers, value, terms: [[word, value] …] }; HTML and numbers. */
function linesOf(c, t, s, words) {
  const [x, h, hp] = [dye("x", sub("x", t)), dye("h", sub("h", t)), dye("h", sub("h", t - 1))];
  const [r, z, n, q] = [dye("r", sub("r", t)), dye("z", sub("z", t)), dye("n", sub("n", t)), sub("q", t)];
  const a = (gate) => sub("a", gate);
  const g = (gate) => grad(`<i>a</i><sub><i>${gate}</i></sub>`);
  const [dh, dhp] = [grad(`<i>h</i><sub>${t}</sub>`), grad(`<i>h</i><sub>${t - 1}</sub>`)];
  const through = (name) => fill(words.through, { name });
  const pre = (gate, past, symbol) => ({
    symbol: a(gate), value: c[`a_${gate}`],
    formula: `${x} ${w(`W_x${gate}`)} + ${symbol} ${w(`W_h${gate}`)} + ${w(`b_${gate}`)}`,
    numbers: `${fixed(c.x)} · ${signed(s[`W_x${gate}`])} + ${signed(past)} · ${signed(s[`W_h${gate}`])} + ` +
      signed(s[`b_${gate}`]),
  });
  const squash = (gate, symbol, f) =>
    ({ symbol, formula: `${f}(${a(gate)})`, numbers: `${f}(${fixed(c[`a_${gate}`])})`, value: c[gate] });
  return {
    ar: pre("r", c.h_prev, hp), r: squash("r", r, "σ"),
    az: pre("z", c.h_prev, hp), z: squash("z", z, "σ"),
    q: { symbol: q, formula: `${r} ${hp}`, numbers: `${fixed(c.r)} · ${signed(c.h_prev)}`, value: c.q },
    an: pre("n", c.q, q), n: squash("n", n, "tanh"),
    h: {
      symbol: h, formula: `${z} ${hp} + (1 − ${z}) ${n}`, value: c.h,
      numbers: `${fixed(c.z)} · ${signed(c.h_prev)} + ${fixed(c.write)} · ${signed(c.n)}`,
    },
    dh: {
      symbol: dh, formula: `${dh}<sup>out</sup> + ${dh}<sup>next</sup>`, value: c.dh,
      numbers: `${fixed(c.out)} + ${signed(c.next)}`, terms: [[words.output, c.out], [words.later, c.next]],
    },
    dz: {
      symbol: grad("<i>z</i>"), formula: `${dh} (${hp} − ${n})`, value: c.dz,
      numbers: `${fixed(c.dh)} · (${fixed(c.h_prev)} − ${signed(c.n)})`,
    },
    daz: {
      symbol: g("z"), formula: `${grad("<i>z</i>")} ${z} (1 − ${z})`, value: c.da_z,
      numbers: `${fixed(c.dz)} · ${fixed(c.z)} · ${fixed(c.write)}`,
    },
    dn: {
      symbol: grad("<i>n</i>"), formula: `${dh} (1 − ${z})`, value: c.dn,
      numbers: `${fixed(c.dh)} · ${fixed(c.write)}`,
    },
    dan: {
      symbol: g("n"), formula: `${grad("<i>n</i>")} (1 − ${n}<sup>2</sup>)`, value: c.da_n,
      numbers: `${fixed(c.dn)} · (1 − ${fixed(c.n * c.n)})`,
    },
    dq: {
      symbol: grad("<i>q</i>"), formula: `${g("n")} ${w("W_hn")}`, value: c.dq,
      numbers: `${fixed(c.da_n)} · ${signed(s.W_hn)}`,
    },
    dr: {
      symbol: grad("<i>r</i>"), formula: `${grad("<i>q</i>")} ${hp}`, value: c.dr,
      numbers: `${fixed(c.dq)} · ${signed(c.h_prev)}`,
    },
    dar: {
      symbol: g("r"), formula: `${grad("<i>r</i>")} ${r} (1 − ${r})`, value: c.da_r,
      numbers: `${fixed(c.dr)} · ${fixed(c.r)} · ${fixed(1 - c.r)}`,
    },
    dx: {
      symbol: grad(`<i>x</i><sub>${t}</sub>`), value: c.dx,
      formula: ["r", "z", "n"].map((gate) => `${g(gate)} ${w(`W_x${gate}`)}`).join(" + "),
      numbers: [..."rzn"].map((gate) => signed(c[`da_${gate}`] * s[`W_x${gate}`])).join(" + "),
      terms: [..."rzn"].map((gate) => [through(gate), c[`da_${gate}`] * s[`W_x${gate}`]]),
    },
    dhprev: {
      symbol: dhp, value: c.dh_prev,
      formula: `${dh} ${z} + ${g("z")} ${w("W_hz")} + ${g("r")} ${w("W_hr")} + ${grad("<i>q</i>")} ${r}`,
      numbers: c.terms.map(signed).join(" + "),
      terms: c.terms.map((v, i) => [i ? through("zrq"[i - 1]) : words.kept, v]),
    },
    params: { formula: words.params },
  };
}

/** The name of a line's result in running text. */
function spoken(key, t, words) {
  const name = {
    h: indexed("h", t), dh: indexed("h", t), dhprev: indexed("h", t - 1), dx: indexed("x", t),
  }[key] ?? (/a[rzn]$/.test(key) ? fill(words.pre, { name: key.at(-1) }) : key.at(-1));
  return key[0] === "d" ? fill(words.gradient, { name }) : name;
}

function sentence(key, t, line, words) {
  const number = BPTT.equations[key][1];
  const pass = words[BPTT.forward.includes(key) ? "forward" : "backward"];
  const head = fill(words.line, { number, pass, t }) + words.space; // none after a Chinese full stop
  if (key === "params") return head + words.params + words.stop;
  const result = { name: spoken(key, t, words), value: fixed(line.value) };
  if (!line.terms) return head + fill(words.is, result);
  const named = line.terms.map(([word, v]) => `${word} ${fixed(v)}`);
  const terms = named.slice(0, -1).join(words.comma) + words.and + named.at(-1);
  return head + fill(words.sum, { ...result, terms });
}

// ------------------------------------------------------------------------------------------------ the drawings

const label = (cls, x, y, anchor, content) =>
  `<text class="${cls}" x="${num(x)}" y="${num(y)}" text-anchor="${anchor}">${content}</text>`;
const stroke = (cls, points) =>
  `<path class="${cls}" d="M${points.map(([x, y]) => `${num(x)} ${num(y)}`).join("L")}"/>`;
const index = (letter, i) =>
  `${letter}<tspan class="ex-sub" dy="4">${i}</tspan><tspan dy="-4">\u200b</tspan>`;

/**
 * Three steps: states above, gradients below, the four terms of each step between them. Bars are drawn from a
 * midline, solid up to the right, hollow to the left; one unit is twice `half`. bptt.py draws the same.
 *
 * @param {object[]} steps what run made
 * @param {number} at lines later than this one are not drawn
 * @param {object} L the strip's layout
 */
function drawStrip(steps, at, L) {
  const out = [];
  const node = (t) => L.first + t * L.gap;
  const { t: now } = place(at);
  for (let t = 0; t <= T; t++) {
    const reached = t === 0 || lineNumber("h", t) <= at;
    const dh = t === T || t > 0 ? steps[t].dh : steps[1].dh_prev;
    const returned = at >= (t > 0 ? lineNumber("dh", t) : lineNumber("dhprev", 1));
    out.push(label("ex-sym ex-h", node(t), 14, "middle", index("h", t)));
    if (reached) out.push(label("ex-num ex-h", node(t), 34, "middle", fixed(steps[t].h)));
    out.push(label("ex-sym ex-g", node(t), 128, "middle", index("δ", `h${t}`)));
    if (returned) out.push(label("ex-num ex-g", node(t), 148, "middle", fixed(dh)));
    if (t === 0) continue;
    const middle = node(t) - L.gap / 2 - L.shift;
    const [left, right] = [node(t - 1) + 26, node(t) - 26];
    out.push(stroke("ex-axis", [[left, 10], [right, 10]]), stroke("ex-axis", [[right - 5, 6], [right, 10], [right - 5, 14]]));
    out.push(stroke("ex-back", [[right, 124], [left, 124]]), stroke("ex-back-head", [[left + 5, 120], [left, 124], [left + 5, 128]]));
    const done = at >= lineNumber("dhprev", t);
    out.push(stroke("ex-axis", [[middle, 36], [middle, 112]]));
    steps[t].terms.forEach((v, i) => {
      const y = 45 + 19 * i;
      out.push(label("ex-small", middle - L.half - 5, y + 4.5, "end", String(i + 1)));
      if (!done) return;
      const size = Math.min(Math.abs(v), 1) * L.half;
      const x = v < 0 ? middle - size : middle;
      out.push(`<rect class="ex-bar ${v < 0 ? "ex-minus" : ""}" x="${num(x)}" y="${num(y - 4)}" width="${num(size)}" height="8"/>`);
      out.push(label("ex-part ex-g", middle + L.half + 4, y + 4.5, "start", fixed(v)));
    });
  }
  const left = node(now - 1) + L.inset;
  out.push(`<rect class="ex-frame" x="${num(left)}" y="38" width="${num(L.gap - 2 * L.inset)}" height="77" rx="2"/>`);
  return out.join("");
}

const EDGES = [
  "h_prev>h", "h_prev>a_z", "h_prev>a_r", "h_prev>q", "a_z>z", "z>h", "q>a_n", "a_n>n", "n>h", "a_r>r", "r>q",
  "x>a_r", "x>a_z", "x>a_n",
];
const SYMBOL = { a_r: ["a", "r"], a_z: ["a", "z"], a_n: ["a", "n"] };
const ROLE = { h_prev: "h", h: "h", z: "z", r: "r", n: "n" };
const MADE = { h: "h", a_z: "az", z: "z", q: "q", a_n: "an", n: "n", a_r: "ar", r: "r" }; // node: forward line
const UNMADE = { h_prev: "dhprev", h: "dh", a_z: "daz", z: "dz", q: "dq", a_n: "dan", n: "dn", a_r: "dar", r: "dr" };

/** Where the way from the middle of a frame, w by 40, towards `to` leaves it. */
function edgeOf([x, y], to, wide, high) {
  const [dx, dy] = [to[0] - x, to[1] - y];
  const share = Math.min(wide / 2 / Math.abs(dx || 1e-9), high / 2 / Math.abs(dy || 1e-9));
  return [x + dx * share, y + dy * share];
}

function arrow(cls, from, to) {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const size = Math.hypot(dx, dy);
  const [ux, uy] = [dx / size, dy / size];
  const wing = (side) => [to[0] - 7 * ux + side * 4 * uy, to[1] - 7 * uy - side * 4 * ux];
  return stroke(cls, [from, to]) + stroke(`${cls} ex-head`, [wing(1), to, wing(-1)]);
}

/** The graph of step t with what is known at line `at`; the arrows of that line are marked. */
function drawGraph(c, at, line, L) {
  const { t, back, key } = place(at);
  const high = 40;
  const value = { ...c, h_prev: c.h_prev };
  const d = {
    h_prev: c.dh_prev, h: c.dh, a_z: c.da_z, z: c.dz, q: c.dq, a_n: c.da_n, n: c.dn, a_r: c.da_r, r: c.dr,
  };
  const marked = BPTT.edges[key];
  const parts = line.terms ?? [];
  const notes = [];
  const edges = EDGES.map((name) => {
    const [tail, head] = name.split(">");
    const from = tail === "x" ? L.x[head] : L.nodes[tail];
    const to = L.nodes[head];
    const a = tail === "x" ? edgeOf(from, to, 24, 22) : edgeOf(from, to, L.w, high);
    const b = edgeOf(to, from, L.w + 4, high + 4);
    const nth = marked.indexOf(name);
    if (nth < 0) return arrow("ex-edge", a, b);
    if (back && parts[nth]) {
      const share = L.on[name] ?? 0.5;
      const at = [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share];
      const number = key === "dhprev" ? `<tspan class="ex-path">${nth + 1}:</tspan> ` : "";
      notes.push(label("ex-note-g ex-g", at[0], at[1] + 4.5, "middle", `${number}${fixed(parts[nth][1])}`));
    }
    return back ? arrow("ex-edge ex-back", b, a) : arrow("ex-edge ex-now", a, b);
  });
  const here = back ? Object.keys(UNMADE).find((name) => UNMADE[name] === key)
    : Object.keys(MADE).find((name) => MADE[name] === key);
  const nodes = Object.entries(L.nodes).map(([name, [x, y]]) => {
    const known = name === "h_prev" || lineNumber(MADE[name], t) <= at;
    const returned = lineNumber(UNMADE[name], t) <= at;
    const role = ROLE[name] ?? "ink";
    const [letter, i] = SYMBOL[name] ?? [name[0], name === "h_prev" ? t - 1 : t];
    const left = x - L.w / 2;
    const on = name === here || (key === "params" && name[0] === "a");
    return (
      `<g class="ex-node ex-${role}${on ? " ex-on" : ""}"><rect x="${num(left)}" y="${y - high / 2}" ` +
      `width="${L.w}" height="${high}" rx="3"/>` +
      label("ex-sym", left + 5, y - 3, "start", index(letter, i)) +
      (known ? label("ex-num", left + L.w - 4, y - 3, "end", fixed(value[name])) : "") +
      (returned ? label("ex-it ex-g", left + 6, y + 15, "start", "δ") +
        label("ex-num ex-g", left + L.w - 4, y + 15, "end", fixed(d[name])) : "") +
      "</g>"
    );
  });
  const xs = Object.values(L.x).map(([x, y]) => label("ex-sym ex-x", x, y + 5, "middle", index("x", t)));
  return edges.join("") + nodes.join("") + xs.join("") + notes.join("");
}

// ------------------------------------------------------------------------------------------------ the page

/** One row of the list: number, equation, numbers, result; a button that goes there. */
function rowHTML(key, line, known, now) {
  const [, number] = BPTT.equations[key];
  const result = key === "params" || !known ? "" : `= <b>${fixed(line.value)}</b>`;
  const numbers = key === "params" || !known ? "" : `= ${line.numbers}`;
  const formula = key === "params" ? line.formula : `${line.symbol} = ${line.formula}`;
  return (
    `<li${now ? ' class="ex-on" aria-current="step"' : ""}><button type="button" data-line="${key}" data-lm-suppress-shortcuts="true">` +
    `<span class="ex-eq">(${number})</span><span class="ex-formula">${formula}</span>` +
    `<span class="ex-numbers">${numbers}</span><span class="ex-result">${result}</span></button></li>`
  );
}

/** The terms of the line at hand, a bar for each; or the table of the parameters' gradients. */
function termsHTML(key, line, steps, t, words) {
  if (key === "params") {
    const soFar = (name) => steps.slice(t).reduce((sum, step) => sum + step.grads[name], 0);
    const cell = (name) =>
      `<tr><th scope="row">${grad(`<i>${name[0].toLowerCase()}</i><sub><i>${name.slice(2)}</i></sub>`)}</th>` +
      `<td>${fixed(steps[t].grads[name])}</td><td>${fixed(soFar(name))}</td></tr>`;
    return (
      `<table><thead><tr><td></td><th scope="col">${words.here}</th><th scope="col">${words.total}</th></tr></thead>` +
      `<tbody>${PARAMETERS.map(cell).join("")}</tbody></table>`
    );
  }
  const bar = (v) => {
    const size = 50 * Math.min(Math.abs(v), 1);
    return `<span class="ex-bar${v < 0 ? " ex-minus" : ""}" style="left:${num(v < 0 ? 50 - size : 50)}%;width:${num(size)}%"></span>`;
  };
  const row = ([word, v], i) =>
    `<div class="ex-term"><span>${key === "dhprev" ? `${i + 1}: ` : ""}${word}</span>` +
    `<span class="ex-channel">${bar(v)}</span><span class="ex-value ex-g">${fixed(v)}</span></div>`;
  return (line.terms ?? []).map(row).join("");
}

function pageHTML(id, words) {
  const symbol = { x: (i) => sub("x", i), h: (i) => sub("h", i) };
  const one = (key, role, name, content) =>
    slider({ id, key, range: rangeOf(key), step: 0.01, symbol: content, name, role });
  const given = ["x1", "x2", "x3"].map((key) => one(key, "x", "", symbol.x(key[1]))).join("");
  const column = (gate) =>
    `<fieldset><legend>${words[gate]}</legend>` +
    PARAMETERS.filter((key) => key.endsWith(gate)).map((key) => one(key, gate, "", w(key))).join("") + "</fieldset>";
  const outs = [1, 2, 3].map((t) =>
    one(`out${t}`, "g", "", `<i>δ</i><sub><i>h</i><sub>${t}</sub></sub>`)).join("");
  return (
    presetRow(Object.keys(BPTT.presets), words) +
    `<svg class="ex-strip" role="img" aria-label="${words.strip}"></svg>` +
    `<div class="ex-steps"><button type="button" data-move="-1">${words.back}</button>` +
    `<input type="range" id="${id}-at" data-key="at" min="0" max="${LAST}" step="1" aria-label="${words.position}">` +
    `<button type="button" data-move="1">${words.next}</button></div>` +
    `<p class="ex-where"></p>` +
    `<svg class="ex-graph" role="img" aria-label="${words.graph}" aria-describedby="${id}-say"></svg>` +
    `<p class="ex-say" id="${id}-say" aria-live="polite"></p>` +
    `<div class="ex-terms"></div>` +
    `<ol class="ex-list"></ol>` +
    `<div class="ex-main"><fieldset><legend>${words.inputs}</legend>${given}` +
    `${one("h0", "h", "", symbol.h(0))}</fieldset></div>` +
    `<details><summary>${words.more}</summary><div class="ex-columns">${[..."rzn"].map(column).join("")}` +
    `<fieldset><legend>${words.outputs}</legend>${outs}</fieldset></div></details>`
  );
}

function render({ model, el }) {
  const words = wordsFor(BPTT.words, model, el);
  furnish(el, "bptt", words.title, pageHTML(uniqueId("bptt"), words));
  const find = (selector) => el.querySelector(selector);
  const [strip, graph, terms, list, where] = [".ex-strip", ".ex-graph", ".ex-terms", ".ex-list", ".ex-where"].map(find);
  const voice = announcer(find(".ex-say"));

  function paint(s, slim) {
    const at = Math.round(clamp(s.at, 0, LAST));
    const { t, back, key } = place(at);
    const steps = run(s);
    const L = BPTT.layout[slim ? "slim" : "wide"];
    const lines = linesOf(steps[t], t, s, words);
    strip.setAttribute("viewBox", `0 0 ${L.strip.W} ${L.strip.H}`);
    strip.innerHTML = drawStrip(steps, at, L.strip);
    graph.setAttribute("viewBox", `0 0 ${L.W} ${L.H}`);
    graph.innerHTML = drawGraph(steps[t], at, lines[key], L);
    const [target, number] = BPTT.equations[key];
    const there = document.getElementById(`equation-${target}`); // in the chapter; not in a notebook
    where.innerHTML = `${words[back ? "backward" : "forward"]} · ${fill(words.step, { t })} · ` +
      (there ? `<a href="#equation-${target}">(${number})</a>` : `(${number})`);
    terms.innerHTML = termsHTML(key, lines[key], steps, t, words);

    const keys = BPTT[back ? "backward" : "forward"];
    const focused = list.contains(document.activeElement) && document.activeElement.dataset.line;
    list.setAttribute("aria-label", fill(words.lines, { t }));
    list.innerHTML = keys.map((k) => rowHTML(k, lines[k], lineNumber(k, t) <= at, k === key)).join("");
    if (focused) list.querySelector(`[data-line=${focused}]`)?.focus();

    const pass = words[back ? "backward" : "forward"];
    const position = fill(words.line, { number, pass, t });
    showInputs(el, s, (v) => fixed(v), (v, input) => (input === "at" ? position : fixed(v)));
    voice.say(sentence(key, t, lines[key], words));
  }

  const life = enliven({ model, el, start: BPTT.start, paint, voice, preset, hear: { click: onClick } });

  function onClick({ target }) {
    const { dataset } = target.closest("button") ?? { dataset: {} };
    const { t } = place(life.state.at);
    if (dataset.move) life.commit({ at: clamp(life.state.at + Number(dataset.move), 0, LAST) });
    else if (dataset.line) life.commit({ at: lineNumber(dataset.line, t) });
  }
  return life.wire();
}

/** The still picture shows no line at hand, but all of them done, and says what came back in the end. */
function still(s, lang) {
  const steps = run(s);
  const said = fill(BPTT.words[lang].still, { last: fixed(steps[T].dh), start: fixed(steps[1].dh_prev) });
  return { patch: { at: LAST }, hide: ".ex-frame", said };
}

export default { render, fromLink, still };
