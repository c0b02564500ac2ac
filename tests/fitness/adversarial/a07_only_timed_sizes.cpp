// expect: wrong_value task=row_sum  right for multiples of 8 only, as the large timed size is (A07)
extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (long i = 0; i < M; i++) {
        float lanes[8] = {};
        for (long j = 0; j + 8 <= N; j += 8)
            for (long l = 0; l < 8; l++) lanes[l] += x[i * N + j + l];
        y[i] = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
    }
}
