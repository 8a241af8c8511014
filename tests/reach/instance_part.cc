// A template's instance is a weak symbol that the linker exports only so that all files share one; nothing calls this one.
extern "C" {
#include "x86_64.h"
}

template <typename T> struct Doubler {
    AVX2 static const char *spare(T *x) { TWICE_AVX2(x); return "avx2"; }
    AVX2 static const char *chosen(T *x) { TWICE_AVX2(x); x[0] += x[1]; return "avx2"; }
    PLAIN static const char *plain(T *x) { TWICE_PLAIN(x); return "plain"; }
};
template struct Doubler<int>;

extern "C" const char *twice(int *x) { return detect_avx2() ? Doubler<int>::chosen(x) : Doubler<int>::plain(x); }
