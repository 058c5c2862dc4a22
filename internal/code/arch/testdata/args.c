// Calls with a first argument that an observer of the code must find, one
// function each. "use" is defined elsewhere.
int use(void *first, long second, long third);
extern char elsewhere[64];
static char lock[64];
char shown[64];

#define KEEP __attribute__((noinline))

KEEP int constant(void) { return use((void *)4711, 42, -1) + 1; }
KEEP int null(void) { return use(0, 0, 0) + 1; }
KEEP int address(void) { return use(lock, 7, 9) + 1; }
KEEP int global(void) { return use(elsewhere, 7, 9) + 1; }
KEEP int local(void)
{
	char here[64];
	int r = use(here, 1, 2);
	return r + here[3];
}
KEEP int again(int n) // the argument must survive in a saved register or slot
{
	int sum = 0;
	char *p = shown + n;
	for (int i = 0; i < n; i++)
		sum += use(p, i, n);
	return sum;
}
KEEP int merged(int n) // two paths to one call
{
	return use(n ? (void *)1 : (void *)lock, 5, n) + 1;
}
KEEP int unknown(void *p)
{
	return use(*(void **)p, 3, 3) + 1;
}
int all(void *p) { return constant() + null() + address() + global() + local() + again(3) + merged(2) + unknown(p); }
char *lock_address(void) { return lock; }
