/* Code of many kinds in little space: the sweep over it must find what decoding each word finds.
 *
 * aarch64-linux-gnu-gcc -O3 -march=armv8.2-a+fp16+dotprod+crypto -c text-aarch64.c -o text.o
 * aarch64-linux-gnu-objcopy -O binary -j .text text.o text-aarch64.bin
 */
#include <arm_acle.h>
#include <arm_neon.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

void scale(float *restrict to, const float *restrict from, size_t n, float by) {
    for (size_t i = 0; i < n; i++) to[i] = from[i] * by + (float)i;
}
void scale_half(__fp16 *restrict to, const __fp16 *restrict from, size_t n) {
    for (size_t i = 0; i < n; i++) to[i] = from[i] * from[i];
}
uint64_t sum(const uint8_t *from, size_t n) {
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++) total += from[i];
    return total;
}
uint32_t checksum(const uint64_t *from, size_t n) {
    uint32_t crc = ~0u;
    for (size_t i = 0; i < n; i++) crc = __crc32cd(crc, from[i]);
    return crc;
}
int dot(const int8_t *a, const int8_t *b, size_t n) {
    int32x4_t total = vdupq_n_s32(0);
    for (size_t i = 0; i + 16 <= n; i += 16) total = vdotq_s32(total, vld1q_s8(a + i), vld1q_s8(b + i));
    return vaddvq_s32(total);
}
uint8x16_t rounds(uint8x16_t block, const uint8x16_t *keys, int n) {
    for (int i = 0; i < n; i++) block = vaesmcq_u8(vaeseq_u8(block, keys[i]));
    return block;
}
int take(atomic_int *count) {
    int seen = atomic_load_explicit(count, memory_order_acquire);
    while (seen > 0)
        if (atomic_compare_exchange_weak(count, &seen, seen - 1)) return seen;
    return 0;
}
long add(atomic_long *to, long by) { return atomic_fetch_add(to, by); }
const char *name(int number) {
    switch (number) {
    case 0: return "zero";
    case 1: return "one";
    case 2: return "two";
    case 3: return "three";
    case 4: return "four";
    case 7: return "seven";
    default: return number < 0 ? "negative" : "many";
    }
}
extern double measure(double, int);
double mean(const double *from, size_t n) {
    double total = 0;
    for (size_t i = 0; i < n; i++) total += measure(from[i], (int)i) / 3.0;
    return n ? total / (double)n : 0;
}
void sort(int64_t *keys, size_t n) {
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && keys[j - 1] > keys[j]; j--) {
            int64_t key = keys[j];
            keys[j] = keys[j - 1];
            keys[j - 1] = key;
        }
}
