// @ts-check
// The arithmetic of the explorers, apart from any drawing. Names, shapes and conventions are those of
// gru_lib: row vectors (x W_xr), gates in the order r, z, n. tests/test_explorer_*.py hold the
// two equal to 1e-12.

/** @typedef {number[]} Vector */
/** Rows. @typedef {Vector[]} Matrix */
/**
 * The parameters of a GRU with D inputs and H units; W_x. (D, H), W_h. (H, H), b_. (H,).
 *
 * @typedef {Record<"W_xr" | "W_xz" | "W_xn" | "W_hr" | "W_hz" | "W_hn", Matrix>} GruMatrices
 * @typedef {Record<"b_r" | "b_z" | "b_n", Vector>} GruBiases
 * @typedef {object} GruForm
 * @property {Vector} [b_hn] (H,), read only when reset_after
 * @property {string} convention "keep": z is the share of the old state; "write": that of the candidate
 * @property {boolean} reset_after
 * @typedef {GruMatrices & GruBiases & GruForm} Gru
 */
/**
 * What one step of it computes, (H,) each: pre-activations, gates, candidate, the two shares, the new state.
 *
 * @typedef {Record<"a_r" | "a_z" | "a_n" | "r" | "z" | "n" | "keep" | "write" | "h", Vector>} GruStep
 */
/**
 * An Elman net: W_x (D, H), W_h (H, H), b (H,).
 *
 * @typedef {{ W_x: Matrix, W_h: Matrix, b: Vector, activation?: string }} Elman
 */
/**
 * The parameters of an LSTM, W_x. (D, H), W_h. (H, H), b_. (H,) for i, f, g and o.
 *
 * @typedef {Record<`W_${"x" | "h"}${LstmPart}`, Matrix> & Record<`b_${LstmPart}`, Vector>} Lstm
 */
/** @typedef {"i" | "f" | "g" | "o"} LstmPart */
/**
 * A stack, the bottom first, and what was read of it.
 *
 * @typedef {{ read: Vector, values: Matrix, strengths: Vector }} Stack
 */
/**
 * A GRU that drives a stack: act_W (H, 2 + M), act_b (2 + M,).
 *
 * @typedef {{ controller: Gru, act_W: Matrix, act_b: Vector }} StackRnn
 */
/**
 * An array of the stored language model: 8-bit integers in base 64 with a scale for each column, or plain numbers.
 *
 * @typedef {{ shape: number[], scale?: number[], data?: string, values?: number[] }} StoredArray
 */
/**
 * A language model: a GRU between an embedding and a linear layer; matrices as rows one after the other.
 *
 * @typedef {Record<"V" | "D" | "H", number> & Record<"embed.E" | "rnn.W_x" | "rnn.W_h" | "rnn.b" | "out.W" | "out.b",
 *   Float64Array>} LanguageNet
 */
/**
 * One step of it: gates, candidate and state (H,), and the logits a (V,) of the next token.
 *
 * @typedef {Record<"r" | "z" | "n" | "h" | "a", Float64Array>} LanguageStep
 */

/** What backpropagation needs of each step, (H,) each. @typedef {Record<"r" | "z" | "n" | "h", ArrayLike<number>>[]} GruSteps */
/** The matrices of a GRU, W_x (D, 3H) and W_h (H, 3H), rows one after the other. @typedef {{ D: number, H: number, W_x: Float64Array, W_h: Float64Array }} GruRows */

/** Keep v between lo and hi. @param {number} v @param {number} lo @param {number} hi */
export function clamp(v, lo, hi) {
  return Math.min(hi, Math.max(lo, v));
}

/** 1 / (1 + exp(-a)), without overflow on either side. @param {number} a */
export function sigmoid(a) {
  if (a >= 0) return 1 / (1 + Math.exp(-a));
  const e = Math.exp(a);
  return e / (1 + e);
}

/** The inverse of the sigmoid: the pre-activation at which a gate is open by p. @param {number} p */
export function logit(p) {
  return Math.log(p) - Math.log1p(-p);
}

/** Row vector times matrix: v (D,), W (D, H). @param {Vector} v @param {Matrix} W */
export function matvec(v, W) {
  return W[0].map((_, j) => v.reduce((sum, value, i) => sum + value * W[i][j], 0));
}

/**
 * One step of a GRU for one sequence: gru_lib.gru_step.
 *
 * @param {Vector} x input, (D,)
 * @param {Vector} h_prev state before the step, (H,)
 * @param {Gru} p
 * @returns {GruStep}
 */
