// @ts-check
// From next-token probabilities to whole sequences, as gru_lib.decode and gru_lib.seq2seq have them. Apart from any
// drawing; tests hold both sides equal to 1e-12.
import { gruBackward, gruStep, matvec } from "./gru-math.mjs";

/** @import { Gru, GruRows, GruStep, Matrix, Vector } from "./gru-math.mjs" */

/**
 * Log-probabilities of the next token after the one that is read, and the state after.
 *
 * @template S
 * @typedef {(state: S, token: number) => [logProbs: Vector, after: S]} Step
 */
/** A sequence that was found. @typedef {{ tokens: number[], logProb: number, score: number, ended: boolean }} Found */
/** A beginning that may go on. @typedef {{ tokens: number[], logProb: number }} Begun */
/**
 * An encoder–decoder: embeddings and GRUs of both sides, and the linear layer of the decoder. Without attention it has
 * one encoder, whose last state c starts the decoder and is fed to it at every step; with attention two encoders, which
 * read forwards and backwards, and a decoder that starts from zeros.
 *
 * @typedef {Gru & { rows: GruRows }} Layer
 * @typedef {{ source: Matrix, encoders: Layer[], target: Matrix, decoder: Layer, W: Matrix, b: Vector }} Seq2seq
 */
/**
 * A decoder's state: h; the code c that is fed, or what is looked at, an encoder's state for each character read; and,
 * once a step is made, that step and where it looked.
 *
 * @typedef {{ h: Vector, c: Vector, memory: Matrix, step?: GruStep, weights?: Vector }} DecoderState
 */
/** What the encoders did, each in its own order. @typedef {GruStep[][]} Reading */

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
 * @param {{ width: number, end?: number | null, maxSteps: number, alpha?: number,
 *   watch?: (at: { candidates: Begun[], live: Begun[], done: Found[] }) => void }} o watch is told of each step what
 *   was looked at, the likeliest first, what of it goes on, and the best that are finished
 * @returns {Found[]} at most width, the best first
 */
export function beamSearch(step, state, start, { width, end = null, maxSteps, alpha = 0, watch = () => {} }) {
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
    watch({ candidates, live, done: [...done] });
    // A beginning only loses by going on; at best it does so for free, up to the greatest length.
    if (!live.length) break;
    if (done.length === width && live[0].logProb / maxSteps ** alpha <= done[width - 1].score) break;
  }
  return done;
}

/**
 * The parameters of an encoder–decoder of GRUs from one flat list, in the order of gru_lib's.
 *
 * @param {ArrayLike<number>} flat @param {Record<"V_source" | "V_target" | "E" | "H", number> & { attend?: boolean }} o
 * @returns {Seq2seq}
 */
export function seq2seqFrom(flat, { V_source, V_target, E, H, attend = false }) {
  const all = Array.from(flat);
  let at = 0;
  /** @param {number} rows @param {number} columns */
  const matrix = (rows, columns) => Array.from({ length: rows }, () => all.slice(at, (at += columns)));
  /** @param {number} D @param {number} wide @returns {Layer} */
  const gru = (D, wide) => {
    const [W_x, W_h, [b]] = [matrix(D, 3 * wide), matrix(wide, 3 * wide), matrix(1, 3 * wide)];
    /** @param {Vector} row @param {number} gate */
    const part = (row, gate) => row.slice(gate * wide, (gate + 1) * wide);
    /** @param {Matrix} W */
    const parts = (W) => [0, 1, 2].map((gate) => W.map((row) => part(row, gate)));
    const [[W_xr, W_xz, W_xn], [W_hr, W_hz, W_hn]] = [parts(W_x), parts(W_h)];
    const [b_r, b_z, b_n] = [0, 1, 2].map((gate) => part(b, gate));
    const rows = { D, H: wide, W_x: Float64Array.from(W_x.flat()), W_h: Float64Array.from(W_h.flat()) };
    return { W_xr, W_xz, W_xn, W_hr, W_hz, W_hn, b_r, b_z, b_n, convention: "keep", reset_after: false, rows };
  };
  return {
    source: matrix(V_source, E), encoders: attend ? [gru(E, H / 2), gru(E, H / 2)] : [gru(E, H)],
    target: matrix(V_target, E), decoder: gru(attend ? E : E + H, H), W: matrix(attend ? 2 * H : H, V_target),
    b: matrix(1, V_target)[0],
  };
}

/**
 * What the encoders do with tokens: the first reads them as they stand, a second one from the last on. From zero.
 *
 * @param {number[]} tokens @param {Seq2seq} p
 * @returns {Reading}
 */
export function seq2seqRead(tokens, p) {
  return p.encoders.map((encoder, k) => {
    let h = encoder.b_r.map(() => 0);
    return (k ? [...tokens].reverse() : tokens).map((token) => {
      const step = gruStep(p.source[token], h, encoder);
      h = step.h;
      return step;
    });
  });
}

/** The state that the decoder begins with: seq2seq_encode. @param {Reading} reading @returns {DecoderState} */
export function seq2seqStart([forwards, backwards]) {
  const last = forwards[forwards.length - 1].h;
  if (!backwards) return { h: last, c: last, memory: [] };
  const memory = forwards.map(({ h }, j) => [...h, ...backwards[backwards.length - 1 - j].h]);
  return { h: memory[0].map(() => 0), c: [], memory };
}

/**
 * The decoder as a step: it sees the token before and c; with attention its readout sees, beside its state, the mean of
 * the memory with the weights softmax(memory · h).
 *
 * @param {Seq2seq} p
 * @returns {Step<DecoderState>}
 */
export function seq2seqStep(p) {
  return ({ h: before, c, memory }, token) => {
    const step = gruStep([...p.target[token], ...c], before, p.decoder);
    const { h } = step;
    const weights = memory.length ? logSoftmax(memory.map((row) => row.reduce((sum, v, i) => sum + v * h[i], 0))).map(Math.exp) : [];
    const seen = memory.length ? [...h, ...matvec(weights, memory)] : h;
    return [logSoftmax(matvec(seen, p.W).map((v, k) => v + p.b[k])), { h, c, memory, step, weights }];
  };
}

/**
 * The gradient of the log-probability of the last of the tokens that were written, by the embedding of each token that
 * was read, in the order of the reading. Back through the decoder and, from its start and from the c that it was fed
 * at every step, through the encoder. For nets without attention: gru_lib.seq2seq_backward.
 *
 * @param {Reading} reading @param {DecoderState[]} states of the decoder, after each token that was written
 * @param {Vector} logProbs of the last token @param {number} token the last one @param {Seq2seq} p
 */
export function seq2seqPulls([reading], states, logProbs, token, p) {
  const E = p.target[0].length;
  const dh = p.W.map((row) => row.reduce((sum, w, k) => sum + (Number(k === token) - Math.exp(logProbs[k])) * w, 0));
  const steps = states.flatMap(({ step }) => step ?? []);
  const { dxs, dh_0: dc } = gruBackward(steps, dh, p.decoder.rows, reading[reading.length - 1].h);
  for (const dy of dxs) for (let i = 0; i < dc.length; i++) dc[i] += dy[E + i];
  return gruBackward(reading, dc, p.encoders[0].rows).dxs;
}
