/* constructs.c: one of each construct that a runtime reports to tools. It prints a line at its end, and stays. */
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

enum { N = 64 };

static volatile int sink;
static int values[N];
static omp_lock_t lock;
#ifdef __clang__ /* GNU's runtime has no hints */
static omp_lock_t hinted;
#endif
static omp_nest_lock_t nest;

__attribute__((noinline)) static void work(int n) {
  for (int i = 0; i < n; i++) sink += i;
}

static void locks(void) {
  omp_set_lock(&lock);
  work(100);
  omp_unset_lock(&lock);
  if (omp_test_lock(&lock)) omp_unset_lock(&lock);
#ifdef __clang__
  omp_set_lock(&hinted);
  omp_unset_lock(&hinted);
#endif
  omp_set_nest_lock(&nest);
  omp_set_nest_lock(&nest);
  omp_unset_nest_lock(&nest);
  omp_unset_nest_lock(&nest);
  if (omp_test_nest_lock(&nest)) omp_unset_nest_lock(&nest);
#pragma omp critical
  sink++;
#pragma omp critical(named)
  sink++;
#pragma omp flush
}

static void loops(void) {
#pragma omp for schedule(static)
  for (int i = 0; i < N; i++) values[i] = i;
#pragma omp for schedule(dynamic, 4)
  for (int i = 0; i < N; i++) values[i] += i;
#pragma omp for schedule(guided) nowait
  for (int i = 0; i < N; i++) values[i]++;
#pragma omp barrier
#pragma omp for ordered schedule(dynamic)
  for (int i = 0; i < 8; i++) {
#pragma omp ordered
    sink += i;
  }
#pragma omp for ordered(1)
  for (int i = 1; i < 8; i++) {
#pragma omp ordered depend(sink : i - 1)
    values[i] = values[i - 1];
#pragma omp ordered depend(source)
  }
#pragma omp sections
  {
#pragma omp section
    work(5);
#pragma omp section
    work(6);
  }
#pragma omp single
  work(1);
#pragma omp master
  work(2);
}

static void tasks(void) {
  int x = 0, y = 0;
#pragma omp task depend(out : x) shared(x)
  {
    usleep(1000);
    x = 1;
  }
#pragma omp task depend(in : x) depend(inout : y) shared(x, y)
  y = x;
#pragma omp task if (0)
  work(3);
#pragma omp task untied
  {
    work(3);
#pragma omp taskyield
    work(3);
  }
#pragma omp taskwait
#pragma omp taskgroup
  for (int i = 0; i < 10; i++) {
#pragma omp task
    work(100);
  }
#pragma omp taskloop grainsize(8)
  for (int i = 0; i < N; i++) values[i]++;
  omp_event_handle_t event;
#pragma omp task detach(event)
  work(1);
  omp_fulfill_event(event);
}

int main(void) {
  omp_set_max_active_levels(3);
  omp_init_lock(&lock);
  omp_init_nest_lock(&nest);
#ifdef __clang__
  omp_init_lock_with_hint(&hinted, omp_sync_hint_contended);
#endif
#pragma omp parallel num_threads(4)
  {
    loops();
    locks();
  }
#pragma omp parallel num_threads(4)
#pragma omp single
  tasks();
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
  work(4);
#pragma omp parallel num_threads(1)
  work(4);
#pragma omp teams num_teams(2) thread_limit(2)
#pragma omp distribute parallel for
  for (int i = 0; i < N; i++) values[i] = i;
#pragma omp parallel num_threads(4)
  {
#pragma omp for
    for (int i = 0; i < N; i++) {
      if (i == 5) {
#pragma omp cancel for
      }
      work(10);
    }
  }
  int sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(4)
  for (int i = 0; i < N; i++) sum += i;
#ifdef WITH_ERROR /* it crashes the runtimes of LLVM 14 and 15 */
#pragma omp error at(execution) severity(warning) message("a message that is longer than what one record takes")
#endif
#ifdef __clang__
  omp_control_tool(omp_control_tool_flush, 7, NULL);
  omp_control_tool(64, 4711, NULL);
#endif
  omp_destroy_lock(&lock);
  printf("READY %d\n", sum);
  fflush(stdout);
  for (;;) pause();
}
