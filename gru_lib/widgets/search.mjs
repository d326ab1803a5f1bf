// @ts-check
// From next-token probabilities to whole sequences, as gru_lib.decode and gru_lib.seq2seq have them. Apart from any
// drawing; tests hold both sides equal to 1e-12.
import { gruStep, matvec } from "./gru-math.mjs";

/** @import { Gru, Matrix, Vector } from "./gru-math.mjs" */

/**
 * Log-probabilities of the next token after the one that is read, and the state after.
 *
 * @template S
 * @typedef {(state: S, token: number) => [logProbs: Vector, after: S]} Step
 */
/** A sequence that was found. @typedef {{ tokens: number[], logProb: number, score: number, ended: boolean }} Found */
/**
 * An encoder–decoder: embeddings and GRUs of both sides, and the linear layer of the decoder.
 *
 * @typedef {{ source: Matrix, encoder: Gru, target: Matrix, decoder: Gru, W: Matrix, b: Vector }} Seq2seq
 */

/** log softmax(a): with the largest taken out first, nothing overflows. @param {Vector} a */
export function logSoftmax(a) {
  const top = a.indexOf(Math.max(...a));
  const rest = a.reduce((sum, v, i) => (i === top ? sum : sum + Math.exp(v - a[top])), 0);
  const log = Math.log1p(rest);
  return a.map((v) => v - a[top] - log);
}

/**
 * The likeliest token at every step; rows are the log-probabilities of each step.
 *
 * @template S
 * @param {Step<S>} step @param {S} state @param {number} start
 * @param {{ end: number | null, maxSteps: number }} o
 */
export function greedyDecode(step, state, start, { end, maxSteps }) {
  /** @type {{ tokens: number[], logProb: number, rows: Matrix, states: S[] }} */
  const found = { tokens: [], logProb: 0, rows: [], states: [] };
  for (let token = start; found.tokens.length < maxSteps && (token !== end || !found.tokens.length);) {
    const [logProbs, after] = step(state, token);
    state = after;
    token = logProbs.indexOf(Math.max(...logProbs));
    found.tokens.push(token);
    found.logProb += logProbs[token];
    found.rows.push(logProbs);
    found.states.push(after);
  }
  return found;
}

/**
 * The sequences with the highest score, keeping the `width` likeliest beginnings at every step:
 * gru_lib.decode.beam_search. score = logProb / length^alpha.
 *
 * @template S
 * @param {Step<S>} step @param {S} state @param {number} start
 * @param {{ width: number, end?: number | null, maxSteps: number, alpha?: number }} o
 * @returns {Found[]} at most width, the best first
 */
export function beamSearch(step, state, start, { width, end = null, maxSteps, alpha = 0 }) {
  /** @type {Found[]} */
  let done = [];
  /** @type {{ logProb: number, tokens: number[], state: S }[]} */
  let live = [{ logProb: 0, tokens: [], state }];
  for (let length = 1; length <= maxSteps; length++) {
    const candidates = live.flatMap((from) => {
      const [logProbs, after] = step(from.state, from.tokens.at(-1) ?? start);
      return logProbs.map((gain, k) => ({ logProb: from.logProb + gain, tokens: [...from.tokens, k], state: after }));
    }).filter((c) => c.logProb > -Infinity).sort((a, b) => b.logProb - a.logProb);
    live = [];
    candidates.forEach(({ logProb, tokens, state: after }, rank) => {
      const ended = end !== null && tokens.at(-1) === end;
      if ((ended || length === maxSteps) && rank < width) {
        done.push({ tokens, logProb, score: logProb / length ** alpha, ended });
      } else if (!ended && live.length < width) live.push({ logProb, tokens, state: after });
    });
    done = done.sort((a, b) => b.score - a.score).slice(0, width);
    // A beginning only loses by going on; at best it does so for free, up to the greatest length.
    if (!live.length) break;
    if (done.length === width && live[0].logProb / maxSteps ** alpha <= done[width - 1].score) break;
  }
  return done;
}

/**
 * The parameters of an encoder–decoder of GRUs from one flat list, in the order of gru_lib's.
 *
 * @param {Vector} flat @param {Record<"V_source" | "V_target" | "E" | "H", number>} sizes
 * @returns {Seq2seq}
 */
export function seq2seqFrom(flat, { V_source, V_target, E, H }) {
  let at = 0;
  /** @param {number} rows @param {number} columns */
  const matrix = (rows, columns) => Array.from({ length: rows }, () => flat.slice(at, (at += columns)));
  /** @param {number} D @returns {Gru} */
  const gru = (D) => {
    const [W_x, W_h, [b]] = [matrix(D, 3 * H), matrix(H, 3 * H), matrix(1, 3 * H)];
    /** @param {Vector} row @param {number} gate */
    const part = (row, gate) => row.slice(gate * H, (gate + 1) * H);
    /** @param {Matrix} W */
    const parts = (W) => [0, 1, 2].map((gate) => W.map((row) => part(row, gate)));
    const [[W_xr, W_xz, W_xn], [W_hr, W_hz, W_hn]] = [parts(W_x), parts(W_h)];
    const [b_r, b_z, b_n] = [0, 1, 2].map((gate) => part(b, gate));
    return { W_xr, W_xz, W_xn, W_hr, W_hz, W_hn, b_r, b_z, b_n, convention: "keep", reset_after: false };
  };
  return {
    source: matrix(V_source, E), encoder: gru(E), target: matrix(V_target, E), decoder: gru(E + H),
    W: matrix(H, V_target), b: matrix(1, V_target)[0],
  };
}

/**
 * The encoder's states h_1 … h_S for tokens in the order in which they are read, from zero.
 *
 * @param {number[]} tokens @param {Seq2seq} p
 */
export function seq2seqStates(tokens, p) {
  let h = p.encoder.b_r.map(() => 0);
  return tokens.map((token) => (h = gruStep(p.source[token], h, p.encoder).h));
}

/**
 * The decoder as a step from [h, c]: it sees the token before and the encoder's last state c.
 *
 * @param {Seq2seq} p
 * @returns {Step<Vector[]>}
 */
export function seq2seqStep(p) {
  return ([h, c], token) => {
    const after = gruStep([...p.target[token], ...c], h, p.decoder).h;
    return [logSoftmax(matvec(after, p.W).map((v, k) => v + p.b[k])), [after, c]];
  };
}
