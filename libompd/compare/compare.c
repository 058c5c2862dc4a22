/* compare.c: ompd-compare asks an OMPD library about a program that ompd-inspect reads, for `doctor --compare`.
 *
 * ompd-inspect starts it with the path of the library and two pipes: standard input and output. A line "lwp N" names a
 * thread of the program; the line "walk" starts a walk over all facts. The output has lines:
 *
 *   symbol LWP NAME, read ADDRESS SIZE, string ADDRESS SIZE    a callback; the answer is a struct reply and its bytes
 *   fact RC<tab>NAME<tab>VALUE                                 a fact, with the return code of the routine
 *   note TEXT, done, failed TEXT, denied N                     the library's version, the end of a walk, errors
 *
 * The library is not trusted. Before it is loaded, this process gives up the right to start programs and processes, to
 * write files and to use the network; when it is loaded, the right to open files. Its time and memory are limited.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../omp-tools.h"

/* Limits. The messages of internal/front/compare name the first three. */
enum { CPU_SECONDS = 5, WALL_SECONDS = 60, MEMORY_MIB = 1024 };
enum { MAX_LWPS = 1 << 16, MAX_ICVS = 256, MAX_CHAIN = 32, MAX_READ = 1 << 20, MAX_LINE = 512, MAX_TEXT = 120 };

static int in = 0, out = 1;

static void end(int status) { syscall(SYS_exit_group, status); }

static void write_all(const char *p, size_t n) {
    for (ssize_t k; n > 0; p += k, n -= (size_t)k)
        if ((k = write(out, p, n)) <= 0) end(1);
}

static void read_all(void *to, size_t n) {
    char *p = to;
    for (ssize_t k; n > 0; p += k, n -= (size_t)k)
        if ((k = read(in, p, n)) <= 0) end(0);
}

/* say writes a line. Texts of the library are cut, so that it always fits. */
static void __attribute__((format(printf, 1, 2))) say(const char *format, ...) {
    char line[MAX_LINE];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line - 1, format, args);
    va_end(args);
    if (n < 0) return;
    if (n > (int)sizeof line - 2) n = sizeof line - 2;
    line[n] = '\n';
    write_all(line, (size_t)n + 1);
}

/* clean copies a text of the library without control characters. */
static const char *clean(const char *text, char copy[MAX_TEXT]) {
    size_t n = 0;
    for (; text && text[n] && n < MAX_TEXT - 1; n++) copy[n] = text[n] > 0 && text[n] < ' ' ? '?' : text[n];
    copy[n] = 0;
    return copy;
}

/* The callbacks. A thread context is the number of the thread, the address space context is not used. */
struct reply {
    int32_t rc;
    uint32_t size;
};

static ompd_rc_t answer(void *to, ompd_size_t size) {
    struct reply r;
    read_all(&r, sizeof r);
    if (r.size == 0) return r.rc ? (ompd_rc_t)r.rc : ompd_rc_error;
    if (r.size != size) end(1);
    read_all(to, size);
    return (ompd_rc_t)r.rc;
}

static ompd_rc_t alloc_memory(ompd_size_t n, void **p) { return (*p = calloc(1, n)) ? ompd_rc_ok : ompd_rc_nomem; }

static ompd_rc_t free_memory(void *p) {
    free(p);
    return ompd_rc_ok;
}

static ompd_rc_t print_string(const char *text, int category) {
    (void)text, (void)category;
    return ompd_rc_ok;
}

static ompd_rc_t sizeof_type(ompd_address_space_context_t *context, ompd_device_type_sizes_t *sizes) {
    (void)context;
    *sizes = (ompd_device_type_sizes_t){1, 2, 4, 8, 8, 8};
    return ompd_rc_ok;
}

static ompd_rc_t find_symbol(ompd_address_space_context_t *context, ompd_thread_context_t *thread, const char *name,
                             ompd_address_t *address, const char *file) {
    (void)context, (void)file;
    char copy[MAX_TEXT];
    if (!name || !*name || !address) return ompd_rc_bad_input;
    say("symbol %" PRIuPTR " %s", (uintptr_t)thread, clean(name, copy));
    address->segment = ompd_segment_none;
    return answer(&address->address, sizeof address->address);
}

