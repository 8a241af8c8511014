/* A library that asks nothing itself: another library's word and functions guard its code. */
extern unsigned fast_flags;
unsigned flags_of_cpu(void);
int has_avx2(void);
int has_luck(void);

#define AVX2 __attribute__((target("avx2"), noinline)) static
#define TIMES(n) for (int i = 0; i < 64; i++) x[i] *= n
AVX2 void behind_word(int *x) { TIMES(2); }
AVX2 void behind_flags(int *x) { TIMES(3); }
AVX2 void behind_truth(int *x) { TIMES(5); }
AVX2 void behind_less(int *x) { TIMES(7); }
AVX2 void behind_luck(int *x) { TIMES(11); }
AVX2 void behind_nothing(int *x) { TIMES(13); }

void by_word(int *x) { if (fast_flags & 0x8000) behind_word(x); }
void by_flags(int *x) { if (flags_of_cpu() & 0x8000) behind_flags(x); }
void by_truth(int *x) { if (has_avx2()) behind_truth(x); }
void by_less(int *x) { if (flags_of_cpu() & 0x4000) behind_less(x); }
void by_luck(int *x) { if (has_luck()) behind_luck(x); }
void by_nothing(int *x) { behind_nothing(x); }
