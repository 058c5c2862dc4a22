# A program for 32-bit x86 that prints READY, and ends at the end of its input.
	.globl	_start
_start:	movl	$4, %eax	# write
	movl	$1, %ebx
	movl	$ready, %ecx
	movl	$6, %edx
	int	$0x80
	movl	$3, %eax	# read
	xorl	%ebx, %ebx
	movl	$buffer, %ecx
	movl	$1, %edx
	int	$0x80
	movl	$1, %eax	# exit
	xorl	%ebx, %ebx
	int	$0x80
	.section .rodata
ready:	.ascii	"READY\n"
	.bss
buffer:	.skip	1
	.section .note.GNU-stack,"",@progbits
