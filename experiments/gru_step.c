/* Chapter 22: a step of a GRU with the arrays of gru_lib. */
#include <math.h>

static float sigmoid(float a) { return 1 / (1 + expf(-a)); }

/* One step, reset after the product. h is changed;
   a is room for 4 H numbers. */
void gru_step(int D, int H, const float *x, float *h,
              const float *W_x, const float *W_h,
              const float *b, const float *b_hn, float *a)
{
    float *r = a, *z = a + H, *n = a + 2 * H, *q = a + 3 * H;
    for (int k = 0; k < 3 * H; k++) {
        a[k] = b[k];
        for (int i = 0; i < D; i++)
            a[k] += x[i] * W_x[i * 3 * H + k];
    }
    for (int k = 0; k < H; k++)
        q[k] = b_hn[k];
    for (int i = 0; i < H; i++)
        for (int k = 0; k < H; k++) {
            r[k] += h[i] * W_h[i * 3 * H + k];
            z[k] += h[i] * W_h[i * 3 * H + H + k];
            q[k] += h[i] * W_h[i * 3 * H + 2 * H + k];
        }
    for (int k = 0; k < H; k++) {
        float n_k = tanhf(n[k] + sigmoid(r[k]) * q[k]);
        float z_k = sigmoid(z[k]);
        h[k] = z_k * h[k] + (1 - z_k) * n_k;
    }
}