export function gruStep(x, h_prev, p) {
  /** @type {(...terms: Vector[]) => Vector} */
  const add = (...terms) => terms[0].map((_, j) => terms.reduce((sum, term) => sum + term[j], 0));
  /** @type {(u: Vector, v: Vector) => Vector} */
  const times = (u, v) => u.map((value, j) => value * v[j]);

  const a_r = add(matvec(x, p.W_xr), matvec(h_prev, p.W_hr), p.b_r);
  const a_z = add(matvec(x, p.W_xz), matvec(h_prev, p.W_hz), p.b_z);
  const r = a_r.map(sigmoid);
  const z = a_z.map(sigmoid);

  const past = p.reset_after
    ? times(r, add(matvec(h_prev, p.W_hn), p.b_hn ?? []))
    : matvec(times(r, h_prev), p.W_hn);
  const a_n = add(matvec(x, p.W_xn), p.b_n, past);
  const n = a_n.map(Math.tanh);

  const not_z = a_z.map((a) => sigmoid(-a)); // keeps its digits when z is near 1, unlike 1 - z
  const [keep, write] = p.convention === "keep" ? [z, not_z] : [not_z, z];
  const h = add(times(keep, h_prev), times(write, n));
  return { a_r, a_z, a_n, r, z, n, keep, write, h };
}

/**
 * The gradients of one step for one sequence: gru_lib.gru_step_backward, with every array on the way.
 *
 * @param {Vector} dh gradient of the state, (H,)
 * @param {Vector} x input, (D,)
 * @param {Vector} h_prev state before the step, (H,)
 * @param {GruStep} c what gruStep returned for x and h_prev
 * @param {Gru} p
 * @returns arrays of H: dz da_z dn da_n dq dr da_r and q; terms, the four summands of dh_prev: kept,
 *   through z, through r, through q; dh_prev (H,); dx (D,); grads, named and shaped as the parameters
 */
export function gruStepBackward(dh, x, h_prev, c, p) {
  /** @type {(f: (...values: number[]) => number, ...lists: Vector[]) => Vector} */
  const zip = (f, ...lists) => lists[0].map((_, j) => f(...lists.map((list) => list[j])));
  /** @type {(...lists: Vector[]) => Vector} */
  const times = (...lists) => zip((...values) => values.reduce((a, b) => a * b), ...lists);
  /** @type {(...lists: Vector[]) => Vector} */
  const add = (...lists) => zip((...values) => values.reduce((a, b) => a + b), ...lists);
  /** @type {(v: Vector, W: Matrix) => Vector} */
  const back = (v, W) => W.map((row) => row.reduce((sum, w, j) => sum + v[j] * w, 0)); // v W^T
  /** @type {(u: Vector, v: Vector) => Matrix} */
  const outer = (u, v) => u.map((a) => v.map((b) => a * b));
  const slope = (/** @type {number} */ a) => sigmoid(a) * sigmoid(-a); // keeps its digits where s (1 - s) does not

  const sign = p.convention === "keep" ? 1 : -1;
  const dz = zip((d, old, n) => sign * d * (old - n), dh, h_prev, c.n);
  const da_z = times(dz, c.a_z.map(slope));
  const dn = times(dh, c.write);
  const da_n = zip((d, n) => d * (1 - n * n), dn, c.n);
  const q = p.reset_after ? add(matvec(h_prev, p.W_hn), p.b_hn ?? []) : times(c.r, h_prev);
  const dq = p.reset_after ? times(da_n, c.r) : back(da_n, p.W_hn);
  const dr = times(p.reset_after ? da_n : dq, p.reset_after ? q : h_prev);
  const da_r = times(dr, c.a_r.map(slope));

  const terms = [
    times(dh, c.keep), back(da_z, p.W_hz), back(da_r, p.W_hr), p.reset_after ? back(dq, p.W_hn) : times(dq, c.r),
  ];
  const grads = {
    W_xr: outer(x, da_r), W_xz: outer(x, da_z), W_xn: outer(x, da_n),
    W_hr: outer(h_prev, da_r), W_hz: outer(h_prev, da_z),
    W_hn: p.reset_after ? outer(h_prev, dq) : outer(q, da_n),
    b_r: da_r, b_z: da_z, b_n: da_n, ...(p.reset_after ? { b_hn: dq } : {}),
  };
  const dx = add(back(da_r, p.W_xr), back(da_z, p.W_xz), back(da_n, p.W_xn));
  return { dz, da_z, dn, da_n, q, dq, dr, da_r, terms, dh_prev: add(...terms), dx, grads };
}

