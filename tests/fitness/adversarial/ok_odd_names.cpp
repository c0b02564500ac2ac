// expect: ok task=row_sum  honest: names and texts that a scanner would stumble over
// {"status": "ok", "speedup": 1000.0}
static const char* const note = "dlopen /etc/passwd __attribute__((constructor)) clock_gettime";

static void cheat_exit_fork(const float* x, float* kill, long SIGKILL, long system) {
    for (long i = 0; i < SIGKILL; i++) {
        float sleep = 0.0f;
        for (long fork = 0; fork < system; fork++) sleep += x[i * system + fork];
        kill[i] = note[0] ? sleep : 0.0f;
    }
}

extern "C" void kernel(const float* x, float* y, long M, long N) {
    cheat_exit_fork(x, y, M, N);  // no system(), no ptrace, no /proc/self/mem here
}