static ompd_rc_t read_target(const char *how, const ompd_address_t *address, ompd_size_t n, void *to) {
    if (!address || !to || n > MAX_READ) return ompd_rc_bad_input;
    if (n == 0) return ompd_rc_ok;
    say("%s %" PRIu64 " %" PRIu64, how, address->address, n);
    return answer(to, n);
}

static ompd_rc_t read_memory(ompd_address_space_context_t *context, ompd_thread_context_t *thread,
                             const ompd_address_t *address, ompd_size_t n, void *to) {
    (void)context, (void)thread;
    return read_target("read", address, n, to);
}

static ompd_rc_t read_string(ompd_address_space_context_t *context, ompd_thread_context_t *thread,
                             const ompd_address_t *address, ompd_size_t n, void *to) {
    (void)context, (void)thread;
    return read_target("string", address, n, to);
}

static ompd_rc_t write_memory(ompd_address_space_context_t *context, ompd_thread_context_t *thread,
                              const ompd_address_t *address, ompd_size_t n, const void *from) {
    (void)context, (void)thread, (void)address, (void)n, (void)from;
    return ompd_rc_device_write_error;
}

static ompd_rc_t convert(ompd_address_space_context_t *context, const void *from, ompd_size_t size, ompd_size_t n,
                         void *to) {
    (void)context;
    memmove(to, from, size * n);
    return ompd_rc_ok;
}

static ompd_rc_t find_thread(ompd_address_space_context_t *context, ompd_thread_id_t kind, ompd_size_t size,
                             const void *id, ompd_thread_context_t **thread) {
    (void)context;
    uint64_t lwp = 0;
    if (kind != OMPD_THREAD_ID_LWP) return ompd_rc_unsupported;
    if (size > sizeof lwp) return ompd_rc_bad_input;
    memcpy(&lwp, id, size);
    *thread = (ompd_thread_context_t *)(uintptr_t)lwp;
    return ompd_rc_ok;
}

static const ompd_callbacks_t callbacks = {
    alloc_memory, free_memory, print_string, sizeof_type, find_symbol, read_memory,
    write_memory, read_string, convert,      convert,     find_thread,
};

/* The sandbox. */
static void on_denied_call(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    say("denied %d", info->si_syscall);
    end(1);
}

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

enum { MAX_FILTER = 128 };
struct filter {
    unsigned short size;
    struct sock_filter code[MAX_FILTER];
};

static void add(struct filter *f, uint16_t code, uint8_t yes, uint8_t no, uint32_t k) {
    f->code[f->size++] = (struct sock_filter){code, yes, no, k};
}

static void load(struct filter *f, size_t offset) { add(f, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset); }
static void returns(struct filter *f, uint32_t action) { add(f, BPF_RET | BPF_K, 0, 0, action); }

static void allow(struct filter *f, const int *calls, size_t n) {
    for (size_t i = 0; i < n; i++) {
        add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)calls[i]);
        returns(f, SECCOMP_RET_ALLOW);
    }
}

/* Calls of a library that only computes and uses the callbacks. */
static const int computing[] = {
    SYS_read, SYS_write, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_brk, SYS_futex,
    SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_clock_gettime, SYS_getpid, SYS_gettid, SYS_getrandom, SYS_sched_yield,
    SYS_fstat, SYS_newfstatat, SYS_lseek, SYS_close, /* of stdio */
};

/* Calls of the loader, and of constructors that look at the machine. */
static const int loading[] = {
    SYS_pread64, SYS_readlinkat, SYS_faccessat, SYS_getcwd,
    SYS_sched_getaffinity, SYS_sysinfo, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_uname, SYS_prlimit64,
#ifdef SYS_readlink
    SYS_readlink, SYS_access, SYS_stat, SYS_lstat,
#endif
};