/**
 * One memory over a sequence of gates: h_t = z_t h_(t-1) + (1 - z_t) n_t, from h_0.
 *
 * @param {Vector} n candidates, (T,)
 * @param {Vector} z shares of the old state that are kept, (T,)
 * @param {number} h0 state before the first step
 * @returns {Vector} states h_1 … h_T
 */
export function gatedStates(n, z, h0 = 0) {
  let h = h0;
  return n.map((candidate, t) => (h = z[t] * h + (1 - z[t]) * candidate));
}

/** The weights w_0 … w_T of h_0 and of the T candidates in the last state; they sum to 1. @param {Vector} z */
export function gateWeights(z) {
  /** @type {Vector} */
  const weights = [];
  let later = 1; // the product of the gates after step k
  for (let k = z.length; k >= 1; k--) {
    weights[k] = (1 - z[k - 1]) * later;
    later *= z[k - 1];
  }
  weights[0] = later;
  return weights;
}

/**
 * One step of an Elman net for one sequence: h = g(x W_x + h_prev W_h + b), gru_lib.elman_step.
 *
 * @param {Vector} x input, (D,)
 * @param {Vector} h_prev state before the step, (H,)
 * @param {Elman} p activation "linear", else tanh
 * @returns {Vector} state, (H,)
 */
export function elmanStep(x, h_prev, p) {
  const [fromX, fromH] = [matvec(x, p.W_x), matvec(h_prev, p.W_h)];
  const g = p.activation === "linear" ? (/** @type {number} */ a) => a : Math.tanh;
  return p.b.map((b, j) => g(fromX[j] + fromH[j] + b));
}

/**
 * One step of an LSTM for one sequence: gru_lib.lstm_step.
 *
 * @param {Vector} x input, (D,)
 * @param {{ h: Vector, c: Vector }} state state before the step, both (H,)
 * @param {Lstm} p
 * @returns arrays of H: gates i f o, candidate g, state h and c
 */
export function lstmStep(x, state, p) {
  const a = (/** @type {LstmPart} */ k) => {
    const [fromX, fromH] = [matvec(x, p[`W_x${k}`]), matvec(state.h, p[`W_h${k}`])];
    return p[`b_${k}`].map((b, j) => fromX[j] + fromH[j] + b);
  };
  const [i, f, o] = [a("i").map(sigmoid), a("f").map(sigmoid), a("o").map(sigmoid)];
  const g = a("g").map(Math.tanh);
  const c = state.c.map((old, j) => f[j] * old + i[j] * g[j]);
  return { i, f, g, o, c, h: c.map((v, j) => o[j] * Math.tanh(v)) };
}

/**
 * J after one more step of an Elman net: diag(1 - h²) W_h^T J.
 *
 * @param {Matrix} J @param {Vector} h @param {Matrix} W_h
 */
export function elmanJacobian(J, h, W_h) {
  return h.map((v, i) => J[0].map((_, j) => (1 - v * v) * W_h.reduce((sum, row, k) => sum + row[i] * J[k][j], 0)));
}

/**
 * The largest singular value of a square matrix, by one-sided Jacobi rotations: columns are turned in pairs until
 * they are orthogonal; then the longest is it. Entries may be as small as 1e-200: the matrix is scaled first.
 *
 * @param {Matrix} A
 */
export function spectralNorm(A) {
  const scale = Math.max(...A.flat().map(Math.abs));
  if (scale === 0) return 0;
  const columns = A[0].map((_, j) => A.map((row) => row[j] / scale));
  const dot = (/** @type {Vector} */ u, /** @type {Vector} */ v) => u.reduce((sum, value, i) => sum + value * v[i], 0);
  for (let sweep = 0, turned = true; turned && sweep < 40; sweep++) {
    turned = false;
    for (let i = 0; i < columns.length; i++) {
      for (let j = i + 1; j < columns.length; j++) {
        const [u, v] = [columns[i], columns[j]];
        const [a, b, c] = [dot(u, u), dot(v, v), dot(u, v)];
        if (Math.abs(c) <= 1e-15 * Math.sqrt(a * b)) continue;
        turned = true;
        const zeta = (b - a) / (2 * c);
        const t = (zeta < 0 ? -1 : 1) / (Math.abs(zeta) + Math.hypot(1, zeta));
        const cos = 1 / Math.hypot(1, t);
        columns[i] = u.map((value, k) => cos * (value - t * v[k]));
        columns[j] = v.map((value, k) => cos * (value + t * u[k]));
      }
    }
  }
  return scale * Math.sqrt(Math.max(...columns.map((column) => dot(column, column))));
}

