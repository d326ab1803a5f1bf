// @ts-check
// The reader, drawn and told: a scene becomes the marks of the drawing and the sentence below it.
import NET from "./../results/words_net.json";
import READER from "./reader.json";
import { bar, escaped, frame, label, num, path, tank } from "./draw.mjs";
import { fill, percent } from "./explorer.mjs";
import { clamp } from "./gru-math.mjs";
import { ranked, TOKENS } from "./reader-net.mjs";
/** @import { Vector } from "./gru-math.mjs" */
/** @import { Layout, State, Words } from "./reader.mjs" */
/** @import { Reading } from "./reader-net.mjs" */

/** How it is shown: so many letters, the one looked at (0: none), beliefs on their way, the letter that most turns on (0: none). */
/** @typedef {{ shown: number, focus: number, beliefs: Vector[], hint: number }} View */
/** What is drawn: a reading, the state it is of, how it is shown, and in what layout and language. */
/** @typedef {{ o: Reading, s: State, view: View, L: Layout, words: Words }} Scene */

/** Where the columns stand. @param {Layout} L @param {number} T */
export function columnsFor(L, T) {
  const column = Math.min(L.widest, (L.right - L.left) / T);
  return { column, x: (/** @type {number} */ t) => L.left + (t - 1) * column, end: L.left + T * column };
}

/** The languages that get a band, the likeliest at the end of the word as it is at the bottom. @param {Reading} o */
function bandsOf({ base, now }) {
  const late = [...base.slice(1), ...now.slice(1), base[base.length - 1]];
  const peak = (/** @type {number} */ k) => Math.max(...late.map(({ p }) => p[k]));
  const end = base[base.length - 1].p;
  return end.map((_, k) => k).sort((a, b) => peak(b) - peak(a)).slice(0, READER.bands).sort((a, b) => end[b] - end[a]);
}

/** The lower edges of the bands after each letter, and 1: heights from the floor. @param {Vector[]} ps @param {Vector} bands */
const edgesOf = (ps, bands) => ps.map((p) => {
  let sum = 0;
  return [0, ...bands.map((k) => (sum += p[k])), 1];
});

/** What a letter is called in a sentence. @param {string[]} letters @param {number} t @param {Words} words */
export const nameOf = (letters, t, words) =>
  t > letters.length ? words.theEnd : fill(words.letter, { letter: letters[t - 1] });

/** The letters up to t without the kept one. @param {string[]} letters @param {number} t @param {number} kept */
const readUpTo = (letters, t, kept) => letters.slice(0, t).filter((_, i) => i + 1 !== kept).join("");