/* confine restricts the system calls for good; files can be opened for reading while the library is loaded. */
static void confine(int while_loading) {
    struct filter f = {0};
    load(&f, offsetof(struct seccomp_data, arch));
    add(&f, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, OWN_ARCH);
    returns(&f, SECCOMP_RET_KILL_PROCESS);
    load(&f, offsetof(struct seccomp_data, nr));
    allow(&f, computing, sizeof computing / sizeof *computing);
    if (while_loading) allow(&f, loading, sizeof loading / sizeof *loading);
    if (while_loading) { /* the next filter, and open for reading */
        add(&f, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, SYS_prctl);
        load(&f, offsetof(struct seccomp_data, args[0]));
        add(&f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, PR_SET_SECCOMP);
        returns(&f, SECCOMP_RET_ALLOW);
        returns(&f, SECCOMP_RET_TRAP);
        add(&f, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, SYS_openat);
        load(&f, offsetof(struct seccomp_data, args[2]));
        add(&f, BPF_JMP | BPF_JSET | BPF_K, 0, 1, O_ACCMODE | O_CREAT | O_TRUNC);
        returns(&f, SECCOMP_RET_TRAP);
        returns(&f, SECCOMP_RET_ALLOW);
    }
    add(&f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_ioctl); /* stdio asks for a terminal */
    returns(&f, SECCOMP_RET_ERRNO | ENOTTY);
    add(&f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_rt_sigprocmask); /* abort blocks signals: it need not */
    returns(&f, SECCOMP_RET_ERRNO);
    add(&f, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, SYS_tgkill); /* abort: this process only */
    load(&f, offsetof(struct seccomp_data, args[0]));
    add(&f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)getpid());
    returns(&f, SECCOMP_RET_ALLOW);
    returns(&f, SECCOMP_RET_TRAP);
    returns(&f, SECCOMP_RET_TRAP);
    struct sock_fprog program = {f.size, f.code};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        say("failed the sandbox is missing: %s", strerror(errno));
        end(1);
    }
}

static void limit(int resource, rlim_t soft, rlim_t hard) {
    struct rlimit l = {soft, hard};
    if (setrlimit(resource, &l)) {
        say("failed a limit cannot be set: %s", strerror(errno));
        end(1);
    }
}

static void restrict_process(void) {
    struct sigaction denied = {.sa_sigaction = on_denied_call, .sa_flags = SA_SIGINFO};
    limit(RLIMIT_CPU, CPU_SECONDS, CPU_SECONDS + 1);
    limit(RLIMIT_AS, (rlim_t)MEMORY_MIB << 20, (rlim_t)MEMORY_MIB << 20);
    limit(RLIMIT_CORE, 0, 0);
    limit(RLIMIT_FSIZE, 0, 0);
    alarm(WALL_SECONDS);
    if (sigaction(SIGSYS, &denied, NULL) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_PDEATHSIG, SIGKILL)) {
        say("failed the sandbox is missing: %s", strerror(errno));
        end(1);
    }
}

/* The library. */
#define ROUTINES(R) \
    R(ompd_initialize) R(ompd_get_api_version) R(ompd_get_version_string) R(ompd_finalize) R(ompd_process_initialize) \
    R(ompd_rel_address_space_handle) R(ompd_get_omp_version) R(ompd_get_thread_handle) R(ompd_get_thread_id) \
    R(ompd_get_state) R(ompd_get_curr_parallel_handle) R(ompd_get_enclosing_parallel_handle) \
    R(ompd_get_thread_in_parallel) R(ompd_get_curr_task_handle) R(ompd_get_generating_task_handle) \
    R(ompd_get_task_function) R(ompd_get_task_frame) R(ompd_enumerate_icvs) R(ompd_get_icv_from_scope) \
    R(ompd_get_icv_string_from_scope)

static struct {
#define R(f) __typeof__(f) *f;
    ROUTINES(R)
#undef R
} api;

/* CALL calls a routine; one that the library lacks is unsupported. */
#define CALL(f, ...) (api.f ? api.f(__VA_ARGS__) : ompd_rc_unsupported)

static void *load_library(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return NULL;
#define R(f) api.f = (__typeof__(f) *)dlsym(library, #f);
    ROUTINES(R)
#undef R
    return library;
}

/* The program's threads, and the library's variables. */
static uint64_t lwps[MAX_LWPS];
static int lwp_count;
static struct icv {
    ompd_icv_id_t id;
    ompd_scope_t scope;
    char name[MAX_TEXT];
} icvs[MAX_ICVS];
static int icv_count;

