// A template's instance that the library's interface calls unasked.
extern "C" {
#include "x86_64.h"
}

template <typename T> struct Doubler {
    AVX2 static const char *twice(T *x) { TWICE_AVX2(x); return "avx2"; }
};

extern "C" const char *twice(int *x) { return Doubler<int>::twice(x); }
