// An inline function that two translation units emit; the linker keeps the copy that it meets first.
struct Sample {
    int values[8];
    __attribute__((noinline)) void double_all() {
        using eight_ints = int __attribute__((vector_size(32), aligned(4), may_alias));
        *reinterpret_cast<eight_ints *>(values) += *reinterpret_cast<eight_ints *>(values);
    }
};
const char *process_wide(Sample &sample);