static void list_icvs(ompd_address_space_handle_t *space) {
    ompd_icv_id_t id = 0;
    int more = 1;
    for (icv_count = 0; more && icv_count < MAX_ICVS;) {
        const char *name = NULL;
        ompd_scope_t scope = 0;
        if (CALL(ompd_enumerate_icvs, space, id, &id, &name, &scope, &more) != ompd_rc_ok) return;
        if (!name) continue;
        struct icv *v = &icvs[icv_count++];
        v->id = id, v->scope = scope;
        clean(name, v->name);
    }
}

/* ask_icvs asks for the variables of a scope, and returns the size of the team if it is one of them. */
static long ask_icvs(void *handle, ompd_scope_t scope, const char *subject) {
    long size = 0;
    for (int i = 0; i < icv_count; i++) {
        if (icvs[i].scope != scope) continue;
        ompd_word_t value = 0;
        const char *text = NULL;
        char copy[MAX_TEXT];
        ompd_rc_t rc = CALL(ompd_get_icv_from_scope, handle, scope, icvs[i].id, &value);
        if (rc == ompd_rc_ok || rc == ompd_rc_incomplete) {
            say("fact 0\t%s%s\t%" PRId64, subject, icvs[i].name, value);
            if (!strcmp(icvs[i].name, "team-size-var")) size = value;
            continue;
        }
        ompd_rc_t found = CALL(ompd_get_icv_string_from_scope, handle, scope, icvs[i].id, &text);
        say("fact %d\t%s%s\t%s", found == ompd_rc_ok ? found : rc, subject, icvs[i].name, clean(text, copy));
    }
    return size;
}

static ompd_rc_t pthread_of(ompd_thread_handle_t *thread, uint64_t *pthread) {
    return CALL(ompd_get_thread_id, thread, OMPD_THREAD_ID_PTHREAD, sizeof *pthread, pthread);
}

/* ask_regions asks for the regions around a thread, from the innermost outwards. Members are asked of number 0. */
static void ask_regions(ompd_thread_handle_t *thread, uint64_t lwp, uint64_t pthread) {
    ompd_parallel_handle_t *region = NULL;
    ompd_rc_t rc = CALL(ompd_get_curr_parallel_handle, thread, &region);
    for (int k = 0; rc == ompd_rc_ok && region && k < MAX_CHAIN; k++) {
        char subject[MAX_TEXT];
        snprintf(subject, sizeof subject, "thread %" PRIu64 " region %d: ", lwp, k);
        long size = ask_icvs(region, ompd_scope_parallel, subject);
        for (int n = 0; n < size && n < lwp_count; n++) {
            ompd_thread_handle_t *member = NULL;
            uint64_t id = 0;
            ompd_rc_t found = CALL(ompd_get_thread_in_parallel, region, n, &member);
            if (found == ompd_rc_ok && member) found = pthread_of(member, &id);
            if (n == 0 && id != pthread) break;
            say("fact %d\t%smember %d\t0x%" PRIx64, found, subject, n, id);
        }
        ompd_parallel_handle_t *outer = NULL;
        rc = CALL(ompd_get_enclosing_parallel_handle, region, &outer);
        region = outer;
    }
}

/* ask_tasks asks for the tasks of a thread, from the current one to the one that generated it, and so on. */
static void ask_tasks(ompd_thread_handle_t *thread, uint64_t lwp) {
    ompd_task_handle_t *task = NULL;
    ompd_rc_t rc = CALL(ompd_get_curr_task_handle, thread, &task);
    for (int k = 0; rc == ompd_rc_ok && task && k < MAX_CHAIN; k++) {
        char subject[MAX_TEXT];
        ompd_address_t function = {0};
        ompd_frame_info_t exit = {0}, enter = {0};
        snprintf(subject, sizeof subject, "thread %" PRIu64 " task %d: ", lwp, k);
        ompd_rc_t got = CALL(ompd_get_task_function, task, &function);
        say("fact %d\t%sfunction\t0x%" PRIx64, got, subject, function.address);
        got = CALL(ompd_get_task_frame, task, &exit, &enter);
        say("fact %d\t%sexit frame\t0x%" PRIx64, got, subject, exit.frame_address.address);
        say("fact %d\t%senter frame\t0x%" PRIx64, got, subject, enter.frame_address.address);
        ask_icvs(task, ompd_scope_implicit_task, subject);
        ask_icvs(task, ompd_scope_task, subject);
        ompd_task_handle_t *outer = NULL;
        rc = CALL(ompd_get_generating_task_handle, task, &outer);
        task = outer;
    }
}

