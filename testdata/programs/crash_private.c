/* A worker uses a null pointer. "0": its copy of a threadprivate array, which only the initial thread has allocated, at
 * a variable index; "1": its copy of a threadprivate list; "2": no thread has set its copy. "3": the null pointer is in
 * a variable of its own, and only the index is in a threadprivate variable, which is 0. "4": the null pointer is in the
 * object to which its copy points. */
#include "truth.h"

struct item { long key; struct item *next; double weight; };

static double *scratch;
static int mine;
static long offset;
struct item *recent, *unset;
#pragma omp threadprivate(scratch, mine, offset, recent, unset)

static volatile int way;
static volatile double sum;
static char *volatile missing;

#define USES __attribute__((noinline)) static void
USES write_scratch(void) { scratch[mine] = 1; }
USES read_recent(void) { sum += recent->weight; }
USES read_unset(void) { sum += unset->weight; }
USES read_text(char *text) { sum += text[offset]; }
USES read_next(void) { sum += recent->next->weight; }

static void use(void) {
  switch (way) {
  case 0: write_scratch(); break;
  case 1: read_recent(); break;
  case 2: read_unset(); break;
  case 3: read_text(missing); break;
  case 4: read_next(); break;
  }
}

int main(int argc, char **argv) {
  struct item one = {1, NULL, 2};
  truth_init(argc, argv, __FILE__);
  way = (int)truth_arg(argc, argv, 1, 0);
  scratch = calloc(100, sizeof *scratch);
  recent = &one;
#pragma omp parallel num_threads(2)
  {
    TRUTH_REGION(__LINE__ - 2);
    mine = omp_get_thread_num();
    if (way == 4)
      recent = &one;
    if (mine == 1) {
      truth_write(1);
      use();
    }
#pragma omp barrier
  }
  return sum > 1000;
}
