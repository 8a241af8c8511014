/* Scales a vector and adds another: as many elements at once as the target's registers hold. */
static float scaled[4096], added[4096];

__attribute__((noinline)) void scale_and_add(float *restrict to, const float *from, float by, long count) {
    for (long i = 0; i < count; i++) to[i] = to[i] * by + from[i];
}

int main(int count, char **arguments) {
    (void)arguments;
    scale_and_add(scaled, added, 0.5f, 4000 + count);
    return scaled[0] != 0;
}
