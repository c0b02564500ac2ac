from fitness.languages import launch_syntax
from fitness.languages.launch_syntax import device_part, host_part, rewrite_launches
from fitness.languages.simt import simt_fingerprint

SOURCE = """\
template <class T, int B> __global__ void scale(T* a, long n) {
    extern __shared__ float shared[];
    if (threadIdx.x < n) a[threadIdx.x] *= 2;
}
// a comment: not<<<1, 2>>>(a)
const char* text = "neither<<<1, 2>>>(a)";
extern "C" void kernel(float* a, long n, cudaStream_t stream) {
    scale<float, 4> <<<dim3(1, 2), 32, 16, stream>>>(a, n);
}
"""


def test_a_launch_becomes_a_call_of_the_launcher():
    rewritten = rewrite_launches(SOURCE)

    call = "::kernelwright::launcher(scale<float, 4>, ::kernelwright::Configuration(dim3(1, 2), 32, 16, stream))(a, n);"
    assert call in rewritten.source
    assert ("scale<float, 4>",) == rewritten.kernels


def test_comments_and_strings_stay_as_they_are():
    rewritten = rewrite_launches(SOURCE)

    assert "// a comment: not<<<1, 2>>>(a)" in rewritten.source
    assert '"neither<<<1, 2>>>(a)"' in rewritten.source


def test_dynamic_shared_memory_becomes_a_pointer():
    assert "KERNELWRIGHT_DYNAMIC_SHARED(float, shared);" in rewrite_launches(SOURCE).source


def test_lines_stay_where_they_are():
    assert SOURCE.count("\n") == host_part(rewrite_launches(SOURCE).source).count("\n")


def test_the_host_part_has_no_device_bodies():
    host = host_part(rewrite_launches(SOURCE).source)

    assert "threadIdx" not in host
    assert "__global__ void scale(T* a, long n) ;" in host
    assert 'extern "C" void kernel(float* a' in host


def test_the_device_part_has_no_launchers_bodies():
    device = device_part(rewrite_launches(SOURCE).source)

    assert "dim3" not in device
    assert 'extern "C" void kernel(float* a, long n, cudaStream_t stream) ;' in device
    assert "a[threadIdx.x] *= 2;" in device
    assert SOURCE.count("\n") == device.count("\n")


def test_the_device_part_keeps_what_runs_on_the_device():
    for source in (
        'extern "C" __global__ void k(float* a) { a[0] = 1; }\n',
        'extern "C" { __global__ void k(float* a) { a[0] = 1; } }\n',
        '// extern "C" void kernel() { in a comment }\n',
        'extern "C" void kernel(float* a);\n__device__ float f() { return 1; }\n',
    ):
        assert source == device_part(source)


def test_the_device_part_has_no_bodies_of_functions_that_only_a_host_runs():
    source = "template <int B = 2> static void go(long n) noexcept { kernelwright_launch(n); }\n"
    source += "int count() { return std::min(1, 2); }\n#define DEV __device__\nDEV int f() { return cudaOf(1); }\n"
    device = device_part(source)

    assert "static void go(long n) noexcept ;" in device
    assert "int count() ;" in device
    assert "DEV int f() { return cudaOf(1); }" in device


def test_the_device_part_knows_the_launchers_constants():
    body = "constexpr int W = 8;\n  constexpr int B = 4 * W;\n  constexpr int other = 1;\n  kernelwright_launch(n);"
    device = device_part(f'extern "C" void kernel(long n) {{\n  {body}\n}}\n', ["k<B>"])

    assert device.endswith("constexpr int W = 8;\nconstexpr int B = 4 * W;\n")


def test_strings_and_numbers_hide_no_braces():
    for inside in ('R"({)"', 'R"x(}})")x"', "1'000 + 1'0", "'{'", '"\\"{"'):
        source = f'extern "C" void kernel() {{ use({inside}); }}\n__device__ int f() {{ return 1; }}\n'

        assert 'extern "C" void kernel() ;\n__device__ int f() { return 1; }\n' == device_part(source)


def test_a_word_for_what_is_marked_is_a_mark():
    source = "#define HD __host__ __device__\n#define DEV __device__\nHD int one() { return 1; }\nDEV int two() { return 2; }\n"
    host = host_part(source)

    assert "HD int one() { return 1; }" in host
    assert "DEV int two() ;" in host


def test_functions_of_both_sides_keep_their_bodies():
    source = "__host__ __device__ int twice(int x) { return 2 * x; }\n"

    assert source == host_part(source)


def test_broken_text_comes_back():
    for text in ("", "<<<", "a<<<1", ">>>", "k<<<1,2>>>", "__global__ void k() {", "__global__"):
        assert isinstance(rewrite_launches(text).source, str)
        assert isinstance(host_part(text), str)
        assert isinstance(device_part(text), str)


def test_what_rewrites_a_source_is_in_the_key_of_its_artifact(tmp_path, monkeypatch):
    changed = tmp_path / "launch_syntax.py"
    changed.write_text("# another way to rewrite\n")
    before = simt_fingerprint()
    monkeypatch.setattr(launch_syntax, "__file__", str(changed))

    assert before != simt_fingerprint()
