// From next-token probabilities to whole sequences, as gru_lib.decode and gru_lib.seq2seq have them. Apart from any
// drawing; tests hold both sides equal to 1e-12.
import { gruStep, matvec } from "./gru-math.mjs";

/** log softmax(a): with the largest taken out first, nothing overflows. */
export function logSoftmax(a) {
  const top = a.indexOf(Math.max(...a));
  const rest = a.reduce((sum, v, i) => (i === top ? sum : sum + Math.exp(v - a[top])), 0);
  const log = Math.log1p(rest);
  return a.map((v) => v - a[top] - log);
}

/** The likeliest token at every step: { tokens, logProb, rows (log-probabilities of each step), states }. */
export function greedyDecode(step, state, start, { end, maxSteps }) {
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
 * @param {(state, token) => [number[], object]} step log-probabilities of the next token, and the state after
 * @returns {object[]} at most width of { tokens, logProb, score, ended }, the best first
 */
export function beamSearch(step, state, start, { width, end = null, maxSteps, alpha = 0 }) {
  let done = [];
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
    if (done.length === width && live[0].logProb / maxSteps ** alpha <= done.at(-1).score) break;
  }
  return done;
}

/** The parameters of an encoder–decoder of GRUs from one flat list, in the order of gru_lib's. */
export function seq2seqFrom(flat, { V_source, V_target, E, H }) {
  let at = 0;
  const matrix = (rows, columns) => Array.from({ length: rows }, () => flat.slice(at, (at += columns)));
  const gru = (D) => {
    const [W_x, W_h, [b]] = [matrix(D, 3 * H), matrix(H, 3 * H), matrix(1, 3 * H)];
    const part = (row, gate) => row.slice(gate * H, (gate + 1) * H);
    const p = { convention: "keep", reset_after: false };
    ["r", "z", "n"].forEach((name, gate) => {
      p[`W_x${name}`] = W_x.map((row) => part(row, gate));
      p[`W_h${name}`] = W_h.map((row) => part(row, gate));
      p[`b_${name}`] = part(b, gate);
    });
    return p;
  };
  return {
    source: matrix(V_source, E), encoder: gru(E), target: matrix(V_target, E), decoder: gru(E + H),
    W: matrix(H, V_target), b: matrix(1, V_target)[0],
  };
}

/** The encoder's states h_1 … h_S for tokens in the order in which they are read, from zero. */
export function seq2seqStates(tokens, p) {
  let h = p.encoder.b_r.map(() => 0);
  return tokens.map((token) => (h = gruStep(p.source[token], h, p.encoder).h));
}

/** The decoder as step([h, c], token): it sees the token before and the encoder's last state c. */
export function seq2seqStep(p) {
  return ([h, c], token) => {
    const after = gruStep([...p.target[token], ...c], h, p.decoder).h;
    return [logSoftmax(matvec(after, p.W).map((v, k) => v + p.b[k])), [after, c]];
  };
}
