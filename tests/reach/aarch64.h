/* What the AArch64 programs of this folder share: functions that execute one instruction of one feature, and a plain one. The
   bits of AT_HWCAP and AT_HWCAP2 are those of Linux's arch/arm64/include/uapi/asm/hwcap.h. */
#include <asm/hwcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

#define APART __attribute__((noinline))

#define ADD_LSE(x) __asm__ volatile(".arch_extension lse\n\tldadd %w0, wzr, [%1]" ::"r"(1), "r"(x) : "memory")
#define ADD_PLAIN(x) (*(x) += 1)
