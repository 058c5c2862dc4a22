/* host.c: whether the library lives well in a debugger's process: its signals, threads, children, files and end. */
#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform.h"

/* state is what of this process a library could disturb. */
struct state {
    int threads, files, handlers;
};

static int entries(const char *path) {
    int n = 0;
    DIR *d = opendir(path);
    if (!d) return -1;
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

static struct state look(void) {
    struct state s = {entries("/proc/self/task"), entries("/proc/self/fd"), 0};
    for (int i = 1; i < NSIG; i++) {
        struct sigaction a;
        if (!sigaction(i, NULL, &a) && a.sa_handler != SIG_DFL) s.handlers += i;
    }
    return s;
}

/* helper reads the process that the test's wrapper of ompd-inspect wrote down, and kills it. */
bool kill_helper(const char *path) {
    int pid = 0;
    FILE *f = fopen(path, "r");
    bool ok = f && fscanf(f, "%d", &pid) == 1 && pid > 1 && kill(pid, SIGKILL) == 0;
    if (f) fclose(f);
    return ok;
}

/* in_child asks in a forked process, and gives what the routine returned there. */
static int in_child(ompd_address_space_handle_t *space) {
    ompd_word_t version;
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(600);
        _exit((int)api.ompd_get_omp_version(space, &version));
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : CRASHED;
}

static bool mapped(const char *name) {
    char line[4096];
    bool found = false;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof line, f)) found |= strstr(line, name) != NULL;
    if (f) fclose(f);
    return found;
}

void check_host(void *library, const char *pid_file) {
    alarm(600); /* what hangs ends the test */
    ompd_address_space_handle_t *space = NULL;
    ompd_word_t version = 0;
    struct state before = look();
    about("a debugger's process");
    OK(ompd_initialize, 202111, &callbacks);
    OK(ompd_process_initialize, context(0), &space);
    struct state during = look();
    HOLDS(ompd_initialize, during.threads == before.threads, "%d threads", during.threads);
    HOLDS(ompd_initialize, during.handlers == before.handlers, "signals are handled");
    HOLDS(ompd_initialize, during.files == before.files + 1, "%d files more", during.files - before.files);
    HOLDS(ompd_initialize, waitpid(-1, NULL, WNOHANG) == -1, "it has left a child");
    int rc = in_child(space);
    HOLDS(ompd_get_omp_version, rc == ompd_rc_error, "returns %d in a forked process", rc);
    OK(ompd_get_omp_version, space, &version);
    about("a debugger whose helper was killed");
    HOLDS(ompd_initialize, kill_helper(pid_file), "no helper is known");
    RETURNS(ompd_rc_error, ompd_get_omp_version, space, &version);
    RETURNS(ompd_rc_error, ompd_get_omp_version, space, &version);
    OK(ompd_rel_address_space_handle, space);
    OK(ompd_finalize);
    check_abuse(pid_file);
    about("a debugger that starts again");
    OK(ompd_initialize, 202111, &callbacks);
    OK(ompd_process_initialize, context(0), &space);
    OK(ompd_get_omp_version, space, &version);
    OK(ompd_rel_address_space_handle, space);
    HOLDS(ompd_finalize, dlclose(library) == 0 && !mapped("libompd.so"), "the library stays");
    struct state after = look();
    HOLDS(ompd_finalize, after.files == before.files && after.threads == before.threads, "%d files, %d threads are left", after.files - before.files, after.threads - before.threads);
    HOLDS(ompd_finalize, tool.blocks == 0, "%ld blocks are left", tool.blocks);
}
