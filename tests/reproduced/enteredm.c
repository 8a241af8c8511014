/* Prints what `g` leaves in the cell, to whose loop in `f` it jumps. */
int printf(const char *, ...);
int g(int *, int, void *, long, long);
int cell = 10;

int main(void) {
    int before = g(&cell, 5, 0, 0, 1);
    printf("returned %d, cell %d\n", before, cell);
    return cell != 15;
}