/** @param {Scene} it */
export function draw(it) {
  const { o, s, view, L, words } = it;
  const { letters, base, now } = o;
  const { shown, focus } = view;
  const T = now.length;
  const { column, x, end } = columnsFor(L, T);
  const middle = (/** @type {number} */ t) => x(t) + column / 2;
  const at = focus || shown; // whose numbers stand at the right
  const here = at ? now[at - 1] : undefined;
  const out = [];
  const side = end + 18;
  const bands = bandsOf(o);

  const full = Math.min(36, column - 8);
  const gateY = L.gates + 16 + L.flow / 2;
  if (L.slim) out.push(label("", 0, L.gates - 6, "start", `${words.writes} <tspan class="ex-aside" dx="4">${words.mean}</tspan>`));
  else out.push(label("", 0, gateY, "start", words.writes), label("ex-aside", 0, gateY + 16, "start", words.mean));
  now.forEach(({ write }, i) => {
    const c = middle(i + 1);
    const [left, top] = [c - full / 2, L.gates + 16];
    if (i >= shown) {
      out.push(bar("ex-tank", left, top, full, L.flow));
      return;
    }
    out.push(tank("ex-fill-n ex-written", write, { x: left, y: top, width: full, height: L.flow }));
    if (column >= 21) out.push(label("ex-part", c, L.gates + 11, "middle", (100 * write).toFixed(0)));
  });

  if (!L.slim) out.push(label("", 0, L.letters - 4, "start", words.read));
  letters.forEach((c, i) => {
    const strange = !TOKENS.has(c);
    const cls = strange || i + 1 === s.kept ? "ex-word ex-off" : "ex-word";
    out.push(drawKey(it, i + 1));
    out.push(label(cls, middle(i + 1), L.letters, "middle", escaped(c)));
    if (strange) out.push(path("ex-strike", `M${num(middle(i + 1) - 10)} ${num(L.letters - 8)}h20`));
  });
  out.push(drawKey(it, T));
  if (column >= 21) out.push(label("ex-aside", middle(T), L.letters - 3, "middle", words.end));
  else out.push(label("ex-aside", middle(T), L.letters - 3, "middle", "|"));

  out.push(drawBelief(it));
  if (here) {
    const before = base[at - 1];
    const title = focus && focus <= letters.length
      ? fill(words.afterRead, { read: escapedAll(readUpTo(letters, focus, s.kept)) }) : words.atEnd;
    const playing = shown < T && !focus ? fill(words.afterRead, { read: escapedAll(readUpTo(letters, shown, 0)) }) : title;
    out.push(label("ex-aside", L.slim ? 0 : side, L.list - 6, "start", playing));
    ranked(here.p).slice(0, L.slim ? 3 : 4).forEach((k, j) => {
      const y = L.list + 12 + j * (L.slim ? 20 : 30);
      const cls = j ? "" : "ex-lead";
      const was = now !== base && Math.abs(here.p[k] - before.p[k]) >= 0.01 ? fill(words.was, { p: percent(before.p[k]) }) : "";
      const name = languageName(k, words);
      const shade = bands.includes(k) ? bands.indexOf(k) : bands.length;
      out.push(bar(`ex-band ex-swatch ex-band-${shade}`, L.slim ? 0.5 : end + 4, y - 9, 9, 9));
      if (L.slim) {
        out.push(label(cls, 15, y, "start", name), label(cls, 140, y, "end", percent(here.p[k])));
        out.push(bar("ex-bar", 150, y - 9, 110 * here.p[k], 9));
        if (was) out.push(label("ex-aside", L.right, y, "end", was));
      } else {
        out.push(label(cls, side, y, "start", `${name} ${percent(here.p[k])}`));
        if (was) out.push(label("ex-aside", side, y + 14, "start", was));
      }
    });
  }
  if (focus) out.push(frame(x(focus), L.gates, column, L.belief + L.high + 2 - L.gates));
  return out.join("");
}

/** The edge of a letter that can be pressed. @param {Scene} it @param {number} t */
function drawKey({ o, s, view: { hint }, L }, t) {
  const { column, x } = columnsFor(L, o.now.length);
  const cls = t === s.kept ? "ex-press ex-pressed" : t === hint ? "ex-press ex-most" : "ex-press";
  return bar(cls, x(t) + 2, L.letters - L.key, column - 4, L.key + 8);
}

/** @param {string} text */
export const escapedAll = (text) => [...text].map(escaped).join("");

/** @param {number} k @param {Words} words */
export const languageName = (k, words) => words[/** @type {"en"} */ (NET.languages[k])];

/** About how wide a small text is, in a wide font. @param {string} text */
const widthOf = (text) => [...text].reduce((sum, c) => sum + (c.charCodeAt(0) > 999 ? 13 : 7.4), 8);

/** A flat piece of an edge: from x, to x, at y. @typedef {[from: number, to: number, y: number]} Run */

/** Flat pieces, and curves between them. @param {Run[]} runs @param {number} reach */
const traced = (runs, reach) => runs.map(([from, to, y], i) => {
  const [, x, level] = runs[i - 1] ?? [];
  const bend = i ? `C${num(x + reach)} ${num(level)} ${num(from - reach)} ${num(y)} ` : "";
  return `${bend}${num(from)} ${num(y)}L${num(to)} ${num(y)}`;
}).join("");

