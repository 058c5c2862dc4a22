/* For aarch64, without a C library: executes single instructions on given registers. It reads structs state from
 * standard input, BATCH at a time, and writes them to standard output with the registers after the instruction and the
 * changed part of the memory. */
typedef unsigned long u64;
typedef unsigned int u32;
typedef unsigned char u8;

enum { MEMORY = 0x10000000, SIZE = 0x4000, CODE = 0x02000000, CHANGED = 64, BATCH = 256, SLOT = 16 };
enum { SYS_read = 63, SYS_write = 64, SYS_exit = 93, SYS_sigaltstack = 132, SYS_sigaction = 134, SYS_mmap = 222 };

struct state {
  u64 x[31], sp, nzcv;
  u64 word;          /* the instruction */
  u64 signal;        /* that it raised */
  u64 from, changed; /* the changed bytes of the memory: offset and number; the first of them follow */
  u8 bytes[CHANGED];
  u64 d[32];         /* the low halves of the vector registers */
};

/* The memory of the code below. */
static struct run {
  struct state s;
  u64 host[14]; /* x19 to x30, sp, the thread pointer */
} run __attribute__((aligned(16), used));

static struct state batch[BATCH];

static u8 pristine[SIZE], handler_stack[0x4000] __attribute__((aligned(16)));

/* run_at(slot) loads the registers and jumps to a slot, which loads the last two, executes the instruction, and jumps to
 * code_after. Each instruction of a batch has a slot: an emulator translates changed code again, which is slow. The
 * thread pointer keeps x30 afterwards, as all other registers are those of the instruction. */
enum { HOST = sizeof(struct state) };
__asm__(".arch armv8-a+fp+simd\n.text\n.balign 8\n.global run_at, slot, code_after, restore\n"
        "run_at:\n"
        "  mov x4, x0\n  ldr x0, code_state\n  add x1, x0, #360\n"
        "  ldp d0, d1, [x1, #0]\n  ldp d2, d3, [x1, #16]\n  ldp d4, d5, [x1, #32]\n  ldp d6, d7, [x1, #48]\n"
        "  ldp d8, d9, [x1, #64]\n  ldp d10, d11, [x1, #80]\n  ldp d12, d13, [x1, #96]\n  ldp d14, d15, [x1, #112]\n"
        "  ldp d16, d17, [x1, #128]\n  ldp d18, d19, [x1, #144]\n  ldp d20, d21, [x1, #160]\n  ldp d22, d23, [x1, #176]\n"
        "  ldp d24, d25, [x1, #192]\n  ldp d26, d27, [x1, #208]\n  ldp d28, d29, [x1, #224]\n  ldp d30, d31, [x1, #240]\n"
        "  add x1, x0, #616\n"
        "  stp x19, x20, [x1]\n  stp x21, x22, [x1, #16]\n  stp x23, x24, [x1, #32]\n  stp x25, x26, [x1, #48]\n"
        "  stp x27, x28, [x1, #64]\n  stp x29, x30, [x1, #80]\n"
        "  mov x2, sp\n  mrs x3, tpidr_el0\n  stp x2, x3, [x1, #96]\n  mov x30, x4\n"
        "  ldr x1, [x0, #248]\n  mov sp, x1\n  ldr x1, [x0, #256]\n  msr nzcv, x1\n"
        "  ldp x2, x3, [x0, #16]\n  ldp x4, x5, [x0, #32]\n  ldp x6, x7, [x0, #48]\n  ldp x8, x9, [x0, #64]\n"
        "  ldp x10, x11, [x0, #80]\n  ldp x12, x13, [x0, #96]\n  ldp x14, x15, [x0, #112]\n"
        "  ldp x16, x17, [x0, #128]\n  ldp x18, x19, [x0, #144]\n  ldp x20, x21, [x0, #160]\n"
        "  ldp x22, x23, [x0, #176]\n  ldp x24, x25, [x0, #192]\n  ldp x26, x27, [x0, #208]\n"
        "  ldp x28, x29, [x0, #224]\n  br x30\n"
        "slot:\n  ldr x30, [x0, #240]\n  ldp x0, x1, [x0]\n"
        "code_after:\n"
        "  msr tpidr_el0, x30\n  ldr x30, code_state\n"
        "  stp x0, x1, [x30]\n  stp x2, x3, [x30, #16]\n  stp x4, x5, [x30, #32]\n  stp x6, x7, [x30, #48]\n"
        "  stp x8, x9, [x30, #64]\n  stp x10, x11, [x30, #80]\n  stp x12, x13, [x30, #96]\n"
        "  stp x14, x15, [x30, #112]\n  stp x16, x17, [x30, #128]\n  stp x18, x19, [x30, #144]\n"
        "  stp x20, x21, [x30, #160]\n  stp x22, x23, [x30, #176]\n  stp x24, x25, [x30, #192]\n"
        "  stp x26, x27, [x30, #208]\n  stp x28, x29, [x30, #224]\n"
        "  mrs x0, tpidr_el0\n  str x0, [x30, #240]\n  mov x0, sp\n  str x0, [x30, #248]\n"
        "  mrs x0, nzcv\n  str x0, [x30, #256]\n"
        "  add x1, x30, #360\n"
        "  stp d0, d1, [x1, #0]\n  stp d2, d3, [x1, #16]\n  stp d4, d5, [x1, #32]\n  stp d6, d7, [x1, #48]\n"
        "  stp d8, d9, [x1, #64]\n  stp d10, d11, [x1, #80]\n  stp d12, d13, [x1, #96]\n  stp d14, d15, [x1, #112]\n"
        "  stp d16, d17, [x1, #128]\n  stp d18, d19, [x1, #144]\n  stp d20, d21, [x1, #160]\n  stp d22, d23, [x1, #176]\n"
        "  stp d24, d25, [x1, #192]\n  stp d26, d27, [x1, #208]\n  stp d28, d29, [x1, #224]\n  stp d30, d31, [x1, #240]\n"
        "  add x1, x30, #616\n"
        "  ldp x2, x3, [x1, #96]\n  mov sp, x2\n  msr tpidr_el0, x3\n"
        "  ldp x19, x20, [x1]\n  ldp x21, x22, [x1, #16]\n  ldp x23, x24, [x1, #32]\n  ldp x25, x26, [x1, #48]\n"
        "  ldp x27, x28, [x1, #64]\n  ldp x29, x30, [x1, #80]\n"
        "  ret\n"
        ".balign 8\n"
        "code_state: .quad run\n"
        "restore:\n  mov x8, #139\n  svc #0\n");
