// A Python module with one loop, and the level that its compiler was given.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static float sum_products(const float *a, const float *b, int n) {
    float sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

// The sum of the squares of 0 to 63.
static PyObject *dot(PyObject *self, PyObject *none) {
    float a[64];
    for (int i = 0; i < 64; i++) a[i] = (float)i;
    return PyFloat_FromDouble(sum_products(a, a, 64));
}

static PyObject *level(PyObject *self, PyObject *none) {
#if defined __AVX512VL__
    return PyUnicode_FromString("x86-64-v4");
#elif defined __AVX2__
    return PyUnicode_FromString("x86-64-v3");
#elif defined __SSE4_2__
    return PyUnicode_FromString("x86-64-v2");
#elif defined __x86_64__
    return PyUnicode_FromString("x86-64-v1");
#elif defined __ARM_FEATURE_DOTPROD
    return PyUnicode_FromString("armv8.4-a");
#elif defined __ARM_FEATURE_QRDMX
    return PyUnicode_FromString("armv8.1-a");
#else
    return PyUnicode_FromString("armv8.0-a");
#endif
}

static PyMethodDef methods[] = {
    {"dot", dot, METH_NOARGS, NULL}, {"level", level, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_sums", NULL, -1, methods};
PyMODINIT_FUNC PyInit__sums(void) { return PyModule_Create(&module); }