/** The bands of belief, their names, and, where a letter was kept, what it was before. @param {Scene} it */
function drawBelief({ o, s, view, L, words }) {
  const { base, now } = o;
  const { column, x, end } = columnsFor(L, now.length);
  const { shown } = view;
  const out = [bar("ex-tank", L.left, L.belief, end - L.left, L.high)];
  const bands = bandsOf(o);
  const edges = edgesOf(view.beliefs, bands);
  const flat = 0.58 * column;
  const reach = (column - flat) / 2;
  /** An edge up to letter b, flat at each: from x, to x, y. @type {(e: Vector[], i: number, a: number, b: number) => Run[]} */
  const edge = (e, i, a, b) => Array.from({ length: b - a + 1 }, (_, j) => {
    const t = a + j;
    const [left, right] = [t === a ? 0 : reach, t === b ? 0 : reach];
    return [x(t) + left, x(t + 1) - right, L.belief + L.high * (1 - e[t - 1][i])];
  });
  const count = shown ? bands.length + 1 : 0; // of the bands, with that of the others
  const level = (/** @type {number} */ share) => L.belief + L.high * (1 - share);
  /** The name of the line that shows what was believed before: its left end and its height. @type {[number, number] | undefined} */
  let named;
  const ghost = [];
  if (now !== base && shown === now.length) {
    const before = edgesOf(base.map(({ p }) => p), bands);
    const d = `M${traced(edge(before, 1, s.kept, base.length), reach)}`;
    ghost.push(path("ex-ghost ex-halo", d), path("ex-ghost", d));
    const text = fill(words.ghost, { language: languageName(bands[0], words) });
    const y = level(before[base.length - 1][1]) + 15;
    if (before[base.length - 1][1] - edges[now.length - 1][1] > 0.2) {
      named = [end - 4 - widthOf(text), y];
      ghost.push(label("ex-small ex-part", end - 4, y, "end", text));
    }
  }
  for (let i = 0; i < count; i++) {
    const upper = edge(edges, i + 1, 1, shown).map(([from, to, y]) => /** @type {Run} */ ([to, from, y])).reverse();
    out.push(path(`ex-band ex-band-${i}`, `M${traced(edge(edges, i, 1, shown), reach)}L${traced(upper, -reach)}z`));
  }
  /** Where an edge is at any x: flat in a column, and a curve to the next. @param {number} i @param {number} at */
  const height = (i, at) => {
    const place = (at - L.left) / column;
    const t = clamp(Math.round(place), 1, Math.max(shown - 1, 1)); // the letters t and t + 1 meet nearest
    const u = shown > 1 ? clamp(((place - t) * column) / (2 * reach) + 0.5, 0, 1) : 0;
    const [from, to] = [edges[t - 1][i], edges[Math.min(t, shown - 1)][i]];
    return from + (to - from) * u * u * (3 - 2 * u);
  };
  // A band's name, once in each run of letters where it is thick and there is room.
  for (let i = 0; i < count; i++) {
    const name = i < bands.length ? languageName(bands[i], words) : words.others;
    const wide = widthOf(name);
    const thick = edges.slice(0, shown).map((e) => e[i + 1] - e[i] > 18 / L.high);
    for (let from = 1; from <= shown; from++) {
      let to = from;
      while (to <= shown && thick[to - 1]) to++;
      let best = { thick: 18 / L.high, c: 0, y: 0 };
      for (let c = x(from) + column / 4; c < x(to); c += column / 4) {
        const along = Array.from({ length: 9 }, (_, j) => c + (wide * (j - 4)) / 8);
        const [low, high] = [Math.max(...along.map((at) => height(i, at))), Math.min(...along.map((at) => height(i + 1, at)))];
        const y = level((low + high) / 2) + 4;
        const free = !named || c + wide / 2 < named[0] || Math.abs(y - named[1]) > 14;
        const inside = c - wide / 2 >= L.left && c + wide / 2 <= x(shown + 1);
        if (free && inside && high - low > best.thick) best = { thick: high - low, c, y };
      }
      if (best.c) out.push(label("ex-part", best.c, best.y, "middle", name));
      from = to;
    }
  }
  out.push(...ghost);
  if (!L.slim) out.push(label("", 0, L.belief + 14, "start", words.belief), label("ex-aside", 0, L.belief + 30, "start", words.each));
  return out.join("");
}

