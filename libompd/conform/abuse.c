/* abuse.c: disturbances while a routine runs: its helper dies, its socket is shut down, the debugger leaves a callback by
 * longjmp, ends the thread in it, or forks. Each routine must return, and the library must work again afterwards.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform.h"

static const char *helper_file;
static jmp_buf before_call;
static ompd_address_space_handle_t *space;

/* kill_helper kills the process whose number the test's wrapper of ompd-inspect has written to a file. */
bool kill_helper(const char *path) {
    int pid = 0;
    FILE *f = fopen(path, "r");
    bool ok = f && fscanf(f, "%d", &pid) == 1 && pid > 1 && kill(pid, SIGKILL) == 0;
    if (f) fclose(f);
    return ok;
}

static void kill_helper_now(struct suite *s) {
    (void)s;
    kill_helper(helper_file);
}

static void cut_sockets(struct suite *s) {
    (void)s;
    for (int fd = 3; fd < 256; fd++) shutdown(fd, SHUT_RDWR); /* it changes sockets only */
}

static void leave_by_longjmp(struct suite *s) {
    (void)s;
    longjmp(before_call, 1);
}

static void end_thread(struct suite *s) {
    (void)s;
    pthread_exit(NULL);
}

/* ask_in_fork calls the library in a process that is forked while a routine runs. */
static void ask_in_fork(struct suite *s) {
    ompd_word_t version;
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(600);
        int rc = (int)s->api->ompd_get_omp_version(space, &version);
        bool again = s->api->ompd_initialize(202111, &callbacks) == ompd_rc_ok && s->api->ompd_finalize() == ompd_rc_ok;
        _exit(rc == ompd_rc_error && again ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    HOLDS(ompd_initialize, WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %#x in a forked process", status);
}

/* ask calls a routine that needs the target's memory. */
static int ask(struct suite *s) {
    ompd_word_t version = 0;
    return CALL(ompd_get_omp_version, space, &version);
}

/* ask_deeper calls a routine from a frame below that of the routine that was left. */
static int ask_deeper(struct suite *s, int n) {
    volatile char room[512];
    for (unsigned i = 0; i < sizeof room; i++) room[i] = (char)n;
    return n > 0 ? ask_deeper(s, n - 1) + room[n] - n : ask(s);
}

static void *ask_in_thread(void *arg) {
    struct suite *s = &(struct suite){0};
    suite_enter(s, arg);
    ask(s);
    return NULL;
}

static bool open_library(struct suite *s) {
    return OK(ompd_initialize, 202111, &callbacks) && OK(ompd_process_initialize, context(0), &space) && ask(s) == ompd_rc_ok;
}

static void close_library(struct suite *s) {
    OK(ompd_rel_address_space_handle, space);
    OK(ompd_finalize);
    HOLDS(ompd_finalize, s->tool->blocks == 0, "%ld blocks are left", s->tool->blocks);
}

void check_abuse(struct suite *s, const char *pid_file) {
    static const struct {
        const char *what;
        void (*disturb)(struct suite *);
    } breaks[] = {{"the helper is killed in a routine", kill_helper_now}, {"the socket is cut in a routine", cut_sockets}};
    helper_file = pid_file;
    for (unsigned i = 0; i < sizeof breaks / sizeof *breaks; i++) {
        about(s, "%s", breaks[i].what);
        if (!open_library(s)) return;
        s->tool->at_read = breaks[i].disturb;
        int rc = ask(s);
        HOLDS(ompd_get_omp_version, rc == ompd_rc_error, "returns %d", rc);
        rc = ask(s);
        HOLDS(ompd_get_omp_version, rc == ompd_rc_error, "returns %d the second time", rc);
        close_library(s);
    }
    for (volatile int depth = 0; depth <= 8; depth += 8) {
        about(s, "a callback is left by longjmp, and the library called %d frames deeper", depth);
        if (!open_library(s)) return;
        s->tool->at_read = leave_by_longjmp;
        if (!setjmp(before_call)) {
            ask(s);
            HOLDS(ompd_get_omp_version, false, "it has not called back");
        }
        int rc = ask_deeper(s, depth);
        HOLDS(ompd_get_omp_version, rc == ompd_rc_error, "returns %d", rc);
        close_library(s);
    }
    about(s, "a thread ends in a callback");
    if (!open_library(s)) return;
    pthread_t thread;
    s->tool->at_read = end_thread;
    pthread_create(&thread, NULL, ask_in_thread, s);
    pthread_join(thread, NULL);
    int rc = ask(s);
    HOLDS(ompd_get_omp_version, rc == ompd_rc_error, "returns %d", rc);
    close_library(s);
    about(s, "a debugger forks in a callback");
    if (!open_library(s)) return;
    s->tool->at_read = ask_in_fork;
    rc = ask(s);
    HOLDS(ompd_get_omp_version, rc == ompd_rc_ok, "returns %d in the process that forked", rc);
    close_library(s);
}
