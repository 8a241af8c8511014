/* A program whose own code a library's word guards: the loader copies the word into the program. */
extern unsigned fast_flags;
void by_word(int *x);

__attribute__((target("avx2"), noinline)) static void own(int *x) { for (int i = 0; i < 64; i++) x[i] *= 17; }

int main(void) {
    int x[64] = {1};
    by_word(x);
    if (fast_flags & 0x8000) own(x);
    return x[0] == 0;
}