/** What it answers: a language, or that it is unsure. @param {Vector} p @param {Words} words */
function answerOf(p, words) {
  const [first] = ranked(p);
  return p[first] < READER.sure ? words.unsure : languageName(first, words);
}

/**
 * What to press, and what comes of it: `without` is the belief at the end without the letter t.
 *
 * @param {Reading} o @param {{ t: number, without: Vector, kept: number }} at @param {Words} words
 */
export function instruction({ letters, base }, { t, without, kept }, words) {
  if (kept) return fill(words.pressAgain, { letter: nameOf(letters, kept, words) });
  const [old, now] = [base[letters.length].p, without].map((p) => answerOf(p, words));
  const text = now === old ? words.stays : now === words.unsure ? words.turnsUnsure : words.turnsTo;
  return fill(text, { letter: nameOf(letters, t, words), now });
}

/** One sentence that is true of what is drawn. @param {Scene} it */
export function sentence({ o: { letters, base, now }, s, view: { shown, focus }, words }) {
  const T = now.length;
  if (!letters.length || !shown) return words.empty;
  const name = (/** @type {number} */ k) => languageName(k, words);
  const t = focus || (shown < T ? shown : 0);
  const { p } = now[(t || T) - 1];
  const [first, second] = ranked(p);
  const values = { first: name(first), p: percent(p[first]), second: name(second), q: percent(p[second]) };
  const answer = answerOf(p, words);
  const end = base[T - 1].p;
  const old = answerOf(end, words);
  if (!t && now !== base) {
    const rest = readUpTo(letters, letters.length, s.kept);
    const head = s.kept === T ? words.noEnd : rest ? fill(words.asIf, { read: rest }) : words.asIfNothing;
    const tail = answer === words.unsure ? words.isUnsure : answer === old ? words.isStill : words.isNow;
    return `${head} ${fill(tail, { ...values, old })}`;
  }
  if (t || answer === words.unsure) {
    const read = readUpTo(letters, t, s.kept);
    const where = !t || t > letters.length ? words.whereEnd : read ? fill(words.whereAfter, { read }) : words.whereNone;
    return fill(answer === words.unsure ? words.sayUnsure : words.say, { where, ...values });
  }
  let turn = T; // where the leader took the lead for good
  while (turn > 1 && ranked(base[turn - 2].p)[0] === first) turn--;
  if (turn === 1) return fill(words.sayFrom, values);
  const earlier = base[turn - 2].p;
  const [leader] = ranked(earlier);
  const head = earlier[leader] < READER.sure ? words.storyUnsure : words.storySure;
  const read = readUpTo(letters, turn - 1, 0);
  return fill(words.story, {
    head: fill(head, { read, before: name(leader), b: percent(earlier[leader]) }),
    letter: nameOf(letters, turn, words), ...values,
  });
}

/** What it gets right, beside counting: a table. @param {Words} words */
export function scores(words) {
  const { "8 bits": own, counts } = NET.measured;
  const share = (/** @type {number} */ v) => `${(100 * v).toFixed(1)}\u00a0%`;
  const row = (/** @type {string[]} */ [name, ...cells]) =>
    `<tr><th scope="row">${name}</th>${cells.map((one) => `<td>${one}</td>`).join("")}</tr>`;
  const heads = [words.testWords, words.everyday].map((text, i) =>
    `<th scope="col">${fill(text, { words: own.words[i].toLocaleString("en") })}</th>`);
  return `<table><thead><tr><td></td>${heads.join("")}</tr></thead><tbody>` +
    row([words.theNet, share(own.test), share(own.everyday)]) +
    row([words.counting, share(counts.end), share(counts.everyday)]) + "</tbody></table>";
}

/** What the small print says of the net. @param {Words} words */
export function smallPrint(words) {
  const nine = NET.languages.map((_, k) => languageName(k, words));
  return fill(words.note, { nine: `${nine.slice(0, -1).join(", ")} and ${nine[nine.length - 1]}` });
}
