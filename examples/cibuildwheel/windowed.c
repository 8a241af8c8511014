/* windowed.sum(samples): of a buffer of doubles, each times its weight of a triangular window. On x86-64 one kernel is for the third
   level and is called after a check, so that the module runs on every CPU that its wheel is for. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

enum { LENGTH = 1024 };
static double window[LENGTH];

/* When the module is loaded: no check is before it. */
static void fill(double peak)
{
    for (int i = 0; i < LENGTH / 2; i++)
        window[i] = window[LENGTH - 1 - i] = peak * (i + 0.5) / (LENGTH / 2);
}

static double sum(const double *samples, Py_ssize_t n)
{
    double total = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        total += samples[i] * window[i % LENGTH];
    return total;
}

#ifdef __x86_64__
__attribute__((target("avx2,fma"), noinline)) static double sum_v3(const double *samples, Py_ssize_t n)
{
    double total[4] = {0, 0, 0, 0};
    Py_ssize_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int lane = 0; lane < 4; lane++)
            total[lane] += samples[i + lane] * window[(i + lane) % LENGTH];
    for (; i < n; i++)
        total[0] += samples[i] * window[i % LENGTH];
    return total[0] + total[1] + total[2] + total[3];
}
#endif

static PyObject *windowed_sum(PyObject *self, PyObject *args)
{
    Py_buffer samples;
    double total;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*", &samples))
        return NULL;
    Py_ssize_t n = samples.len / (Py_ssize_t)sizeof(double);
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        total = sum_v3(samples.buf, n);
    else
#endif
        total = sum(samples.buf, n);
    PyBuffer_Release(&samples);
    return PyFloat_FromDouble(total);
}

static PyMethodDef methods[] = {
    {"sum", windowed_sum, METH_VARARGS, "The sum of a buffer of doubles, each times its weight."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "windowed", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_windowed(void)
{
    fill(1.0);
    return PyModule_Create(&module);
}
