/* A thread waits for tasks in an explicit task and executes one of them. It is stopped in the
 * runtime, right after that task: the processor traps after each instruction from the last one
 * of the task, and the first one of the runtime ends the program. In between, the taskgroups
 * and parents of the finished task are those of the waiting task; no thread waits for it. The
 * argument selects the wait: 0 a taskgroup, 1 a taskwait, 2 a taskwait with dependences. */
#include "truth.h"
#include <link.h>
#include <ucontext.h>

enum { TRAP = 0x100 }; /* the trap flag of EFLAGS */

static struct { uintptr_t low, high; } own;
static volatile int waits, ended;
static int d;

static int program(struct dl_phdr_info *info, size_t size, void *unused) {
  (void)size, (void)unused;
  own.low = (uintptr_t)info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_LOAD)
      own.high = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
  return 1; /* the program itself is the first */
}

static void trapped(int signal, siginfo_t *info, void *context) {
  uintptr_t pc = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
  struct sigaction by_default = {0};
  (void)info;
  by_default.sa_handler = SIG_DFL;
  if (pc < own.low || pc >= own.high)
    sigaction(signal, &by_default, NULL); /* the next trap ends the program */
}

static void end(void) {
  if (!waits)
    return;
  __asm__ volatile("sub $128, %%rsp; pushf; orl %0, (%%rsp); popf; lea 128(%%rsp), %%rsp" ::"i"(TRAP) : "memory", "cc");
}

static void waiting(int how) {
  int tasks = 2;
  waits = 1;
  switch (how) {
  case 0:
#pragma omp taskgroup
    for (int i = 0; i < tasks; i++) {
#pragma omp task
      end();
    }
    break;
  case 1:
    for (int i = 0; i < tasks; i++) {
#pragma omp task
      end();
    }
#pragma omp taskwait
    break;
  default:
#pragma omp task depend(out : d)
    end();
#pragma omp taskwait depend(in : d)
  }
  ended = 1;
}

int main(int argc, char **argv) {
  int how;
  struct sigaction trap = {0};
  truth_init(argc, argv, __FILE__);
  how = (int)truth_arg(argc, argv, 1, 0);
  dl_iterate_phdr(program, NULL);
  trap.sa_sigaction = trapped;
  trap.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &trap, NULL);
  truth_slot();
  truth_write(1);
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
#pragma omp task
      waiting(how);
#pragma omp taskwait
    } else {
      truth_until(&ended);
    }
  }
  return 0;
}
