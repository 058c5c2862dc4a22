#include "textflag.h"

// As on amd64.
TEXT main·entry(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	MOVD $25, R8
	MOVD $1, R0
	MOVD $1, R1
	SVC
	MOVD R0, ·outputAtEntry(SB)
	JMP _rt0_arm64_linux(SB)