static void ask_thread(ompd_address_space_handle_t *space, uint64_t lwp) {
    char subject[MAX_TEXT];
    ompd_thread_handle_t *thread = NULL;
    ompd_word_t state = 0;
    ompd_wait_id_t wait = 0;
    uint64_t pthread = 0;
    snprintf(subject, sizeof subject, "thread %" PRIu64 ": ", lwp);
    ompd_rc_t rc = CALL(ompd_get_thread_handle, space, OMPD_THREAD_ID_LWP, sizeof lwp, &lwp, &thread);
    say("fact %d\t%sOpenMP thread\tyes", rc, subject);
    if (rc != ompd_rc_ok || !thread) return;
    rc = pthread_of(thread, &pthread);
    say("fact %d\t%spthread\t0x%" PRIx64, rc, subject, pthread);
    rc = CALL(ompd_get_state, thread, &state, &wait);
    say("fact %d\t%sstate\t%" PRId64, rc, subject, state);
    say("fact %d\t%swait identifier\t0x%" PRIx64, rc, subject, wait);
    ask_icvs(thread, ompd_scope_thread, subject);
    ask_regions(thread, lwp, pthread);
    ask_tasks(thread, lwp);
}

/* walk asks all facts. An error of the library's start ends this process. */
static void walk(void) {
    ompd_word_t version = 0;
    const char *text = NULL;
    char copy[MAX_TEXT];
    ompd_address_space_handle_t *space = NULL;
    if (CALL(ompd_get_version_string, &text) == ompd_rc_ok) say("note %s", clean(text, copy));
    ompd_rc_t rc = CALL(ompd_get_api_version, &version);
    if (rc == ompd_rc_ok) rc = CALL(ompd_initialize, version, &callbacks);
    if (rc != ompd_rc_ok) {
        say("failed ompd_initialize for version %" PRId64 " returns %d", version, rc);
        end(1);
    }
    rc = CALL(ompd_process_initialize, (ompd_address_space_context_t *)&lwp_count, &space);
    if (rc != ompd_rc_ok || !space) {
        say("failed ompd_process_initialize returns %d", rc);
        end(1);
    }
    rc = CALL(ompd_get_omp_version, space, &version);
    say("fact %d\tOpenMP version\t%" PRId64, rc, version);
    list_icvs(space);
    ask_icvs(space, ompd_scope_address_space, "");
    for (int i = 0; i < lwp_count; i++) ask_thread(space, lwps[i]);
    CALL(ompd_rel_address_space_handle, space);
    CALL(ompd_finalize);
    say("done");
}

static void read_line(char line[MAX_TEXT]) {
    for (size_t n = 0;; n++) {
        read_all(&line[n], 1);
        if (line[n] == '\n' || n == MAX_TEXT - 1) {
            line[n] = 0;
            return;
        }
    }
}

int main(int argc, char **argv) {
    char line[MAX_TEXT];
    int null = open("/dev/null", O_RDWR);
    in = fcntl(0, F_DUPFD, 3), out = fcntl(1, F_DUPFD, 3);
    if (argc != 2 || null < 0 || in < 0 || out < 0) return 2;
    for (int fd = 0; fd < 3; fd++) dup2(null, fd); /* the library's input and output */
    restrict_process();
    confine(1);
    if (!load_library(argv[1])) {
        say("failed %.400s", dlerror());
        return 1;
    }
    confine(0);
    for (;;) {
        read_line(line);
        if (!strncmp(line, "lwp ", 4)) {
            if (lwp_count < MAX_LWPS) lwps[lwp_count++] = strtoull(line + 4, NULL, 10);
            continue;
        }
        walk();
        lwp_count = 0;
    }
}
