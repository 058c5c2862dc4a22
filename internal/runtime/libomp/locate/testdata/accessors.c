// A few accessors like those of LLVM's runtime, for structures with another
// layout: the rules must find this layout.
#define EXPORT __attribute__((visibility("default")))

struct root { int filler[3]; volatile int in_parallel; };
struct task { long filler; unsigned flags; long more[4]; signed char dynamic; int max_active_levels, chunk; };
struct thread;
struct team { char filler[40]; struct team *parent; int nproc, level, serialized; struct thread **threads; };
struct thread { int filler; int tid; struct root *root; void *teams; struct team *team; struct task *current_task; int set_nproc; };

EXPORT struct thread **__kmp_threads;
EXPORT int __kmp_all_nth;
EXPORT int __kmp_init;
static int gtid_of_caller;

__attribute__((noinline)) static int entry_gtid(void) { return *(volatile int *)&gtid_of_caller; }
__attribute__((noinline)) static void push(int gtid, int n) { __kmp_threads[gtid]->set_nproc = n; }

EXPORT int omp_get_level(void) { return __kmp_threads[entry_gtid()]->team->level; }
EXPORT int __kmpc_bound_num_threads(void) { return __kmp_threads[entry_gtid()]->team->nproc; }
EXPORT int __kmpc_bound_thread_num(void) { return __kmp_threads[entry_gtid()]->tid; }
EXPORT int omp_get_dynamic(void) { return __kmp_threads[entry_gtid()]->current_task->dynamic ? 1 : 0; }
EXPORT int omp_get_max_active_levels(void) { return __kmp_threads[entry_gtid()]->current_task->max_active_levels; }
EXPORT int omp_in_final(void) { return (__kmp_threads[entry_gtid()]->current_task->flags >> 5) & 1; }
EXPORT int __kmpc_global_num_threads(void) { return __kmp_all_nth; }
EXPORT void __kmpc_push_num_threads(void *loc, int gtid, int n) { push(gtid, n); }
EXPORT void omp_get_schedule(int *kind, int *chunk) { *kind = 3; *chunk = __kmp_threads[entry_gtid()]->current_task->chunk; }

EXPORT int omp_in_parallel(void) {
	struct thread *th = __kmp_threads[entry_gtid()];
	return th->teams ? th->team->serialized != 0 : th->root->in_parallel != 0;
}

EXPORT int omp_get_team_size(int level) {
	struct team *team = __kmp_threads[entry_gtid()]->team;
	int at = team->level;
	if (level > at)
		return -1;
	for (; at > level; at -= team->serialized)
		team = team->parent;
	return team->nproc;
}
