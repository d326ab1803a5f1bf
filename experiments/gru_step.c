/* Chapter 22: a step of a GRU with weights in eight bits. */
#include <math.h>

static float sigmoid(float a) { return 1 / (1 + expf(-a)); }

/* Reset after the product. W_x is (D, 3H), W_h (H, 3H), each
   column with its scale in s_x or s_h, and r, z and n side by
   side. h is changed; a is room for 6H numbers. */
void gru_step(int D, int H, const float *x, float *h,
              const signed char *W_x, const float *s_x,
              const signed char *W_h, const float *s_h,
              const float *b, const float *b_hn, float *a)
{
    int K = 3 * H;
    float *q = a + K;
    for (int k = 0; k < K; k++) {
        a[k] = q[k] = 0;
        for (int i = 0; i < D; i++)
            a[k] += x[i] * W_x[i * K + k];
        for (int i = 0; i < H; i++)
            q[k] += h[i] * W_h[i * K + k];
        a[k] = s_x[k] * a[k] + b[k];
        q[k] = s_h[k] * q[k];
    }
    for (int k = 0; k < H; k++) {
        float r = sigmoid(a[k] + q[k]);
        float z = sigmoid(a[H + k] + q[H + k]);
        float n = tanhf(a[2 * H + k]
                        + r * (q[2 * H + k] + b_hn[k]));
        h[k] = z * h[k] + (1 - z) * n;
    }
}
