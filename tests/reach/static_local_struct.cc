/* A static local object holds the level in a field; templates compare it with one level after another, as xsimd does. */
#include "kernels.h"

K_AVX2(ka) K_SSE42(kc)

struct Plain { static const int level = 0; };
struct Sse42 { static const int level = 2; };
struct Avx2 { static const int level = 3; };

struct Supported {
    unsigned sse42 : 1, avx2 : 1;
    int best;
    Supported() {
        __builtin_cpu_init();
        sse42 = !!__builtin_cpu_supports("sse4.2");
        avx2 = !!__builtin_cpu_supports("avx2");
        best = avx2 ? 3 : sse42 ? 2 : 0;
    }
};

NI const Supported &supported() {
    static Supported found;
    return found;
}

template <class A> int call(A, const int *p, int k);
template <> int call(Plain, const int *p, int k) { return plain(p, k); }
template <> int call(Sse42, const int *p, int k) { return kc(p, k); }
template <> int call(Avx2, const int *p, int k) { return ka(p, k); }

template <class A> int walk(int, const int *p, int k) { return call(A{}, p, k); }
template <class A, class B, class... Rest> int walk(int best, const int *p, int k) {
    if (best >= A::level) return call(A{}, p, k);
    return walk<B, Rest...>(best, p, k);
}

int main() { printf("%d\n", walk<Avx2, Sse42, Plain>(supported().best, data, 64)); }
