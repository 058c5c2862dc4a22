/* A reduction of three threads by a critical section: the first that combines its result stays in
 * it, the others wait. Their states are not determined: the standard has no name for this wait. */
#include "truth.h"

TRUTH_ENV("KMP_FORCE_REDUCTION", "critical")

struct pair {
  double a, b;
};

/* The compiler's own variable of the section. GCC uses the lock for atomic constructs instead,
 * which is in the runtime. */
#ifdef __clang__
#define REDUCTION ".gomp_critical_user_.reduction.var"
#else
#define REDUCTION "0"
#endif
__asm__(".pushsection .data.rel,\"aw\"\n.balign 8\n"
        "reduction: .quad " REDUCTION "\n.popsection");
extern char *reduction;
static int combining;

static void combine(struct pair *out, const struct pair *in) {
  out->a += in->a;
  out->b += in->b;
  if (__atomic_fetch_add(&combining, 1, __ATOMIC_RELAXED) == 0)
    truth_trigger("", 2);
}

#pragma omp declare reduction(join : struct pair : combine(&omp_out, &omp_in)) \
    initializer(omp_priv = {0, 0})

int main(int argc, char **argv) {
  struct pair sum = {0, 0};
  truth_init(argc, argv, __FILE__);
#pragma omp parallel num_threads(3) reduction(join : sum)
  {
    TRUTH_REGION(__LINE__ - 2);
    sum.a += omp_get_thread_num();
    TRUTH_WAIT("", reduction, __LINE__ + 1);
  }
  return sum.a > 0;
}