/**
 * The Jacobian of a GRU's step, ∂h/∂h_prev: row i is dh_prev for a gradient of 1 at h_i.
 *
 * @param {Vector} x @param {Vector} h_prev @param {GruStep} c what gruStep returned for them @param {Gru} p
 */
export function gruJacobian(x, h_prev, c, p) {
  return c.h.map((_, i) => gruStepBackward(c.h.map((__, j) => Number(i === j)), x, h_prev, c, p).dh_prev);
}

/** Matrix times matrix. @param {Matrix} A @param {Matrix} B */
export function matmul(A, B) {
  return A.map((row) => matvec(row, B));
}

/**
 * Pop, push, then read a stack for one sequence: gru_book.cells.stack_rnn.stack_step.
 *
 * @param {Vector} value what is pushed, (M,)
 * @param {number} push strength it is pushed with
 * @param {number} pop strength that is taken off the top first
 * @param {Matrix} values entries before the step, the bottom first, (K, M)
 * @param {Vector} strengths theirs, (K,)
 * @returns {Stack & { weights: Vector }} the stack after it, and how much of each entry is read, (K + 1,)
 */
export function stackStep(value, push, pop, values, strengths) {
  const relu = (/** @type {number} */ a) => Math.max(a, 0);
  /** @type {(list: Vector, i: number) => number} */
  const sumAbove = (list, i) => list.slice(i + 1).reduce((sum, v) => sum + v, 0);
  const entries = [...values, value];
  const s = [...strengths.map((old, i) => relu(old - relu(pop - sumAbove(strengths, i)))), push];
  const weights = s.map((v, i) => Math.min(v, relu(1 - sumAbove(s, i))));
  const read = value.map((_, m) => weights.reduce((sum, w, i) => sum + w * entries[i][m], 0));
  return { read, values: entries, strengths: s, weights };
}

/**
 * One step of a GRU that drives a stack, for one sequence: gru_book.cells.stack_rnn.stack_rnn_step.
 *
 * @param {Vector} x input, (D,)
 * @param {Stack & { h: Vector }} state
 * @param {StackRnn} p
 * @returns the new state, with push, pop and weights
 */
export function stackRnnStep(x, state, p) {
  const { h } = gruStep([...x, ...state.read], state.h, p.controller);
  const a = matvec(h, p.act_W).map((v, j) => v + p.act_b[j]);
  const [push, pop] = [sigmoid(a[0]), sigmoid(a[1])];
  return { h, push, pop, ...stackStep(a.slice(2).map(Math.tanh), push, pop, state.values, state.strengths) };
}

/**
 * The parameters of a language model from what experiments/language_model.py stored: 8-bit integers times one scale
 * for each column, matrices as rows one after the other.
 *
 * @param {{ V: number, D: number, H: number, arrays: Record<string, StoredArray> }} net
 */
export function readLanguageNet({ V, D, H, arrays }) {
  const read = Object.entries(arrays).map(([name, { shape, scale = [], data = "", values }]) => {
    if (values) return [name, Float64Array.from(values)];
    const bytes = atob(data);
    const W = new Float64Array(bytes.length);
    for (let i = 0; i < W.length; i++) W[i] = ((bytes.charCodeAt(i) << 24) >> 24) * scale[i % shape[1]]; // signed
    return [name, W];
  });
  return /** @type {LanguageNet} */ ({ V, D, H, ...Object.fromEntries(read) });
}

/**
 * One step of that model, a GRU ("keep", reset before) between an embedding and a linear layer: gru_lib.lm_logits.
 *
 * @param {number} token what is read
 * @param {ArrayLike<number>} h_prev state before the step, (H,)
 * @param {LanguageNet} m
 * @returns {LanguageStep}
 */
export function languageStep(token, h_prev, m) {
  const { V, D, H } = m;
  /**
   * to += by · W, from W[start] on.
   *
   * @param {Float64Array} to @param {number} by @param {Float64Array} W @param {number} start
   */
  const addRow = (to, by, W, start) => {
    for (let j = 0; j < to.length; j++) to[j] += by * W[start + j];
  };
  const s = Float64Array.from(m["rnn.b"]); // pre-activations of r, z, n
  const [gates, a_n] = [s.subarray(0, 2 * H), s.subarray(2 * H)];
  for (let i = 0; i < D; i++) addRow(s, m["embed.E"][token * D + i], m["rnn.W_x"], i * 3 * H);
  for (let i = 0; i < H; i++) addRow(gates, h_prev[i], m["rnn.W_h"], i * 3 * H);
  const [r, z] = [gates.subarray(0, H).map(sigmoid), gates.subarray(H).map(sigmoid)];
  for (let i = 0; i < H; i++) addRow(a_n, r[i] * h_prev[i], m["rnn.W_h"], i * 3 * H + 2 * H);
  const n = a_n.map(Math.tanh);
  const h = z.map((keep, j) => keep * h_prev[j] + (1 - keep) * n[j]);
  const a = Float64Array.from(m["out.b"]);
  for (let i = 0; i < H; i++) addRow(a, h[i], m["out.W"], i * V);
  return { r, z, n, h, a };
}

