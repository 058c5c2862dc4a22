/* The C side: a parallel region of four threads, forked from Go. Thread 0 calls back into Go, which
 * calls C to trigger; thread 1 stays in C; thread 2 calls back into Go, which calls C to stay; thread
 * 3 calls back into Go and blocks there. */
#include "../truth.h"
#include "team.h"
#include "_cgo_export.h"

void team_init(int argc, char **argv) { truth_init(argc, argv, "team.c"); }

void team(void) {
  int root = truth_tid(); /* Go chooses the thread */
#pragma omp parallel num_threads(4)
  {
    truth_region(__LINE__ - 2, root);
    if (omp_get_thread_num() == 1)
      TRUTH_HOLD("work_parallel");
    goMember(omp_get_thread_num());
    TRUTH_NEVER();
  }
}

/* The number of the goroutine on this thread, from Go's runtime. */
void team_goroutine(long id) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  size_t n = strlen(truth_extra);
  snprintf(truth_extra + n, sizeof truth_extra - n, "{\"kind\":\"goroutine\",\"lwp\":%d,\"id\":%ld}\n",
           truth_tid(), id);
  pthread_mutex_unlock(&lock);
}

/* What Go calls in a member of the team. */
void team_trigger(void) {
  signal(SIGABRT, SIG_DFL); /* Go's own handler would end the program without a core */
  signal(SIGSEGV, SIG_DFL);
  truth_trigger("work_parallel", 3);
}

void team_hold(void) { TRUTH_HOLD("work_parallel"); }

/* The thread is about to block on a line of Go. */
void team_sleep(const char *function, const char *file, int line) {
  truth_enter(TRUTH_ASLEEP, "work_parallel", 0, function, file, line);
}
