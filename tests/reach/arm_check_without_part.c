/* The check of arm_check_without.c. */
#ifdef TRAP
int has_lse(void) { return 1; }
#else
int has_lse(void) { return 0; }
#endif
