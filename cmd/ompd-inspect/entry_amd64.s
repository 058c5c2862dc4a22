#include "textflag.h"

// main.entry is where the process begins if the linker is told so (-E main.entry): before
// Go's own, which opens /dev/null in place of standard files that are closed. It asks the
// kernel for the flags of the standard output: fcntl(1, F_GETFD).
//
// Of two programs in one file (internal/joinelf) it is the lean one's that the kernel begins
// with. If the file was executed as /proc/self/exe, or by a descriptor, as /dev/fd/N
// (AT_EXECFN, 31, of the auxiliary vector that is on the stack behind arguments and
// environment), it goes on at WHOLE, where the whole program has its main.entry.
TEXT main·entry(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
#ifdef WHOLE
	MOVQ 0(SP), CX
	LEAQ 16(SP)(CX*8), SI
environment:
	MOVQ 0(SI), AX
	ADDQ $8, SI
	TESTQ AX, AX
	JNZ  environment
auxiliary:
	MOVQ 0(SI), AX
	MOVQ 8(SI), BX
	ADDQ $16, SI
	TESTQ AX, AX
	JZ   lean
	CMPQ AX, $31
	JNE  auxiliary
	MOVQ BX, ·executedAs(SB)
	MOVQ $0x2f64662f7665642f, AX // "/dev/fd/"
	CMPQ AX, 0(BX)
	JEQ  whole
	MOVQ $0x65732f636f72702f, AX // "/proc/se"
	CMPQ AX, 0(BX)
	JNE  lean
	MOVQ $0x006578652f666c65, AX // "elf/exe" and its end
	CMPQ AX, 7(BX)
	JNE  lean
whole:
	MOVQ $WHOLE, AX
	JMP  AX
lean:
#endif
	MOVL $72, AX
	MOVL $1, DI
	MOVL $1, SI
	SYSCALL
	MOVQ AX, ·outputAtEntry(SB)
	JMP _rt0_amd64_linux(SB)
