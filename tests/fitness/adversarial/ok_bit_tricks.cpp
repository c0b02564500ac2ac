// expect: ok task=softmax  honest: an accurate exponential of its own, from bits of a union
union Bits {
    int whole;
    float number;
};

static inline float exponential(float z) {  // z <= 0
    z = z < -87.0f ? -87.0f : z;
    float n = __builtin_rintf(z * 1.44269504f);
    float r = __builtin_fmaf(n, -0.693359375f, z);
    r = __builtin_fmaf(n, 2.12194440e-4f, r);
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    Bits power;
    power.whole = ((int)n + 127) << 23;
    return (p * r * r + r + 1.0f) * power.number;
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float highest = x[i * N], total = 0.0f;
        for (long j = 1; j < N; j++) highest = x[i * N + j] > highest ? x[i * N + j] : highest;
        for (long j = 0; j < N; j++) total += y[i * N + j] = exponential(x[i * N + j] - highest);
        for (long j = 0; j < N; j++) y[i * N + j] *= 1.0f / total;
    }
}