void run_at(u64 slot);
extern u8 code_after[], restore[];
extern u32 slot[];
_Static_assert(HOST == 616, "the offset in the code above");

static long call(long n, long a, long b, long c, long d, long e, long f) {
  register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c,
                x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}

/* The handler continues after the instruction that raised the signal. The kernel's struct ucontext has the program
 * counter after 31 registers and sp, from offset 184. */
static void handler(int signal, void *info, u8 *context) {
  run.s.signal = signal;
  *(u64 *)(context + 184 + 32 * 8) = (u64)code_after;
}

static int transfer(int nr, int fd, u8 *p, u64 n) {
  for (u64 done = 0; done < n;) {
    long got = call(nr, fd, (long)(p + done), n - done, 0, 0, 0);
    if (got <= 0) return 0;
    done += got;
  }
  return 1;
}

/* copy copies n bytes, a multiple of 8. */
static void copy(u8 *to, const u8 *from, u64 n) {
  for (u64 i = 0; i < n; i += 8) *(volatile u64 *)(to + i) = *(const u64 *)(from + i);
}

static void compare(void) {
  u64 *now = (u64 *)MEMORY, *old = (u64 *)pristine, low = SIZE / 8, high = 0;
  for (u64 i = 0; i < SIZE / 8; i++)
    if (now[i] != old[i]) {
      if (low == SIZE / 8) low = i;
      high = i + 1;
    }
  run.s.from = run.s.changed = 0;
  if (high == 0) return;
  run.s.from = low * 8;
  run.s.changed = (high - low) * 8;
  copy(run.s.bytes, (u8 *)(now + low), run.s.changed < CHANGED ? run.s.changed : CHANGED);
  copy((u8 *)(now + low), (u8 *)(old + low), run.s.changed);
}

/* may_store reports whether an instruction is in a group with loads and stores. */
static int may_store(u64 word) { return (word & 0x0a000000) == 0x08000000 || (word & 0x1e000000) == 0x04000000; }

void _start(void) {
  static struct { void *handler; u64 flags; void *restorer; u64 mask; } action;
  static struct { void *sp; int flags; u64 size; } stack;
  enum { SIGILL = 4, SIGTRAP = 5, SIGBUS = 7, SIGFPE = 8, SIGSEGV = 11 };
  enum { SIGINFO = 4, ONSTACK = 0x08000000, NODEFER = 0x40000000, RESTORER = 0x04000000 };
  stack.sp = handler_stack, stack.size = sizeof handler_stack;
  call(SYS_sigaltstack, (long)&stack, 0, 0, 0, 0, 0);
  action.handler = handler, action.flags = SIGINFO | ONSTACK | NODEFER | RESTORER, action.restorer = restore;
  const int signals[] = {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV};
  for (int i = 0; i < 5; i++) call(SYS_sigaction, signals[i], (long)&action, 0, 8, 0, 0);
  call(SYS_mmap, MEMORY, SIZE, 3, 0x32, -1, 0);
  call(SYS_mmap, CODE, BATCH * SLOT, 7, 0x32, -1, 0);
  for (u64 i = 0; i < SIZE; i++) pristine[i] = i * 37 ^ i >> 8;
  copy((u8 *)MEMORY, pristine, SIZE);
  while (transfer(SYS_read, 0, (u8 *)batch, sizeof batch)) {
    for (u64 i = 0; i < BATCH; i++) {
      volatile u32 *to = (u32 *)(CODE + i * SLOT);
      to[0] = slot[0], to[1] = slot[1], to[2] = batch[i].word;
      to[3] = 0x14000000 | (((u64)code_after - (u64)(to + 3)) / 4 & 0x3ffffff); /* b code_after */
    }
    __builtin___clear_cache((char *)CODE, (char *)CODE + BATCH * SLOT);
    for (u64 i = 0; i < BATCH; i++) {
      copy((u8 *)&run.s, (u8 *)&batch[i], sizeof run.s);
      run_at(CODE + i * SLOT);
      if (may_store(batch[i].word)) compare();
      copy((u8 *)&batch[i], (u8 *)&run.s, sizeof run.s);
    }
    if (!transfer(SYS_write, 1, (u8 *)batch, sizeof batch)) break;
  }
  call(SYS_exit, 0, 0, 0, 0, 0, 0);
}