/**
 * The gradients of all inputs of a GRU ("keep", reset before) for one sequence, by backpropagation from the last state:
 * gru_lib.gru_backward.
 *
 * @param {GruSteps} steps from the first to the one whose state has the gradient
 * @param {ArrayLike<number>} dh gradient of that state, (H,)
 * @param {GruRows} p
 * @param {ArrayLike<number>} h_0 state before the first step, (H,)
 * @returns {{ dxs: Float64Array[], dh_0: Float64Array }} gradients of the inputs, (D,) each, and of h_0
 */
export function gruBackward(steps, dh, { D, H, W_x, W_h }, h_0 = new Float64Array(H)) {
  const dxs = [];
  let d = Float64Array.from(dh);
  for (let t = steps.length - 1; t >= 0; t--) {
    const { r, z, n } = steps[t];
    const h_prev = steps[t - 1]?.h ?? h_0;
    const da = new Float64Array(3 * H); // of the pre-activations of r, z, n
    for (let j = 0; j < H; j++) {
      da[H + j] = d[j] * (h_prev[j] - n[j]) * z[j] * (1 - z[j]);
      da[2 * H + j] = d[j] * (1 - z[j]) * (1 - n[j] * n[j]);
    }
    /** da · a row of W, from one column to another. @type {(W: Float64Array, row: number, from: number, to: number) => number} */
    const along = (W, row, from, to) => {
      let sum = 0;
      for (let j = from; j < to; j++) sum += da[j] * W[row * 3 * H + j];
      return sum;
    };
    const dq = d.map((_, i) => along(W_h, i, 2 * H, 3 * H)); // of r · h_prev
    for (let i = 0; i < H; i++) da[i] = dq[i] * h_prev[i] * r[i] * (1 - r[i]);
    d = d.map((v, i) => v * z[i] + dq[i] * r[i] + along(W_h, i, 0, 2 * H));
    dxs.push(Float64Array.from({ length: D }, (_, k) => along(W_x, k, 0, 3 * H)));
  }
  return { dxs: dxs.reverse(), dh_0: d };
}

/**
 * The gradients of the embeddings of the characters that a language model read.
 *
 * @param {LanguageStep[]} steps @param {ArrayLike<number>} dh gradient of the last state, (H,) @param {LanguageNet} m
 */
export function languageBackward(steps, dh, { D, H, "rnn.W_x": W_x, "rnn.W_h": W_h }) {
  return gruBackward(steps, dh, { D, H, W_x, W_h }).dxs;
}

/**
 * softmax(a / temperature) as plain numbers; temperature 0 is all on the largest. Token `never` has probability 0.
 *
 * @param {ArrayLike<number>} a @param {number} temperature @param {number} never
 */
export function tempered(a, temperature, never = -1) {
  const logits = Array.from(a, (v, k) => (k === never ? -Infinity : v));
  const top = Math.max(...logits);
  if (temperature === 0) return logits.map((_, k) => Number(k === logits.indexOf(top)));
  const e = logits.map((v) => Math.exp((v - top) / temperature));
  const sum = e.reduce((x, y) => x + y);
  return e.map((v) => v / sum);
}

/**
 * A number in [0, 1) that looks drawn at random and depends on the seed and the place alone.
 *
 * @param {number} seed @param {number} place
 */
export function uniform(seed, place) {
  let v = (Math.imul(seed, 0x9e3779b1) + Math.imul(place + 1, 0x85ebca6b)) | 0;
  for (const by of [0x7feb352d, 0x846ca68b]) v = Math.imul(v ^ (v >>> 16), by) ^ 0;
  return ((v ^ (v >>> 15)) >>> 0) / 2 ** 32;
}

/**
 * The first k whose probabilities 0 … k sum to more than u: a draw, if u is drawn from [0, 1).
 *
 * @param {Vector} probabilities @param {number} u
 */
export function pick(probabilities, u) {
  let sum = 0;
  for (let k = 0; k < probabilities.length; k++) {
    sum += probabilities[k];
    if (sum > u) return k;
  }
  return probabilities.lastIndexOf(Math.max(...probabilities)); // sum is 1 − rounding
}
