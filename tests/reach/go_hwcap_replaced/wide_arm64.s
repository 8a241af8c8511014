#include "textflag.h"

// func addLSE(to *uint64)
TEXT ·addLSE(SB), NOSPLIT, $0-8
	MOVD to+0(FP), R0
	MOVD $1, R1
	LDADDD R1, (R0), R2
	RET
