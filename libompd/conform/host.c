/* host.c: the effects of the library on a debugger's process: on its signals, threads, children and files, and at its
 * end. */
#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform.h"

/* process_state is the part of this process that a library could disturb. */
struct process_state {
    int threads, files, handlers;
};

static int count_entries(const char *path) {
    int n = 0;
    DIR *d = opendir(path);
    if (!d) return -1;
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

static struct process_state read_state(void) {
    struct process_state found = {count_entries("/proc/self/task"), count_entries("/proc/self/fd"), 0};
    for (int i = 1; i < NSIG; i++) {
        struct sigaction a;
        if (!sigaction(i, NULL, &a) && a.sa_handler != SIG_DFL) found.handlers += i;
    }
    return found;
}

/* ask_in_child calls a routine in a forked process and returns its return code. */
static int ask_in_child(struct suite *s, ompd_address_space_handle_t *space) {
    ompd_word_t version;
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(600);
        _exit((int)s->api->ompd_get_omp_version(space, &version));
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : CRASHED;
}

static bool is_mapped(const char *name) {
    char line[4096];
    bool found = false;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof line, f)) found |= strstr(line, name) != NULL;
    if (f) fclose(f);
    return found;
}

void check_host(struct suite *s, void *library, const char *pid_file) {
    alarm(600); /* a call that hangs ends the test */
    ompd_address_space_handle_t *space = NULL;
    ompd_word_t version = 0;
    struct process_state before = read_state();
    about(s, "a debugger's process");
    OK(ompd_initialize, 202111, &callbacks);
    OK(ompd_process_initialize, context(0), &space);
    struct process_state during = read_state();
    HOLDS(ompd_initialize, during.threads == before.threads, "%d threads", during.threads);
    HOLDS(ompd_initialize, during.handlers == before.handlers, "signals are handled");
    HOLDS(ompd_initialize, during.files == before.files + 1, "%d files more", during.files - before.files);
    HOLDS(ompd_initialize, waitpid(-1, NULL, WNOHANG) == -1, "it has left a child");
    int rc = ask_in_child(s, space);
    HOLDS(ompd_get_omp_version, rc == ompd_rc_error, "returns %d in a forked process", rc);
    OK(ompd_get_omp_version, space, &version);
    about(s, "a debugger whose helper was killed");
    HOLDS(ompd_initialize, kill_helper(pid_file), "no helper is known");
    RETURNS(ompd_rc_error, ompd_get_omp_version, space, &version);
    RETURNS(ompd_rc_error, ompd_get_omp_version, space, &version);
    OK(ompd_rel_address_space_handle, space);
    OK(ompd_finalize);
    check_abuse(s, pid_file);
    about(s, "a debugger that starts again");
    OK(ompd_initialize, 202111, &callbacks);
    OK(ompd_process_initialize, context(0), &space);
    OK(ompd_get_omp_version, space, &version);
    OK(ompd_rel_address_space_handle, space);
    HOLDS(ompd_finalize, dlclose(library) == 0 && !is_mapped("libompd.so"), "the library stays");
    struct process_state after = read_state();
    HOLDS(ompd_finalize, after.files == before.files && after.threads == before.threads, "%d files, %d threads are left", after.files - before.files, after.threads - before.threads);
    HOLDS(ompd_finalize, s->tool->blocks == 0, "%ld blocks are left", s->tool->blocks);
}
