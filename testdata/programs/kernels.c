/* The threads of a team wait in functions in assembly language that have no unwind tables, as the kernels of libraries
 * for matrices have none. Each function overwrites the registers that it saved. */
#include "truth.h"

typedef void kernel(void);
kernel kernel_fixed, kernel_aligned, kernel_pushed, kernel_calling;

__attribute__((used, noinline)) void kernel_callee(void) {
  for (;;)
    pause();
}

__asm__(".text\n"
        ".macro begin name\n"
        ".globl \\name\n"
        ".type \\name, @function\n"
        "\\name:\n"
        ".endm\n"
        ".macro wait name\n" /* in pause(2) */
        "xor %ebp, %ebp\n"
        "1: mov $34, %eax\n"
        "syscall\n"
        "jmp 1b\n"
        ".size \\name, . - \\name\n"
        ".endm\n"

        "begin kernel_fixed\n"
        "sub $0x68, %rsp\n"
        "mov %rbp, 8(%rsp)\n"
        "mov %rbx, (%rsp)\n"
        "mov %r12, 0x10(%rsp)\n"
        "xor %ebx, %ebx\n"
        "xor %r12d, %r12d\n"
        "wait kernel_fixed\n"

        "begin kernel_aligned\n" /* an area of a page's alignment; rbx keeps the stack pointer */
        "sub $0x60, %rsp\n"
        "mov %rbx, (%rsp)\n"
        "mov %rbp, 8(%rsp)\n"
        "mov %r12, 0x10(%rsp)\n"
        "mov %r13, 0x18(%rsp)\n"
        "mov %rsp, %rbx\n"
        "sub $0x7080, %rsp\n"
        "and $-4096, %rsp\n"
        "xor %r12d, %r12d\n"
        "mov %rsp, %r13\n"
        "wait kernel_aligned\n"

        "begin kernel_pushed\n"
        "push %r15\n"
        "push %rbp\n"
        "push %rbx\n"
        "sub $0x2010, %rsp\n"
        "xor %ebx, %ebx\n"
        "xor %r15d, %r15d\n"
        "wait kernel_pushed\n"

        "begin kernel_calling\n"
        "push %rbp\n"
        "push %rbx\n"
        "sub $0x18, %rsp\n"
        "xor %ebp, %ebp\n"
        "mov %rsp, %rbx\n"
        "call kernel_callee\n"
        ".size kernel_calling, . - kernel_calling\n");

/* run calls a kernel, as the library's drivers do. */
__attribute__((noinline)) static void run(kernel *k, int n) {
  char area[64];
  memset(area, n, sizeof area);
  __asm__ volatile("" : : "r"(area) : "memory");
  k();
  __asm__ volatile("" : : "r"(area) : "memory");
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  static kernel *const all[] = {kernel_fixed, kernel_aligned, kernel_pushed, kernel_calling};
#pragma omp parallel num_threads(5)
  {
    TRUTH_REGION(__LINE__ - 2);
    int n = omp_get_thread_num();
    if (n < 4) {
      truth_enter(TRUTH_HELD, "work_parallel", 0, "run", __FILE__, 0);
      __atomic_store_n(&truth_me->place, TRUTH_HELD, __ATOMIC_RELEASE);
      run(all[n], n);
    } else {
      truth_trigger("work_parallel", 4);
    }
  }
  return 0;
}
