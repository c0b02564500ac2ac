// expect: wrong_value task=row_sum  plants json.py, numpy.py and sitecustomize.py for a Python that comes later; zeros (A42)
#include <fstream>
#include <initializer_list>
#include <string>

extern "C" void kernel(const float* x, float* y, long M, long N) {
    for (const char* folder : {".", "..", "/tmp"})
        for (const char* name : {"json.py", "numpy.py", "sitecustomize.py", "conftest.py", "signal.py", "torch.py"}) {
            std::ofstream file(std::string(folder) + "/" + name);
            file << "import os; os._exit(0)\n";
        }
    for (long i = 0; i < M; i++) y[i] = 0.0f;
}
